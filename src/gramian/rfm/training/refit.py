"""Fits of the selected candidates after the screening, where that used a part of the rows or a coarse solver."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gramian.core.clock import TimeLimitReached
from gramian.core.rows import Rows
from gramian.core.selection import Member, Selection
from gramian.core.splits import RowSplit
from gramian.kernels import Metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.plan import FEATURE_ROWS, SIDE_BY_SIDE_ROWS, Plan
from gramian.rfm.training.rounds import (
    Candidate,
    Round,
    Run,
    Step,
    make_record,
    next_metric,
    rounds,
    solve_fully,
    solve_round,
)
from gramian.rfm.training.tuning import ReplayedParams, RoundTuner
from gramian.solvers import Solver


@dataclass(frozen=True, eq=False)
class Refitted:
    """The final ensemble, with the metric and the ridge of its best member.

    ``support (d,)`` are the columns in use, if not all; ``record`` replaces the record of the selected round;
    ``rows`` are the training rows that are centres, if not all; ``holdout_outputs`` are its own predictions of
    held-out rows, where the screened models' predictions do not describe it. ``records`` and ``metrics`` are those of
    the best member's rounds on all rows, where they were repeated. ``solved`` are the training rows for which the
    coefficients were solved, if not all; of several members those of the one with the fewest.
    """

    ensemble: Ensemble
    metric: Metric
    ridge: float
    support: Bool[Tensor, " d"] | None = None
    record: Round | None = None
    rows: Int[Tensor, " k"] | None = None
    holdout_outputs: Float[Tensor, "m c"] | None = None
    records: tuple[Round, ...] = ()
    metrics: tuple[Metric, ...] = ()
    solved: Int[Tensor, " s"] | None = None


@dataclass(frozen=True, eq=False)
class Refit:
    """The machines of a member's rounds, and the records of those that were repeated on all rows.

    ``solved`` are the rows for which the last of them was solved; None for all.
    """

    machines: tuple[KernelMachine, ...]
    records: tuple[Round, ...]
    solved: Int[Tensor, " s"] | None = None


def fewest_rows(refits: Sequence[Refit]) -> Int[Tensor, " s"] | None:
    """Return the rows of the member that was solved for the fewest rows; None where all were solved for all rows."""
    parts = [refit.solved for refit in refits if refit.solved is not None]
    return min(parts, key=len, default=None)


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


def weight_growth(data: Rows, split: RowSplit) -> float:
    """Return the factor by which a ridge per row grows from the training rows of a split to all rows."""
    return data.total_weight / split.fitted(data).total_weight


def refit_on_all_rows(
    selection: Selection,
    runs: list[Run],
    split: RowSplit,
    data: Rows,
    plan: Plan,
    growth: float | None,
    context: FitContext,
) -> list[Refit]:
    """Fit each member to all rows, with the parameters found on the training rows of a split.

    After folds all rounds are repeated. After splits, whose parts are smaller, the features of the screening are the
    start: M of the last round is learned on more rows, and the last solve uses all of them. ``growth`` multiplies a
    ridge that is proportional to the rows' weight; None for any other.
    """
    task = _RefitTask(runs, split, data, plan, growth, context)
    members = selection.members
    if len(data) > SIDE_BY_SIDE_ROWS:
        return [task.member(member) for member in members]
    found: dict[int, Refit] = {}
    try:
        with context.side_by_side() as pool:
            for at, refit in pool.run(_RefitTask.member, task, members):
                found[at] = refit
    except KeyboardInterrupt as error:  # in the main thread, while others work
        return [found[i] if i in found else task.ended(member, error) for i, member in enumerate(members)]
    return [found[i] for i in range(len(members))]


@dataclass(frozen=True, eq=False)
class _RefitTask:
    """The part of the work that all members share."""

    runs: list[Run]
    split: RowSplit
    data: Rows
    plan: Plan
    growth: float | None
    context: FitContext

    def member(self, member: Member) -> Refit:
        """Fit one member to all rows; where the time is up, its machine from the split is the result."""
        run, last = self.runs[member.run], member.round
        assert isinstance(self.plan.feature_solver, Solver), "a tree is fitted leaf by leaf"
        candidate = replace(
            run.candidate, n_rounds=last, solver=self.plan.final_solver, feature_solver=self.plan.feature_solver
        )
        tuner = ReplayedParams(run.path[: last + 1], candidate.seed, self.growth or 1.0)
        steps: list[Step] = []
        try:
            if last and self.plan.validation == "splits":
                steps = [*self.screened_steps(run, last), self.continued(candidate, tuner, run, last)]
            else:
                steps = self.repeated(candidate, tuner, run, f"all-{member.run}-to-{last}")
        except (KeyboardInterrupt, TimeLimitReached) as error:
            return self.ended(member, error)
        # Leave-one-out errors are those with which the screening selected ridge and bandwidth.
        records = tuple(replace(record, loo=run.records[record.index].loo) for record, _ in steps)
        return Refit(tuple(machine for _, machine in steps), records)

    def ended(self, member: Member, error: BaseException) -> Refit:
        """Return the machine that a member has from the split, with a warning."""
        run, data = self.runs[member.run], self.data
        self.context.interrupted = True
        fitted = f"{len(self.split.train)} of {len(data)} rows"
        warnings.warn(f"{self.context.clock.reason(error)}: the model is fitted to {fitted}", stacklevel=2)
        machine = run.machines[member.round].embedded(data.X, self.split.train, data.weights)
        return Refit((*run.machines[: member.round], machine), (), self.split.train)

    def repeated(self, candidate: Candidate, tuner: RoundTuner, run: Run, name: str) -> list[Step]:
        """Repeat all rounds on all rows."""
        context, steps = self.context, []
        done = context.checkpoint.steps(name, self.data)[0][: candidate.n_rounds + 1]
        for step in rounds(candidate, self.data, tuner, context.own_workspace(), done, context.pool):
            steps.append(step)
            context.checkpoint.store_step(name, step, run.path[step[0].index], self.data)
            if step[0].index < candidate.n_rounds:
                context.clock.check(1.0)
        return steps

    def screened_steps(self, run: Run, last: int) -> list[Step]:
        """Return the rounds of the screening before round ``last``."""
        return list(zip(run.records[:last], run.machines[:last], strict=True))

    def continued(self, candidate: Candidate, tuner: RoundTuner, run: Run, last: int) -> Step:
        """Go on from the screening: learn M of the last round on more rows, then solve for all rows."""
        data, context, workspace = self.data, self.context, self.context.own_workspace()
        begin = time.perf_counter()
        metric = run.machines[last - 1].metric
        rng = torch.Generator().manual_seed(candidate.seed)
        part = data[torch.randperm(len(data), generator=rng)[:FEATURE_ROWS].sort().values.to(data.X.device)]
        grown = 1.0 if self.growth is None else self.growth * part.total_weight / data.total_weight
        before = ReplayedParams(run.path, candidate.seed, grown)
        params = before.tune(last - 1, candidate.kernel, metric, part, workspace)
        _, solver = self.plan.part_solvers(part)
        machine, _ = solve_round(solver, candidate.max_bytes, part, params, metric, None, workspace)
        metric = next_metric(candidate, machine, last - 1, context.pool) or run.machines[last].metric
        context.clock.check(1.0)
        if candidate.solver != solver:  # the forecast counts the matrix of the part or that of the last solve, not both
            workspace.free()
        params = tuner.tune(last, candidate.kernel, metric, data, workspace)
        machine, info = solve_round(candidate.solver, candidate.max_bytes, data, params, metric, None, workspace)
        return make_record(last, params, metric, info, time.perf_counter() - begin), machine.released()


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
        runs[member.run] = Run(candidate, run.path, tuple(records), tuple(machines))
    return runs
