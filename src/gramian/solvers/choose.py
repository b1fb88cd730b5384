"""Which solver for how many rows, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from gramian.core import format_bytes
from gramian.solvers.base import Solver
from gramian.solvers.cg import ConjugateGradient
from gramian.solvers.direct import Direct
from gramian.solvers.eigenpro import EigenPro
from gramian.solvers.forecast import forecast
from gramian.solvers.nystrom import Nystrom
from gramian.solvers.packed import PackedMatrix
from gramian.solvers.partition import Partition

BY_NAME: dict[str, Solver] = {
    "direct": Direct(),
    "cg": ConjugateGradient(),
    "nystrom": Nystrom(),
    "eigenpro": EigenPro(),
    "tree": Partition(),
}
"""Solvers by the name an estimator takes: each object with its defaults."""
_ITERATIVE_ROWS = 4000
"""Beyond it conjugate gradients take less time than a Cholesky factor (at 5,000: two thirds for one output)."""
_BARE_ROWS = 30_000
"""Up to so many rows conjugate gradients can do without the matrix: each step computes it again."""
_CENTERS = (10_000, 7000, 5000, 3500, 2500, 1700, 1200, 800, 500)
"""Numbers of centres, the best first. Beyond 10,000 the factor costs more than passes over a million rows."""


@dataclass(frozen=True)
class Chosen:
    """A solver, why it is the one, and whether it had to be because the faster ones do not fit into memory."""

    solver: Solver
    why: str
    forced: bool = False


def choose(n: int, dtype: torch.dtype, max_bytes: int, columns: int = 0, outputs: int = 1) -> Chosen:
    """The solver that is exact within the budget, else the one that comes closest; with the reason in words.

    Up to 4,000 rows that is the direct one. Beyond, iterations to the same residual on a matrix held once, with a
    direct solve behind them where they fail. Where not even half of the matrix fits: up to 30,000 rows the same without
    the matrix, and beyond a machine on as many of the rows as there is room for, fitted to all of them. What counts is
    the forecast for the whole fit.

    >>> choose(1000, torch.float32, 10**9).why
    'direct: 18.5 MB of 1.0 GB'
    >>> choose(20_000, torch.float32, 10**10).why
    'iterative: 1.2 GB of 10.0 GB, and faster than a direct solve from 4,000 rows on'
    >>> choose(100_000, torch.float32, 10**9).why
    'Nyström regression on 5,000 centers: a kernel matrix needs 25.4 GB, more than 1.0 GB'
    """

    def need(solver: Solver) -> int:
        return forecast(solver, n, columns, outputs, dtype).peak

    budget = format_bytes(max_bytes)
    # Steps fall with the number of columns m, and their price rises with m²; a Cholesky factor is worth n/100 steps.
    cg = ConjugateGradient(tol=Direct().tol, centers=min(3000, int(8 * n**0.5)), max_steps=max(100, n // 100))
    if n > _ITERATIVE_ROWS and need(cg) <= max_bytes:
        faster = f"and faster than a direct solve from {_ITERATIVE_ROWS:,} rows on"
        return Chosen(cg, f"iterative: {format_bytes(need(cg))} of {budget}, {faster}")
    if need(Direct()) <= max_bytes:
        return Chosen(Direct(), f"direct: {format_bytes(need(Direct()))} of {budget}")
    matrix = min(need(cg), need(Direct())) if n > _ITERATIVE_ROWS else need(Direct())
    centers = max(100, min(cg.centers, int(max_bytes / (2 * n * (torch.finfo(dtype).bits // 8 + 8)))))
    bare = replace(cg, centers=centers, max_steps=ConjugateGradient().max_steps)
    besides = need(bare) - PackedMatrix.bytes_needed(n, dtype)
    if n <= _BARE_ROWS and besides <= max_bytes:
        needs = f"a direct solve needs {format_bytes(need(Direct()))}, more than {budget}"
        return Chosen(bare, f"conjugate gradients: {needs}", forced=True)
    for centers in _CENTERS:
        smaller = replace(Nystrom(), centers=centers)
        if centers <= n // 2 and need(smaller) <= max_bytes:
            return Chosen(
                smaller,
                f"Nyström regression on {centers:,} centers: a kernel matrix needs {format_bytes(matrix)}, "
                f"more than {budget}",
                forced=True,
            )
    least = min(besides, need(replace(Nystrom(), centers=min(n, _CENTERS[-1]))))
    raise ValueError(
        f"{n} rows need at least {format_bytes(least)}, and max_memory is {budget}: raise max_memory or fit fewer rows"
    )
