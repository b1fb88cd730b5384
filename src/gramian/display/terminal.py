"""Sections for terminals and as plain text; the only module of the package that imports rich.

A table that is wider than the screen continues below: its columns are divided into parts, and each part repeats the
columns that name the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from rich.bar import Bar as RichBar
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from gramian.display.table import Bar, Cell, Column, Entry, Section, Table, Tone

TEXT_WIDTH = 120
"""The width of plain text, in characters."""
_BAR_WIDTH = 24
_GAP = 2
_WRAPPED_WIDTH = 16
"""A column of text counts as at most this wide when columns are divided into parts, since it can be wrapped. The
columns that name the row are wrapped only where they would take more than half of the screen."""
_STYLES: dict[Tone | None, str] = {None: "", "good": "green", "near": "yellow", "bad": "red", "quiet": "dim"}


def to_rich(sections: Sequence[Section]) -> RenderableType:
    """Make an object that rich prints: tables with coloured bars, in as many parts as the width asks for.

    >>> from rich.console import Console
    >>> Console(width=40, color_system=None).print(to_rich([Section("title", Table(["a", "b"], [["x", "1"]]))]))
    title
    a  b
    x  1
    """
    return _Sections(tuple(sections))


def to_text(sections: Sequence[Section], width: int = TEXT_WIDTH) -> str:
    """Render sections as plain text with lines of at most ``width`` characters."""
    stream = StringIO()
    Console(file=stream, width=width, color_system=None, highlight=False, legacy_windows=False).print(to_rich(sections))
    return "\n".join(line.rstrip() for line in stream.getvalue().rstrip().splitlines())


@dataclass(frozen=True)
class _Sections:
    sections: tuple[Section, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for index, section in enumerate(self.sections):
            if index:
                yield Text()
            if section.title:
                yield Text(section.title, style="bold")
            for part in parts(section.table, options.max_width):
                yield _rich_table(part)
            for line in section.note.splitlines():
                yield Text(line, style="dim")


def parts(table: Table, width: int) -> list[Table]:
    """Divide a table into tables of at most ``width`` characters where possible; each begins with the key columns.

    >>> [part.columns[-1].heading for part in parts(Table(["name", "first", "second"], [["x", "1", "2"]]), 14)]
    ['first', 'second']
    """
    keys = list(range(table.n_keys))
    start = min(sum(_width(table, j, wrap=False) for j in keys), width // 2)
    runs: list[list[int]] = [[]]
    used = start
    for j in range(table.n_keys, len(table.columns)):
        size = _width(table, j, wrap=_wraps(table.columns[j]))
        if runs[-1] and used + size - _GAP > width:
            runs.append([])
            used = start
        runs[-1].append(j)
        used += size
    return [table] if len(runs) == 1 else [table.part([*keys, *run]) for run in runs]


def _width(table: Table, j: int, wrap: bool) -> int:
    """The characters that a column takes, with the gap behind it."""
    heading = cell_len(table.columns[j].heading)
    widest = max([heading, *(_cell_width(row[j]) for row in table.rows)])
    return _GAP + (min(widest, max(_WRAPPED_WIDTH, heading)) if wrap else widest)


def _wraps(column: Column) -> bool:
    return column.align == "left"


def _cell_width(cell: Entry) -> int:
    return _BAR_WIDTH if isinstance(cell, Bar) else cell_len(cell.text if isinstance(cell, Cell) else cell)


def _rich_table(table: Table) -> RichTable:
    made = RichTable(
        box=None, show_header=table.has_headings, header_style="bold", padding=(0, _GAP, 0, 0), pad_edge=False
    )
    for column in table.columns:
        made.add_column(Text(column.heading), justify=column.align, no_wrap=not _wraps(column), overflow="fold")
    for row in table.rows:
        made.add_row(*(_rich_cell(cell) for cell in row))
    return made


def _rich_cell(cell: Entry) -> RenderableType:
    if isinstance(cell, Bar):
        begin, end = cell.span
        colour = _STYLES[cell.tone] or ("dark_orange" if cell.value > 0 else "blue")
        return RichBar(1.0, begin, end, width=_BAR_WIDTH, color=colour)
    return Text(cell.text, style=_STYLES[cell.tone]) if isinstance(cell, Cell) else Text(cell)
