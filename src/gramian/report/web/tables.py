"""Tables: cells, bars within them, rows, and heads that sort."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from gramian.report.web.html import tag, text

_LONG = 25
"""Rows that are shown at once."""


def cell(content: str, sort: object = None, class_: str | None = None) -> str:
    """A cell with HTML in it, sorted by ``sort`` where its text does not say it.

    >>> cell("<b>x</b>", 3)
    '<td data-value="3"><b>x</b></td>'
    """
    return tag("td", content, class_=class_, data_value=sort)


def number(value: str, sort: float | None = None, label: str | None = None) -> str:
    """A cell with a number, broken before its ± only; sorted by ``sort``, with a label where heads are not shown.

    >>> number("0.5 ± 0.1", 0.5)
    '<td class="num" data-value="0.5"><span>0.5</span> <span>± 0.1</span></td>'
    """
    value = "−" + value[1:] if value.startswith("-") else value
    mean, sign, half = text(value).partition(" ± ")
    content = tag("span", mean) if value else ""
    content += " " + tag("span", f"± {half}") if sign else ""
    return tag("td", content, class_="num", data_value=sort, data_label=label if value else None)


def bar(value: float, low: float, high: float, ends: tuple[float, float] | None = None) -> str:
    """A cell with a bar from 0 to ``value`` on an axis from ``low`` to ``high``; a whisker between ``ends``.

    It is drawn for the eye only: the number stands in a cell of its own.
    """
    size = (high - low) or 1.0

    def at(position: float) -> float:
        share = (min(max(position, low), high) - low) / size if math.isfinite(position) else 0.0
        return round(100 * share, 2)

    begin, end = at(min(0.0, value)), at(max(0.0, value))
    marks = tag("i", class_="up" if value > 0 else "down", style=f"left:{begin}%;width:{round(end - begin, 2)}%")
    if ends is not None:
        begin, end = at(ends[0]), at(ends[1])
        marks += tag("b", style=f"left:{begin}%;width:{round(end - begin, 2)}%")
    return tag("td", tag("div", marks, class_="bar"), class_="barred", aria_hidden="true")


def row(name: str, *cells: str, **attributes: object) -> str:
    """A line of a table: its name, and cells as HTML.

    >>> row("a & b", number("1"))
    '<tr><th scope="row">a &amp; b</th><td class="num"><span>1</span></td></tr>'
    """
    return tag("tr", tag("th", text(name), scope="row") + "".join(cells), **attributes)


def table(
    heads: Sequence[str],
    rows: Sequence[str],
    class_: str = "",
    id: str | None = None,
    *,
    sort: bool = False,
    title: str | None = None,
    hints: Mapping[str, str] | None = None,
) -> str:
    """A table that scrolls sideways where the screen is narrow, and downwards if it is long.

    Parameters
    ----------
    heads : sequence of str
        Names of the columns; a column without a name is never sorted.
    rows : sequence of str
        HTML, as :func:`row` makes it.
    class_, id : str
    sort : bool
        Whether heads are buttons that sort.
    title : str, optional
        What the table shows, written above it.
    hints : mapping from heads to str, optional
        What a column says, shown where the pointer rests on its head.
    """
    head = "".join(_head(name, sort, (hints or {}).get(name)) for name in heads)
    inner = tag("caption", text(title)) if title else ""
    inner += tag("thead", tag("tr", head)) + tag("tbody", "".join(rows))
    classes = " ".join(part for part in (class_, "sortable" if sort else "") if part)
    made = tag("table", inner, class_=classes or None, id=id)
    # What scrolls must take the focus, or the keyboard cannot reach what is out of sight.
    about = title or f"table: {', '.join(name for name in heads if name)}"
    kind = "tall" if len(rows) > _LONG else "scroll"
    return tag("div", made, class_=kind, tabindex=0, role="region", aria_label=about)


def facts(pairs: Iterable[tuple[str, object]], title: str | None = None) -> str:
    """Names and values in two columns; None is said to be unknown.

    >>> "unknown" in facts([("intended use", None)])
    True
    """
    rows = []
    for name, value in pairs:
        said = tag("i", "unknown", class_="unknown") if value is None else text(value)
        rows.append(tag("tr", tag("th", text(name), scope="row") + tag("td", said)))
    body = (tag("caption", text(title)) if title else "") + tag("tbody", "".join(rows))
    return tag(
        "div",
        tag("table", body, class_="facts"),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=title or "facts",
    )


def _head(name: str, sort: bool, hint: str | None) -> str:
    if not name:
        return tag("td")
    if not sort:
        return tag("th", text(name), scope="col", title=hint)
    return tag("th", tag("button", text(name), type="button", title=hint), scope="col")
