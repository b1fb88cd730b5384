"""Fitting on tensors: run the rounds, judge them on rows they have not seen, keep one. No scikit-learn here."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gramian.core.progress import progress
from gramian.features import Update
from gramian.kernels import Kernel
from gramian.rfm.choice import Choice, Chooser, Fixed, LeaveOneOut, Rows
from gramian.rfm.machine import KernelMachine
from gramian.rfm.rounds import Problem, Round, rounds
from gramian.rfm.selection import HeldOut, Run, Verdict, decide, fold_count, held_out, splits, squared_errors
from gramian.solvers import Solver, Workspace


@dataclass(frozen=True)
class Settings:
    """What to fit and how to choose; every name resolved, every number checked."""

    kernels: tuple[Kernel, ...]
    updates: tuple[Update, ...]
    n_rounds: int
    select_last: bool
    ridge: float | None
    per_row_ridge: bool
    solver: Solver
    threshold: float | None
    max_bytes: int
    seed: int
    show_progress: bool = False

    @property
    def problems(self) -> list[Problem]:
        """Kernels × updates, where a kernel that sees axes only meets updates that keep them."""
        pairs = itertools.product(self.kernels, self.updates if self.n_rounds else self.updates[:1])
        made = [
            Problem(kernel, _fitting_update(kernel, update), self.solver, self.n_rounds, self.max_bytes, self.seed)
            for kernel, update in pairs
        ]
        return list(dict.fromkeys(made))

    def chooser(self, kernel: Kernel) -> Chooser:
        """Leave-one-out where something is left to choose, else the user's numbers."""
        if self.ridge is not None and not kernel.automatic:
            return Fixed(self.ridge, self.seed, self.per_row_ridge)
        return LeaveOneOut(self.ridge, self.seed, self.per_row_ridge)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The machine that was kept, the features it stands on, and what is known of rows it has not seen."""

    machine: KernelMachine
    features: Float[Tensor, "d d"]
    ridge: float
    round: int
    problem: Problem
    records: tuple[Round, ...]
    support: Bool[Tensor, " d"] | None
    held_out: HeldOut | None
    """Predictions for held-out training rows after the kept round, or None."""
    evaluated: Float[Tensor, "m c"] | None
    """Predictions for the evaluation set after the kept round, or None."""


EvalSet = tuple[Float[Tensor, "m d"], Float[Tensor, "m c"]]


def fit(settings: Settings, data: Rows, strata: np.ndarray | None = None, eval_set: EvalSet | None = None) -> Fitted:
    """Run the rounds of every problem on all rows, judge them, keep the best round.

    Rounds and updates are judged on the evaluation set if there is one, else by folds in which the features are
    learned anew with the same ridges and bandwidth factors. The machine kept is the one fitted on all rows.

    Ctrl-C ends the fit early: what is finished is judged by what is known, with a warning.
    """
    problems = settings.problems
    undecided = len(problems) > 1 or (settings.n_rounds > 0 and not settings.select_last)
    folds = fold_count(len(data)) if undecided and eval_set is None else 0
    workspace = Workspace()
    steps = len(problems) * (settings.n_rounds + 1) * (1 + folds)
    with progress("fitting", steps, settings.show_progress) as tick:
        runs, complete = _run_all(settings, problems, data, workspace, tick)
        held: list[list[HeldOut]] = []
        if folds and complete:
            held = _judge(runs, data, strata, folds, settings, workspace, tick)
    if eval_set is not None:
        verdict = _on_eval_set(runs, eval_set, settings)
    elif held:
        errors = [squared_errors(list(parts), data) for parts in zip(*held, strict=True)]
        verdict = decide([e for e, _ in errors], errors[0][1], settings.select_last)
    else:
        too_few = undecided and complete and not folds and not settings.select_last
        verdict = _without_judges(runs, too_few)
    run = runs[verdict.run]
    records = tuple(
        replace(record, score=score) for record, score in zip(run.records, verdict.scores[verdict.run], strict=True)
    )
    machine = run.machines[verdict.round]
    features, support, ridge = machine.matrix(), None, records[verdict.round].ridge
    if settings.threshold is not None:
        machine, support, ridge = _thresholded(settings, run.problem, features, data, workspace)
    parts = [fold[verdict.run] for fold in held]
    kept = None
    if parts:
        kept = HeldOut(torch.cat([p.rows for p in parts]), torch.cat([p.outputs for p in parts], dim=1)[verdict.round])
    evaluated = None
    if eval_set is not None:
        evaluated = machine.predict(eval_set[0] if support is None else eval_set[0][:, support])
    return Fitted(machine, features, ridge, verdict.round, run.problem, records, support, kept, evaluated)


def threshold_support(M: Float[Tensor, "d d"], threshold: float) -> Bool[Tensor, " d"]:
    """Coordinates whose diagonal entry of M, scaled from its smallest (0) to its largest (1), exceeds a threshold.

    >>> threshold_support(torch.diag(torch.tensor([0.0, 0.04, 1.0])), 0.05)
    tensor([False, False,  True])
    """
    diagonal = M.diagonal()
    spread = diagonal.max() - diagonal.min()
    if spread == 0:
        return torch.ones_like(diagonal, dtype=torch.bool)
    return (diagonal - diagonal.min()) / spread > threshold


def _run_all(
    settings: Settings,
    problems: list[Problem],
    data: Rows,
    workspace: Workspace,
    tick: Callable[[], None],
) -> tuple[list[Run], bool]:
    runs: list[Run] = []
    for problem in problems:
        chooser = _Recording(settings.chooser(problem.kernel))
        finished: list[tuple[Round, KernelMachine]] = []
        interrupted = False
        try:
            for step in rounds(problem, data, chooser, workspace):
                finished.append(step)
                tick()
        except KeyboardInterrupt:
            if not runs and not finished:
                raise
            interrupted = True
        if finished:
            records, machines = zip(*finished, strict=True)
            runs.append(Run(problem, tuple(chooser.path[: len(finished)]), records, machines))
        if interrupted:
            warnings.warn(
                f"interrupted: {len(finished)} of {problem.n_rounds + 1} rounds are done; without an evaluation set to "
                "choose by, the last of them is kept",
                stacklevel=2,
            )
            return runs, False
    return runs, True


class _Recording(Chooser):
    """Remembers what another chooser chose."""

    def __init__(self, chooser: Chooser) -> None:
        self.chooser = chooser
        self.path: list[Choice] = []

    def choose(self, *args: Any, **kwargs: Any) -> Choice:
        choice = self.chooser.choose(*args, **kwargs)
        self.path.append(choice)
        return choice


def _judge(
    runs: list[Run],
    data: Rows,
    strata: np.ndarray | None,
    folds: int,
    settings: Settings,
    workspace: Workspace,
    tick: Callable[[], None],
) -> list[list[HeldOut]]:
    """Predictions ``[fold][run]`` of held-out rows; folds that Ctrl-C cut short are left out."""
    done: list[list[HeldOut]] = []
    try:
        for train, out in splits(len(data), folds, settings.seed, strata):
            parts = []
            for run in runs:
                parts.append(held_out(run, data, train, out, workspace, settings.per_row_ridge, tick))
            done.append(parts)
    except KeyboardInterrupt:
        how = (
            f"the round is chosen by {len(done)} of {folds} folds"
            if done
            else "no fold is done, the last round is kept"
        )
        warnings.warn(f"interrupted: {how}", stacklevel=2)
    return done


def _on_eval_set(runs: list[Run], eval_set: EvalSet, settings: Settings) -> Verdict:
    X, Y = eval_set
    scores = [
        [float((m.predict(X, stable=False) - Y.to(m.coef.dtype)).square().mean()) for m in run.machines] for run in runs
    ]
    entries = [
        (score, t, r)
        for r, run in enumerate(scores)
        for t, score in enumerate(run)
        if not settings.select_last or t == len(run) - 1
    ]
    _, t, r = min(entries)
    return Verdict(r, t, scores)


def _without_judges(runs: list[Run], too_few_rows: bool) -> Verdict:
    """Nothing was held out: the last round, or round 0 where rows are too few to trust more."""
    scores = [[float("nan")] * len(run.records) for run in runs]
    return Verdict(0, 0 if too_few_rows else len(runs[0].records) - 1, scores)


def _thresholded(
    settings: Settings,
    problem: Problem,
    M: Tensor,
    data: Rows,
    workspace: Workspace,
) -> tuple[KernelMachine, Tensor, float]:
    """RFM-T: kernel ridge regression with the base kernel on the coordinates M singles out."""
    assert settings.threshold is not None
    support = threshold_support(M, settings.threshold)
    if not bool(support.any()):
        raise ValueError(f"threshold={settings.threshold} leaves no column: lower it")
    chooser = settings.chooser(problem.kernel)
    kept = Rows(data.X[:, support], data.Y, data.weights)
    (record, machine), *_ = rounds(replace(problem, n_rounds=0), kept, chooser, workspace)
    return machine, support, record.ridge


def _fitting_update(kernel: Kernel, update: Update) -> Update:
    """Product kernels can only use the diagonal of M, so their updates are made to keep just that."""
    if kernel.needs_axis_aligned_metric and not update.get_params().get("diagonal", True):
        return update.with_params(diagonal=True)
    return update
