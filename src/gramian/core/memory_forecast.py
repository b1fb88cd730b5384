"""The memory of a fit at its peak, of fits side by side, and the growth of the process."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gramian.core.freed_memory import TIGHT_BYTES

_WIDE = 2
"""A solve in the wide format needs up to this multiple of the memory of one in the working format."""
_MAPPED = 32 * 2**20
"""Blocks from this size on are returned to the system when they are freed (glibc); smaller ones wait for reuse."""
_FREED_ROWS = 4
"""Copies of the rows that a thread holds after they are freed, in float64, as measured (benchmarks/forecast.py)."""
_PROCESS_BYTES = 13 * 10**6
"""Memory of the process besides, as measured: objects of Python, and buffers of the linear algebra."""
_THREAD_BYTES = 4 * 10**6
"""Memory of each thread that fits a model besides, as measured: its stack and smaller blocks."""
_PASS_BYTES = 120 * 10**6
"""The same, of all threads together, in a fit whose passes over all rows use large blocks, of up to 32 MB each."""
_BUFFER_BYTES = 13_000
"""Those buffers per row of the largest matrix, up to that number."""


@dataclass(frozen=True)
class MemoryForecast:
    """Bytes at the peak of a fit, besides the table that the user passes.

    ``reading`` is the peak while the table is encoded, merged and standardised. After that ``rows`` are in memory all
    the time. The memory of the ``solver`` is reused from round to round, so ``features`` (gradients for M, and smaller
    solves for it) come on top; ``tiles`` are used by both. ``freed`` are blocks that the C library does not return to
    the system; they are no part of the memory that ``max_memory`` bounds.
    """

    reading: int
    rows: int
    solver: int
    features: int
    tiles: int
    freed: int = 0

    @property
    def peak(self) -> int:
        """The largest sum at any time."""
        return max(self.reading, self.rows + self.solver + self.features + self.tiles)

    @property
    def process(self) -> int:
        """Growth of the process: the peak, and freed blocks."""
        return self.peak + self.freed

    def with_large_blocks(self) -> MemoryForecast:
        """Return the forecast of a fit whose passes over all rows use large blocks."""
        return replace(self, freed=_PASS_BYTES)

    def side_by_side(self, piece: MemoryForecast, workers: int, wide: int = 1) -> MemoryForecast:
        """Return the forecast where several fits of a part of the rows are in progress at a time.

        ``wide`` of them may be in a solve in the wide format, which the forecast of a piece does not include.

        >>> few, part = MemoryForecast(0, 10, 100, 10, 5), MemoryForecast(0, 10, 60, 10, 5)
        >>> few.side_by_side(part, 1).peak, few.side_by_side(part, 3).peak, few.side_by_side(part, 3, wide=0).peak
        (125, 275, 235)
        """
        if workers == 1:
            return self
        one = piece.solver + piece.features + piece.tiles
        more = min(self.solver + self.features + self.tiles, _WIDE * one) - one
        together = workers * one + min(wide, workers) * max(more, 0)
        return replace(self, features=max(self.features, together - self.solver - self.tiles))


def fits_within(
    alone: MemoryForecast, stages: tuple[tuple[int, MemoryForecast, int, int], ...], budget: int, columns: int = 0
) -> tuple[MemoryForecast, int]:
    """Forecast stages of fits side by side, with as many workers at a time as the budget allows.

    Parameters
    ----------
    alone : MemoryForecast
        That of one fit to all rows.
    stages : (rows, forecast, fits, wide) of each stage
        Rows and forecast of one fit of the stage, the number of fits at a time, and how many of them may be in a solve
        in the wide format.
    budget : int
        Bytes for all of them.
    columns : int
        Columns of the rows.

    Returns
    -------
    forecast : MemoryForecast
    workers : int

    >>> one = MemoryForecast(0, 10, 10**8, 10, 5)
    >>> [fits_within(one, ((5000, one, 4, 1),), budget)[1] for budget in (10**9, 4 * 10**8, 10**8)]
    [4, 3, 1]
    """
    most, largest = max(stage[2] for stage in stages), max(stage[0] for stage in stages)
    for workers in range(most, 0, -1):
        memory, process = alone, alone.peak + min(_PASS_BYTES, _BUFFER_BYTES * largest)
        for rows, piece, fits, wide in stages:  # freed blocks are returned after each of them
            at_once = min(fits, workers)
            stage = alone.side_by_side(piece, at_once, wide)
            freed = freed_bytes(rows, at_once, 0 if budget < TIGHT_BYTES else columns)
            memory, process = max(memory, stage, key=_peak), max(process, stage.peak + freed)
        if process <= budget:
            break
    return replace(memory, freed=process - memory.peak), workers


def _peak(memory: MemoryForecast) -> int:
    return memory.peak


def freed_bytes(rows: int, workers: int, columns: int) -> int:
    """Forecast the freed blocks that remain with the process, after fits with this number of rows, side by side.

    Each thread holds a matrix of less than 32 MB, and copies of rows where there are more rows than columns; those of
    wide tables are returned after every round, as all are within a small budget.

    >>> [freed_bytes(n, workers=2, columns=50) // 10**6 for n in (1000, 10_000)]
    [32, 53]
    """
    small = 4 * rows * rows if 4 * rows * rows < _MAPPED else 0
    copies = _FREED_ROWS * 8 * rows * columns if columns < rows else 0
    return _PROCESS_BYTES + workers * (_THREAD_BYTES + small + copies)
