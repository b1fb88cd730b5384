"""Fitting on tensors: run the rounds, judge them on rows they have not seen, keep the best. No scikit-learn here."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.pool import Pool, Serial
from gramian.core.progress import progress
from gramian.core.rows import Rows
from gramian.kernels import Kernel
from gramian.rfm.blend import Blend
from gramian.rfm.callbacks import Silent, Watch
from gramian.rfm.choice import Replay
from gramian.rfm.evolution import evolution
from gramian.rfm.journal import Journal
from gramian.rfm.machine import KernelMachine
from gramian.rfm.rounds import Problem, Step, finished, rounds
from gramian.rfm.runs import Run, Stage, scout, without
from gramian.rfm.selection import HeldOut, Member, Verdict, decide, fold_count, splits, squared_errors
from gramian.rfm.settings import EvalSet, Fitted, Settings, threshold_support
from gramian.solvers import Solver, Workspace


def fit(
    settings: Settings,
    data: Rows,
    strata: np.ndarray | None = None,
    eval_set: EvalSet | None = None,
    watch: Watch | None = None,
    journal: Journal | None = None,
    pool: Pool | None = None,
) -> Fitted:
    """Run the rounds of every problem, judge them, keep the best: one machine or the average of several.

    Rounds, updates and kernels are judged on the evaluation set if there is one, else by folds in which the features
    are learned anew with the same ridges and bandwidth factors. With many rows they compete on a part of them, and only
    what is kept is fitted on all rows.

    Ctrl-C or a time limit ends the fit early: what is finished is judged by what is known, with a warning. A journal
    remembers what is finished, and is closed once everything is. Folds and sums over gradients are done where the pool
    says, here by default.
    """
    problems = settings.problems
    undecided = len(problems) > 1 or (settings.n_rounds > 0 and not settings.select_last)
    coarse = settings.feature_solver if undecided and eval_set is not None else None
    if coarse is not None:  # the selected round is not known yet: it alone will be solved to the end
        problems = [replace(problem, solver=coarse) for problem in problems]
    folds = fold_count(len(data)) if undecided and eval_set is None else 0
    parts = list(splits(len(data), folds, settings.seed, strata))
    single = parts[0] if folds == 1 else None
    here = data if single is None else data[single[0].to(data.X.device)]
    per_row = settings.per_row_ridge and settings.ridge is not None  # one that is chosen is for these rows already
    stage = Stage(
        per_row,
        Clock(settings.time_limit),
        Workspace(),
        watch=watch or Silent(),
        journal=journal or Journal(),
        pool=pool or Serial(),
    )
    steps = len(problems) * (settings.n_rounds + 1) * (1 + (folds if folds > 1 else 0))
    with progress("fitting", steps, settings.show_progress) as tick:
        stage.tick = tick
        stage.watch.begin(steps, None if single is None else single[0])
        runs, judge = scout(problems, settings.chooser, here, stage, share=0.4 if folds > 1 else 0.6)
        held: list[list[HeldOut]] = []
        bags: list[list[tuple[KernelMachine, ...]]] = []
        if single is not None:
            held = [[_predicted(run, data, single[1]) for run in runs]]
        elif folds and judge:
            held, bags = without(runs, data, parts, stage, settings.bagging)
    verdict = _verdict(settings, runs, data, held, eval_set, undecided and not folds)
    if coarse is not None and not stage.cut:  # else there is no time for it
        runs = _finished(verdict, runs, data, settings.solver, stage)
    blend = _kept(verdict, runs, None if single is None else single[0], data, bags, stage)
    best = verdict.members[0]
    run = runs[best.run]
    scored = zip(run.records, verdict.scores[best.run], strict=True)
    records = tuple(replace(record, score=score) for record, score in scored)
    metrics = [machine.metric for machine in run.machines]
    metrics[best.round] = blend.machines[0].metric  # perhaps learned on more rows than those of the run
    features, support, ridge = blend.machines[0].matrix(), None, records[best.round].ridge
    if single is not None:
        ridge *= _growth(single[0], data, stage)
    if settings.threshold is not None:
        # A predictor that learned no features still has gradients.
        basis = features if best.round else blend.machines[0].agop
        machine, support, ridge = _thresholded(settings, run.problem, basis, data, stage.workspace)
        blend, held = Blend((machine,), (1.0,)), []  # what was held out was predicted by others
    held_out = None
    if held:
        outputs = sum(
            m.share * torch.cat([fold[m.run].outputs for fold in held], dim=1)[m.round] for m in verdict.members
        )
        assert isinstance(outputs, Tensor)
        held_out = HeldOut(torch.cat([fold[0].rows for fold in held]), outputs)
    evaluated = None
    if eval_set is not None:
        evaluated = blend.predict(eval_set[0] if support is None else eval_set[0][:, support])
    if not stage.cut:
        stage.journal.close()
    changed = evolution(metrics, metrics[best.round])
    return Fitted(blend, features, ridge, best.round, run.problem, records, support, held_out, evaluated, changed)


def _predicted(run: Run, data: Rows, out: Tensor) -> HeldOut:
    out = out.to(data.X.device)
    return HeldOut(out, torch.stack([machine.predict(data.X[out], batch_invariant=False) for machine in run.machines]))


def _verdict(
    settings: Settings,
    runs: list[Run],
    data: Rows,
    held: list[list[HeldOut]],
    eval_set: EvalSet | None,
    too_few_rows: bool,
) -> Verdict:
    if eval_set is not None:
        X, Y = eval_set
        everything = torch.arange(len(X), device=X.device)
        evaluated = [[_predicted(run, Rows(X, Y), everything)] for run in runs]
        errors = [squared_errors(one, Y, None) for one in evaluated]
    elif held:
        errors = [squared_errors(list(one), data.Y, data.weights) for one in zip(*held, strict=True)]
    else:  # nothing was held out: the last round, or round 0 where rows are too few to trust more
        scores = [[float("nan")] * len(run.records) for run in runs]
        at = 0 if too_few_rows and not settings.select_last else len(runs[0].records) - 1
        return Verdict((Member(0, at, 1.0),), scores)
    return decide([e for e, _ in errors], errors[0][1], last=settings.select_last, most=settings.max_machines)


def _finished(verdict: Verdict, runs: list[Run], data: Rows, solver: Solver, stage: Stage) -> list[Run]:
    """The runs, with the rounds of the verdict solved to the end by the solver."""
    runs = list(runs)
    for member in verdict.members:
        run, at = runs[member.run], member.round
        problem = replace(run.problem, solver=solver)
        try:
            stage.clock.check(1.0)
            step = finished(problem, data, run.path[at], (run.records[at], run.machines[at]), stage.workspace)
        except (KeyboardInterrupt, TimeLimitReached) as error:
            stage.cut = True
            left = f"{run.records[at].residual:.2g}, not solved to the end"
            warnings.warn(f"{stage.clock.reason(error)}: what is kept has a relative residual of {left}", stacklevel=2)
            return runs
        records, machines = list(run.records), list(run.machines)
        records[at], machines[at] = step
        runs[member.run] = replace(run, records=tuple(records), machines=tuple(machines))
    return runs


def _kept(
    verdict: Verdict,
    runs: list[Run],
    part: Tensor | None,
    data: Rows,
    bags: list[list[tuple[KernelMachine, ...]]],
    stage: Stage,
) -> Blend:
    """The machines of the verdict, fitted on all rows; with bagging each stands beside its fellows from the folds."""
    found: dict[object, tuple[KernelMachine, float]] = {}
    openings: dict[Kernel, Step] = {}
    for member in verdict.members:
        run = runs[member.run]
        machine = run.machines[member.round]
        if part is not None:
            machine = _again(member, run, part, data, stage, openings)
        machines = [machine, *(fold[member.run][min(member.round, len(fold[member.run]) - 1)] for fold in bags)]
        for i, machine in enumerate(machines):
            # Runs with one kernel share round 0: two of them that both kept it are one machine with both shares.
            key = (run.problem.kernel, i) if member.round == 0 else (member.run, i)
            share = member.share / len(machines)
            found[key] = (machine, share + (found[key][1] if key in found else 0.0))
    kept, shares = zip(*found.values(), strict=True)
    return Blend(kept, shares)


def _again(
    member: Member, run: Run, part: Tensor, data: Rows, stage: Stage, openings: dict[Kernel, Step]
) -> KernelMachine:
    """The machine of a round, learned on all rows along the path that was found on a part of them."""
    part, last, name = part.to(data.X.device), member.round, f"all-{member.run}-to-{member.round}"
    done = stage.journal.steps(name, data)[0][: last + 1]
    if not done and last and run.problem.kernel in openings:  # a round 0 that is kept is solved better than others
        done = [openings[run.problem.kernel]]
    chooser = Replay(run.path[: last + 1], run.problem.seed, _growth(part, data, stage))
    problem = replace(run.problem, n_rounds=last)
    try:
        for step in rounds(problem, data, chooser, stage.workspace, done, stage.pool):
            if step[0].index == 0:
                openings.setdefault(problem.kernel, step)
            machine = step[1]
            stage.journal.keep(name, step, run.path[step[0].index], data)
            if step[0].index < last:
                stage.clock.check(1.0)
    except (KeyboardInterrupt, TimeLimitReached) as error:
        stage.cut = True
        warnings.warn(
            f"{stage.clock.reason(error)}: what is kept stands on {len(part)} of {len(data)} rows", stacklevel=2
        )
        machine = run.machines[last].embedded(data.X, part, data.weights)
    return machine


def _growth(part: Tensor, data: Rows, stage: Stage) -> float:
    """How much larger a ridge per row is on all rows than on a part of them."""
    return data.total_weight / data[part.to(data.X.device)].total_weight if stage.per_row_ridge else 1.0


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
    chooser = settings.chooser(problem.kernel)
    kept = Rows(data.X[:, support], data.Y, data.weights)
    (record, machine), *_ = rounds(replace(problem, n_rounds=0), kept, chooser, workspace)
    return machine, support, record.ridge
