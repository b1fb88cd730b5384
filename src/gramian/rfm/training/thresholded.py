"""The last fit of RFM-T: the base kernel on the columns that M selects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool
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
