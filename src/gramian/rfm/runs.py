"""Running the rounds of several problems: on the rows at hand, and again without each fold.

Problems with the same kernel share round 0, which does not depend on the update.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from joblib import Parallel, delayed
from torch import Tensor

from gramian.core.rows import Rows
from gramian.kernels import Kernel
from gramian.rfm.callbacks import Silent, Watch
from gramian.rfm.choice import Choice, Chooser, Replay
from gramian.rfm.clock import Clock, TimeIsUp
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
    """What the runs of one fit share: a clock, memory for the solver, a bell after each round, and who looks on."""

    per_row_ridge: bool
    clock: Clock
    workspace: Workspace
    tick: Callable[[], None] = field(default=lambda: None)
    watch: Watch = field(default_factory=Silent)


def scout(
    problems: list[Problem], chooser: Callable[[Kernel], Chooser], data: Rows, stage: Stage, share: float
) -> tuple[list[Run], bool]:
    """Run the rounds of every problem, and say whether there is leave to go on judging them.

    Stops after ``share`` of the time limit, with the runs that have at least round 0, at Ctrl-C, and where asked to.
    """
    runs: list[Run] = []
    openings: dict[Kernel, tuple[Step, _Recording]] = {}
    for problem in problems:
        opening = None
        recorder = _Recording(chooser(problem.kernel))
        if problem.kernel in openings:
            opening, first = openings[problem.kernel]
            recorder = first.branch()
        steps: list[Step] = []
        stop: BaseException | None = None
        asked = False
        try:
            for step in rounds(problem, data, recorder, stage.workspace, opening):
                if not steps:
                    openings.setdefault(problem.kernel, (step, recorder.branch()))
                steps.append(step)
                stage.tick()
                asked = stage.watch.after_round(problem, steps)
                if asked:
                    break
                stage.clock.check(share)
        except (KeyboardInterrupt, TimeIsUp) as error:
            if not runs and not steps:
                raise
            stop = error
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
            done = f"{len(runs)} of {len(problems)} kinds of machines, {len(steps)} rounds of the last"
            warnings.warn(f"time_limit={stage.clock.limit:g}: {done} were tried", stacklevel=2)
            return runs, True
        if asked:
            return runs, True
    return runs, True


def without(
    runs: list[Run], data: Rows, parts: list[tuple[Tensor, Tensor]], stage: Stage, n_jobs: int, keep: bool
) -> tuple[list[list[HeldOut]], list[list[tuple[KernelMachine, ...]]]]:
    """Predictions ``[fold][run]`` of held-out rows and, if asked for, the machines behind them.

    Folds that Ctrl-C or the time limit cut short are left out.
    """
    held: list[list[HeldOut]] = []
    bags: list[list[tuple[KernelMachine, ...]]] = []
    tasks = (delayed(_one_fold)(runs, data, train, out, stage, n_jobs == 1, keep) for train, out in parts)
    results: Iterator[Any] = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
    try:
        for found in results:
            held.append([one for one, _ in found])
            if keep:
                bags.append([machines for _, machines in found])
            if len(held) < len(parts):
                stage.clock.check(0.8)
    except (KeyboardInterrupt, TimeIsUp) as error:
        done = f"the round is chosen by {len(held)} of {len(parts)} folds"
        how = done if held else "no fold is done, the last round is kept"
        warnings.warn(f"{stage.clock.why(error)}: {how}", stacklevel=2)
    return held, bags


def _one_fold(
    runs: list[Run], data: Rows, train: Tensor, out: Tensor, stage: Stage, alone: bool, keep: bool
) -> list[tuple[HeldOut, tuple[KernelMachine, ...]]]:
    """Learn the rounds of all runs again without the rows ``out``, and predict those after each round.

    A run may stop early on a fold (a constant predictor); its last round then stands for the missing ones.
    """
    train, out = train.to(data.X.device), out.to(data.X.device)
    part = data[train]
    shrink = part.total_weight / data.total_weight if stage.per_row_ridge else 1.0
    workspace = stage.workspace if alone else Workspace()
    openings: dict[Kernel, Step] = {}
    found = []
    for run in runs:
        problem = replace(run.problem, n_rounds=len(run.path) - 1)
        chooser = Replay(run.path, run.problem.seed, shrink)
        outputs: list[Tensor] = []
        machines: list[KernelMachine] = []
        for step in rounds(problem, part, chooser, workspace, openings.get(problem.kernel)):
            openings.setdefault(problem.kernel, step)
            outputs.append(step[1].predict(data.X[out], stable=False))
            if keep:
                machines.append(step[1].embedded(data.X, train, data.weights))
            stage.tick()
            stage.watch.after_fold_round()
        for _ in range(len(run.path) - len(outputs)):
            outputs.append(outputs[-1])
            stage.tick()
            stage.watch.after_fold_round()
        found.append((HeldOut(out, torch.stack(outputs)), tuple(machines)))
    return found


class _Recording(Chooser):
    """Remembers what another chooser chose."""

    def __init__(self, chooser: Chooser, path: tuple[Choice, ...] = ()) -> None:
        self.chooser = chooser
        self.path = list(path)

    def choose(self, *args: Any, **kwargs: Any) -> Choice:
        choice = self.chooser.choose(*args, **kwargs)
        self.path.append(choice)
        return choice

    def branch(self) -> _Recording:
        """The same chooser with the same memory, to go another way from here."""
        return _Recording(copy.copy(self.chooser), tuple(self.path))
