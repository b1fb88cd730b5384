"""The solver for a number of rows and a memory budget, and the memory a fit with it needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from gramian.core import format_bytes
from gramian.core.memory_forecast import MemoryForecast
from gramian.rfm.options import AnySolver, TreePartition
from gramian.solvers import ConjugateGradient, Direct, Nystrom, Solver

LARGE_ROWS = 30_000
"""Beyond it features are learned on a part of the rows, and only the last solve uses all of them."""
PART_ROWS = 20_000
"""Rows of the largest of those parts: from there on M hardly changes."""
_ITERATIVE_ROWS = 4000
"""Beyond it conjugate gradients take less time than a Cholesky factor (at 5,000: two thirds for one output)."""
AGOP_ROWS = 2000
"""Rows over which automatic updates average gradients, where there are more than twice as many."""
_SIDE_BY_SIDE_ROWS = 4000
"""Up to this many rows models are fitted side by side, each on one thread; beyond it one model uses all threads."""
_TILES = 4
"""Square tiles of a kernel matrix that are in memory at a time."""
_FEW_COLUMNS = 10
"""Kernel matrices of tables with at most this many columns are often too ill-conditioned for float32."""
_FACTORS = 7
"""Matrices of the size of the gradients that exist while M of a wide table is made, as measured."""
_GRADIENTS = 4
"""Arrays of the size of the gradients that exist while they are computed."""
_NO_MATRIX_ROWS = 30_000
"""Up to this many rows conjugate gradients can compute the kernel matrix again in each step instead of storing it."""
_FEATURE_TOL = 3e-3
"""Residual at which M has converged: R² at 10,000 rows is the same to four digits, in two thirds of the time."""
_MIN_RANK = 100
"""Rank below which a preconditioner is not worth its cost."""
_LEAF_ROWS = (8000, 4000, 2000)
"""Rows in a leaf of a tree, best first."""
_CENTERS = (10_000, 7000, 5000, 3500, 2500, 1700, 1200, 800, 500)
"""Numbers of centres, best first. Beyond 10,000 the factor costs more than passes over a million rows."""


@dataclass(frozen=True)
class SolverChoice:
    """A solver, the coarser one for rounds that only learn M, and the reason for them.

    ``forced`` is True where faster solvers do not fit into memory.
    """

    solver: AnySolver
    feature_solver: AnySolver
    why: str
    forced: bool = False


@dataclass(frozen=True)
class ExactChoice:
    """The cheapest exact solver, whether it fits, its peak bytes, and those of an exact solver with a stored matrix."""

    solver: Solver
    feature_solver: Solver
    why: str
    fits: bool
    need: int
    need_with_matrix: int

    @property
    def choice(self) -> SolverChoice:
        """The same as a choice; an iterative solver without a matrix is forced by the budget."""
        without_matrix = isinstance(self.solver, ConjugateGradient) and not self.solver.store_matrix
        return SolverChoice(self.solver, self.feature_solver, self.why, forced=without_matrix)


def choose_solver(n: int, dtype: torch.dtype, max_bytes: int, columns: int = 0, outputs: int = 1) -> SolverChoice:
    """Choose the solver that is exact within the budget, else the most accurate one; with the reason in words.

    Up to 4,000 rows that is the direct solver. Beyond, it is conjugate gradients to the same residual on a stored
    matrix, which fall back to a direct solve where they fail. Where not even half of the matrix fits, it is the same
    without the matrix up to 30,000 rows, and beyond a tree of exact machines, which is faster and more accurate than
    thousands of centres on all data tried (docs/scale.md); where not even that fits, Nyström regression on centres.
    The forecast for the whole fit decides.

    >>> choose_solver(1000, torch.float32, 10**9).why
    'direct: 12.6 MB of 1.0 GB'
    >>> choose_solver(20_000, torch.float32, 10**10).why
    'iterative: 1.1 GB of 10.0 GB, and faster than a direct solve from 4,000 rows on'
    >>> choose_solver(100_000, torch.float32, 10**9).why
    'a tree with up to 8,000 rows in a leaf: a kernel matrix needs 22.4 GB, more than 1.0 GB'
    """
    exact = _choose_exact(n, dtype, max_bytes, columns, outputs)
    if exact.fits:
        return exact.choice
    budget = format_bytes(max_bytes)
    least = exact.need
    approximate: list[tuple[AnySolver, str]] = [
        (TreePartition(leaf_rows=rows, workers=workers), f"a tree with up to {rows:,} rows in a leaf")
        for rows in _LEAF_ROWS
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
            why = f"{name}: a kernel matrix needs {format_bytes(exact.need_with_matrix)}, more than {budget}"
            return SolverChoice(solver, solver, why, forced=True)
    if exact.need <= max_bytes:  # slow, but nothing else fits
        return exact.choice
    raise ValueError(
        f"{n} rows need at least {format_bytes(least)}, and max_memory is {budget}: raise max_memory or fit fewer rows"
    )


def choose_streamed_solver(
    n: int, dtype: torch.dtype, max_bytes: int, columns: int = 0, outputs: int = 1
) -> SolverChoice:
    """Choose the solver for n rows that are not in memory: Nyström regression on as many centres as fit.

    >>> choose_streamed_solver(10**6, torch.float32, 10**9, columns=50).why
    'Nyström regression on 5,000 centers: 627.4 MB of 1.0 GB'
    """
    least = 0
    for centers in [c for c in _CENTERS if c <= n // 2] or [n]:
        solver = Nystrom(centers=centers)
        need = streamed_forecast(solver, n, dtype, max_bytes, columns, outputs).peak
        if need <= max_bytes:
            why = f"Nyström regression on {centers:,} centers: {format_bytes(need)} of {format_bytes(max_bytes)}"
            return SolverChoice(solver, solver, why)
        least = need
    raise ValueError(
        f"{n} rows, though read in blocks, need at least {format_bytes(least)}, and max_memory is "
        f"{format_bytes(max_bytes)}: raise max_memory"
    )


def choose_part_solvers(
    n: int, dtype: torch.dtype, max_bytes: int, columns: int, outputs: int
) -> tuple[Solver, Solver]:
    """Choose the solvers for n rows that are a part of a larger fit: for models that predict, and to learn M.

    >>> choose_part_solvers(1000, torch.float32, 10**9, 5, 1)[0]
    Direct(tol=0.0001, max_refinements=8)
    """
    chosen = choose_solver(n, dtype, max_bytes, columns, outputs)
    if isinstance(chosen.solver, Solver) and isinstance(chosen.feature_solver, Solver):
        return chosen.solver, chosen.feature_solver
    return leaf_solver(n), leaf_solver(n)


def _choose_exact(n: int, dtype: torch.dtype, max_bytes: int, columns: int, outputs: int) -> ExactChoice:
    def need(solver: Solver) -> int:
        return forecast(solver, n, columns, outputs, dtype).peak

    budget = format_bytes(max_bytes)
    # The number of steps falls with the rank m of the preconditioner, and the cost of a step rises with m²; a Cholesky
    # factor costs as much as n/100 steps.
    rank, steps = min(3000, int(8 * n**0.5)), max(100, n // 100)
    cg = ConjugateGradient(tol=Direct().tol, preconditioner_rank=rank, max_steps=steps)
    direct, stored = need(Direct()), need(cg)
    if n > _ITERATIVE_ROWS and stored <= max_bytes:
        faster = f"and faster than a direct solve from {_ITERATIVE_ROWS:,} rows on"
        why = f"iterative: {format_bytes(stored)} of {budget}, {faster}"
        return ExactChoice(cg, _coarse(cg), why, True, stored, stored)
    if direct <= max_bytes:
        why = f"direct: {format_bytes(direct)} of {budget}"
        return ExactChoice(Direct(), Direct(), why, True, direct, direct)
    cg = replace(cg, max_steps=ConjugateGradient().max_steps, store_matrix=False)
    while need(cg) > max_bytes and cg.preconditioner_rank > _MIN_RANK:
        cg = replace(cg, preconditioner_rank=max(_MIN_RANK, cg.preconditioner_rank * 3 // 4))
    why = f"conjugate gradients: a direct solve needs {format_bytes(direct)}, more than {budget}"
    fits = n <= _NO_MATRIX_ROWS and need(cg) <= max_bytes
    return ExactChoice(cg, _coarse(cg), why, fits, need(cg), min(direct, stored))


def _coarse(cg: ConjugateGradient) -> ConjugateGradient:
    """Return the solver for rounds that only learn M: a coarser residual, with half the preconditioner."""
    return replace(cg, tol=_FEATURE_TOL, preconditioner_rank=cg.preconditioner_rank // 2)


def leaf_solver(n: int) -> Solver:
    """Return the faster exact solver for the n rows of a tree's leaf."""
    return (
        Direct() if n <= _ITERATIVE_ROWS else ConjugateGradient(tol=Direct().tol, preconditioner_rank=int(8 * n**0.5))
    )


def fits_side_by_side(solver: AnySolver, n: int) -> bool:
    """Tell whether models are fitted to all n rows side by side, each on one thread, or one by one on all threads.

    A direct solve of up to 4,000 rows uses one thread fully; the passes of other solvers use all of them.

    >>> fits_side_by_side(Direct(), 4000), fits_side_by_side(Direct(), 5000), fits_side_by_side(Nystrom(), 3000)
    (True, False, False)
    """
    return isinstance(solver, Direct) and n <= _SIDE_BY_SIDE_ROWS


def wide_solves(dtype: torch.dtype, columns: int, workers: int) -> int:
    """Forecast how many fits side by side are in a solve in the wide format at a time.

    >>> [wide_solves(torch.float32, d, workers=4) for d in (5, 50)], wide_solves(torch.float64, 5, workers=4)
    ([4, 1], 0)
    """
    if dtype == torch.float64:
        return 0  # the working format is the wide one
    return workers if columns <= _FEW_COLUMNS else 1


def forecast(
    solver: AnySolver, n: int, columns: int, outputs: int, dtype: torch.dtype, max_bytes: int = 0
) -> MemoryForecast:
    """Forecast the peak memory of a fit on n rows, without the smaller solves used for feature learning.

    Parameters
    ----------
    solver : Solver or TreePartition
    n, columns, outputs : int
        Size of the table, as encoded.
    dtype : torch.dtype
        The working format.
    max_bytes : int
        Within this memory, a solve in the wide format is included that follows where the working format fails.

    >>> forecast(Direct(), 20_000, 50, 1, torch.float32).peak // 10**8
    17
    """
    size = torch.finfo(dtype).bits // 8
    centers = solver.n_centers(n)
    # Merged, standardised, and either the keys of the merge or the working format.
    reading = n * (columns * 3 * 8 + outputs * 4 * 8 + 3 * 8)
    # Merged in float64 and standardised in the working format; the solver's centres are copied once more.
    rows = n * (columns * (8 + size) + outputs * 3 * 8 + 8) + centers * columns * size
    # Rows under the metric, the two factors of the product that gives distances, and the rows of another round.
    points = 4 * centers * (columns + 8) * size
    # They are put in another order where gradients are taken at some of them. Gradients are made of products of
    # coefficients and rows, their sums, and the term of each row itself.
    at = min(n, 2 * AGOP_ROWS) * outputs
    gradients = points + _GRADIENTS * at * columns * size
    if at < columns:  # the factor of M and what it is made of, in the wide format
        gradients += _FACTORS * at * columns * 8
    tiles = _TILES * min(n, 512) ** 2 * size
    solve = points + _solver_bytes(solver, n, dtype, outputs)
    plain = MemoryForecast(reading, rows, solve, points + gradients, tiles)
    wide_points = 4 * centers * (columns + 8) * 8
    last = points + wide_points + (solver.last_resort_bytes(n) if isinstance(solver, Solver) else 0)
    resort = replace(plain, solver=max(solve, last), tiles=_TILES * min(n, 512) ** 2 * 8)
    return resort if last > points + wide_points and resort.peak <= max_bytes else plain


def _solver_bytes(solver: AnySolver, n: int, dtype: torch.dtype, outputs: int) -> int:
    if isinstance(solver, Solver):
        return solver.bytes_needed(n, dtype, outputs)
    # The solves of leaves in progress, and the coefficients of all leaves.
    rows = min(n, solver.leaf_rows)
    leaf = leaf_solver(rows).bytes_needed(rows, dtype, outputs)
    return (solver.at_once if solver.splits(n) else 1) * leaf + solver.n_centers(n) * outputs * 8


def fit_forecast(
    solver: AnySolver, n: int, dtype: torch.dtype, max_bytes: int, columns: int = 0, outputs: int = 1
) -> MemoryForecast:
    """Forecast the peak memory of a fit on n rows, smaller solves for its features included.

    >>> format_bytes(fit_forecast(Nystrom(), 100_000, torch.float32, 10**10, columns=50).peak)
    '1.2 GB'
    """
    whole = forecast(solver, n, columns, outputs, dtype, max_bytes)
    if n <= LARGE_ROWS and solver.n_centers(n) == n:
        return whole
    part = min(n, PART_ROWS)
    within = _choose_exact(part, dtype, max(max_bytes - whole.rows, 1), columns, outputs).solver
    smaller = forecast(within, part, columns, outputs, dtype)
    # The solves on parts come before the last one, and their matrix is freed.
    before = smaller.rows + smaller.solver + smaller.features
    return replace(whole, features=max(whole.features, before - whole.solver))


def streamed_forecast(
    solver: AnySolver, n: int, dtype: torch.dtype, max_bytes: int, columns: int = 0, outputs: int = 1
) -> MemoryForecast:
    """Forecast the peak memory of a fit on n rows that are not in memory: only a part of them ever is.

    >>> million, few = (streamed_forecast(Nystrom(), n, torch.float32, 10**10, 50).peak for n in (10**6, 40_000))
    >>> million == few
    True
    """
    part = min(n, PART_ROWS)
    rows = forecast(solver, part, columns, outputs, dtype).rows
    within = _choose_exact(part, dtype, max(max_bytes - rows, 1), columns, outputs).solver
    smaller, whole = (forecast(one, count, columns, outputs, dtype) for one, count in ((within, part), (solver, n)))
    features = max(whole.features, smaller.solver + smaller.features - whole.solver)
    return replace(whole, reading=0, rows=rows, features=features)
