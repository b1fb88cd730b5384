"""The rounds of a recursive feature machine, as a generator: solve → record → gradients → next metric.

Round 0 is kernel ridge regression with ``M = I``. The generator selects nothing between rounds; a caller that wants the
best round compares the records, or predictions on held-out rows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, overload

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.freed_memory import TIGHT_BYTES, return_freed_memory
from gramian.core.pool import Pool
from gramian.core.rows import Rows
from gramian.display import Bar, Renderable, Section, Table, bars, format_number
from gramian.features import Factored, Update
from gramian.features.updates import Matrix
from gramian.kernels import Identity, Kernel, KernelOperator, LowRank, Metric, as_metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training.pooled_moments import PooledMachine
from gramian.rfm.training.tuning import RoundParams, RoundTuner
from gramian.solvers import RidgeSystem, SolveInfo, Solver, Workspace

if TYPE_CHECKING:
    from pandas import DataFrame

log = logging.getLogger(__name__)

_SEED_STRIDE = 1_000_003
_EVOLUTION_COLUMNS = 24
_HEADINGS = ("round", "error", "", "leave-one-out", "ridge", "bandwidth", "rank", "residual", "seconds", "status")


@dataclass(frozen=True)
class Round(Renderable):
    """The record of one round.

    ``loo`` is the leave-one-out mean squared error given M that selected ridge and bandwidth (NaN where they were
    given); from round 1 on it is optimistic, since M has seen every label. ``score`` is the mean squared error of the
    scaled target, or the loss of another ``metric``, on held-out rows (folds or an evaluation set; NaN where there were
    none).
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
        """Return the record as a table of one line."""
        return [Section(f"round {self.index}", Table(_HEADINGS, [self.cells("")]))]

    def cells(self, bar: Bar | str) -> list[str | Bar]:
        """Return the record as a line of a table."""
        numbers = (self.loo, self.ridge, self.bandwidth, self.rank, self.residual)
        shown = [format_number(value) for value in numbers]
        return [str(self.index), format_number(self.score), bar, *shown, f"{self.seconds:.2f}", self.status]


@dataclass(frozen=True, repr=False)
class Rounds(Renderable, Sequence[Round]):
    """The records of all rounds: a sequence that is displayed as a table. ``loss`` describes their scores.

    >>> Rounds(())[:0]
    ()
    """

    records: tuple[Round, ...]
    loss: str = "mean squared error of the scaled target"

    @overload
    def __getitem__(self, index: int) -> Round: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Round, ...]: ...
    def __getitem__(self, index: int | slice) -> Round | tuple[Round, ...]:
        return self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per round."""
        import pandas as pd

        return pd.DataFrame([asdict(record) for record in self.records]).set_index("index")

    def sections(self) -> list[Section]:
        """Return a table with one line per round."""
        drawn = bars([record.score for record in self.records])
        rows = [record.cells(bar) for record, bar in zip(self.records, drawn, strict=True)]
        note = f"error: {self.loss}, on held-out rows; round 0 is kernel ridge regression"
        return [Section("rounds", Table(_HEADINGS, rows), note)]


@dataclass(frozen=True, eq=False)
class Evolution:
    """The change of M: ``Mₜ / tr Mₜ`` of rounds t = 0, 1, …, in float32 and in a form small enough for a model file.

    ``columns (k,)`` are the encoded columns with the largest share of the diagonal in any round, in their own order;
    ``blocks (T, k, k)`` the entries between them, ``diagonals (T, d)`` the shares of all columns, and ``cosines (T,)``
    the cosine ``⟨Mₜ, M⟩ / ‖Mₜ‖‖M‖`` with the matrix of the selected round.
    """

    columns: Int[np.ndarray, " k"]
    diagonals: Float[np.ndarray, "t d"]
    blocks: Float[np.ndarray, "t k k"]
    cosines: Float[np.ndarray, " t"]

    @classmethod
    def of(cls, metrics: Sequence[Metric], selected: Metric, most: int = _EVOLUTION_COLUMNS) -> Evolution:
        """Return the small form of the metrics of rounds 0, 1, …, with blocks of at most ``most`` columns.

        >>> from gramian.kernels import Diagonal, Identity
        >>> rounds = [Identity(3), Diagonal(torch.tensor([3.0, 0.0, 1.0]))]
        >>> found = Evolution.of(rounds, rounds[1], most=2)
        >>> found.columns.tolist(), found.diagonals[1].tolist(), [round(float(c), 2) for c in found.cosines]
        ([0, 2], [0.75, 0.0, 0.25], [0.73, 1.0])
        """
        traces = [float(metric.diagonal().sum()) for metric in metrics]
        diagonals = np.stack(
            [(m.diagonal() / trace).cpu().numpy().astype(np.float32) for m, trace in zip(metrics, traces, strict=True)]
        )
        # A round of equal shares carries no information about which columns matter.
        unequal = diagonals[np.ptp(diagonals, axis=1) > 0] if np.ptp(diagonals, axis=1).any() else diagonals
        columns = np.sort(np.argsort(-unequal.max(axis=0), kind="stable")[:most])
        blocks, cosines = [], []
        for metric, trace in zip(metrics, traces, strict=True):
            at = torch.from_numpy(columns).to(metric.diagonal().device)
            blocks.append((metric.block(at) / trace).cpu().numpy().astype(np.float32))
            size = metric.inner(metric) * selected.inner(selected)
            cosines.append(metric.inner(selected) / size**0.5 if size > 0 else float("nan"))
        return cls(columns, diagonals, np.stack(blocks), np.array(cosines, dtype=np.float32))


@dataclass(frozen=True)
class Candidate:
    """A kernel–update pair, with everything its rounds need besides the data. Folds and refits share it.

    Attributes
    ----------
    kernel, update
        The pair itself.
    solver : Solver
        Solves the last round.
    feature_solver : Solver
        Solves the rounds before it, which are used only to learn M: a coarser residual is enough there.
    n_rounds : int
        Rounds after round 0.
    max_bytes : int
        Bound of temporary memory.
    seed : int
    """

    kernel: Kernel
    update: Update
    solver: Solver
    feature_solver: Solver
    n_rounds: int
    max_bytes: int
    seed: int

    @property
    def name(self) -> str:
        """Kernel and update in words."""
        diagonal = " diagonal" if self.update.get_params().get("diagonal") else ""
        return f"{type(self.kernel).__name__} {type(self.update).__name__}{diagonal}".lower()


Step = tuple[Round, KernelMachine]
"""The record and the fitted function of one round."""


@dataclass(frozen=True, eq=False)
class Run:
    """All rounds of one candidate, and the ridges and bandwidths that were selected on the way.

    ``outputs`` are predictions of the rows ``held_out`` after rounds 0, 1, …, as far as the screening made them.
    """

    candidate: Candidate
    path: tuple[RoundParams, ...]
    records: tuple[Round, ...]
    machines: tuple[KernelMachine, ...]
    held_out: Rows | None = None
    outputs: tuple[Float[Tensor, "m c"], ...] = ()


def rounds(
    candidate: Candidate,
    data: Rows,
    tuner: RoundTuner,
    workspace: Workspace | None = None,
    done: Sequence[Step] = (),
    pool: Pool | None = None,
    clock: Clock | None = None,
) -> Iterator[Step]:
    """Yield the record and the kernel machine of rounds 0, 1, …, ``candidate.n_rounds``.

    The generator stops early, after a log line, when the learned matrix is zero: a constant predictor has no features.

    Parameters
    ----------
    candidate : Candidate
    data : Rows
        Inputs (n, d), targets (n, c) that are centred and scaled, and perhaps weights.
    tuner : RoundTuner
        Selects ridge and bandwidth of each round.
    workspace : Workspace, optional
        Memory for the solver, to share between runs.
    done : sequence of Step
        Rounds 0, 1, … that exist already and are yielded first: those of an interrupted fit, or round 0 of another run
        with the same kernel, since round 0 does not depend on the update.
    pool : Pool, optional
        Workers in other processes that sum over gradients.
    clock : Clock, optional
        Time limit of each solve but that of round 0, which is always finished. A round that the limit cuts short is
        not yielded: :class:`TimeLimitReached` is raised instead.

    >>> from gramian.features import Agop
    >>> from gramian.kernels import Gaussian
    >>> from gramian.rfm.training.tuning import FixedParams
    >>> from gramian.solvers import Direct
    >>> X = torch.linspace(-1, 1, 20, dtype=torch.float64)[:, None]
    >>> candidate = Candidate(Gaussian(1.0), Agop(), Direct(), Direct(), 1, 10**8, 0)
    >>> [record.index for record, _ in rounds(candidate, Rows(X, X**2), FixedParams(1e-3))]
    [0, 1]
    """
    workspace = Workspace() if workspace is None else workspace
    metric: Metric | None = Identity(data.X.shape[1], data.X.device)
    coef = None
    yield from done
    if done and len(done) <= candidate.n_rounds:
        last = done[-1][1].released()  # gradients would fill the cache of a machine that is held
        metric, coef = next_metric(candidate, last, len(done) - 1, pool), last.coef
    for index in range(len(done), candidate.n_rounds + 1):
        if metric is None:
            return
        begin = time.perf_counter()
        params = tuner.tune(index, candidate.kernel, metric, data, workspace)
        solver = candidate.solver if index == candidate.n_rounds else candidate.feature_solver
        limit = clock if index else None
        machine, info = solve_round(solver, candidate.max_bytes, data, params, metric, coef, workspace, limit)
        if info.cut_short:
            raise TimeLimitReached
        coef = machine.coef
        coming = None if index == candidate.n_rounds else next_metric(candidate, machine, index, pool)
        record = make_record(index, params, metric, info, time.perf_counter() - begin)
        log.debug("%r", record)
        if candidate.max_bytes < TIGHT_BYTES or data.X.shape[1] > len(data):  # blocks of a wide table add up, too
            return_freed_memory()
        yield record, machine.released()  # rounds share X and hold nothing else of size n·d
        metric = coming


def solve_round(
    solver: Solver,
    max_bytes: int | None,
    data: Rows,
    params: RoundParams,
    metric: Metric,
    guess: Float[Tensor, "n c"] | None,
    workspace: Workspace,
    clock: Clock | None = None,
) -> tuple[KernelMachine, SolveInfo]:
    """Solve for the coefficients of one round; the machine's operator holds the prepared rows.

    At the limit of the clock the solver returns what it has, or raises :class:`TimeLimitReached`.
    """
    if guess is not None and guess.shape != data.Y.shape:
        guess = None
    operator = KernelOperator(params.kernel, data.X, metric, max_bytes)
    system = RidgeSystem(operator, data.Y, params.ridge, data.weights)
    solution = solver.solve(system, guess=guess, workspace=workspace, clock=clock)
    return KernelMachine(solution.operator, solution.coef, solution.weights), solution.info


def solve_fully(
    candidate: Candidate,
    data: Rows,
    params: RoundParams,
    step: Step,
    workspace: Workspace,
    clock: Clock | None = None,
) -> Step:
    """Solve a selected round to the end with the candidate's solver, starting from its present coefficients.

    Raises :class:`TimeLimitReached` where the time limit cuts the solve short.
    """
    record, machine = step
    begin = time.perf_counter()
    machine, info = solve_round(
        candidate.solver, candidate.max_bytes, data, params, machine.metric, machine.coef, workspace, clock
    )
    if info.cut_short:
        raise TimeLimitReached
    seconds = record.seconds + time.perf_counter() - begin
    record = replace(make_record(record.index, params, machine.metric, info, seconds), score=record.score)
    return record, machine.released()


def make_record(index: int, params: RoundParams, metric: Metric, info: SolveInfo, seconds: float) -> Round:
    """Return the record of a round whose score is not known yet."""
    return Round(
        index=index,
        ridge=info.ridge,
        bandwidth=params.kernel.length,
        rank=metric.rank,
        residual=info.residual,
        status=info.status,
        loo=params.loo,
        score=float("nan"),
        seconds=seconds,
        bytes=info.bytes,
    )


def next_metric(candidate: Candidate, machine: KernelMachine, index: int, pool: Pool | None = None) -> Metric | None:
    """Return the metric learned from a machine; None, after a log line, where there is nothing to learn from it."""
    # A generator for each round: a run that is resumed in the middle draws the same rows.
    rng = torch.Generator().manual_seed(candidate.seed + _SEED_STRIDE * index)
    M = candidate.update(PooledMachine(machine, pool) if pool is not None and pool.remote else machine, rng)
    if not bool(torch.isfinite(M.factor if isinstance(M, Factored) else M).all()):
        log.warning("the update %r gave entries that are not finite; no further rounds", candidate.update)
        return None
    metric = metric_of(M)
    if metric is None:
        log.info("the predictor is constant, so there are no features to learn; no further rounds")
    return metric


def metric_of(M: Matrix | Factored) -> Metric | None:
    """Return the metric of a feature matrix in any form; None if it is zero."""
    if not bool(((M.factor if isinstance(M, Factored) else M) != 0).any()):
        return None
    return LowRank(M.factor) if isinstance(M, Factored) else as_metric(M)
