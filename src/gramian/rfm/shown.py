"""Results that show themselves: on a terminal, in a notebook, as plain text. All three say the same."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

import numpy as np
from rich.bar import Bar as RichBar
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

_WIDTH = 24
_COLOURS = {True: ("dark_orange", "#D55E00"), False: ("blue", "#0072B2")}
"""Above 0 and below, in the terminal and on a page."""
_CSS = """
.gramian-result{font:13px/1.45 system-ui,sans-serif;color:#1b1f24;background:#fff;max-width:100%;overflow-x:auto}
.gramian-result table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:4px 0 8px}
.gramian-result caption{text-align:left;font-weight:600;padding:4px 0}
.gramian-result td,.gramian-result th{padding:2px 10px;text-align:right;background:none}
.gramian-result th{color:#57606a;border-bottom:1px solid #8c959f}
.gramian-result td:first-child,.gramian-result th:first-child{text-align:left}
.gramian-result .bar{width:180px;height:10px;position:relative}
.gramian-result .bar i{position:absolute;top:0;height:10px}
.gramian-result p{margin:2px 0;color:#57606a}
"""


@dataclass(frozen=True)
class Bar:
    """A bar from 0 to ``value`` on an axis from ``low`` to ``high``."""

    value: float
    low: float
    high: float

    @property
    def span(self) -> tuple[float, float]:
        """Where it begins and ends, as shares of the axis."""
        size = (self.high - self.low) or 1.0
        return (min(0.0, self.value) - self.low) / size, (max(0.0, self.value) - self.low) / size


@dataclass(frozen=True)
class Section:
    """One table: a title, headings, rows of texts and bars, and a line below."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str | Bar]]
    note: str = ""


def bars(values: Sequence[float]) -> list[Bar]:
    """Bars on one axis that holds 0 and all values."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    return [Bar(value if math.isfinite(value) else 0.0, low, high) for value in values]


def number(value: Any) -> str:
    """A cell of a table in a few characters; a dash for a number that does not exist."""
    if isinstance(value, float | np.floating):
        return "–" if math.isnan(value) else f"{value:{_form(float(value))}}"
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="auto"))  # a day without its midnight
    return str(value)


def more(count: int) -> str:
    """What is left out, in words."""
    return f"{count} more column" + ("s" if count > 1 else "")


def signed(value: float) -> str:
    """A number with its sign; a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:+{_form(value)}}"


def _form(value: float) -> str:
    """Four digits, or all of them before the point where those are more: nobody reads 3.929e+05 as a price."""
    return ",.0f" if 9999.5 <= abs(value) < 1e12 else ".4g"


class Shown(ABC):
    """A result with sections: ``print`` gives text, rich a coloured table, a notebook HTML."""

    @abstractmethod
    def _sections(self) -> list[Section]:
        """What there is to see, in order."""

    def __rich__(self) -> RenderableType:
        parts: list[RenderableType] = []
        for section in self._sections():
            table = Table(title=section.title, title_justify="left", title_style="bold", box=None, padding=(0, 1))
            for j, heading in enumerate(section.headings):
                table.add_column(heading, justify="left" if j == 0 else "right", overflow="fold")
            for row in section.rows:
                table.add_row(*[_rich_bar(cell) if isinstance(cell, Bar) else Text(cell) for cell in row])
            parts += [table, Text(section.note, style="dim"), Text()] if section.note else [table, Text()]
        return Group(*parts[:-1])

    def __str__(self) -> str:
        stream = StringIO()
        Console(file=stream, width=100, color_system=None, highlight=False).print(self)
        return "\n".join(line.rstrip() for line in stream.getvalue().rstrip().splitlines())

    def _repr_html_(self) -> str:
        return f'<div class="gramian-result"><style>{_CSS}</style>{"".join(map(_html, self._sections()))}</div>'


def _rich_bar(bar: Bar) -> RichBar:
    begin, end = bar.span
    return RichBar(1.0, begin, end, width=_WIDTH, color=_COLOURS[bar.value > 0][0])


def _html(section: Section) -> str:
    heads = "".join(f"<th>{escape(heading)}</th>" for heading in section.headings)
    body = "".join("<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in section.rows)
    note = f"<p>{escape(section.note)}</p>" if section.note else ""
    return f"<table><caption>{escape(section.title)}</caption><tr>{heads}</tr>{body}</table>{note}"


def _html_cell(cell: str | Bar) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    begin, end = cell.span
    style = f"left:{100 * begin:.1f}%;width:{100 * (end - begin):.1f}%;background:{_COLOURS[cell.value > 0][1]}"
    return f'<td><div class="bar"><i style="{style}"></i></div></td>'
