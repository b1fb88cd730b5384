"""Fitting to more rows than a kernel matrix has room for: features from a part, coefficients from all.

Kinds of machines compete on a few thousand rows. The one that wins learns its features again on a part that grows from
round to round, for early rounds need only a rough idea of M. Only the last machine sees all rows, through a solver that
takes them in blocks. Some rows are kept out of everything: they judge the kinds, and then say how good the machine is.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.pool import Pool, Serial
from gramian.core.progress import progress
from gramian.core.rows import Columns, Kept, Rows, RowSource
from gramian.kernels import Identity, Metric
from gramian.rfm.blend import Blend
from gramian.rfm.callbacks import Silent, Watch
from gramian.rfm.choice import Choice, Replay, base_kernel
from gramian.rfm.evolution import evolution
from gramian.rfm.journal import Journal
from gramian.rfm.machine import KernelMachine
from gramian.rfm.partition import fit_tree
from gramian.rfm.rounds import Problem, Round, next_metric, record_of, solved
from gramian.rfm.runs import Run, Stage, scout
from gramian.rfm.selection import HeldOut, Verdict, decide, squared_errors
from gramian.rfm.settings import EvalSet, Fitted, Settings, threshold_support
from gramian.rfm.tree import TreeMachine
from gramian.solvers import Partition, SolveInfo, StreamedSystem, Workspace
from gramian.solvers.forecast import PART_ROWS

_SCOUT_ROWS = 4000
"""Rows on which kinds of machines compete."""
_JUDGE_ROWS = 5000
"""Rows kept out of the fit, at most; a tenth of few."""


def fit_large(
    settings: Settings,
    source: RowSource,
    eval_set: EvalSet | None = None,
    watch: Watch | None = None,
    journal: Journal | None = None,
    pool: Pool | None = None,
) -> Fitted:
    """Learn features on a growing part of the rows, and coefficients from all of them in blocks.

    Parameters
    ----------
    settings : Settings
        Its solver is the one for all rows; parts of them are solved exactly.
    source : RowSource
    eval_set : pair (X, Y), optional
        Rows that judge, instead of some that are kept out.
    watch : Watch, optional
        Is told of the rounds on the first part.
    journal : Journal, optional
        Remembers the rounds on parts of the rows; the last one, on all, is done again after a crash.
    pool : Pool, optional
        Workers elsewhere, to sum over gradients, and where the leaves of a tree are fitted; here by default.
    """
    n = source.n_rows
    order = torch.randperm(n, generator=torch.Generator().manual_seed(settings.seed))
    judges = order[: 0 if eval_set is not None else min(_JUDGE_ROWS, n // 10)].sort().values
    order = order[len(judges) :]
    judge = source.take(judges) if eval_set is None else Rows(*eval_set)
    part = order[:_SCOUT_ROWS].sort().values
    per_row = settings.per_row_ridge and settings.ridge is not None
    stage = Stage(
        per_row,
        Clock(settings.time_limit),
        Workspace(),
        watch=watch or Silent(),
        journal=journal or Journal(),
        pool=pool or Serial(),
    )
    here = source.take(part)
    chosen = settings.part_solver(here)
    problems = [replace(p, solver=chosen.solver, feature_solver=chosen.feature_solver) for p in settings.problems]
    steps = len(problems) * (settings.n_rounds + 1) + 2
    with progress("fitting", steps, settings.show_progress) as tick:
        stage.tick = tick
        stage.watch.begin(steps, part)
        runs, _ = scout(problems, settings.chooser, here, stage, share=0.3)
        verdict = _verdict(settings, runs, judge)
        best = verdict.members[0]
        run = runs[best.run]
        rest = source if not len(judges) else Kept(source, order.sort().values)
        growth = _total_weight(rest) / here.total_weight if per_row else 1.0
        learner = _Learner(settings, run, best.run, best.round, source, order, stage)
        metric, support = learner.metric(), None
        stage.workspace = Workspace()  # the parts' matrix is given back before all rows are solved for
        tick()
        try:
            if settings.threshold is None:
                found = learner.last_round(rest, metric, learner.replayed(metric, growth))
            else:
                basis = metric.matrix() if best.round else run.machines[0].agop
                support = threshold_support(basis, settings.threshold)
                found = learner.thresholded(rest, support)
                judge = Rows(judge.X[:, support], judge.Y, judge.weights)
        except KeyboardInterrupt as error:
            found, support = learner.scouted_machine(rest, part, error), None
        if stage.clock.left == 0 and support is None:  # a solve that had no time may be worse than what was there
            outputs = found.machine.predict(judge.X, batch_invariant=False)
            if _mean_error(outputs, judge) > verdict.scores[best.run][best.round]:
                found = learner.scouted_machine(rest, part, TimeLimitReached())
        metric = metric if support is not None else found.machine.metric
        tick()
    blend = Blend((found.machine,), (1.0,))
    scored = zip(run.records, verdict.scores[best.run], strict=True)
    records = [replace(record, score=score) for record, score in scored]
    outputs = found.machine.predict(judge.X, batch_invariant=False)
    records[best.round] = replace(found.record, score=_mean_error(outputs, judge))
    metrics = [machine.metric for machine in run.machines]
    metrics[best.round] = metric
    rows = torch.arange(rest.n_rows) if found.rows is None else found.rows.cpu()
    if not stage.cut:
        stage.journal.close()
    return Fitted(
        blend=blend,
        features=metric.matrix(),
        ridge=found.record.ridge,
        round=best.round,
        problem=run.problem,
        records=tuple(records),
        support=support,
        held_out=None if eval_set is not None else HeldOut(judges, outputs),
        evaluated=None if eval_set is None else blend.predict(judge.X),
        evolution=evolution(metrics, metric),
        rows=rest.index[rows] if isinstance(rest, Kept) else rows,
    )


def growing(last: int, most: int, least: int = _SCOUT_ROWS) -> list[int]:
    """Rows of rounds 0, …, last − 1: a geometric row that ends with ``most``.

    >>> growing(3, 20_000), growing(1, 20_000), growing(2, 3_000)
    ([4000, 8944, 20000], [20000], [3000, 3000])
    """
    if last <= 1:
        return [most] * last
    return [min(most, round(least * (most / least) ** (t / (last - 1)))) for t in range(last)]


@dataclass(frozen=True, eq=False)
class _Found:
    """The machine that predicts, what is told of its round, and which of the rows it stands on (None: all)."""

    machine: KernelMachine | TreeMachine
    record: Round
    rows: Int[Tensor, " m"] | None


@dataclass(frozen=True, eq=False)
class _Learner:
    """A run that was found on a part, learned again on more rows."""

    settings: Settings
    run: Run
    number: int
    last: int
    source: RowSource
    order: Int[Tensor, " n"]
    stage: Stage

    def metric(self) -> Metric:
        """M of the last round, from parts that grow; what is there when time is up or Ctrl-C is pressed."""
        problem, seed = self.run.problem, self.run.problem.seed
        metric: Metric = Identity(self.source.n_columns, self.source.device)
        try:
            for index, count in enumerate(growing(self.last, min(PART_ROWS, len(self.order)))):
                name = f"features-{self.number}-{self.last}-round-{index}"
                if (before := self.stage.journal.recall(name)) is not None:
                    metric = before
                    continue
                rows = self.source.take(self.order[:count].sort().values)
                chooser = Replay(self.run.path, seed, self._growth(rows))
                choice = chooser.choose(index, problem.kernel, metric, rows, self.stage.workspace)
                chosen = self.settings.part_solver(rows)
                coarse = replace(problem, solver=chosen.feature_solver or chosen.solver)
                machine, _ = solved(coarse, rows, choice, metric, None, self.stage.workspace)
                learned = next_metric(problem, machine, index, self.stage.pool)
                if learned is None:
                    break
                metric = learned
                self.stage.journal.remember(name, metric)
                self.stage.clock.check(0.5)
        except (KeyboardInterrupt, TimeLimitReached) as error:
            self.stage.cut = True
            warnings.warn(f"{self.stage.clock.reason(error)}: features are those of round {index}", stacklevel=2)
        return metric

    def replayed(self, metric: Metric, growth: float) -> Choice:
        """Ridge and bandwidth of the last round, as they were chosen on the first part."""
        sample = self.source.take(self.order[:_SCOUT_ROWS])
        chooser = Replay(self.run.path, self.run.problem.seed, growth)
        return chooser.choose(self.last, self.run.problem.kernel, metric, sample, self.stage.workspace)

    def last_round(self, rest: RowSource, metric: Metric, choice: Choice) -> _Found:
        """The machine on all rows, on its centres, or by parts, with the features that were learned."""
        if isinstance(self.settings.solver, Partition):
            return self.last_round_by_parts(self.settings.solver, rest, metric, choice)
        begin, max_bytes = time.perf_counter(), self.run.problem.max_bytes
        system = StreamedSystem(choice.kernel, metric, rest, choice.ridge, max_bytes)
        solution = self.settings.solver.solve(system, clock=self.stage.clock)
        record = record_of(self.last, choice, metric, solution.info, time.perf_counter() - begin)
        machine = KernelMachine(solution.operator.released(), solution.coef, solution.weights)
        return _Found(machine, record, solution.rows)

    def scouted_machine(self, rest: RowSource, part: Int[Tensor, " p"], why: BaseException) -> _Found:
        """The machine of the first part, for a fit that is cut short in its last round."""
        self.stage.cut = True
        rows = f"{len(part)} of {self.source.n_rows} rows"
        warnings.warn(f"{self.stage.clock.reason(why)}: what is kept stands on {rows}", stacklevel=3)
        at = torch.searchsorted(rest.index, part) if isinstance(rest, Kept) else part
        return _Found(self.run.machines[self.last], self.run.records[self.last], at)

    def thresholded(self, rest: RowSource, support: Bool[Tensor, " d"]) -> _Found:
        """RFM-T: the base kernel on the columns M singles out."""
        sample = Columns(self.source, support).take(self.order[:_SCOUT_ROWS])
        plain = Identity(sample.X.shape[1], self.source.device)
        chooser = self.settings.chooser(self.run.problem.kernel)
        choice = chooser.choose(0, self.run.problem.kernel, plain, sample, self.stage.workspace)
        if self.stage.per_row_ridge:  # chosen for the sample's weight
            choice = replace(choice, ridge=choice.ridge * _total_weight(rest) / sample.total_weight)
        return self.last_round(Columns(rest, support), plain, choice)

    def last_round_by_parts(self, partition: Partition, rest: RowSource, metric: Metric, choice: Choice) -> _Found:
        """A machine for each leaf of a tree, with the features that were learned."""
        begin = time.perf_counter()
        total = _total_weight(rest) if self.stage.per_row_ridge else None
        fit = _Exactly(self.settings, self.run.problem, choice, metric, total, partition.at_once)
        rng = torch.Generator().manual_seed(self.settings.seed)
        few = torch.randperm(rest.n_rows, generator=rng)[:_SCOUT_ROWS].sort().values
        spare = fit(rest.take(few))[0], few
        machine, info, rows = fit_tree(
            partition, rest, metric, fit, spare, pool=self.stage.pool, clock=self.stage.clock, tick=self.stage.tick
        )
        if rows is not None:  # leaves are missing: what a checkpoint holds is not done with
            self.stage.cut = True
        record = record_of(self.last, choice, metric, info, time.perf_counter() - begin)
        return _Found(machine, record, rows)

    def _growth(self, rows: Rows) -> float:
        """How much larger a ridge per row is on these rows than on those it was chosen on."""
        return rows.total_weight / self.scouted if self.stage.per_row_ridge else 1.0

    @property
    def scouted(self) -> float:
        """Weight of the rows the run was found on."""
        return self.source.take(self.order[:_SCOUT_ROWS]).total_weight


@dataclass(frozen=True, eq=False)
class _Exactly:
    """Rows → the machine that solves for them exactly, with the multiple of their own median distance as bandwidth."""

    settings: Settings
    problem: Problem
    like: Choice
    metric: Metric
    total_weight: float | None
    at_once: int
    """How many are under way: asked once, since in each of them torch has one thread."""

    def __call__(self, rows: Rows) -> tuple[KernelMachine, SolveInfo]:
        part = 1.0 if self.total_weight is None else rows.total_weight / self.total_weight
        base = base_kernel(self.problem.kernel, self.metric, rows.X, self.problem.seed)
        choice = replace(self.like, kernel=base.times(self.like.factor), ridge=part * self.like.ridge)
        problem = replace(self.problem, solver=self.settings.part_solver(rows, self.at_once).solver)
        return solved(problem, rows, choice, self.metric, None, Workspace())


def _verdict(settings: Settings, runs: list[Run], judge: Rows) -> Verdict:
    """The kind and round that predicts rows it has not seen best: one, for each would have to see all rows."""
    outputs = [
        torch.stack([machine.predict(judge.X, batch_invariant=False) for machine in run.machines]) for run in runs
    ]
    errors = [_errors(one, judge) for one in outputs]
    return decide([e for e, _ in errors], errors[0][1], last=settings.select_last, most=1)


def _errors(outputs: Float[Tensor, "t m c"], judge: Rows) -> tuple[Float[Tensor, "t m"], Float[Tensor, " m"]]:
    every = torch.arange(len(judge), device=judge.X.device)
    return squared_errors([HeldOut(every, outputs)], judge.Y, judge.weights)


def _mean_error(outputs: Float[Tensor, "m c"], judge: Rows) -> float:
    (errors,), weights = _errors(outputs[None], judge)
    return float(errors @ (weights / weights.sum()))


def _total_weight(source: RowSource) -> float:
    return float(source.reduce(_weight)[0])


def _weight(rows: Rows) -> tuple[Float[Tensor, ""], ...]:
    return (torch.tensor(rows.total_weight, dtype=torch.float64),)
