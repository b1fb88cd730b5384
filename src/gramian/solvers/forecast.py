"""How much memory a fit will take, told before it is taken."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gramian.solvers.base import Solver

LARGE_ROWS = 30_000
"""Beyond it features are learned on a part of the rows, and only the last round sees all."""
PART_ROWS = 20_000
"""Rows of the largest of those parts: from there on M hardly changes (docs/scale.md)."""
_AGOP_POINTS = 4000
"""Up to so many rows gradients are held for all of them; beyond, averages are taken over blocks of some."""
_TILES = 6
"""Square tiles of a kernel matrix that are alive at a time."""


@dataclass(frozen=True)
class Forecast:
    """Bytes at the peak of a fit, besides the table that was handed to it.

    ``reading`` is the peak while the table is encoded, merged and standardised. After that ``rows`` are there all the
    time. What the ``solver`` takes is kept from round to round, so ``features`` (gradients for M, and what smaller
    solves for it take beyond) come on top; ``tiles`` are in use by both.
    """

    reading: int
    rows: int
    solver: int
    features: int
    tiles: int

    @property
    def peak(self) -> int:
        """The most at any time."""
        return max(self.reading, self.rows + self.solver + self.features + self.tiles)


def forecast(solver: Solver, n: int, columns: int, outputs: int, dtype: torch.dtype) -> Forecast:
    """What a fit of n rows will take with a solver, but for what parts of the rows take; see ``choose``.

    Parameters
    ----------
    solver : Solver
    n, columns, outputs : int
        Size of the table, as encoded.
    dtype : torch.dtype
        The working format.

    >>> from gramian.solvers import Direct
    >>> from gramian.core import format_bytes
    >>> format_bytes(forecast(Direct(), 20_000, 50, 1, torch.float32).peak)
    '1.8 GB'
    """
    size = torch.finfo(dtype).bits // 8
    n_centers = solver.n_centers(n)
    # Merged, standardised, and either the keys they were merged by or the working format.
    reading = n * (columns * 3 * 8 + outputs * 4 * 8 + 3 * 8)
    # Merged in float64 and standardised in the working format; the rows that have coefficients are copied once more.
    rows = n * (columns * (8 + size) + outputs * 3 * 8 + 8) + n_centers * columns * size
    # Rows under the metric, and the two factors of the product that gives distances.
    points = 3 * n_centers * (columns + 8) * size
    # They are put in another order where gradients are taken at some of them.
    gradients = points + 3 * min(n, _AGOP_POINTS) * outputs * columns * size
    tiles = _TILES * min(n, 512) ** 2 * size
    return Forecast(reading, rows, points + solver.bytes_needed(n, dtype, outputs), points + gradients, tiles)
