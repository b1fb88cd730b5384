"""Tables and sections as HTML, for notebooks and pages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from gramian.display.elements import tag, text
from gramian.display.numbers import typographic_minus
from gramian.display.style import CLASS, style_sheet
from gramian.display.table import Bar, Cell, Column, Entry, Section, Table


def to_html(sections: Sequence[Section], before: str = "") -> str:
    """Render sections as one element that contains its style sheet; ``before`` is HTML above them, such as a drawing.

    >>> html = to_html([Section("a < b", Table(["name", "value"], [["x", "-1"]]))])
    >>> "<caption>a &lt; b</caption>" in html, "<td>−1</td>" in html
    (True, True)
    """
    body = "".join(_section(section) for section in sections)
    return tag("div", tag("style", style_sheet()) + before + body, class_=CLASS)


def table_html(
    table: Table, *, title: str = "", sortable: bool = False, class_: str | None = None, id: str | None = None
) -> str:
    """Render one table; the style sheet applies to it inside an element of the class ``gramian-result``.

    Parameters
    ----------
    table : Table
    title : str
        The caption.
    sortable : bool
        Make the headings buttons, and add the class ``sortable``. A script of the page sorts the rows by the attribute
        ``data-value`` of a cell (:attr:`Cell.sort`) if it has one, else by its text. A column without a heading has no
        button.
    class_, id : str, optional
        Attributes of the element.

    >>> table_html(Table(["name", "value"], [["x", Cell("2", sort=2.0)]]), sortable=True).count("<button")
    2
    """
    caption = tag("caption", text(title)) if title else ""
    classes = " ".join(name for name in (class_, "sortable" if sortable else None) if name) or None
    return tag("table", caption + _head(table, sortable) + tag("tbody", _body(table)), class_=classes, id=id)


def _section(section: Section) -> str:
    notes = "".join(tag("p", text(line)) for line in section.note.splitlines())
    return table_html(section.table, title=section.title) + notes


def _head(table: Table, sortable: bool) -> str:
    if not table.has_headings:
        return ""
    starts = _group_starts(table.columns)
    heads = "".join(_heading(column, j in starts, sortable) for j, column in enumerate(table.columns))
    return tag("thead", _groups(table.columns) + tag("tr", heads))


def _heading(column: Column, starts_group: bool, sortable: bool) -> str:
    classes, hint = _classes(_left(column), starts_group), column.hint or None
    if not column.heading:
        return tag("td", class_=classes)
    if not sortable:
        return tag("th", text(column.heading), scope="col", class_=classes, title=hint)
    button = tag("button", text(column.heading), type="button", title=hint)
    return tag("th", button, scope="col", class_=classes)


def _groups(columns: Sequence[Column]) -> str:
    """Return the line of group names above the headings, if any column belongs to a group."""
    if not any(column.group for column in columns):
        return ""
    runs = [(name, len(list(members))) for name, members in groupby(column.group for column in columns)]
    cells = "".join(
        tag("th", tag("span", text(name)), scope="colgroup", colspan=count, class_="start")
        if name
        else tag("td", colspan=count)
        for name, count in runs
    )
    return tag("tr", cells, class_="groups")


def _group_starts(columns: Sequence[Column]) -> set[int]:
    return {j for j in range(1, len(columns)) if columns[j].group and columns[j].group != columns[j - 1].group}


def _body(table: Table) -> str:
    starts = _group_starts(table.columns)
    made = ""
    for first, *rest in table.rows:
        cells = tag("th", _content(first), scope="row", data_value=_sort(first))
        for j, (column, cell) in enumerate(zip(table.columns[1:], rest, strict=True), start=1):
            classes = _classes(_left(column), j in starts, _tone(cell), "barred" if isinstance(cell, Bar) else "")
            cells += tag("td", _content(cell), class_=classes, style=_fill(cell), data_value=_sort(cell))
        made += tag("tr", cells)
    return made


def _content(cell: Entry) -> str:
    if isinstance(cell, Bar):
        return _bar(cell)
    if isinstance(cell, Cell) and cell.markup:
        return cell.markup
    return text(typographic_minus(cell.text if isinstance(cell, Cell) else cell))


def _bar(bar: Bar) -> str:
    begin, end = bar.span
    colour = bar.tone or ("up" if bar.value > 0 else "down")
    marks = tag("i", class_=colour, style=_extent(begin, end))
    if bar.ends is not None:
        low, high = (bar.position(value) for value in bar.ends)
        marks += tag("b", style=_extent(low, high))
    return tag("div", marks, class_="bar", aria_hidden="true")


def _extent(begin: float, end: float) -> str:
    return f"left:{100 * begin:.1f}%;width:{100 * (end - begin):.1f}%"


def _sort(cell: Entry) -> float | str | None:
    return cell.sort if isinstance(cell, Cell) else None


def _left(column: Column) -> str:
    return "left" if column.align == "left" else ""


def _tone(cell: Entry) -> str:
    return cell.tone or "" if isinstance(cell, Cell) and cell.fill is None else ""


def _fill(cell: Entry) -> str | None:
    """Return the style of a bar behind the text whose length is the value, so that values are easy to compare."""
    if not isinstance(cell, Cell) or cell.fill is None:
        return None
    share = 100 * min(max(cell.fill, 0.0), 1.0)
    colour = "color-mix(in srgb,var(--green) 30%,transparent)"
    return f"background-image:linear-gradient(90deg,{colour} {share:.0f}%,transparent {share:.0f}%)"


def _classes(align: str, starts_group: bool, *others: str) -> str | None:
    return " ".join(name for name in (align, "start" if starts_group else "", *others) if name) or None
