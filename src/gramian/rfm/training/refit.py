"""Fits of the selected candidates after the screening, where that used a part of the rows or a coarse solver."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.freed_memory import return_freed_memory
from gramian.core.rows import Rows
from gramian.core.selection import Member, Selection
from gramian.core.splits import RowSplit
from gramian.core.warn import warn
from gramian.kernels import Metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble, MemberHistory
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.plan import FEATURE_ROWS, Plan
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
from gramian.rfm.training.solver_choice import choose_part_solvers, fits_side_by_side
from gramian.rfm.training.time_limit import check_solved, solve_within
from gramian.rfm.training.tuning import ReplayedParams, RoundParams
from gramian.rfm.training.validation import ComparedRuns
from gramian.solvers import SolveInfo, Solver

_GROWTH = 2.5
"""Exponent with which the time of a round grows with its rows, between kernel matrix (2) and factor (3)."""
_FEATURE_SHARE = 0.25
"""Share of the time left that the repeated rounds may take."""


@dataclass(frozen=True, eq=False)
class Refitted:
    """The final ensemble, with the metric and the ridge of its best member.

    ``support (d,)`` are the columns in use, if not all; ``record`` replaces the record of the selected round;
    ``rows`` are the training rows that are centres, if not all; ``holdout_outputs`` are its own predictions of
    held-out rows, where the screened models' predictions do not describe it. ``records`` and ``metrics`` are those of
    the best member's rounds on all rows, where they were repeated. ``solved`` are the training rows for which the
    coefficients were solved, if not all; of several members those of the one with the fewest. ``n_rows`` is their
    number, copies included, where only some copies of a row were used.
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
    n_rows: int | None = None

    def describe(self, n: int) -> str:
        """Say for how many of n rows the model was solved."""
        return f"fitted to {n if self.solved is None else len(self.solved):,} of {n:,} rows"


@dataclass(frozen=True, eq=False)
class Refit:
    """The machines of a member's rounds, and the records of those that were repeated on all rows.

    ``weight`` and ``n_rows`` are the total weight and the number, copies included, of the rows for which the last of
    them was solved; ``solved`` are these rows, None for all. ``ended`` is the time limit or the
    interrupt that made them fewer. ``growth`` is the factor from the ridges of the screening to those of these rows.
    ``relearned`` are the metrics of the rounds, where they were learned on other rows than those of the machines.
    """

    machines: tuple[KernelMachine, ...]
    records: tuple[Round, ...]
    weight: float
    n_rows: int
    solved: Int[Tensor, " s"] | None = None
    ended: BaseException | None = None
    growth: float = 1.0
    relearned: tuple[Metric, ...] = ()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """M of each round on the way to the last machine."""
        return self.relearned or tuple(machine.metric for machine in self.machines)


def weight_growth(data: Rows, split: RowSplit) -> float:
    """Return the factor by which a ridge per row grows from the training rows of a split to all rows."""
    return data.total_weight / split.fitted(data).total_weight


def histories(
    selection: Selection, runs: list[Run], refits: Sequence[Refit], *, per_row_ridge: bool
) -> tuple[MemberHistory, ...]:
    """Return kernel, update and path of each selected member, with the ridges of its refit."""
    found = []
    for member, refit in zip(selection.members, refits, strict=True):
        run = runs[member.run]
        path = tuple(replace(step, ridge=refit.growth * step.ridge) for step in run.path[: member.round + 1])
        weight = refit.weight if per_row_ridge else None
        found.append(MemberHistory(run.candidate.kernel, run.candidate.update, path, member.share, weight))
    return tuple(found)


def average_members(selection: Selection, compared: ComparedRuns, machines: list[KernelMachine]) -> Ensemble:
    """Average the members' machines; with bagging, each together with those of the splits."""
    found: dict[object, tuple[KernelMachine, float]] = {}
    for member, machine in zip(selection.members, machines, strict=True):
        others = compared.machines[member.run]
        same = [machine, *(other[min(member.round, len(other) - 1)] for other in others)]
        for i, one in enumerate(same):
            # Runs with one kernel share round 0: two members that are that round are one machine with both shares.
            key = (compared.runs[member.run].candidate.kernel, i) if member.round == 0 else (member.run, i)
            share = member.share / len(same)
            found[key] = (one, share + (found[key][1] if key in found else 0.0))
    kept, shares = zip(*found.values(), strict=True)
    return Ensemble(kept, shares)


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
    start: the rounds are repeated on more rows, and the last solve uses all of them. Within a time limit a solve
    begins only where it is likely to end in time, else it uses a part of the rows; a warning says how many. ``growth``
    multiplies a ridge that is proportional to the rows' weight; None for any other.
    """
    return_freed_memory()  # the screening's, before the largest solves
    task = _RefitTask(runs, split, data, plan, growth, context, context.clock)
    refits = _refit_members(task, selection.members)
    fewest = min(refits, key=lambda refit: refit.n_rows)
    if fewest.ended is not None and fewest.solved is not None:
        context.interrupted = True
        used = f"the model uses {fewest.n_rows:,} of {data.n_copies:,} rows"
        warn(f"{context.clock.reason(fewest.ended)}: {used}")
    return refits


def _refit_members(task: _RefitTask, members: Sequence[Member]) -> list[Refit]:
    context = task.context
    if not fits_side_by_side(task.plan.solver, len(task.data)):  # each has an equal part of the time that is left
        clocks = (context.clock.shared(len(members) - i) for i in range(len(members)))
        return [replace(task, clock=clock).member(member) for clock, member in zip(clocks, members, strict=True)]
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
    """The part of the work that all members share; ``clock`` ends with the time that one member may take."""

    runs: list[Run]
    split: RowSplit
    data: Rows
    plan: Plan
    growth: float | None
    context: FitContext
    clock: Clock

    def member(self, member: Member) -> Refit:
        """Fit one member to all rows; where the time is up, its machine from the split is the result."""
        run, last = self.runs[member.run], member.round
        assert isinstance(self.plan.feature_solver, Solver), "a tree is fitted leaf by leaf"
        candidate = replace(
            run.candidate, n_rounds=last, solver=self.plan.final_solver, feature_solver=self.plan.feature_solver
        )
        try:
            self.clock.check()
            if self.plan.validation == "splits":
                return self.continued(candidate, run, last)
            return self.repeated(candidate, run, f"all-{member.run}-to-{last}")
        except (KeyboardInterrupt, TimeLimitReached) as error:
            return self.ended(member, error)

    def ended(self, member: Member, error: BaseException) -> Refit:
        """Return the machine that a member has from the split."""
        run, data = self.runs[member.run], self.data
        machine = run.machines[member.round].embedded(data.X, self.split.train, self.split.fitted_weights(data))
        machines, fitted = (*run.machines[: member.round], machine), self.split.fitted(data)
        return Refit(machines, (), fitted.total_weight, fitted.n_copies, self.split.train, error)

    def repeated(self, candidate: Candidate, run: Run, name: str) -> Refit:
        """Repeat all rounds on all rows."""
        context, steps = self.context, []
        done = context.checkpoint.steps(name, self.data)[0][: candidate.n_rounds + 1]
        grown = (len(self.data) / len(self.split.train)) ** _GROWTH
        forecast = grown * sum(record.seconds for record in run.records[len(done) : candidate.n_rounds + 1])
        if not self.clock.allows(forecast):
            raise TimeLimitReached
        tuner = ReplayedParams(run.path[: candidate.n_rounds + 1], candidate.seed, self.growth or 1.0)
        coming = rounds(candidate, self.data, tuner, context.own_workspace(), done, context.pool, self.clock)
        for step in coming:
            steps.append(step)
            context.checkpoint.store_step(name, step, run.path[step[0].index], self.data)
            if step[0].index < candidate.n_rounds:
                self.clock.check()
        return self.finished(steps, run)

    def finished(self, steps: Sequence[Step], run: Run, solved: Int[Tensor, " s"] | None = None) -> Refit:
        """Return the result of these rounds; rows ``solved`` are those of the last one, None for all."""
        fitted = self.data if solved is None else self.data[solved]
        # Leave-one-out errors are those with which the screening selected ridge and bandwidth.
        records = tuple(replace(record, loo=run.records[record.index].loo) for record, _ in steps)
        ended = None if solved is None else TimeLimitReached()
        machines = tuple(machine for _, machine in steps)
        return Refit(machines, records, fitted.total_weight, fitted.n_copies, solved, ended, self.grown(fitted))

    def continued(self, candidate: Candidate, run: Run, last: int) -> Refit:
        """Go on from the screening: repeat its rounds on more rows, then solve for all rows.

        Within a time limit the last solve uses as many rows as the forecast of its time allows.
        """
        data, workspace = self.data, self.context.own_workspace()
        begin, pace = time.perf_counter(), self.context.pace
        rng = torch.Generator().manual_seed(candidate.seed)
        order = torch.randperm(len(data), generator=rng).to(data.X.device)
        if not pace.measured:
            screened = len(self.split.train)
            pace.measure(
                self.solver(candidate, screened).seconds_needed(screened, *self.shape), run.records[last].seconds
            )
        metrics = self.learned_metrics(candidate, run, last, order)
        metric = metrics[-1]
        self.clock.check()

        def solve(size: int) -> tuple[KernelMachine, SolveInfo, RoundParams]:
            part = data if size == len(data) else data[order[:size].sort().values]
            solver, params = self.solver(candidate, size), self.params(run, last, candidate, metric, part)
            if solver != self.solvers(FEATURE_ROWS)[1]:
                workspace.free()  # the forecast counts the matrix of the part or that of the last solve, not both
            machine, info = solve_round(solver, candidate.max_bytes, part, params, metric, None, workspace, self.clock)
            check_solved(self.clock, info)
            return machine, info, params

        def nominal(size: int) -> float:
            return self.solver(candidate, size).seconds_needed(size, *self.shape)

        found = solve_within(self.clock, pace, len(data), nominal, solve)
        if found is None or found[1] <= len(self.split.train):
            raise TimeLimitReached
        (machine, info, params), size = found
        solved = None if size == len(data) else order[:size].sort().values
        if solved is not None:
            machine = machine.embedded(data.X, solved, data.weights)
        record = make_record(last, params, metric, info, time.perf_counter() - begin)
        earlier = list(zip(run.records[:last], run.machines[:last], strict=True))
        return replace(self.finished([*earlier, (record, machine.released())], run, solved), relearned=metrics)

    def learned_metrics(
        self, candidate: Candidate, run: Run, last: int, order: Int[Tensor, " n"]
    ) -> tuple[Metric, ...]:
        """Learn M by the rounds of the screening on more rows, unless that takes too much of the time."""
        screened = tuple(machine.metric for machine in run.machines[: last + 1])
        if not last:
            return screened
        data, pace, workspace = self.data, self.context.pace, self.context.own_workspace()
        part = data[order[:FEATURE_ROWS].sort().values]
        _, solver = self.solvers(FEATURE_ROWS)
        nominal = last * solver.seconds_needed(len(part), *self.shape)
        left = self.clock.left
        if left is not None and pace.seconds(nominal) > _FEATURE_SHARE * left:
            return screened
        metrics, seconds = [screened[0]], 0.0  # a later M of the screening would keep the errors of its few rows
        for index in range(last):
            begin = self.clock.seconds
            at = metrics[-1]
            params = self.params(run, index, candidate, at, part)
            machine, _ = solve_round(solver, candidate.max_bytes, part, params, at, None, workspace, self.clock)
            seconds += self.clock.seconds - begin
            learned = next_metric(candidate, machine, index, self.context.pool)
            if learned is None:
                return screened
            metrics.append(learned)
        pace.measure(nominal, seconds)
        return tuple(metrics)

    def params(self, run: Run, index: int, candidate: Candidate, metric: Metric, part: Rows) -> RoundParams:
        """Return ridge and bandwidth of a round of the screening, for a part of the rows."""
        replayed = ReplayedParams(run.path, candidate.seed, self.grown(part))
        return replayed.tune(index, candidate.kernel, metric, part, self.context.own_workspace())

    def grown(self, part: Rows) -> float:
        """Return the factor from a ridge of the screening to that of a part of the rows."""
        return 1.0 if self.growth is None else self.growth * part.total_weight / self.data.total_weight

    def solver(self, candidate: Candidate, size: int) -> Solver:
        """Return the solver for this many of the rows."""
        return candidate.solver if size == len(self.data) else self.solvers(size)[0]

    def solvers(self, size: int) -> tuple[Solver, Solver]:
        """Return the solvers for a part of at most this many rows: for the final model, and to learn M."""
        rows = min(size, len(self.data))
        return choose_part_solvers(rows, self.plan.dtype, self.plan.part_bytes, *self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and outputs."""
        return self.data.X.shape[1], self.data.Y.shape[1]


def solve_selected_fully(
    selection: Selection, runs: list[Run], data: Rows, solver: Solver, context: FitContext
) -> list[Run]:
    """Solve the selected rounds to the end where the screening solved all rounds coarsely."""
    runs = list(runs)
    for member in selection.members:
        run, at = runs[member.run], member.round
        candidate = replace(run.candidate, solver=solver)
        try:
            if not context.clock.allows(run.records[at].seconds):
                raise TimeLimitReached
            known = run.records[at], run.machines[at]
            step = solve_fully(candidate, data, run.path[at], known, context.workspace, context.clock)
        except (KeyboardInterrupt, TimeLimitReached) as error:
            context.interrupted = True
            left = f"{run.records[at].residual:.2g}, not solved to the end"
            warn(f"{context.clock.reason(error)}: the model has a relative residual of {left}")
            return runs
        records, machines = list(run.records), list(run.machines)
        records[at], machines[at] = step
        runs[member.run] = Run(candidate, run.path, tuple(records), tuple(machines))
    return runs
