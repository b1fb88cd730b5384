"""How much memory a fit will take, told before it is taken."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gramian.solvers.base import Solver

_AGOP_POINTS = 4000
"""Up to so many rows gradients are held for all of them; beyond, averages are taken over blocks of some."""
_TILES = 6
"""Square tiles of a kernel matrix that are alive at a time."""


@dataclass(frozen=True)
class Forecast:
    """Bytes at the peak of a fit, besides the table that was handed to it.

    ``rows`` are there all the time: the encoded table, the same standardised and in the working format, targets.
    ``solver`` and ``features`` (gradients for M) come one after the other; ``tiles`` are in use by both.
    """

    rows: int
    solver: int
    features: int
    tiles: int

    @property
    def peak(self) -> int:
        """The most at any time."""
        return self.rows + max(self.solver, self.features) + self.tiles


def forecast(solver: Solver, n: int, columns: int, outputs: int, dtype: torch.dtype) -> Forecast:
    """What a fit of n rows will take with a solver.

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
    '1.9 GB'
    """
    size = torch.finfo(dtype).bits // 8
    # Encoded and standardised in float64, then in the working format; targets read, coded, scaled; merging keys.
    rows = n * (columns * (2 * 8 + size) + outputs * 3 * 8 + 8)
    # Rows under the metric, and the two factors of the product that gives distances.
    points = 3 * solver.stands_on(n) * (columns + 8) * size
    gradients = 3 * min(n, _AGOP_POINTS) * outputs * columns * size
    tiles = _TILES * min(n, 512) ** 2 * size
    return Forecast(rows, points + solver.bytes_needed(n, dtype, outputs), points + gradients, tiles)
