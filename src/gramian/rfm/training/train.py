"""The training pipeline: screen candidates → compare them on held-out rows → select → refit → package.

All fits take this path. Small, large, streamed and distributed fits differ in their :class:`Plan` and in the
:class:`RowSource` that holds the rows. There is no scikit-learn here: rows are tensors, targets are centred and scaled.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from gramian.core.rows import MemoryRows, Rows, RowSource
from gramian.core.selection import Member, RowLoss, Selection, average_predictions, select, squared_loss
from gramian.core.splits import RowSplit, SplitBy, draw_splits, hold_out
from gramian.features import Update
from gramian.kernels import Kernel, Metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.parts import PartsLearner
from gramian.rfm.training.plan import LOO_ROWS, Plan
from gramian.rfm.training.refit import (
    Refit,
    Refitted,
    average_members,
    histories,
    refit_on_all_rows,
    solve_selected_fully,
    weight_growth,
)
from gramian.rfm.training.rounds import Candidate, Evolution, Round
from gramian.rfm.training.thresholded import refit_thresholded, select_columns
from gramian.rfm.training.tuning import LARGE_LOO_ROWS, FixedParams, LeaveOneOutTuner, RoundTuner
from gramian.rfm.training.validation import ComparedRuns, compare_on_splits, screen
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
    cautious, loo_rows
        ``cautious`` and ``rows`` of :class:`LeaveOneOutTuner`.
    max_members : int
        Models that may predict together.
    bagging : bool
        Average each selected model with its copies from the folds.
    seed : int
    strata : array (n,) or None
        Labels to stratify folds by.
    split_by : SplitBy or None
        Groups or times that splits respect.
    evaluation : Rows or None
        Rows that compare rounds and candidates instead of folds.
    loss : RowLoss
        The loss of held-out rows by which rounds, candidates and averages are selected.
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
    split_by: SplitBy | None = None
    evaluation: Rows | None = None
    loss: RowLoss = squared_loss
    loo_rows: int = LOO_ROWS

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
        return LeaveOneOutTuner(self.ridge, self.seed, self.ridge_per_row, self.cautious, self.loo_rows)


Holdout = tuple[Int[Tensor, " m"], Float[Tensor, "m c"], Float[Tensor, " m"] | None]
"""Indices of held-out training rows, predictions for them, and the weights with which they count (None: their own)."""


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of :func:`train`, in the scaled units of the targets.

    ``holdout`` are predictions for held-out training rows; ``evaluated (m, c)`` those for the evaluation set;
    ``rows (k,)`` the training rows that are centres, where these are not all rows; ``solved (s,)`` those for which the
    coefficients were solved, where these are not all rows; ``n_rows`` their number with copies, where it is known.
    """

    ensemble: Ensemble
    metric: Metric
    support: Bool[Tensor, " d"] | None
    ridge: float
    best_round: int
    candidate: Candidate
    records: tuple[Round, ...]
    holdout: Holdout | None
    evaluated: Float[Tensor, "m c"] | None
    evolution: Evolution
    rows: Int[Tensor, " k"] | None = None
    solved: Int[Tensor, " s"] | None = None
    n_rows: int | None = None


@dataclass(frozen=True, eq=False)
class RowParts:
    """Random parts of the rows: splits of them, or the rows of a large fit that are held out of it and the others."""

    splits: tuple[RowSplit, ...] = ()
    screened: Int[Tensor, " p"] | None = None
    held_out: Int[Tensor, " q"] | None = None
    order: Int[Tensor, " r"] | None = None


def train(task: Task, plan: Plan, source: RowSource, context: FitContext) -> Trained:
    """Run the rounds of every candidate, compare them, and fit the selected ones: one model or an average.

    Ctrl-C or the time limit ends a stage early, with a warning; the selection then uses what is finished. The
    checkpoint stores finished rounds and splits, and is deleted once the fit is complete.

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
    task = replace(task, loo_rows=LARGE_LOO_ROWS) if plan.large else task
    parts = _draw(task, plan, source)
    if parts.splits:
        data = parts.splits[0].fitted(source.load())
    else:
        data = source.load() if parts.screened is None else source.take(parts.screened)
    solver, feature_solver = plan.screen_solvers(data, plan.validation == "evaluation set" and task.compares)
    candidates = task.candidates(solver, feature_solver, plan.max_bytes)
    steps = len(candidates) * (task.n_rounds + 1) * max(1, plan.n_splits) + (2 if plan.large else 0)
    with context.steps(steps, parts.splits[0].train if parts.splits else parts.screened):
        holdout = task.evaluation if parts.held_out is None else source.take(parts.held_out)
        held_out = parts.splits[0].compared(source.load()) if parts.splits else holdout
        ends_rounds = None if task.select_last else held_out
        runs = screen(candidates, task.tuner, data, context, plan.screen_time_share, ends_rounds, task.loss)
        if parts.splits:
            assert held_out is not None
            compared = compare_on_splits(
                runs,
                source.load(),
                parts.splits,
                held_out,
                context,
                plan.split_time_share,
                last=task.select_last,
                most=task.max_members,
                per_row_ridge=task.ridge_grows,
                with_machines=task.bagging,
                loss=task.loss,
            )
        else:
            compared = ComparedRuns.on(runs, holdout, task.loss)
        selection = _select(task, plan, compared, source if holdout is None else MemoryRows(holdout))
        if not plan.large and solver != plan.solver and holdout is not None:
            compared = replace(compared, runs=solve_selected_fully(selection, runs, data, plan.final_solver, context))
        context.say(f"models selected for the refit: {len(selection.members)}")
        refitted = _refit(task, plan, selection, compared, source, data, parts, holdout, context)
        context.conclude(refitted.describe(source.n_rows))
    context.close()
    return _package(task, source, parts, selection, compared, refitted)


def _draw(task: Task, plan: Plan, source: RowSource) -> RowParts:
    n = source.n_rows
    if plan.large:
        held_out, order = hold_out(n, plan.holdout_rows, task.seed, task.split_by)
        screened = order[: plan.screen_rows].sort().values
        return RowParts((), screened, held_out if plan.validation == "holdout" else None, order)
    if not plan.n_splits:
        return RowParts()
    copies = source.load().copies
    splits = draw_splits(
        n,
        plan.n_splits,
        train_rows=plan.screen_rows if plan.validation == "splits" else 0,
        held_out_rows=plan.holdout_rows,
        seed=task.seed,
        strata=task.strata,
        copies=None if copies is None else copies.cpu().numpy().astype(np.intp),
        by=task.split_by,
    )
    return RowParts(tuple(splits))


def _select(task: Task, plan: Plan, compared: ComparedRuns, held_out: RowSource) -> Selection:
    runs, comparison = compared.runs, compared.comparison
    if comparison is None:
        too_few_rows = plan.validation == "none" and task.compares and not task.select_last
        at = 0 if too_few_rows else len(runs[0].records) - 1
        return Selection((Member(0, at, 1.0),), [[float("nan")] * len(run.records) for run in runs])
    # Each member of a large ensemble would have to be fitted to all rows.
    most = 1 if plan.large else task.max_members
    return select(comparison, held_out.load().Y, last=task.select_last, most=most)


def _refit(
    task: Task,
    plan: Plan,
    selection: Selection,
    compared: ComparedRuns,
    source: RowSource,
    data: Rows,
    parts: RowParts,
    holdout: Rows | None,
    context: FitContext,
) -> Refitted:
    """Fit the selected members as the plan says, and keep the columns that M selects where RFM-T asks for it."""
    best, runs = selection.members[0], compared.runs
    run = runs[best.run]
    if plan.large:
        order = parts.order
        assert parts.screened is not None
        assert order is not None
        assert holdout is not None
        given = task.tuner, task.feature_threshold, task.ridge_grows
        learner = PartsLearner(plan, run, best, *given, source, order, context, task.loss, task.split_by)
        return learner.refit(parts.screened, parts.held_out, holdout, selection.scores[best.run][best.round])
    weight, n_rows = data.total_weight, data.n_copies
    refits = [Refit(runs[m.run].machines[: m.round + 1], (), weight, n_rows) for m in selection.members]
    if plan.refit == "all rows":
        data = source.load()
        growth = weight_growth(data, parts.splits[0]) if task.ridge_grows else None
        refits = refit_on_all_rows(selection, runs, parts.splits[0], data, plan, growth, context)
    machines = [refit.machines[-1] for refit in refits]
    members = histories(selection, runs, refits, per_row_ridge=task.ridge_grows)
    ensemble = replace(average_members(selection, compared, machines), members=members)
    # The ridge of the last solve, with its jitter; a refit that ended early is the round of the screening.
    machine, ridge = ensemble.machines[0], (refits[0].records or run.records[: best.round + 1])[-1].ridge
    assert isinstance(machine, KernelMachine)
    fewest = min(refits, key=lambda refit: refit.n_rows)
    whole = Refitted(
        ensemble,
        machine.metric,
        ridge,
        records=refits[0].records,
        metrics=refits[0].metrics,
        solved=fewest.solved,
        n_rows=fewest.n_rows,
    )
    if task.feature_threshold is None:
        return whole
    # A predictor of round 0 has learned no features, but it has gradients.
    support = select_columns(machine.metric.diagonal() if best.round else machine.agop_diagonal, task.feature_threshold)
    return refit_thresholded(run.candidate, machine.metric, support, data, task.tuner, plan, context) or whole


def _package(
    task: Task, source: RowSource, parts: RowParts, selection: Selection, compared: ComparedRuns, refitted: Refitted
) -> Trained:
    """Collect the fitted ensemble, the records of its rounds, and its predictions of held-out rows."""
    best = selection.members[0]
    run = compared.runs[best.run]
    records = [*refitted.records, *run.records[len(refitted.records) :]]
    records = [replace(record, score=score) for record, score in zip(records, selection.scores[best.run], strict=True)]
    if refitted.record is not None:
        records[best.round] = refitted.record
    metrics = [*refitted.metrics, *(machine.metric for machine in run.machines[len(refitted.metrics) :])]
    metrics[best.round] = refitted.metric  # perhaps learned on more rows than those of the screening
    predicted: Holdout | None = None
    evaluated = None
    if task.evaluation is not None:
        X = task.evaluation.X
        evaluated = refitted.ensemble.predict(X if refitted.support is None else X[:, refitted.support])
    elif parts.held_out is not None:
        if refitted.holdout_outputs is not None:
            predicted = parts.held_out, refitted.holdout_outputs, None
    elif compared.comparison is not None and refitted.support is None:  # thresholded models predict something else
        comparison, last, most = compared.comparison, task.select_last, task.max_members
        predicted = average_predictions(selection, comparison, source.load().Y, last=last, most=most)
    return Trained(
        ensemble=refitted.ensemble,
        metric=refitted.metric,
        support=refitted.support,
        ridge=refitted.ridge,
        best_round=best.round,
        candidate=run.candidate,
        records=tuple(records),
        holdout=predicted,
        evaluated=evaluated,
        evolution=Evolution.of(metrics, refitted.metric),
        rows=refitted.rows,
        solved=refitted.solved,
        n_rows=refitted.n_rows,
    )


def _compatible(kernel: Kernel, update: Update) -> Update:
    """Return the diagonal form of an update for a product kernel, which can use only the diagonal of M."""
    if kernel.needs_axis_aligned_metric and not update.get_params().get("diagonal", True):
        return update.with_params(diagonal=True)
    return update
