"""Tables of a page: those of :mod:`gramian.display` in a region that scrolls, and cells with a style of their own."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from gramian.display import (
    MISSING,
    Cell,
    Column,
    Entry,
    Table,
    format_number,
    table_html,
    tag,
    text,
    typographic_minus,
)
from gramian.display.style import CLASS
from gramian.report.web.parts import label

_MOST_ROWS = 25
"""Largest number of rows that are shown at once; a longer table scrolls."""


def table(
    data: Table, *, title: str = "", sortable: bool = False, class_: str | None = None, id: str | None = None
) -> str:
    """Return a table that scrolls sideways if the screen is narrow, and downwards if it is long.

    Parameters
    ----------
    data : Table
    title : str
        The caption.
    sortable : bool
        Make the headings buttons that sort the rows.
    class_, id : str, optional
        Attributes of the element ``table``.

    >>> from gramian.display import Bar
    >>> shares = Table(["column", "", "share"], [["a < b", Bar(0.7, 0.0, 1.0), number_cell(0.7)]])
    >>> 'data-value="0.7"' in table(shares, sortable=True)
    True
    """
    rows = [[_breakable(first), *rest] for first, *rest in data.rows]
    made = table_html(replace(data, rows=rows), title=title, sortable=sortable, class_=class_, id=id)
    # The region can have the focus, so that the keyboard can scroll it.
    about = title or ", ".join(column.heading for column in data.columns if column.heading) or "facts"
    kind = "tall" if len(data.rows) > _MOST_ROWS else "scroll"
    return tag("div", made, class_=f"{CLASS} {kind}", tabindex=0, role="region", aria_label=about)


def _breakable(name: Entry) -> Entry:
    """Return a name as a cell whose lines may break after ``_``, ``=``, ``/`` and ``.``, and within no word."""
    if not isinstance(name, str) or not re.search(r"[_=/.]\w", name):
        return name
    return Cell(name, markup=re.sub(r"([_=/.])(?=\w)", r"\1<wbr>", text(typographic_minus(name))))


def facts(pairs: Iterable[tuple[str, object]], title: str = "") -> str:
    """Return names and values in two columns; None is shown as unknown.

    >>> "unknown" in facts([("intended use", None)])
    True
    """
    rows = [[name, Cell("unknown", "quiet") if value is None else str(value)] for name, value in pairs]
    return table(Table([Column(""), Column("", "left")], rows), title=title, class_="facts")


def number_cell(value: float, form: Callable[[float], str] = format_number) -> Cell:
    """Return a number as a cell that is sorted by its value; NaN and infinity are a dash.

    >>> number_cell(0.25, "{:.0%}".format)
    Cell(text='25%', tone=None, fill=None, sort=0.25, markup='')
    """
    return Cell(form(value), sort=value) if math.isfinite(value) else Cell(MISSING)


def code_cell(code: str) -> Cell:
    """Return code as a cell.

    >>> code_cell("f(x < 1)").markup
    '<code>f(x &lt; 1)</code>'
    """
    return Cell(code, markup=tag("code", text(code)))


def label_cell(name: str, kind: str = "none", sort: float | None = None) -> Cell:
    """Return a coloured label as a cell; see :func:`gramian.report.web.label`.

    >>> label_cell("selected", "good").markup
    '<span class="tag good">selected</span>'
    """
    return Cell(name, sort=sort, markup=label(name, kind))
