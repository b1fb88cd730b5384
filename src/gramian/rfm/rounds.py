"""The rounds of a recursive feature machine, as a generator: solve → record → gradients → next metric.

Round 0 is kernel ridge regression with ``M = I``. Nothing is chosen between rounds here; who wants the best of them
looks at the records, or at held-out rows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, overload

import torch
from torch import Tensor

from gramian.core.pool import Pool
from gramian.core.rows import Rows
from gramian.display import Bar, Column, Renderable, Section, Table, bars, format_number
from gramian.features import Update
from gramian.kernels import Identity, Kernel, KernelOperator, Metric, as_metric
from gramian.rfm.choice import Choice, Chooser
from gramian.rfm.machine import KernelMachine
from gramian.rfm.spread import SpreadMachine
from gramian.solvers import RidgeSystem, SolveInfo, Solver, Workspace

log = logging.getLogger(__name__)

_SEED_STRIDE = 1_000_003


_NUMBERS = ("round", "error", "", "leave-one-out", "ridge", "bandwidth", "rank", "residual", "seconds")
_COLUMNS = (*_NUMBERS, Column("status", align="left"))


@dataclass(frozen=True)
class Round(Renderable):
    """What happened in one round.

    ``loo`` is the leave-one-out mean squared error given M that chose ridge and bandwidth (NaN where they were fixed);
    it is optimistic from round 1 on, since M has seen every label. ``score`` is the mean squared error on rows the
    round has not seen (folds or an evaluation set; NaN where there were none), in units of the scaled target.
    """

    index: int
    ridge: float
    bandwidth: float
    rank: int
    residual: float
    status: str
    loo: float
    score: float
    seconds: float
    bytes: int

    def sections(self) -> list[Section]:
        return [Section(f"round {self.index}", Table(_COLUMNS, [self.cells("")]))]

    def cells(self, bar: Bar | str) -> list[str | Bar]:
        """The record as a line of a table."""
        numbers = (self.loo, self.ridge, self.bandwidth, self.rank, self.residual)
        told = [format_number(value) for value in numbers]
        return [str(self.index), format_number(self.score), bar, *told, f"{self.seconds:.2f}", self.status]


@dataclass(frozen=True)
class Rounds(Renderable, Sequence[Round]):
    """The records of all rounds: a sequence that shows itself as a table.

    >>> Rounds(())[:0]
    ()
    """

    records: tuple[Round, ...]

    @overload
    def __getitem__(self, index: int) -> Round: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Round, ...]: ...
    def __getitem__(self, index: int | slice) -> Round | tuple[Round, ...]:
        return self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    def to_pandas(self) -> Any:
        """A frame with one line per round."""
        import pandas as pd

        return pd.DataFrame([asdict(record) for record in self.records]).set_index("index")

    def sections(self) -> list[Section]:
        drawn = bars([record.score for record in self.records])
        rows = [record.cells(bar) for record, bar in zip(self.records, drawn, strict=True)]
        note = "error: mean squared error on rows the round has not seen, of the scaled target; round 0 is kernel ridge"
        return [Section("rounds", Table(_COLUMNS, rows), note)]


@dataclass(frozen=True)
class Problem:
    """Everything a run of rounds needs besides the data's own choices; frozen, so that folds and refits share it."""

    kernel: Kernel
    update: Update
    solver: Solver
    n_rounds: int
    max_bytes: int
    seed: int
    feature_solver: Solver | None = None
    """A coarser solver for the rounds before the last, which only serve to learn M; None for ``solver``."""


Step = tuple[Round, KernelMachine]
"""What one round leaves behind."""


def rounds(
    problem: Problem,
    data: Rows,
    chooser: Chooser,
    workspace: Workspace | None = None,
    done: Sequence[Step] = (),
    pool: Pool | None = None,
) -> Iterator[Step]:
    """Yield the record and the machine of rounds 0, 1, …, ``problem.n_rounds``.

    Stops early, after a log line, when the learned matrix is zero: a constant predictor has no features. Rounds before
    the last are solved by ``problem.feature_solver`` where there is one; see :func:`finished`.

    Parameters
    ----------
    problem : Problem
    data : Rows
        Inputs (n, d), targets (n, c) that are already centred and scaled, and perhaps weights.
    chooser : Chooser
        Says ridge and bandwidth of each round.
    workspace : Workspace, optional
        Memory for the solver, to share between runs.
    done : sequence of Step
        Rounds 0, 1, … that are there already, and are only repeated: those of a fit that was cut short, or round 0 of
        another run with the same kernel, since it does not depend on the update.
    pool : Pool, optional
        Workers elsewhere, to sum over gradients.
    """
    workspace = Workspace() if workspace is None else workspace
    metric: Metric | None = Identity(data.X.shape[1], data.X.device)
    coef = None
    yield from done
    if done and len(done) <= problem.n_rounds:
        last = done[-1][1]
        metric, coef = next_metric(problem, last, len(done) - 1, pool), last.coef
    for index in range(len(done), problem.n_rounds + 1):
        if metric is None:
            return
        begin = time.perf_counter()
        choice = chooser.choose(index, problem.kernel, metric, data, workspace)
        coarse = None if index == problem.n_rounds else problem.feature_solver
        solver = problem.solver if coarse is None else coarse
        machine, info = solved(replace(problem, solver=solver), data, choice, metric, coef, workspace)
        coef = machine.coef
        coming = None if index == problem.n_rounds else next_metric(problem, machine, index, pool)
        record = record_of(index, choice, metric, info, time.perf_counter() - begin)
        log.debug("%r", record)
        yield record, machine.released()  # all rounds share X, and hold nothing else of size n·d
        metric = coming


def solved(
    problem: Problem, data: Rows, choice: Choice, metric: Metric, guess: Tensor | None, workspace: Workspace
) -> tuple[KernelMachine, SolveInfo]:
    """The machine of one round, with its rows prepared, and how its system was solved."""
    operator = KernelOperator(choice.kernel, data.X, metric, problem.max_bytes)
    if guess is not None and guess.shape != data.Y.shape:
        guess = None
    system = RidgeSystem(operator, data.Y, choice.ridge, data.weights)
    solution = problem.solver.solve(system, guess=guess, workspace=workspace)
    return KernelMachine(solution.operator, solution.coef, solution.weights), solution.info


def finished(problem: Problem, data: Rows, choice: Choice, step: Step, workspace: Workspace) -> Step:
    """A round that is kept, solved to the end by the problem's solver from where it stood."""
    record, machine = step
    begin = time.perf_counter()
    machine, info = solved(problem, data, choice, machine.metric, machine.coef, workspace)
    seconds = record.seconds + time.perf_counter() - begin
    return replace(
        record_of(record.index, choice, machine.metric, info, seconds), score=record.score
    ), machine.released()


def record_of(index: int, choice: Choice, metric: Metric, info: SolveInfo, seconds: float) -> Round:
    """What is told of a round; its score is not known yet."""
    return Round(
        index=index,
        ridge=info.ridge,
        bandwidth=choice.kernel.length,
        rank=metric.rank,
        residual=info.residual,
        status=info.status,
        loo=choice.loo,
        score=float("nan"),
        seconds=seconds,
        bytes=info.bytes,
    )


def next_metric(problem: Problem, machine: KernelMachine, index: int, pool: Pool | None = None) -> Metric | None:
    """The metric a machine teaches; None, after a log line, where there is nothing to learn from it."""
    # A generator for each round: a run that is taken up in the middle draws what it would have drawn.
    rng = torch.Generator().manual_seed(problem.seed + _SEED_STRIDE * index)
    M = problem.update(SpreadMachine(machine, pool) if pool is not None and pool.remote else machine, rng)
    if not bool(torch.isfinite(M).all()):
        log.warning("the update %r gave entries that are not finite; no further rounds", problem.update)
        return None
    if not bool((M != 0).any()):
        log.info("the predictor is constant, so there are no features to learn; no further rounds")
        return None
    return as_metric(M)
