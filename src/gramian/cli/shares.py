"""Shares by name as a table of bars: the importances that ``gramian fit`` and ``gramian demo`` print."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from gramian.display import Bar, Cell, Table, format_percent, more_columns

_SMALLEST = 5e-4
"""A smaller share would be printed as 0.0%."""


def share_table(shares: Mapping[str, float], top: int = 8, marked: AbstractSet[str] = frozenset()) -> Table:
    """Return shares, given in falling order, as a table of bars; the shares beyond the ``top`` are added up.

    >>> share_table({"area": 0.75, "rooms": 0.25}, top=1).rows[1][0].text
    '1 more column'
    """
    entries = list(shares.items())
    top = max(1, min(top, sum(value >= _SMALLEST for _, value in entries)))
    largest = entries[0][1] or 1.0
    rows: list[list[str | Cell | Bar]] = [
        [
            name,
            Bar(value, 0.0, largest, tone="good" if name in marked else None),
            format_percent(value),
            Cell("✓" if name in marked else "", "good"),
        ]
        for name, value in entries[:top]
    ]
    left = entries[top:]
    if left:
        rest = format_percent(sum(value for _, value in left))
        rows.append([Cell(more_columns(len(left)), "quiet"), "", Cell(rest, "quiet"), ""])
    return Table(["", "", "", ""], rows)
