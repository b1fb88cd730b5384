"""The training pipeline: screen candidates → compare them on held-out rows → select → refit → package.

All fits take this path. Small, large, streamed and distributed fits differ in their :class:`Plan` and in the
:class:`RowSource` that holds the rows. There is no scikit-learn here: rows are tensors, targets are centred and scaled.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from gramian.core.rows import Rows, RowSource
from gramian.features import Update
from gramian.kernels import Kernel
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble
from gramian.rfm.training.context import FitContext, FoldResult
from gramian.rfm.training.parts import PartsLearner
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.refit import (
    Refitted,
    refit_on_all_rows,
    select_columns,
    solve_selected_fully,
    weight_growth,
)
from gramian.rfm.training.rounds import Candidate, Evolution, Round, Run, rounds
from gramian.rfm.training.tuning import FixedParams, LeaveOneOutTuner, RoundTuner
from gramian.rfm.training.validation import (
    Member,
    RunComparison,
    Selection,
    average_predictions,
    compare_runs,
    cross_validate,
    draw_folds,
    draw_split,
    screen,
    select,
)
from gramian.solvers import Solver


@dataclass(frozen=True, eq=False)
class Task:
    """The learning problem: candidates, selection and regularisation; every name resolved, every number checked.

    Attributes
    ----------
    kernels, updates : tuples
        Their pairs are the candidates.
    n_rounds : int
    select_last : bool
        Select the last round instead of the best.
    ridge : float or None
        None selects the ridge by leave-one-out.
    ridge_per_row : bool
        Use ``K + nλI`` with a ridge that is given.
    feature_threshold : float or None
        RFM-T: refit on the columns that M selects.
    cautious : bool
        See :class:`LeaveOneOutTuner`.
    max_members : int
        Models that may predict together.
    bagging : bool
        Average each selected model with its copies from the folds.
    seed : int
    strata : array (n,) or None
        Labels to stratify folds by.
    evaluation : Rows or None
        Rows that compare rounds and candidates instead of folds.
    """

    kernels: tuple[Kernel, ...]
    updates: tuple[Update, ...]
    n_rounds: int
    select_last: bool = False
    ridge: float | None = None
    ridge_per_row: bool = False
    feature_threshold: float | None = None
    cautious: bool = False
    max_members: int = 1
    bagging: bool = False
    seed: int = 0
    strata: NDArray[np.intp] | None = None
    evaluation: Rows | None = None

    @property
    def pairs(self) -> list[tuple[Kernel, Update]]:
        """Kernels × updates; a kernel that needs an axis-aligned metric gets the diagonal form of each update."""
        updates = self.updates if self.n_rounds else self.updates[:1]
        pairs = [(kernel, _compatible(kernel, update)) for kernel, update in itertools.product(self.kernels, updates)]
        return list(dict.fromkeys(pairs))

    @property
    def compares(self) -> bool:
        """There is more than one round or candidate to select from."""
        return len(self.pairs) > 1 or (self.n_rounds > 0 and not self.select_last)

    @property
    def ridge_grows(self) -> bool:
        """The ridge is proportional to the rows' weight; one that leave-one-out selects fits its rows already."""
        return self.ridge_per_row and self.ridge is not None

    def candidates(self, solver: Solver, feature_solver: Solver, max_bytes: int) -> list[Candidate]:
        """Return the candidates with the solvers of their rounds."""
        return [
            Candidate(kernel, update, solver, feature_solver, self.n_rounds, max_bytes, self.seed)
            for kernel, update in self.pairs
        ]

    def tuner(self, kernel: Kernel) -> RoundTuner:
        """Return leave-one-out where ridge or bandwidth is to be selected, else the given numbers."""
        if self.ridge is not None and not kernel.automatic:
            return FixedParams(self.ridge, self.seed, self.ridge_per_row)
        return LeaveOneOutTuner(self.ridge, self.seed, self.ridge_per_row, self.cautious)


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of :func:`train`, in the scaled units of the targets.

    ``holdout`` are predictions for held-out training rows; ``evaluated (m, c)`` those for the evaluation set;
    ``rows (k,)`` the training rows that are centres, where these are not all rows.
    """

    ensemble: Ensemble
    matrix: Float[Tensor, "d d"]
    support: Bool[Tensor, " d"] | None
    ridge: float
    best_round: int
    candidate: Candidate
    records: tuple[Round, ...]
    holdout: tuple[Int[Tensor, " m"], Float[Tensor, "m c"]] | None
    evaluated: Float[Tensor, "m c"] | None
    evolution: Evolution
    rows: Int[Tensor, " k"] | None = None


@dataclass(frozen=True, eq=False)
class RowSplit:
    """Random parts of the rows: those to screen on (None: all), those held out, and a random order of the others."""

    screened: Int[Tensor, " p"] | None
    held_out: Int[Tensor, " q"] | None
    order: Int[Tensor, " r"] | None


def train(task: Task, plan: Plan, source: RowSource, context: FitContext) -> Trained:
    """Run the rounds of every candidate, compare them, and fit the selected ones: one model or an average.

    Ctrl-C or the time limit ends a stage early, with a warning; the selection then uses what is finished. The
    checkpoint stores finished rounds and folds, and is deleted once the fit is complete.

    Parameters
    ----------
    task : Task
        What is to be learned.
    plan : Plan
        What is done with this number of rows.
    source : RowSource
    context : FitContext
        Time limit, workspace, progress, callbacks, checkpoint, worker pool.
    """
    split = _draw(task, plan, source.n_rows)
    data = source.load() if split.screened is None else source.take(split.screened)
    coarse = plan.validation == "evaluation set" and task.compares
    solver, feature_solver = plan.screen_solvers(data, coarse)
    candidates = task.candidates(solver, feature_solver, plan.max_bytes)
    folds = list(draw_folds(source.n_rows, plan.n_folds, task.seed, task.strata)) if plan.n_folds else []
    steps = len(candidates) * (task.n_rounds + 1) * (1 + len(folds)) + (2 if plan.large else 0)
    with context.steps(steps, split.screened):
        runs, compare = screen(candidates, task.tuner, data, context, plan.screen_time_share)
        results: list[FoldResult] = []
        if folds and compare:
            results = cross_validate(
                runs,
                data,
                folds,
                context,
                per_row_ridge=task.ridge_grows,
                with_machines=task.bagging,
                all_candidates=len(runs) == len(candidates),
            )
        holdout = task.evaluation if split.held_out is None else source.take(split.held_out)
        comparison = compare_runs(runs, data, holdout, results)
        selection = _select(task, plan, runs, comparison)
        if not plan.large and solver != plan.solver and compare:
            runs = solve_selected_fully(selection, runs, data, plan.final_solver, context)
        refitted = _refit(task, plan, selection, runs, source, data, split, holdout, results, context)
    context.close()
    return _package(task, split, selection, runs, comparison, refitted)


def _draw(task: Task, plan: Plan, n: int) -> RowSplit:
    if plan.large:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(task.seed))
        held_out, order = order[: plan.holdout_rows].sort().values, order[plan.holdout_rows :]
        screened = order[: plan.screen_rows].sort().values
        return RowSplit(screened, held_out if plan.validation == "holdout" else None, order)
    if plan.validation == "split":
        return RowSplit(*draw_split(n, plan.screen_rows, plan.holdout_rows, task.seed), order=None)
    return RowSplit(None, None, None)


def _select(task: Task, plan: Plan, runs: list[Run], comparison: RunComparison | None) -> Selection:
    if comparison is None:
        too_few_rows = plan.validation == "none" and task.compares and not task.select_last
        at = 0 if too_few_rows else len(runs[0].records) - 1
        if plan.validation != "none":
            warnings.warn(f"no validation scores yet, so round {at} of the first candidate is selected", stacklevel=2)
        return Selection((Member(0, at, 1.0),), [[float("nan")] * len(run.records) for run in runs])
    # Each member of a large ensemble would have to be fitted to all rows.
    most = 1 if plan.large else task.max_members
    return select(comparison.errors, comparison.weights, last=task.select_last, most=most)


def _refit(
    task: Task,
    plan: Plan,
    selection: Selection,
    runs: list[Run],
    source: RowSource,
    data: Rows,
    split: RowSplit,
    holdout: Rows | None,
    folds: list[FoldResult],
    context: FitContext,
) -> Refitted:
    """Fit the selected members as the plan says, and keep the columns that M selects where RFM-T asks for it."""
    best = selection.members[0]
    run = runs[best.run]
    if plan.large:
        assert split.screened is not None
        assert split.order is not None
        assert holdout is not None
        learner = PartsLearner(
            plan, run, best, task.tuner, task.feature_threshold, task.ridge_grows, source, split.order, context
        )
        return learner.refit(split.screened, split.held_out, holdout, selection.scores[best.run][best.round])
    if plan.refit == "all rows":
        assert split.screened is not None
        data, screened = source.load(), split.screened
        growth = weight_growth(data, screened) if task.ridge_grows else 1.0
        machines = refit_on_all_rows(selection, runs, screened, data, growth, context)
    else:
        growth = 1.0
        machines = [runs[member.run].machines[member.round] for member in selection.members]
    ensemble = _average_members(selection, runs, machines, folds if task.bagging else [])
    machine, ridge = ensemble.machines[0], growth * run.records[best.round].ridge
    assert isinstance(machine, KernelMachine)
    if task.feature_threshold is None:
        return Refitted(ensemble, machine.metric, ridge)
    # A predictor of round 0 has learned no features, but it has gradients.
    support = select_columns(machine.matrix() if best.round else machine.agop, task.feature_threshold)
    few = Rows(data.X[:, support], data.Y, data.weights)
    candidate = replace(run.candidate, n_rounds=0)
    (record, plain), *_ = rounds(candidate, few, task.tuner(candidate.kernel), context.workspace)
    return Refitted(Ensemble((plain,), (1.0,)), machine.metric, record.ridge, support)


def _average_members(
    selection: Selection, runs: list[Run], machines: list[KernelMachine], folds: list[FoldResult]
) -> Ensemble:
    """Average the members' machines; with bagging, each together with its copies from the folds."""
    found: dict[object, tuple[KernelMachine, float]] = {}
    for member, machine in zip(selection.members, machines, strict=True):
        copies = [fold[member.run][1] for fold in folds]
        same = [machine, *(copy[min(member.round, len(copy) - 1)] for copy in copies)]
        for i, one in enumerate(same):
            # Runs with one kernel share round 0: two members that are that round are one machine with both shares.
            key = (runs[member.run].candidate.kernel, i) if member.round == 0 else (member.run, i)
            share = member.share / len(same)
            found[key] = (one, share + (found[key][1] if key in found else 0.0))
    kept, shares = zip(*found.values(), strict=True)
    return Ensemble(kept, shares)


def _package(
    task: Task,
    split: RowSplit,
    selection: Selection,
    runs: list[Run],
    comparison: RunComparison | None,
    refitted: Refitted,
) -> Trained:
    """Collect the fitted ensemble, the records of its rounds, and its predictions of held-out rows."""
    best = selection.members[0]
    run = runs[best.run]
    scored = zip(run.records, selection.scores[best.run], strict=True)
    records = [replace(record, score=score) for record, score in scored]
    if refitted.record is not None:
        records[best.round] = refitted.record
    metrics = [machine.metric for machine in run.machines]
    metrics[best.round] = refitted.metric  # perhaps learned on more rows than those of the screening
    predicted = evaluated = None
    if task.evaluation is not None:
        X = task.evaluation.X
        evaluated = refitted.ensemble.predict(X if refitted.support is None else X[:, refitted.support])
    elif split.held_out is not None and refitted.holdout_outputs is not None:
        predicted = split.held_out, refitted.holdout_outputs
    elif comparison is not None and refitted.support is None:  # thresholded models differ from those that predicted
        predicted = average_predictions(selection, comparison, split.held_out)
    return Trained(
        ensemble=refitted.ensemble,
        matrix=refitted.metric.matrix(),
        support=refitted.support,
        ridge=refitted.ridge,
        best_round=best.round,
        candidate=run.candidate,
        records=tuple(records),
        holdout=predicted,
        evaluated=evaluated,
        evolution=Evolution.of(metrics, refitted.metric),
        rows=refitted.rows,
    )


def _compatible(kernel: Kernel, update: Update) -> Update:
    """Return the diagonal form of an update for a product kernel, which can use only the diagonal of M."""
    if kernel.needs_axis_aligned_metric and not update.get_params().get("diagonal", True):
        return update.with_params(diagonal=True)
    return update
