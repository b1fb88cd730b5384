"""Which solver for how many rows, and why."""

from __future__ import annotations

import torch

from gramian.core import format_bytes
from gramian.solvers.base import Solver
from gramian.solvers.cg import ConjugateGradient
from gramian.solvers.direct import Direct

BY_NAME: dict[str, Solver] = {"direct": Direct(), "cg": ConjugateGradient()}
"""Solvers by the name an estimator takes: each object with its defaults."""


def choose(n: int, dtype: torch.dtype, max_bytes: int) -> tuple[Solver, str]:
    """The exact solver while its matrix fits the budget, conjugate gradients beyond; with the reason in words.

    >>> choose(1000, torch.float32, 10**9)[1]
    'direct: 12.2 MB of 1.0 GB'
    >>> choose(100_000, torch.float32, 10**9)[1]
    'conjugate gradients: a direct solve needs 40.8 GB, more than 1.0 GB'
    """
    need = Direct().bytes_needed(n, dtype)
    if need <= max_bytes:
        return Direct(), f"direct: {format_bytes(need)} of {format_bytes(max_bytes)}"
    cg = ConjugateGradient(centers=max(100, min(1000, int(max_bytes / (2 * n * (torch.finfo(dtype).bits // 8 + 8))))))
    smallest = cg.bytes_needed(n, dtype)
    if smallest > max_bytes:
        raise ValueError(
            f"{n} rows need at least {format_bytes(smallest)}, and max_memory is {format_bytes(max_bytes)}: "
            "raise max_memory or fit fewer rows"
        )
    return cg, (f"conjugate gradients: a direct solve needs {format_bytes(need)}, more than {format_bytes(max_bytes)}")
