"""Comparison of rounds, updates and kernels on held-out rows, with the features learned again for each fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from gramian.core.clock import TimeLimitReached
from gramian.core.pool import Serial
from gramian.core.rows import Rows
from gramian.core.statistics import within_standard_error
from gramian.kernels import Kernel
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training.context import Checkpoint, FitContext, FoldResult
from gramian.rfm.training.rounds import Candidate, RoundPredictions, Run, Step, rounds
from gramian.rfm.training.tuning import RecordingTuner, ReplayedParams, RoundParams, RoundTuner
from gramian.solvers import Workspace

_FIFTHS = 5

TrainAndHoldout = tuple[Int[Tensor, " _"], Int[Tensor, " _"]]
"""Indices of training rows and of held-out rows."""


@dataclass(frozen=True)
class Member:
    """One member of an ensemble: a round of a run, and its weight in the average."""

    run: int
    round: int
    share: float


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected members, best first, and mean squared errors ``scores[run][round]`` on held-out rows."""

    members: tuple[Member, ...]
    scores: list[list[float]]


def draw_folds(n: int, folds: int, seed: int, strata: NDArray[np.intp] | None = None) -> Iterator[TrainAndHoldout]:
    """Yield training and held-out rows: ``folds`` of the five fifths of the rows are held out in turn.

    With ``strata`` (labels) every fold gets its share of each label.

    >>> sorted(torch.cat([out for _, out in draw_folds(10, 5, seed=0)]).tolist()) == list(range(10))
    True
    """
    order = np.random.default_rng(seed).permutation(n)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    groups = np.empty(n, dtype=int)
    groups[order] = np.arange(n) % _FIFTHS
    for fold in range(folds):
        yield torch.from_numpy(np.flatnonzero(groups != fold)), torch.from_numpy(np.flatnonzero(groups == fold))


def draw_split(n: int, screen_rows: int, holdout_rows: int, seed: int) -> TrainAndHoldout:
    """Draw one split at random: rows to screen candidates on, and other rows to compare them on.

    >>> train, out = draw_split(10, 6, 3, seed=0)
    >>> len(train), len(out), bool(np.isin(train, out).any())
    (6, 3, False)
    """
    order = np.random.default_rng(seed).permutation(n)
    train, out = order[:screen_rows], order[screen_rows : screen_rows + holdout_rows]
    return torch.from_numpy(np.sort(train)), torch.from_numpy(np.sort(out))


def predict_rounds(run: Run, X: Float[Tensor, "m d"]) -> RoundPredictions:
    """Predict rows that the run was not fitted to, after each of its rounds."""
    outputs = torch.stack([machine.predict(X, batch_invariant=False) for machine in run.machines])
    return RoundPredictions(torch.arange(len(X), device=X.device), outputs)


def squared_errors(
    predictions: list[RoundPredictions], Y: Float[Tensor, "n c"], weights: Float[Tensor, " n"] | None
) -> tuple[Float[Tensor, "t m"], Float[Tensor, " m"]]:
    """Return the squared error of each held-out row after each round, and the rows' weights."""
    rows = torch.cat([one.rows for one in predictions])
    outputs = torch.cat([one.outputs for one in predictions], dim=1)
    errors = (outputs - Y[rows].to(outputs.dtype)).square().mean(dim=2)
    return errors, torch.ones_like(errors[0]) if weights is None else weights[rows].to(errors.dtype)


@dataclass(frozen=True, eq=False)
class RunComparison:
    """Errors ``(t, m)`` of each run on held-out rows with their weights, and the predictions behind them."""

    errors: list[Float[Tensor, "_ m"]]
    weights: Float[Tensor, " m"]
    predictions: list[list[RoundPredictions]]
    folds: list[FoldResult]


def compare_runs(runs: list[Run], data: Rows, holdout: Rows | None, folds: list[FoldResult]) -> RunComparison | None:
    """Return the errors of all runs on held-out rows; None where there are none."""
    if holdout is not None:
        predictions = [[predict_rounds(run, holdout.X)] for run in runs]
        Y, weights = holdout.Y, holdout.weights
    elif folds:
        predictions = [[fold[run][0] for fold in folds] for run in range(len(runs))]
        Y, weights = data.Y, data.weights
    else:
        return None
    errors = [squared_errors(one, Y, weights) for one in predictions]
    return RunComparison([e for e, _ in errors], errors[0][1], predictions, folds)


def select(
    errors: list[Float[Tensor, "_ m"]], weights: Float[Tensor, " m"], *, last: bool = False, most: int = 1
) -> Selection:
    """Select the predictors: one round of one run, or up to ``most`` of them with equal shares.

    From each run take the earliest round within one standard error of that run's best (with ``last`` its final round).
    Of these, select all within one standard error of the best of them. The standard error is that of the *difference*
    between two predictors, row by row. Where only one is wanted, it is the one with the fewest rounds, then the one
    with the smallest error.

    >>> errors = [torch.tensor([[1.0, 1.1], [0.1, 0.2], [0.1, 0.2]])]
    >>> select(errors, torch.ones(2)).members
    (Member(run=0, round=1, share=1.0),)
    """
    share = weights / weights.sum()
    scores = [(e @ share).tolist() for e in errors]
    proposed = []
    for run, (error, score) in enumerate(zip(errors, scores, strict=True)):
        best = score.index(min(score))
        earliest = next(t for t in range(len(score)) if within_standard_error(error[t], error[best], share))
        at = len(score) - 1 if last else earliest
        proposed.append((score[at], at, run))
    proposed.sort()
    _, at, run = proposed[0]
    reference = errors[run][at]
    good = [entry for entry in proposed if within_standard_error(errors[entry[2]][entry[1]], reference, share)]
    if most == 1:
        good = [min(good, key=lambda entry: entry[0] if last else (entry[1], entry[0]))]
    good = good[:most]
    return Selection(tuple(Member(run, at, 1 / len(good)) for _, at, run in good), scores)


def screen(
    candidates: list[Candidate], tuner: Callable[[Kernel], RoundTuner], data: Rows, context: FitContext, share: float
) -> tuple[list[Run], bool]:
    """Run the rounds of every candidate; the second value is False where Ctrl-C asks not to go on comparing them.

    Candidates with the same kernel share round 0, which does not depend on the update. The screening stops after
    ``share`` of the time limit, with the runs that have at least round 0, at Ctrl-C, and where a callback asks for it.
    """
    runs: list[Run] = []
    first_rounds: dict[Kernel, tuple[Step, RoundParams]] = {}
    for number, candidate in enumerate(candidates):
        name = f"run-{number}"
        done, path = context.checkpoint.steps(name, data)
        if not done and candidate.kernel in first_rounds:
            first, params = first_rounds[candidate.kernel]
            done, path = [first], [params]
        recorder = RecordingTuner(tuner(candidate.kernel), path)
        steps: list[Step] = []
        stop: BaseException | None = None
        asked = False
        try:
            for step in rounds(candidate, data, recorder, context.workspace, done, context.pool):
                steps.append(step)
                context.checkpoint.store_step(name, step, recorder.path[len(steps) - 1], data)
                first_rounds.setdefault(candidate.kernel, (step, recorder.path[0]))
                context.tick()
                asked = context.observer.after_round(candidate, steps)
                if asked:
                    break
                context.clock.check(share)
        except (KeyboardInterrupt, TimeLimitReached) as error:
            if not runs and not steps:
                raise
            stop, context.interrupted = error, True
        if steps:
            records, machines = zip(*steps, strict=True)
            runs.append(Run(candidate, tuple(recorder.path[: len(steps)]), records, machines))
        if isinstance(stop, KeyboardInterrupt):
            done_rounds = f"{len(steps)} of {candidate.n_rounds + 1} rounds of candidate {number + 1}"
            warnings.warn(f"interrupted after {done_rounds}: no further candidate is screened", stacklevel=2)
            return runs, False
        if stop is not None:
            tried = (
                f"{len(runs)} of {len(candidates)} candidates were screened, the last one up to round {len(steps) - 1}"
            )
            warnings.warn(f"{context.clock.reason(stop)}: {tried}", stacklevel=2)
        if stop is not None or asked:
            return runs, True
    return runs, True


@dataclass(frozen=True, eq=False)
class FoldTask:
    """The part of the work that all folds share: the candidates, the parameters to repeat, and the rows.

    ``with_machines`` asks for the fitted machines beside their predictions (for bagging); ``after_round`` is called
    after each round where folds run in this process.
    """

    paths: list[tuple[Candidate, tuple[RoundParams, ...]]]
    data: Rows
    per_row_ridge: bool
    with_machines: bool
    after_round: Callable[[], None] | None = None
    workspace: Workspace | None = None

    @property
    def rounds(self) -> int:
        """Number of rounds of one fold."""
        return sum(len(path) for _, path in self.paths)


def cross_validate(
    runs: list[Run],
    data: Rows,
    folds: list[TrainAndHoldout],
    context: FitContext,
    *,
    per_row_ridge: bool,
    with_machines: bool,
    all_candidates: bool = True,
) -> list[FoldResult]:
    """Repeat all runs without each fold, and predict the held-out rows after each round.

    Folds are stored in the checkpoint if the runs are those of ``all_candidates``, with all their rounds.

    Folds that Ctrl-C or the time limit ended early are dropped; finished ones count, in whatever order they finished.
    """
    pool = context.pool
    task = FoldTask([(run.candidate, run.path) for run in runs], data, per_row_ridge, with_machines)
    if not pool.remote:
        workspace = context.workspace if isinstance(pool, Serial) else None
        task = replace(task, after_round=context.fold_round, workspace=workspace)
    complete = all_candidates and all(len(run.path) == run.candidate.n_rounds + 1 for run in runs)
    # A fold of runs that were ended early is no part of a complete fit, so it is not stored.
    checkpoint = context.checkpoint if complete and not context.interrupted else Checkpoint()
    found = {i: fold for i in range(len(folds)) if (fold := checkpoint.fold(i, data)) is not None}
    missing = [i for i in range(len(folds)) if i not in found]
    results = pool.run(run_fold, task, [folds[i] for i in missing])
    try:
        for _ in range(task.rounds * len(found)):
            context.fold_round()
        for at, fold in results:
            found[missing[at]] = fold
            checkpoint.store_fold(missing[at], fold, data)
            for _ in range(task.rounds if pool.remote else 0):
                context.fold_round()
            if len(found) < len(folds):
                context.clock.check(0.8)
    except (KeyboardInterrupt, TimeLimitReached) as error:
        context.interrupted = context.folds_cancelled = True
        done = f"the round is selected on {len(found)} of {len(folds)} folds"
        outcome = done if found else "no fold is finished, so the last round is selected"
        warnings.warn(f"{context.clock.reason(error)}: {outcome}", stacklevel=2)
    return [found[i] for i in sorted(found)]


def run_fold(task: FoldTask, fold: TrainAndHoldout) -> FoldResult:
    """Repeat the rounds of all runs without the held-out rows, and predict those after each round.

    A run may stop early on a fold (a constant predictor); its last round then replaces the missing ones.
    """
    data = task.data
    train, out = (rows.to(data.X.device) for rows in fold)
    here = data[train]
    growth = here.total_weight / data.total_weight if task.per_row_ridge else 1.0
    workspace = task.workspace or Workspace()
    after_round = task.after_round or (lambda: None)
    first_rounds: dict[Kernel, Step] = {}
    found: FoldResult = []
    for candidate, path in task.paths:
        candidate = replace(candidate, n_rounds=len(path) - 1)
        tuner = ReplayedParams(path, candidate.seed, growth)
        outputs: list[Tensor] = []
        machines: list[KernelMachine] = []
        done = [first_rounds[candidate.kernel]] if candidate.kernel in first_rounds else []
        for step in rounds(candidate, here, tuner, workspace, done):
            first_rounds.setdefault(candidate.kernel, step)
            outputs.append(step[1].predict(data.X[out], batch_invariant=False))
            if task.with_machines:
                machines.append(step[1].embedded(data.X, train, data.weights))
            after_round()
        for _ in range(len(path) - len(outputs)):
            outputs.append(outputs[-1])
            after_round()
        found.append((RoundPredictions(out, torch.stack(outputs)), tuple(machines)))
    return found


def average_predictions(
    selection: Selection, comparison: RunComparison, held_out: Int[Tensor, " m"] | None
) -> tuple[Int[Tensor, " m"], Float[Tensor, "m c"]]:
    """Average the members' predictions of held-out rows; without ``held_out`` each fold knows its own rows."""
    parts = [
        member.share * torch.cat([one.outputs for one in comparison.predictions[member.run]], dim=1)[member.round]
        for member in selection.members
    ]
    outputs = sum(parts[1:], start=parts[0])
    if held_out is not None:
        return held_out, outputs
    return torch.cat([one.rows for one in comparison.predictions[0]]), outputs
