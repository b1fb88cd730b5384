"""From prepared rows to a fitted value: task and plan, training, and the model with its holdout predictions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from gramian.core import threads
from gramian.core.clock import Clock, Pace
from gramian.core.pool import Pool, Serial, Threads
from gramian.core.rows import MemoryRows, RowSource
from gramian.core.selection import squared_loss
from gramian.core.version import __version__
from gramian.kernels import Identity, Kernel
from gramian.rfm.machine import KernelMachine, LearnedFeatures
from gramian.rfm.model import Ensemble, FitHistory, FittedRFM
from gramian.rfm.options import FitOptions, resolve_updates
from gramian.rfm.training.context import Checkpoint, FitContext, FitObserver
from gramian.rfm.training.plan import HOLDOUT_ROWS, SCREEN_ROWS, Plan, Validation, threads_for
from gramian.rfm.training.rounds import Candidate, Rounds, Step, rounds, solve_round
from gramian.rfm.training.train import Task, Trained, train
from gramian.rfm.training.tuning import FixedParams
from gramian.rfm.uncertainty.holdout import HoldoutPredictions, Source, leave_one_out
from gramian.solvers import Direct, Workspace
from gramian.solvers.base import warn_numbers
from gramian.tables.prepare import Prepared
from gramian.tables.row_losses import describe_loss, metric_identity, selection_loss
from gramian.tables.scaling import Array
from gramian.tables.targets import ClassTarget, NumericTarget, Target

log = logging.getLogger(__name__)
_KERNEL_ROWS = 20_000
"""Number of rows, at most, that a kernel is fitted to."""
_PROBE_ROWS = 1000
"""Rows of the solve that measures the pace of a fit with a time limit."""

_NOT_IN_ROUNDS = {"checkpoint", "cluster", "encoder", "max_memory", "n_jobs", "n_threads", "time_limit", "verbose"}
"""Arguments that do not change the rounds, or whose effect is in the rows or in the plan."""


@runtime_checkable
class HasParams(Protocol):
    """An estimator of scikit-learn."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the arguments of the constructor by name."""


def identity_of(estimator: HasParams, prepared: Prepared) -> tuple[object, ...]:
    """Return the version, the class, the arguments and the rows of a fit; nothing where it stores no checkpoint.

    >>> from gramian import RFMRegressor
    >>> X = np.arange(8.0).reshape(4, 2)
    >>> model = RFMRegressor()
    >>> identity_of(model, model.prepare(X, X[:, 0]))
    ()
    """
    params = estimator.get_params(deep=False)
    if params["checkpoint"] is None:
        return ()
    seed = params["random_state"]
    if not isinstance(seed, int | np.integer):
        raise ValueError(f"checkpoint needs an integer as random_state to go on from, got {seed!r}")
    used = {name: value for name, value in params.items() if name not in _NOT_IN_ROUNDS}
    used["metric"] = metric_identity(params["metric"])
    return __version__, type(estimator).__name__, used, prepared.identity


def fit_model(
    options: FitOptions,
    prepared: Prepared,
    observer: FitObserver,
    identity: tuple[object, ...] = (),
    clock: Clock | None = None,
) -> FittedRFM:
    """Plan the fit, train, and package the result.

    ``identity`` is what a checkpoint depends on besides the plan; ``clock`` runs since the table was begun to be read.
    """
    clock, pace = Clock(options.time_limit) if clock is None else clock, Pace()
    task, plan = make_task_and_plan(options, prepared)
    plan = plan_within(task, plan, prepared.source, clock, pace)
    if plan.forced:
        warn_numbers(f"{plan.n} rows: {plan.why}")
    log.info("solver %s", plan.why)
    pool = options.compute.pool()
    if options.compute.n_jobs is None and isinstance(pool, Serial) and plan.workers > 1:
        pool = Threads(plan.workers)
    with threads(threads_for(plan.n, options.n_threads, options.compute.n_jobs)):
        source = _on_workers(prepared.source, pool) if plan.large else prepared.source
        checkpoint = Checkpoint()
        if options.checkpoint is not None:  # another plan draws other rows, so its rounds are of no use
            stages = (plan.validation, plan.n_splits, plan.screen_rows, plan.holdout_rows, plan.refit)
            checkpoint = Checkpoint.open(options.checkpoint, (*identity, stages))
        context = FitContext(clock, Workspace(), observer, checkpoint, pool, options.verbose, pace=pace)
        if options.compute.n_jobs is None and not plan.large:  # as many as the plan has memory for
            context.workers = plan.workers
        trained = train(task, plan, source, context)
        model = _package(options, prepared, plan, trained)
    if isinstance(model.target, ClassTarget):  # calibrated now, so that predictions change nothing
        return replace(model, held_out=model.holdout, fitted_link=model.link)
    return model


def make_task_and_plan(options: FitOptions, prepared: Prepared) -> tuple[Task, Plan]:
    """Resolve what is to be learned, and what is done with this number of rows."""
    source = prepared.source
    n, d, outputs = source.n_rows, source.n_columns, source.n_outputs
    robust, metric = _is_robust(prepared.target), options.metric
    if robust and prepared.evaluation is not None and metric == "auto":
        metric = "mae"  # its targets have the tails that those of the training rows have lost
    task = Task(
        kernels=fit_kernels(options.kernels, source, options.seed),
        updates=resolve_updates(options.update, options.preset, d, None),
        n_rounds=options.n_rounds,
        select_last=options.select_last,
        ridge=options.ridge,
        ridge_per_row=options.ridge_per_row,
        feature_threshold=options.feature_threshold,
        cautious=isinstance(prepared.target, ClassTarget),
        max_members=options.preset.max_members,
        bagging=options.bagging,
        seed=options.seed,
        strata=prepared.strata,
        split_by=prepared.split_by,
        evaluation=prepared.evaluation,
        loss=selection_loss(metric, prepared.target, prepared.target_scaler) or squared_loss,
    )
    plan = Plan.for_size(
        n,
        d,
        outputs,
        options.compute.max_bytes,
        dtype=source.dtype,
        solver=options.solver,
        compare=task.compares,
        evaluation_set=prepared.evaluation is not None,
        streamed=prepared.streamed,
        # By default candidates are fitted side by side on all threads.
        workers=options.n_threads or torch.get_num_threads() if options.compute.n_jobs is None else 1,
        candidates=min(len(task.kernels) * len(task.updates), task.max_members),
        models=len(task.pairs) * (task.n_rounds + 1),
        table_rows=_count_rows(prepared, None),
    )
    by = prepared.split_by
    plan = replace(plan, robust=robust, split_by="" if by is None or prepared.evaluation is not None else by.name)
    return replace(task, updates=resolve_updates(options.update, options.preset, d, plan.agop_rows)), plan


def plan_within(task: Task, plan: Plan, source: RowSource, clock: Clock, pace: Pace) -> Plan:
    """Return the plan of a large fit where rounds of all candidates on all rows may take longer than a time limit.

    That concerns fits whose screening uses all rows: with an evaluation set, or with nothing to compare. At worst each
    solve is iterative and then direct.
    """
    n, d, outputs = plan.n, plan.d, plan.outputs
    if clock.limit is None or plan.large or plan.n_splits or n <= SCREEN_ROWS:
        return plan
    few = source.take(torch.arange(min(n, _PROBE_ROWS)))
    params = FixedParams(1e-2, task.seed).tune(0, task.kernels[0], Identity(d, few.X.device), few, Workspace())
    begin = clock.seconds
    solve_round(Direct(), None, few, params, Identity(d, few.X.device), None, Workspace())
    pace.measure(Direct().seconds_needed(len(few), d, outputs), clock.seconds - begin)
    both = plan.final_solver.seconds_needed(n, d, outputs) + Direct().seconds_needed(n, d, outputs)
    if clock.allows(pace.seconds(both) * len(task.pairs) * (task.n_rounds + 1), plan.screen_time_share):
        return plan
    held = 0 if plan.validation == "evaluation set" else min(HOLDOUT_ROWS, n // 10)
    validation: Validation = "holdout" if held else "evaluation set"
    return replace(plan, validation=validation, holdout_rows=held, screen_rows=SCREEN_ROWS, refit="growing parts")


def _is_robust(target: Target) -> bool:
    return isinstance(target, NumericTarget) and target.bound is not None


def fit_kernels(kernels: tuple[Kernel, ...], source: RowSource, seed: int) -> tuple[Kernel, ...]:
    """Give kernels what they take from the training rows; of several, return those that suit the rows.

    >>> from gramian.core.rows import Rows
    >>> from gramian.kernels import Laplace, ScoredLp
    >>> even = torch.linspace(0, 1, 50, dtype=torch.float64)[:, None]
    >>> sources = [MemoryRows(Rows(X, even)) for X in (even, (9 * even).exp())]
    >>> [len(fit_kernels((Laplace(), ScoredLp()), source, 0)) for source in sources]
    [1, 2]
    """
    if not any(kernel.needs_rows for kernel in kernels):
        return kernels
    chosen = torch.randperm(source.n_rows, generator=torch.Generator().manual_seed(seed))[:_KERNEL_ROWS]
    rows = source.take(chosen.sort().values)
    fitted = tuple(kernel.fitted_to(rows.X, rows.weights) for kernel in kernels)
    return tuple(kernel for kernel in fitted if kernel.suits_its_rows) or fitted


def _on_workers(source: RowSource, pool: Pool) -> RowSource:
    """Spread rows that are in memory over the workers of a cluster, where there is one."""
    spread = getattr(pool, "source", None)
    if spread is None or not isinstance(source, MemoryRows):
        return source
    on_workers: RowSource = spread(source.rows)
    return on_workers


def _package(options: FitOptions, prepared: Prepared, plan: Plan, trained: Trained) -> FittedRFM:
    index = prepared.row_index if trained.rows is None else prepared.row_index[trained.rows.numpy()]
    return FittedRFM(
        preprocessing=prepared.preprocessing,
        target=prepared.target,
        target_scaler=prepared.target_scaler,
        ensemble=trained.ensemble,
        features=LearnedFeatures.of(trained.metric, trained.support),
        history=FitHistory(
            plan=plan,
            rounds=Rounds(trained.records, describe_loss(options.metric)),
            best_round=trained.best_round,
            update=trained.candidate.update,
            ridge=trained.ridge,
            evolution=trained.evolution,
            fitted_rows=_count_rows(prepared, trained.solved) if trained.n_rows is None else trained.n_rows,
        ),
        row_index=index,
        copies=_copies(prepared, trained.rows),
        held_out=_holdout(prepared, plan, trained),
        n_threads=threads_for(trained.ensemble.best.n, options.n_threads, options.compute.n_jobs),
    )


def _count_rows(prepared: Prepared, rows: Int[Tensor, " s"] | None) -> int:
    """Return how many rows of the user's table these training rows (None: all) stand for; equal rows are merged."""
    copies = _copies(prepared, rows)
    if copies is None:
        return prepared.source.n_rows if rows is None else len(rows)
    return int(copies.sum())


def _copies(prepared: Prepared, rows: Int[Tensor, " s"] | None) -> Array | None:
    """Return how often these training rows (None: all) are in the user's table; None for once each."""
    source = prepared.source
    copies = source.rows.copies if isinstance(source, MemoryRows) else None
    if copies is None:
        return None
    found: Array = (copies if rows is None else copies[rows.to(copies.device)]).cpu().numpy().astype(np.float64)
    return found


def _of_part(copies: Array, part: Array, weights: Array) -> Array:
    """Return how many copies of each row a part of its weight stands for; every copy has the same weight."""
    return np.rint(copies * part / weights)


def _holdout(prepared: Prepared, plan: Plan, trained: Trained) -> HoldoutPredictions | None:
    def in_units(values: Tensor) -> Array:
        return prepared.target_scaler.inverse_transform(values.cpu().numpy().astype(np.float64))

    if trained.evaluated is not None and prepared.evaluation is not None:
        codes = prepared.evaluation_codes
        targets = in_units(prepared.evaluation.Y) if codes is None else codes
        return HoldoutPredictions(in_units(trained.evaluated), targets, np.ones(len(targets)), "evaluation set")
    if trained.holdout is None:
        machine = trained.ensemble.best
        if not _is_robust(prepared.target) or not isinstance(machine, KernelMachine) or prepared.codes is None:
            return None
        codes = prepared.codes if trained.rows is None else prepared.codes[trained.rows.numpy()]
        return leave_one_out(machine, trained.ridge, prepared.target_scaler, codes, _copies(prepared, trained.rows))
    rows, outputs, counted = trained.holdout
    at = rows.cpu().numpy()
    if prepared.codes is not None and prepared.weights is not None:
        targets, weights = prepared.codes[at], prepared.weights[at]
    else:
        taken = prepared.source.take(rows)
        targets = in_units(taken.Y)
        weights = taken.weights_or_ones.cpu().numpy()
    copies = _copies(prepared, rows)
    if counted is not None:  # only some copies of a row are held out
        part = counted.cpu().numpy().astype(np.float64)
        copies, weights = None if copies is None else _of_part(copies, part, weights), part
    weights = prepared.target.unweighted(weights, targets)
    source: Source = "split" if plan.validation == "holdout" else "folds" if plan.validation == "folds" else "splits"
    return HoldoutPredictions(in_units(outputs), targets, weights, source, copies)


def snapshot(
    prepared: Prepared,
    plan: Plan,
    candidate: Candidate,
    steps: Sequence[Step],
    part: Int[Tensor, " p"] | None,
    n_threads: int | None = None,
) -> FittedRFM:
    """Return the model of a fit that had ended with the last of these rounds, on the rows ``part`` (None: all)."""
    records, machines = zip(*steps, strict=True)
    machine: KernelMachine = machines[-1]
    index, copies = prepared.row_index, _copies(prepared, part)
    if copies is not None and machine.weights is not None and prepared.weights is not None and part is not None:
        copies = _of_part(copies, machine.weights.cpu().numpy(), prepared.weights[part.cpu().numpy()])
    return FittedRFM(
        preprocessing=prepared.preprocessing,
        target=prepared.target,
        target_scaler=prepared.target_scaler,
        ensemble=Ensemble((machine,), (1.0,)),
        features=LearnedFeatures.of(machine.metric, None),
        history=FitHistory(plan, Rounds(records), len(steps) - 1, candidate.update, records[-1].ridge),
        row_index=index if part is None else index[part.cpu().numpy()],
        copies=copies,
        n_threads=n_threads,
    )


def fit_stages(options: FitOptions, prepared: Prepared, workspace: Workspace) -> Iterator[FittedRFM]:
    """Yield the model after round 0, 1, …, for one kernel and one update: nothing is compared or selected."""
    task, plan = make_task_and_plan(options, prepared)
    if len(task.pairs) > 1:
        raise ValueError('rounds can be followed one by one for a given kernel and update only, not for "auto"')
    data = prepared.source.load()
    (candidate,) = task.candidates(*plan.screen_solvers(data, coarse=False), plan.max_bytes)
    steps: list[Step] = []
    coming = rounds(candidate, data, task.tuner(candidate.kernel), workspace)
    n_threads = threads_for(len(data), options.n_threads, options.compute.n_jobs)
    while True:
        with threads(n_threads):
            step = next(coming, None)
        if step is None:
            return
        steps.append(step)
        yield snapshot(prepared, plan, candidate, steps, None, n_threads)
