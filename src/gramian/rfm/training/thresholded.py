"""The last fit of RFM-T: the base kernel on the columns that M selects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gramian.core.clock import TimeLimitReached
from gramian.core.rows import Rows
from gramian.core.warn import warn
from gramian.kernels import Kernel, Metric
from gramian.rfm.model import Ensemble
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.refit import Refitted
from gramian.rfm.training.rounds import Candidate, Step, rounds
from gramian.rfm.training.solver_choice import choose_part_solvers
from gramian.rfm.training.time_limit import solve_within
from gramian.rfm.training.tuning import RoundTuner
from gramian.solvers import Solver


def select_columns(diagonal: Float[Tensor, " d"], threshold: float) -> Bool[Tensor, " d"]:
    """Select coordinates whose diagonal entry of M, scaled from its smallest (0) to its largest (1), exceeds a bound.

    >>> select_columns(torch.tensor([0.0, 0.04, 1.0]), 0.05)
    tensor([False, False,  True])
    """
    spread = diagonal.max() - diagonal.min()
    if spread == 0:
        return torch.ones_like(diagonal, dtype=torch.bool)
    support = (diagonal - diagonal.min()) / spread > threshold
    if not bool(support.any()):
        raise ValueError(f"feature_threshold={threshold} leaves no column: lower it")
    return support


def refit_thresholded(
    candidate: Candidate,
    metric: Metric,
    support: Bool[Tensor, " d"],
    data: Rows,
    tuner: Callable[[Kernel], RoundTuner],
    plan: Plan,
    context: FitContext,
) -> Refitted | None:
    """Fit the base kernel to the columns that the metric selects (RFM-T); None, with a warning, without time for it."""
    n, d, outputs = len(data), int(support.sum()), data.Y.shape[1]
    few = replace(data, X=data.X[:, support])
    candidate = replace(candidate, n_rounds=0, kernel=candidate.kernel.at_columns(support))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(candidate.seed)).to(data.X.device)

    def solver(size: int) -> Solver:
        return candidate.solver if size == n else choose_part_solvers(size, plan.dtype, plan.part_bytes, d, outputs)[0]

    def solve(size: int) -> Step:
        part = few if size == n else few[order[:size].sort().values]
        return next(rounds(replace(candidate, solver=solver(size)), part, tuner(candidate.kernel), context.workspace))

    found = solve_within(
        context.clock, context.pace, n, lambda size: solver(size).seconds_needed(size, d, outputs), solve
    )
    size = 0 if found is None else found[1]
    if size < n:
        context.interrupted = True
        used = f"{size:,} of {n:,} rows" if size else "all columns, without time to fit it to the selected ones"
        warn(f"{context.clock.reason(TimeLimitReached())}: the model uses {used}")
    if found is None:
        return None
    record, machine = found[0]
    solved = None if size == n else order[:size].sort().values
    return Refitted(Ensemble((machine,), (1.0,)), metric, record.ridge, support, rows=solved, solved=solved)
