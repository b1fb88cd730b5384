"""Display of results: one table model, one number format, and renderers for text, terminal and HTML.

Contents: :class:`Table`, :class:`Section`, :class:`Column`, :class:`Cell` and :class:`Bar` are frozen data without any
knowledge of where they are shown. :func:`to_text`, :func:`to_rich` and :func:`to_html` render a list of sections; all
three show the same columns, rows and notes. A result class that inherits :class:`Renderable` and defines ``sections()``
can be printed, shown by rich, and displayed by a notebook; one that inherits :class:`Plottable` has ``plot()`` as well.

Numbers: :func:`format_number` writes four significant digits and separates thousands (``5,432``);
:func:`format_fixed` is for columns whose numbers share their decimals, :func:`format_interval` and
:func:`format_plus_minus` for estimates; NaN is a dash in all of them.

Pages are made of the elements of :func:`tag` and of tables by :func:`table_html`, which can be sorted.

The package may import ``core`` only. rich is imported by the terminal renderer when that is first used, so numerical
classes may inherit :class:`Renderable` without importing rich.

>>> from gramian.display import Section, Table, bars, format_number, to_text
>>> names, shares = ["area", "rooms"], [0.8, 0.2]
>>> rows = [[name, bar, format_number(share)] for name, bar, share in zip(names, bars(shares), shares)]
>>> print(to_text([Section("importances", Table(["column", "", "share"], rows))]))
importances
column                            share
area    ████████████████████████    0.8
rooms   ██████                      0.2
"""

from typing import TYPE_CHECKING

from gramian.core.lazy import lazily
from gramian.display.curve import curve_svg, dot_line
from gramian.display.elements import tag, text
from gramian.display.html import table_html, to_html
from gramian.display.numbers import (
    MISSING,
    format_duration,
    format_fixed,
    format_interval,
    format_number,
    format_percent,
    format_plus_minus,
    format_score,
    format_signed,
    format_value,
    more_columns,
    typographic_minus,
)
from gramian.display.plottable import Plottable
from gramian.display.renderable import Renderable
from gramian.display.style import PALETTE, palette_css, style_sheet
from gramian.display.table import Bar, Cell, Column, Entry, Section, Table, bars

if TYPE_CHECKING:
    from gramian.display.terminal import to_rich, to_text
else:
    __getattr__, __dir__ = lazily(__name__, {"gramian.display.terminal": ["to_rich", "to_text"]})

__all__ = [
    "MISSING",
    "PALETTE",
    "Bar",
    "Cell",
    "Column",
    "Entry",
    "Plottable",
    "Renderable",
    "Section",
    "Table",
    "bars",
    "curve_svg",
    "dot_line",
    "format_duration",
    "format_fixed",
    "format_interval",
    "format_number",
    "format_percent",
    "format_plus_minus",
    "format_score",
    "format_signed",
    "format_value",
    "more_columns",
    "palette_css",
    "style_sheet",
    "table_html",
    "tag",
    "text",
    "to_html",
    "to_rich",
    "to_text",
    "typographic_minus",
]
