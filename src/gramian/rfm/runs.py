"""Running the rounds of several problems: on the rows at hand, and again without each fold.

Problems with the same kernel share round 0, which does not depend on the update.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.pool import Pool, Serial
from gramian.core.progress import Tick
from gramian.core.rows import Rows
from gramian.kernels import Kernel
from gramian.rfm.callbacks import Silent, Watch
from gramian.rfm.choice import Choice, Chooser, Replay
from gramian.rfm.journal import Fold, Journal
from gramian.rfm.machine import KernelMachine
from gramian.rfm.rounds import Problem, Round, Step, rounds
from gramian.rfm.selection import HeldOut
from gramian.solvers import Workspace


@dataclass(frozen=True, eq=False)
class Run:
    """All rounds of one problem, and the ridges and bandwidth factors that were chosen on the way."""

    problem: Problem
    path: tuple[Choice, ...]
    records: tuple[Round, ...]
    machines: tuple[KernelMachine, ...]


@dataclass
class Stage:
    """What the runs of one fit share: clock, memory for the solver, a bell after each round, onlookers, helpers."""

    per_row_ridge: bool
    clock: Clock
    workspace: Workspace
    tick: Tick = field(default_factory=Tick)
    watch: Watch = field(default_factory=Silent)
    journal: Journal = field(default_factory=Journal)
    pool: Pool = field(default_factory=Serial)
    cut: bool = False
    """Whether Ctrl-C or the time limit ended something before its time."""

    def fold_round(self) -> None:
        """A round was repeated without a fold; once the fit is cut short, this is where the other folds end."""
        if self.cut:
            raise TimeLimitReached
        self.tick()
        self.watch.after_fold_round()


def scout(
    problems: list[Problem], chooser: Callable[[Kernel], Chooser], data: Rows, stage: Stage, share: float
) -> tuple[list[Run], bool]:
    """Run the rounds of every problem, and say whether there is leave to go on judging them.

    Stops after ``share`` of the time limit, with the runs that have at least round 0, at Ctrl-C, and where asked to.
    """
    runs: list[Run] = []
    openings: dict[Kernel, tuple[Step, Choice]] = {}
    for number, problem in enumerate(problems):
        name = f"run-{number}"
        done, choices = stage.journal.steps(name, data)
        if not done and problem.kernel in openings:
            opening, choice = openings[problem.kernel]
            done, choices = [opening], [choice]
        recorder = _Recording(chooser(problem.kernel), choices)
        steps: list[Step] = []
        stop: BaseException | None = None
        asked = False
        try:
            for step in rounds(problem, data, recorder, stage.workspace, done, stage.pool):
                steps.append(step)
                stage.journal.keep(name, step, recorder.path[len(steps) - 1], data)
                openings.setdefault(problem.kernel, (step, recorder.path[0]))
                stage.tick()
                asked = stage.watch.after_round(problem, steps)
                if asked:
                    break
                stage.clock.check(share)
        except (KeyboardInterrupt, TimeLimitReached) as error:
            if not runs and not steps:
                raise
            stop, stage.cut = error, True
        if steps:
            records, machines = zip(*steps, strict=True)
            runs.append(Run(problem, tuple(recorder.path[: len(steps)]), records, machines))
        if isinstance(stop, KeyboardInterrupt):
            warnings.warn(
                f"interrupted: {len(steps)} of {problem.n_rounds + 1} rounds are done; without an evaluation set to "
                "choose by, the last of the first kind of machine is kept",
                stacklevel=2,
            )
            return runs, False
        if stop is not None:
            kinds = f"{len(runs)} of {len(problems)} kinds of machines, {len(steps)} rounds of the last"
            warnings.warn(f"time_limit={stage.clock.limit:g}: {kinds} were tried", stacklevel=2)
            return runs, True
        if asked:
            return runs, True
    return runs, True


@dataclass(frozen=True, eq=False)
class Folding:
    """What every fold needs: the problems with the choices to repeat, and the rows."""

    paths: list[tuple[Problem, tuple[Choice, ...]]]
    data: Rows
    per_row_ridge: bool
    keep: bool
    """Whether the machines are wanted, and not only what they predict."""
    told: Callable[[], None] | None = None
    workspace: Workspace | None = None

    @property
    def rounds(self) -> int:
        """Rounds of one fold."""
        return sum(len(path) for _, path in self.paths)


def without(
    runs: list[Run], data: Rows, parts: list[tuple[Tensor, Tensor]], stage: Stage, keep: bool
) -> tuple[list[list[HeldOut]], list[list[tuple[KernelMachine, ...]]]]:
    """Predictions ``[fold][run]`` of held-out rows and, if asked for, the machines behind them.

    Folds that Ctrl-C or the time limit cut short are left out; those that were finished count, in whatever order.
    """
    pool = stage.pool
    folding = Folding([(run.problem, run.path) for run in runs], data, stage.per_row_ridge, keep)
    if not pool.remote:
        workspace = stage.workspace if isinstance(pool, Serial) else None
        folding = replace(folding, told=stage.fold_round, workspace=workspace)
    whole = all(len(run.path) == run.problem.n_rounds + 1 for run in runs)
    # A fold of runs that were cut short is no part of a complete fit.
    journal = stage.journal if whole and not stage.cut else Journal()
    found = {i: fold for i in range(len(parts)) if (fold := journal.fold(i, data)) is not None}
    missing = [i for i in range(len(parts)) if i not in found]
    results = pool.run(one_fold, folding, [parts[i] for i in missing])
    try:
        for _ in range(folding.rounds * len(found)):
            stage.fold_round()
        for at, fold in results:
            found[missing[at]] = fold
            journal.keep_fold(missing[at], fold, data)
            for _ in range(folding.rounds if pool.remote else 0):
                stage.fold_round()
            if len(found) < len(parts):
                stage.clock.check(0.8)
    except (KeyboardInterrupt, TimeLimitReached) as error:
        stage.cut = True
        done = f"the round is chosen by {len(found)} of {len(parts)} folds"
        how = done if found else "no fold is done, the last round is kept"
        warnings.warn(f"{stage.clock.reason(error)}: {how}", stacklevel=2)
    folds = [found[i] for i in sorted(found)]
    held = [[one for one, _ in fold] for fold in folds]
    return held, [[machines for _, machines in fold] for fold in folds] if keep else []


def one_fold(folding: Folding, part: tuple[Tensor, Tensor]) -> Fold:
    """Learn the rounds of all runs again without the rows ``out``, and predict those after each round.

    A run may stop early on a fold (a constant predictor); its last round then stands for the missing ones.
    """
    data = folding.data
    train, out = (rows.to(data.X.device) for rows in part)
    here = data[train]
    shrink = here.total_weight / data.total_weight if folding.per_row_ridge else 1.0
    workspace = folding.workspace or Workspace()
    told = folding.told or (lambda: None)
    openings: dict[Kernel, Step] = {}
    found: Fold = []
    for problem, path in folding.paths:
        problem = replace(problem, n_rounds=len(path) - 1)
        chooser = Replay(path, problem.seed, shrink)
        outputs: list[Tensor] = []
        machines: list[KernelMachine] = []
        done = [openings[problem.kernel]] if problem.kernel in openings else []
        for step in rounds(problem, here, chooser, workspace, done):
            openings.setdefault(problem.kernel, step)
            outputs.append(step[1].predict(data.X[out], batch_invariant=False))
            if folding.keep:
                machines.append(step[1].embedded(data.X, train, data.weights))
            told()
        for _ in range(len(path) - len(outputs)):
            outputs.append(outputs[-1])
            told()
        found.append((HeldOut(out, torch.stack(outputs)), tuple(machines)))
    return found


class _Recording(Chooser):
    """Remembers what another chooser chose; goes on after rounds that were finished earlier."""

    def __init__(self, chooser: Chooser, path: list[Choice]) -> None:
        self.chooser = chooser
        self.path = list(path)
        if path:
            chooser.resume(path[-1])

    def choose(self, *args: Any, **kwargs: Any) -> Choice:
        choice = self.chooser.choose(*args, **kwargs)
        self.path.append(choice)
        return choice
