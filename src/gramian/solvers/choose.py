"""Which solver for how many rows, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from gramian.core import format_bytes
from gramian.solvers.base import Solver
from gramian.solvers.cg import ConjugateGradient
from gramian.solvers.direct import Direct
from gramian.solvers.eigenpro import EigenPro
from gramian.solvers.forecast import LARGE_ROWS, PART_ROWS, Forecast, forecast
from gramian.solvers.nystrom import Nystrom
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
_FEATURE_TOL = 3e-3
"""Residual at which M is what it will be: R² at 10,000 rows is the same to four digits, in two thirds of the time."""
_FEWEST_COLUMNS = 100
"""Columns below which a preconditioner is not worth its place."""
_LEAVES = (8000, 4000, 2000)
"""Rows in a leaf of a tree, the best first."""
_CENTERS = (10_000, 7000, 5000, 3500, 2500, 1700, 1200, 800, 500)
"""Numbers of centres, the best first. Beyond 10,000 the factor costs more than passes over a million rows."""


@dataclass(frozen=True)
class Chosen:
    """A solver, the reason for it, and whether it was taken because the faster ones do not fit into memory."""

    solver: Solver
    why: str
    forced: bool = False
    feature_solver: Solver | None = None
    """A coarser solver for rounds that only serve to learn M; None where ``solver`` does for all rounds."""


def choose(n: int, dtype: torch.dtype, max_bytes: int, columns: int = 0, outputs: int = 1) -> Chosen:
    """The solver that is exact within the budget, else the one that comes closest; with the reason in words.

    Up to 4,000 rows that is the direct one. Beyond, iterations to the same residual on a matrix held once, with a
    direct solve behind them where they fail. Where not even half of the matrix fits: up to 30,000 rows the same without
    the matrix, and beyond exact machines for parts of the rows, faster and better than a machine on thousands of
    centres on all data tried (docs/scale.md); where not even that fits, that machine, fitted to all rows.
    What counts is the forecast for the whole fit.

    >>> choose(1000, torch.float32, 10**9).why
    'direct: 18.8 MB of 1.0 GB'
    >>> choose(20_000, torch.float32, 10**10).why
    'iterative: 1.1 GB of 10.0 GB, and faster than a direct solve from 4,000 rows on'
    >>> choose(100_000, torch.float32, 10**9).why
    'a tree with up to 8,000 rows in a leaf: a kernel matrix needs 23.3 GB, more than 1.0 GB'
    """
    exact = _exact(n, dtype, max_bytes, columns, outputs)
    if exact.fits:
        return exact.chosen
    budget = format_bytes(max_bytes)
    least = exact.need
    approximate: list[tuple[Solver, str]] = [
        (Partition(leaf_rows=rows, workers=workers), f"a tree with up to {rows:,} rows in a leaf")
        for rows in _LEAVES
        for workers in (None, 1)
    ]
    approximate += [
        (Nystrom(centers=centers), f"Nyström regression on {centers:,} centers")
        for centers in _CENTERS
        if centers <= n // 2
    ]
    for solver, name in approximate:
        need = fit_forecast(solver, n, dtype, max_bytes, columns, outputs).peak
        least = min(least, need)
        if need <= max_bytes:
            why = f"{name}: a kernel matrix needs {format_bytes(exact.held)}, more than {budget}"
            return Chosen(solver, why, forced=True)
    if exact.need <= max_bytes:  # slow, but there is room for nothing else
        return exact.chosen
    raise ValueError(
        f"{n} rows need at least {format_bytes(least)}, and max_memory is {budget}: raise max_memory or fit fewer rows"
    )


def fit_forecast(
    solver: Solver, n: int, dtype: torch.dtype, max_bytes: int, columns: int = 0, outputs: int = 1
) -> Forecast:
    """What a fit of n rows will take with a solver, smaller solves for its features included.

    >>> from gramian.solvers import Nystrom
    >>> format_bytes(fit_forecast(Nystrom(), 100_000, torch.float32, 10**10, columns=50).peak)
    '1.3 GB'
    """
    whole = forecast(solver, n, columns, outputs, dtype)
    if n <= LARGE_ROWS and solver.n_centers(n) == n:
        return whole
    part = min(n, PART_ROWS)
    within = _exact(part, dtype, max(max_bytes - whole.rows, 1), columns, outputs).chosen.solver
    smaller = forecast(within, part, columns, outputs, dtype)
    # The parts' solves come before the whole one, and their matrix is given back.
    before = smaller.rows + smaller.solver + smaller.features
    return replace(whole, features=max(whole.features, before - whole.solver))


def choose_streamed(n: int, dtype: torch.dtype, max_bytes: int, columns: int = 0, outputs: int = 1) -> Chosen:
    """The solver for n rows that are not in memory: a machine on as many of them as the budget has room for.

    >>> choose_streamed(10**6, torch.float32, 10**9, columns=50).why
    'Nyström regression on 5,000 centers: 584.3 MB of 1.0 GB'
    """
    least = 0
    for centers in [c for c in _CENTERS if c <= n // 2] or [n]:
        solver = Nystrom(centers=centers)
        need = streamed_forecast(solver, n, dtype, max_bytes, columns, outputs).peak
        if need <= max_bytes:
            why = f"Nyström regression on {centers:,} centers: {format_bytes(need)} of {format_bytes(max_bytes)}"
            return Chosen(solver, why)
        least = need
    raise ValueError(
        f"{n} rows, though read in blocks, need at least {format_bytes(least)}, and max_memory is "
        f"{format_bytes(max_bytes)}: raise max_memory"
    )


def streamed_forecast(
    solver: Solver, n: int, dtype: torch.dtype, max_bytes: int, columns: int = 0, outputs: int = 1
) -> Forecast:
    """What a fit of n rows that are not in memory will take: only a part of them ever is.

    >>> million, few = (streamed_forecast(Nystrom(), n, torch.float32, 10**10, 50).peak for n in (10**6, 40_000))
    >>> million == few
    True
    """
    part = min(n, PART_ROWS)
    rows = forecast(solver, part, columns, outputs, dtype).rows
    within = _exact(part, dtype, max(max_bytes - rows, 1), columns, outputs).chosen.solver
    smaller, whole = (forecast(one, count, columns, outputs, dtype) for one, count in ((within, part), (solver, n)))
    return replace(
        whole, reading=0, rows=rows, features=max(whole.features, smaller.solver + smaller.features - whole.solver)
    )


@dataclass(frozen=True)
class _Exact:
    """The exact solver that comes nearest to the budget, whether it fits, what it needs, and what with a matrix."""

    chosen: Chosen
    fits: bool
    need: int
    held: int


def _exact(n: int, dtype: torch.dtype, max_bytes: int, columns: int, outputs: int) -> _Exact:
    def need(solver: Solver) -> int:
        return forecast(solver, n, columns, outputs, dtype).peak

    budget = format_bytes(max_bytes)
    # Steps fall with the number of columns m, and their price rises with m²; a Cholesky factor is worth n/100 steps.
    cg = ConjugateGradient(
        tol=Direct().tol, preconditioner_rank=min(3000, int(8 * n**0.5)), max_steps=max(100, n // 100)
    )
    direct, held = need(Direct()), need(cg)
    if n > _ITERATIVE_ROWS and held <= max_bytes:
        faster = f"and faster than a direct solve from {_ITERATIVE_ROWS:,} rows on"
        why = f"iterative: {format_bytes(held)} of {budget}, {faster}"
        return _Exact(Chosen(cg, why, feature_solver=_coarse(cg)), True, held, held)
    if direct <= max_bytes:
        return _Exact(Chosen(Direct(), f"direct: {format_bytes(direct)} of {budget}"), True, direct, direct)
    bare = replace(cg, max_steps=ConjugateGradient().max_steps, store_matrix=False)
    while need(bare) > max_bytes and bare.preconditioner_rank > _FEWEST_COLUMNS:
        bare = replace(bare, preconditioner_rank=max(_FEWEST_COLUMNS, bare.preconditioner_rank * 3 // 4))
    why = f"conjugate gradients: a direct solve needs {format_bytes(direct)}, more than {budget}"
    fits = n <= _BARE_ROWS and need(bare) <= max_bytes
    chosen = Chosen(bare, why, forced=True, feature_solver=_coarse(bare))
    return _Exact(chosen, fits, need(bare), min(direct, held))


def _coarse(cg: ConjugateGradient) -> ConjugateGradient:
    """The same solver with a larger tolerance; for that, half the columns cost more steps and save more time."""
    return replace(cg, tol=_FEATURE_TOL, preconditioner_rank=cg.preconditioner_rank // 2)
