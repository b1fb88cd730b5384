"""The beginning of a result as a few lines of text: for ``repr``, terminal sessions and logs."""

from __future__ import annotations

from collections.abc import Sequence

from gramian.display.table import Bar, Cell, Entry, Section, Table

_ROWS, _WIDTH, _LONGEST = 5, 79, 28
"""Rows of the table, characters of a line, and characters of a cell of a table with many columns, at most."""
_GAP = "  "


def to_brief(name: str, sections: Sequence[Section]) -> str:
    """Return the name of a result and the first rows and columns of its first table, without bars.

    >>> rows = [[f"column {j}", Bar(1.0, 0.0, 1.0), f"{0.1 * j:.1f}"] for j in range(9)]
    >>> print(to_brief("Importances", [Section("share of sensitivity", Table(["column", "", "share"], rows))]))
    Importances: share of sensitivity
    column    share
    column 0  0.0
    column 1  0.1
    column 2  0.2
    column 3  0.3
    column 4  0.4
    … 4 more rows; print() shows all of it
    """
    if not sections:
        return f"{name}: empty"
    first, *others = sections
    lines = [_cut(f"{name}: {first.title}" if first.title else name, _WIDTH), *_lines(first.table)]
    left = len(first.table.rows) - _ROWS
    more = [f"{left:,} more row{'s' if left > 1 else ''}"] if left > 0 else []
    more += [f"{len(others)} more table{'s' if len(others) > 1 else ''}"] if others else []
    if more:
        lines.append(f"… {' and '.join(more)}; print() shows all of it")
    return "\n".join(lines)


def _lines(table: Table) -> list[str]:
    """Return headings and first rows; columns that do not fit into the width are left out."""
    filled = sum(any(_text(row[j]).strip() for row in table.rows) for j in range(len(table.columns)))
    longest = max(_LONGEST, _WIDTH // max(filled, 1) - len(_GAP))
    written = [[_cut(_text(cell), longest) for cell in row] for row in table.rows[:_ROWS]]
    if table.has_headings:
        written.insert(0, [_cut(column.heading, longest) for column in table.columns])
    used, kept, sizes = 0, [], []
    for j in range(len(table.columns)):
        size = max((len(line[j]) for line in written), default=0)
        if not size or used + size > _WIDTH:
            continue
        kept.append(j)
        sizes.append(size)
        used += size + len(_GAP)
    return [_GAP.join(line[j].ljust(size) for j, size in zip(kept, sizes, strict=True)).rstrip() for line in written]


def _text(cell: Entry) -> str:
    if isinstance(cell, Bar):
        return ""
    return cell.text if isinstance(cell, Cell) else cell


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
