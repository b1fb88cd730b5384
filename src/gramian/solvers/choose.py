"""Which solver for how many rows, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from gramian.core import format_bytes
from gramian.solvers.base import Solver
from gramian.solvers.cg import ConjugateGradient
from gramian.solvers.direct import Direct
from gramian.solvers.packed import PackedMatrix

BY_NAME: dict[str, Solver] = {"direct": Direct(), "cg": ConjugateGradient()}
"""Solvers by the name an estimator takes: each object with its defaults."""
_ITERATIVE_ROWS = 4000
"""Beyond it conjugate gradients take less time than a Cholesky factor (at 5,000: two thirds for one output)."""


@dataclass(frozen=True)
class Chosen:
    """A solver, why it is the one, and whether it had to be because the faster ones do not fit into memory."""

    solver: Solver
    why: str
    forced: bool = False


def choose(n: int, dtype: torch.dtype, max_bytes: int) -> Chosen:
    """The solver that takes least time within the budget, with the reason in words.

    Up to 4,000 rows that is the direct one. Beyond, iterations to the same residual on a matrix held once, with a
    direct solve behind them where they fail; and the same without the matrix where not even half of it fits.

    >>> choose(1000, torch.float32, 10**9).why
    'direct: 12.2 MB of 1.0 GB'
    >>> choose(20_000, torch.float32, 10**10).why
    'iterative: 1.1 GB of 10.0 GB, and faster than a direct solve from 4,000 rows on'
    >>> choose(100_000, torch.float32, 10**9).why
    'conjugate gradients: a direct solve needs 40.8 GB, more than 1.0 GB'
    """
    need, size = Direct().bytes_needed(n, dtype), torch.finfo(dtype).bits // 8
    # Steps fall with the number of columns m, and their price rises with m²; a Cholesky factor is worth n/100 steps.
    cg = ConjugateGradient(tol=Direct().tol, centers=min(3000, int(8 * n**0.5)), max_steps=max(100, n // 100))
    held = PackedMatrix.bytes_needed(n, dtype) + cg.bytes_needed(n, dtype)
    if n > _ITERATIVE_ROWS and held <= max_bytes:
        return Chosen(
            cg,
            f"iterative: {format_bytes(held)} of {format_bytes(max_bytes)}, "
            f"and faster than a direct solve from {_ITERATIVE_ROWS:,} rows on",
        )
    if need <= max_bytes:
        return Chosen(Direct(), f"direct: {format_bytes(need)} of {format_bytes(max_bytes)}")
    centers = max(100, min(cg.centers, int(max_bytes / (2 * n * (size + 8)))))
    cg = replace(cg, centers=centers, max_steps=ConjugateGradient().max_steps)
    smallest = cg.bytes_needed(n, dtype)
    if smallest > max_bytes:
        raise ValueError(
            f"{n} rows need at least {format_bytes(smallest)}, and max_memory is {format_bytes(max_bytes)}: "
            "raise max_memory or fit fewer rows"
        )
    why = f"conjugate gradients: a direct solve needs {format_bytes(need)}, more than {format_bytes(max_bytes)}"
    return Chosen(cg, why, forced=True)
