"""Comparison of rounds, updates and kernels on held-out rows, with the features learned again for each split."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.clock import TimeLimitReached
from gramian.core.pool import Pool, Threads
from gramian.core.rows import Rows
from gramian.core.selection import (
    RoundPredictions,
    RowLoss,
    RunComparison,
    held_out_errors,
    mean_error,
    race,
    squared_loss,
)
from gramian.core.splits import RowSplit
from gramian.core.statistics import within_standard_error
from gramian.core.warn import warn
from gramian.kernels import Kernel
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training.context import Checkpoint, FitContext, SplitResult
from gramian.rfm.training.rounds import Candidate, Run, Step, rounds
from gramian.rfm.training.tuning import RecordingTuner, ReplayedParams, RoundParams, RoundTuner
from gramian.solvers import Workspace


def predict_rounds(run: Run, rows: Rows, index: Int[Tensor, " m"] | None = None) -> RoundPredictions:
    """Predict rows that the run was not fitted to, after each of its rounds; ``index`` are their indices."""
    known = run.outputs if run.held_out is rows else ()
    missing = [machine.predict_once(rows.X) for machine in run.machines[len(known) :]]
    outputs = torch.stack([*known, *missing])
    index = torch.arange(len(rows)) if index is None else index
    return RoundPredictions(index.to(rows.X.device), outputs, rows.weights)


@dataclass(eq=False)
class _Screening:
    """The rounds of one candidate as far as they are done; another thread may be at work on them."""

    name: str
    candidate: Candidate
    recorder: RecordingTuner
    steps: list[Step]
    outputs: list[Float[Tensor, "m c"]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Guess of the time of a round: that of round 0, once it is done; no matrix product gives an ℓp distance."""
        return self.steps[0][0].seconds if self.steps else float(self.candidate.kernel.needs_axis_aligned_metric)

    def run(self, held_out: Rows | None) -> Run:
        """Return the finished rounds, with what they predict for held-out rows."""
        steps = list(self.steps)
        records, machines = zip(*steps, strict=True)
        path = tuple(self.recorder.path[: len(steps)])
        return Run(self.candidate, path, records, machines, held_out, tuple(self.outputs[: len(steps)]))


def screen(
    candidates: list[Candidate],
    tuner: Callable[[Kernel], RoundTuner],
    data: Rows,
    context: FitContext,
    share: float,
    held_out: Rows | None = None,
    loss: RowLoss = squared_loss,
) -> list[Run]:
    """Run the rounds of every candidate, side by side where there are several threads.

    Candidates with the same kernel share round 0, which does not depend on the update. With rows ``held_out`` a
    candidate ends with the first round that predicts them worse than the one before, by more than a standard error. The
    screening stops after ``share`` of the time limit, with the runs that have at least round 0, at Ctrl-C, and where a
    callback asks for it.
    """
    found = [context.checkpoint.steps(f"run-{number}", data) for number in range(len(candidates))]
    jobs = [
        _Screening(f"run-{number}", candidate, RecordingTuner(tuner(candidate.kernel), path), list(done))
        for number, (candidate, (done, path)) in enumerate(zip(candidates, found, strict=True))
    ]
    first = {job.candidate.kernel: job for job in reversed(jobs)}  # the first candidate of each kernel
    advance = _Advance(data, context, share, held_out, loss)
    try:
        with context.side_by_side() as pool:
            for _ in pool.run(advance, 0, _longest_first(first.values(), pool)):
                pass
            for job in jobs:
                start = first[job.candidate.kernel]
                if not job.steps and start.steps:
                    job.recorder.start(start.recorder.path[:1])
                    job.outputs = start.outputs[:1]
                    advance.add(job, start.steps[0])
            for _ in pool.run(advance, None, _longest_first(jobs, pool)):
                pass
    except (KeyboardInterrupt, TimeLimitReached) as error:
        advance.stop.set()
        context.interrupted = True
        if not any(job.steps for job in jobs):
            raise
        done = sum(len(job.steps) for job in jobs)
        possible = sum(job.candidate.n_rounds + 1 for job in jobs)
        screened = f"{done} of {possible} rounds of {len(jobs)} candidate{'s' if len(jobs) > 1 else ''} were screened"
        warn(f"{context.clock.reason(error)}: {screened}")
    return [job.run(held_out) for job in jobs if job.steps]


def _longest_first(jobs: Iterable[_Screening], pool: Pool) -> list[_Screening]:
    """Order jobs for several threads so that none works on the longest job alone at the end."""
    found = list(jobs)
    return sorted(found, key=lambda job: -job.seconds) if isinstance(pool, Threads) else found


@dataclass(frozen=True, eq=False)
class _Advance:
    """Runs the missing rounds of a candidate, up to round ``last`` or (None) all of them, until ``stop`` is set."""

    data: Rows
    context: FitContext
    share: float
    held_out: Rows | None = None
    loss: RowLoss = squared_loss
    stop: threading.Event = field(default_factory=threading.Event)

    def __call__(self, last: int | None, job: _Screening) -> None:
        context, candidate = self.context, job.candidate
        if last is not None:  # round 0 alone, for all candidates with this kernel
            candidate = replace(candidate, n_rounds=last, solver=candidate.feature_solver)
        before = len(job.steps)
        if self.stop.is_set() or before > candidate.n_rounds or self.is_over(job):
            return
        pool = context.pool if context.pool.remote else None
        coming = rounds(candidate, self.data, job.recorder, context.own_workspace(), job.steps[:], pool, context.clock)
        for step in itertools.islice(coming, before, None):
            if self.stop.is_set():
                return
            self.add(job, step)
            over = self.is_over(job)
            context.say(f"round {len(job.steps) - 1} of {self.describe(job)}")
            context.clock.check(self.share)
            if over:
                return

    def is_over(self, job: _Screening) -> bool:
        """Tell whether some round predicts the held-out rows worse than the one before it, by a standard error."""
        out = self.held_out
        if out is None:
            return False
        for _, machine in job.steps[len(job.outputs) :]:
            job.outputs.append(machine.predict_once(out.X))
        errors = [held_out_errors(outputs, out, self.loss) for outputs in job.outputs]
        return any(not within_standard_error(after, before, out.shares) for before, after in itertools.pairwise(errors))

    def describe(self, job: _Screening) -> str:
        """Describe the candidate of a job, and the error of its last round on held-out rows."""
        what = f"{job.candidate.n_rounds}, candidate {job.candidate.name}"
        if self.held_out is None or not job.outputs:
            return what
        return f"{what}, error {mean_error(job.outputs[-1], self.held_out, self.loss):.3g}"

    def add(self, job: _Screening, step: Step) -> None:
        """Add a finished round."""
        job.steps.append(step)
        self.context.checkpoint.store_step(job.name, step, job.recorder.path[len(job.steps) - 1], self.data)
        if self.context.after_round(job.candidate, job.steps):
            self.stop.set()


@dataclass(frozen=True, eq=False)
class SplitTask:
    """The part of the work that all splits share: the candidates, the parameters to repeat, and the rows.

    ``with_machines`` asks for the fitted machines beside their predictions (for bagging); ``after_round`` is called
    after each round where splits are fitted in this process.
    """

    paths: list[tuple[Candidate, tuple[RoundParams, ...]]]
    data: Rows
    per_row_ridge: bool
    with_machines: bool
    after_round: Callable[[], None] | None = None

    @property
    def rounds(self) -> int:
        """Number of rounds of one split."""
        return sum(len(path) for _, path in self.paths)


def repeat_on_splits(
    runs: list[Run],
    data: Rows,
    splits: list[RowSplit],
    context: FitContext,
    share: float,
    *,
    per_row_ridge: bool,
    with_machines: bool,
) -> list[SplitResult]:
    """Repeat runs on the training rows of each split, and predict its held-out rows after each round.

    Splits that Ctrl-C or the time limit ended early are dropped; finished ones count, in whatever order they finished.
    """
    task = SplitTask([(run.candidate, run.path) for run in runs], data, per_row_ridge, with_machines)
    remote = context.pool.remote
    if not remote:
        task = replace(task, after_round=context.split_round)
    # A split of runs that were ended early is no part of a complete fit, so it is not stored.
    checkpoint = Checkpoint() if context.interrupted or context.stopped else context.checkpoint
    found = {i: split for i in range(len(splits)) if (split := checkpoint.split(i, data)) is not None}
    missing = [i for i in range(len(splits)) if i not in found]
    context.say(f"candidates compared on further splits ({len(missing)}): {len(runs)}")
    try:
        for _ in range(task.rounds * len(found)):
            context.split_round()
        if missing and not context.clock.allows(sum(r.seconds for run in runs for r in run.records), share):
            raise TimeLimitReached
        with context.side_by_side() as local:
            pool = context.pool if remote else local
            for at, result in pool.run(run_split, task, [splits[i] for i in missing]):
                found[missing[at]] = result
                context.say(f"split {1 + len(found)} of {1 + len(splits)}", least=2)
                checkpoint.store_split(missing[at], result, data)
                for _ in range(task.rounds if remote else 0):
                    context.split_round()
                if len(found) < len(splits):
                    context.clock.check(share)
    except (KeyboardInterrupt, TimeLimitReached) as error:
        context.interrupted = context.splits_cancelled = True
        done = f"candidates are compared on {1 + len(found)} of {1 + len(splits)} splits"
        warn(f"{context.clock.reason(error)}: {done}")
    return [found[i] for i in sorted(found)]


def run_split(task: SplitTask, split: RowSplit) -> SplitResult:
    """Repeat the rounds of all runs on the training rows of a split, and predict its held-out rows after each round.

    A run may stop early on a split (a constant predictor); its last round then replaces the missing ones.
    """
    data = task.data
    here, out = split.fitted(data), split.compared(data)
    growth = here.total_weight / data.total_weight if task.per_row_ridge else 1.0
    workspace = Workspace()
    after_round = task.after_round or (lambda: None)
    first_rounds: dict[Kernel, Step] = {}
    found: SplitResult = []
    for candidate, path in task.paths:
        candidate = replace(candidate, n_rounds=len(path) - 1)
        tuner = ReplayedParams(path, candidate.seed, growth)
        outputs: list[Tensor] = []
        machines: list[KernelMachine] = []
        done = [first_rounds[candidate.kernel]] if candidate.kernel in first_rounds else []
        for step in rounds(candidate, here, tuner, workspace, done):
            first_rounds.setdefault(candidate.kernel, step)
            outputs.append(step[1].predict_once(out.X))
            if task.with_machines:
                machines.append(step[1].embedded(data.X, split.train, split.fitted_weights(data)))
            after_round()
        for _ in range(len(path) - len(outputs)):
            outputs.append(outputs[-1])
            after_round()
        rows = split.held_out.to(data.X.device)
        found.append((RoundPredictions(rows, torch.stack(outputs), out.weights), tuple(machines)))
    return found


@dataclass(frozen=True, eq=False)
class ComparedRuns:
    """Runs with their errors on held-out rows; ``machines[run][split]`` are those of all splits, for bagging."""

    runs: list[Run]
    comparison: RunComparison | None
    machines: list[list[tuple[KernelMachine, ...]]]

    @classmethod
    def on(cls, runs: list[Run], holdout: Rows | None, loss: RowLoss = squared_loss) -> ComparedRuns:
        """Compare runs on rows that none of them was fitted to; without such rows there is no comparison."""
        none: list[list[tuple[KernelMachine, ...]]] = [[] for _ in runs]
        if holdout is None:
            return cls(runs, None, none)
        predictions = [[predict_rounds(run, holdout)] for run in runs]
        return cls(runs, RunComparison.of(predictions, holdout.Y, loss=loss), none)


def compare_on_splits(
    runs: list[Run],
    data: Rows,
    splits: tuple[RowSplit, ...],
    held_out: Rows,
    context: FitContext,
    time_share: float,
    *,
    last: bool,
    most: int,
    per_row_ridge: bool,
    with_machines: bool,
    loss: RowLoss = squared_loss,
) -> ComparedRuns:
    """Compare the runs on the first split, to which they are fitted, and those that may be selected on the others too.

    ``held_out`` are the rows of the first split that are compared. With ``last`` the final rounds are compared, not the
    best. At most ``most`` runs may be averaged.
    """
    first = splits[0]
    predictions = [[predict_rounds(run, held_out, first.held_out)] for run in runs]
    going_on = race(RunComparison.of(predictions, data.Y, loss=loss), data.Y, last=last, most=most)
    for run in set(range(len(runs))) - set(going_on):
        for _ in range(len(runs[run].path) * (len(splits) - 1)):
            context.tick()
    results = repeat_on_splits(
        [runs[run] for run in going_on],
        data,
        list(splits[1:]),
        context,
        time_share,
        per_row_ridge=per_row_ridge,
        with_machines=with_machines,
    )
    machines: list[list[tuple[KernelMachine, ...]]] = [[] for _ in runs]
    weights = first.fitted_weights(data)
    for at, run in enumerate(going_on):
        predictions[run] += [result[at][0] for result in results]
        if with_machines:
            own = tuple(machine.embedded(data.X, first.train, weights) for machine in runs[run].machines)
            machines[run] = [own, *(result[at][1] for result in results)]
    return ComparedRuns(runs, RunComparison.of(predictions, data.Y, going_on, loss), machines)
