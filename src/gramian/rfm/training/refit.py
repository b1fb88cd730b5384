"""Fits of the selected candidates after the screening, where that used a part of the rows or a coarse solver."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gramian.core.clock import TimeLimitReached
from gramian.core.rows import Rows
from gramian.kernels import Kernel, Metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.rounds import Round, Run, Step, rounds, solve_fully
from gramian.rfm.training.tuning import ReplayedParams
from gramian.rfm.training.validation import Member, Selection
from gramian.solvers import Solver


@dataclass(frozen=True, eq=False)
class Refitted:
    """The final ensemble, with the metric and the ridge of its best member.

    ``support (d,)`` are the columns in use, if not all; ``record`` replaces the record of the selected round;
    ``rows`` are the training rows that are centres, if not all; ``holdout_outputs`` are its own predictions of
    held-out rows, where the screened models' predictions do not describe it.
    """

    ensemble: Ensemble
    metric: Metric
    ridge: float
    support: Bool[Tensor, " d"] | None = None
    record: Round | None = None
    rows: Int[Tensor, " k"] | None = None
    holdout_outputs: Float[Tensor, "m c"] | None = None


def select_columns(M: Float[Tensor, "d d"], threshold: float) -> Bool[Tensor, " d"]:
    """Select coordinates whose diagonal entry of M, scaled from its smallest (0) to its largest (1), exceeds a bound.

    >>> select_columns(torch.diag(torch.tensor([0.0, 0.04, 1.0])), 0.05)
    tensor([False, False,  True])
    """
    diagonal = M.diagonal()
    spread = diagonal.max() - diagonal.min()
    if spread == 0:
        return torch.ones_like(diagonal, dtype=torch.bool)
    support = (diagonal - diagonal.min()) / spread > threshold
    if not bool(support.any()):
        raise ValueError(f"feature_threshold={threshold} leaves no column: lower it")
    return support


def weight_growth(data: Rows, part: Int[Tensor, " p"]) -> float:
    """Return the factor by which a ridge per row grows from a part of the rows to all of them."""
    return data.total_weight / data[part.to(data.X.device)].total_weight


def refit_on_all_rows(
    selection: Selection, runs: list[Run], part: Int[Tensor, " p"], data: Rows, growth: float, context: FitContext
) -> list[KernelMachine]:
    """Repeat the rounds of each member on all rows, with the parameters found on a part of them."""
    first_rounds: dict[Kernel, Step] = {}
    return [
        _refit_member(member, runs[member.run], part, data, growth, context, first_rounds)
        for member in selection.members
    ]


def _refit_member(
    member: Member,
    run: Run,
    part: Int[Tensor, " p"],
    data: Rows,
    growth: float,
    context: FitContext,
    first_rounds: dict[Kernel, Step],
) -> KernelMachine:
    part, last, name = part.to(data.X.device), member.round, f"all-{member.run}-to-{member.round}"
    done = context.checkpoint.steps(name, data)[0][: last + 1]
    if not done and last and run.candidate.kernel in first_rounds:  # a selected round 0 is solved to the end
        done = [first_rounds[run.candidate.kernel]]
    tuner = ReplayedParams(run.path[: last + 1], run.candidate.seed, growth)
    candidate = replace(run.candidate, n_rounds=last)
    try:
        for step in rounds(candidate, data, tuner, context.workspace, done, context.pool):
            if step[0].index == 0:
                first_rounds.setdefault(candidate.kernel, step)
            machine = step[1]
            context.checkpoint.store_step(name, step, run.path[step[0].index], data)
            if step[0].index < last:
                context.clock.check(1.0)
    except (KeyboardInterrupt, TimeLimitReached) as error:
        context.interrupted = True
        warnings.warn(
            f"{context.clock.reason(error)}: the model is fitted to {len(part)} of {len(data)} rows", stacklevel=2
        )
        machine = run.machines[last].embedded(data.X, part, data.weights)
    return machine


def solve_selected_fully(
    selection: Selection, runs: list[Run], data: Rows, solver: Solver, context: FitContext
) -> list[Run]:
    """Solve the selected rounds to the end where the screening solved all rounds coarsely."""
    runs = list(runs)
    for member in selection.members:
        run, at = runs[member.run], member.round
        candidate = replace(run.candidate, solver=solver)
        try:
            context.clock.check(1.0)
            step = solve_fully(candidate, data, run.path[at], (run.records[at], run.machines[at]), context.workspace)
        except (KeyboardInterrupt, TimeLimitReached) as error:
            context.interrupted = True
            left = f"{run.records[at].residual:.2g}, not solved to the end"
            warnings.warn(f"{context.clock.reason(error)}: the model has a relative residual of {left}", stacklevel=2)
            return runs
        records, machines = list(run.records), list(run.machines)
        records[at], machines[at] = step
        runs[member.run] = replace(run, candidate=candidate, records=tuple(records), machines=tuple(machines))
    return runs
