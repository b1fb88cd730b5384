"""Sections as a self-contained fragment of HTML, for notebooks and pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from gramian.display.numbers import typographic_minus
from gramian.display.style import CLASS, style_sheet
from gramian.display.table import Bar, Cell, Column, Section, Table


def to_html(sections: Sequence[Section]) -> str:
    """Render sections as one element that brings its style sheet with it.

    >>> html = to_html([Section("a < b", Table(["name", "value"], [["x", "-1"]]))])
    >>> "<caption>a &lt; b</caption>" in html, "<td>−1</td>" in html
    (True, True)
    """
    body = "".join(_section(section) for section in sections)
    return f'<div class="{CLASS}"><style>{style_sheet()}</style>{body}</div>'


def _section(section: Section) -> str:
    caption = f"<caption>{escape(section.title)}</caption>" if section.title else ""
    notes = "".join(f"<p>{escape(line)}</p>" for line in section.note.splitlines())
    return f"<table>{caption}{_head(section.table)}<tbody>{_body(section.table)}</tbody></table>{notes}"


def _head(table: Table) -> str:
    if not table.has_headings:
        return ""
    starts = _group_starts(table.columns)
    heads = "".join(
        f'<th scope="col"{_classes(_left(column), j in starts)}{_title(column.hint)}>{escape(column.heading)}</th>'
        for j, column in enumerate(table.columns)
    )
    return f"<thead>{_groups(table.columns)}<tr>{heads}</tr></thead>"


def _groups(columns: Sequence[Column]) -> str:
    """The line of group names above the headings, if any column belongs to a group."""
    if not any(column.group for column in columns):
        return ""
    runs = [(name, len(list(members))) for name, members in groupby(column.group for column in columns)]
    cells = "".join(
        f'<th scope="colgroup" colspan="{count}" class="start"><span>{escape(name)}</span></th>'
        if name
        else f'<td colspan="{count}"></td>'
        for name, count in runs
    )
    return f'<tr class="groups">{cells}</tr>'


def _group_starts(columns: Sequence[Column]) -> set[int]:
    return {j for j in range(1, len(columns)) if columns[j].group and columns[j].group != columns[j - 1].group}


def _body(table: Table) -> str:
    starts = _group_starts(table.columns)
    made = ""
    for row in table.rows:
        made += f'<tr><th scope="row">{_content(row[0])}</th>'
        made += "".join(
            f"<td{_classes(_left(column), j in starts, _tone(cell))}{_fill(cell)}>{_content(cell)}</td>"
            for j, (column, cell) in enumerate(zip(table.columns, row, strict=True))
            if j > 0
        )
        made += "</tr>"
    return made


def _content(cell: str | Cell | Bar) -> str:
    if isinstance(cell, Bar):
        return _bar(cell)
    return escape(typographic_minus(cell.text if isinstance(cell, Cell) else cell))


def _bar(bar: Bar) -> str:
    begin, end = bar.span
    colour = bar.tone or ("up" if bar.value > 0 else "down")
    marks = f'<i class="{colour}" style="{_extent(begin, end)}"></i>'
    if bar.ends is not None:
        low, high = (bar.position(value) for value in bar.ends)
        marks += f'<b style="{_extent(low, high)}"></b>'
    return f'<div class="bar" aria-hidden="true">{marks}</div>'


def _extent(begin: float, end: float) -> str:
    return f"left:{100 * begin:.1f}%;width:{100 * (end - begin):.1f}%"


def _left(column: Column) -> str:
    return "left" if column.align == "left" else ""


def _tone(cell: str | Cell | Bar) -> str:
    return cell.tone or "" if isinstance(cell, Cell) and cell.fill is None else ""


def _fill(cell: str | Cell | Bar) -> str:
    """A bar behind the text whose length is the value, so that a column can be compared at a glance."""
    if not isinstance(cell, Cell) or cell.fill is None:
        return ""
    share = 100 * min(max(cell.fill, 0.0), 1.0)
    colour = "color-mix(in srgb,var(--green) 30%,transparent)"
    return f' style="background-image:linear-gradient(90deg,{colour} {share:.0f}%,transparent {share:.0f}%)"'


def _classes(align: str, starts_group: bool, tone: str = "") -> str:
    names = " ".join(name for name in (align, "start" if starts_group else "", tone) if name)
    return f' class="{names}"' if names else ""


def _title(hint: str) -> str:
    return f' title="{escape(hint)}"' if hint else ""
