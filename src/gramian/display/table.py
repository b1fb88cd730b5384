"""Tables as data: columns, cells, bars, and sections of a title, a table and notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Align = Literal["left", "right"]
Tone = Literal["good", "near", "bad", "quiet"]
"""The meaning of a cell's colour; ``quiet`` is text that matters less than the rest."""


@dataclass(frozen=True)
class Bar:
    """A bar from 0 to ``value`` on an axis from ``low`` to ``high``.

    ``ends`` are the limits of an interval around the value, drawn as a whisker on pages. ``tone`` replaces the colours
    of positive and negative values.

    >>> Bar(-1.0, low=-1.0, high=3.0).span
    (0.0, 0.25)
    """

    value: float
    low: float
    high: float
    ends: tuple[float, float] | None = None
    tone: Tone | None = None

    @property
    def span(self) -> tuple[float, float]:
        """The start and the end of the bar, as shares of the axis."""
        return self.position(min(0.0, self.value)), self.position(max(0.0, self.value))

    def position(self, value: float) -> float:
        """The share of the axis below ``value``, limited to the axis.

        >>> Bar(1.0, 0.0, 4.0).position(2.0), Bar(1.0, 0.0, 4.0).position(8.0)
        (0.5, 1.0)
        """
        size = (self.high - self.low) or 1.0
        return min(max((value - self.low) / size, 0.0), 1.0) if math.isfinite(value) else 0.0


def bars(values: Sequence[float]) -> list[Bar]:
    """Make bars on one axis that contains 0 and all finite values.

    >>> [bar.span for bar in bars([1.0, -1.0])]
    [(0.5, 1.0), (0.0, 0.5)]
    """
    finite = [value for value in values if math.isfinite(value)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    return [Bar(value if math.isfinite(value) else 0.0, low, high) for value in values]


@dataclass(frozen=True)
class Cell:
    """Text with a tone; pages draw a ``fill`` between 0 and 1 as a bar behind the text, in place of the tone.

    ``sort`` is the value by which a page sorts the column, in place of the text. ``markup`` is HTML that pages show in
    place of the text, for links and labels; text in it must be escaped already.

    >>> Cell("0.93 ± 0.01", sort=0.93).sort
    0.93
    """

    text: str
    tone: Tone | None = None
    fill: float | None = None
    sort: float | str | None = None
    markup: str = ""


Entry = str | Cell | Bar
"""The content of one place of a table."""


@dataclass(frozen=True)
class Column:
    """A heading, its alignment, the name of the group it belongs to, and an explanation shown on pages as a hint.

    Columns aligned to the left may be wrapped where the terminal is narrow; numbers never are.
    """

    heading: str
    align: Align = "right"
    group: str = ""
    hint: str = ""


@dataclass(frozen=True, init=False)
class Table:
    """Columns, and rows with one text, :class:`Cell` or :class:`Bar` per column.

    A column may be given by its heading: the first is then aligned to the left, the others to the right. The first
    ``n_keys`` columns name the row: where a table is wider than the terminal, it continues below and repeats them.

    >>> [column.align for column in Table(["column", "share"], [["area", "0.8"]]).columns]
    ['left', 'right']
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Entry]]
    n_keys: int = 1

    def __init__(self, columns: Sequence[str | Column], rows: Sequence[Sequence[Entry]], n_keys: int = 1) -> None:
        made = tuple(
            Column(column, "left" if j < n_keys else "right") if isinstance(column, str) else column
            for j, column in enumerate(columns)
        )
        for row in rows:
            if len(row) != len(made):
                raise ValueError(f"a row of {len(row)} cells in a table of {len(made)} columns: {list(row)}")
        object.__setattr__(self, "columns", made)
        object.__setattr__(self, "rows", tuple(tuple(row) for row in rows))
        object.__setattr__(self, "n_keys", n_keys)

    @property
    def has_headings(self) -> bool:
        """True if any column has a heading; a table of facts has none."""
        return any(column.heading for column in self.columns)

    def part(self, indices: Sequence[int]) -> Table:
        """Return the table of some columns only.

        >>> Table(["a", "b", "c"], [["1", "2", "3"]]).part([0, 2]).rows
        (('1', '3'),)
        """
        chosen = [self.columns[j] for j in indices]
        return Table(chosen, [[row[j] for j in indices] for row in self.rows], self.n_keys)


@dataclass(frozen=True)
class Section:
    """A titled table and a note below it; lines of the note are separated by newlines."""

    title: str
    table: Table
    note: str = ""
