"""Protocol of paper B on the UCI sets: tune on one split, and reuse its feature matrix on four other splits.

**The protocol leaks**: the rows that M was learned from, with their labels, are among the test rows of the four splits.
It serves for comparison with the paper's tables; the suite ``uci-small`` has no leak.

The grid (appendix D): ridge 10 … 10⁻³ × rows divided by their norm or not × rounds 0 … 4 × full or diagonal M (up to
5,000 rows), Laplace kernel ``exp(−r/10)``, one-hot targets, M not rescaled, the AGOP of at most 20,000 rows. NTK ridge
regression has the same ridges and inputs, 1 to 5 hidden layers and no M.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core import format_bytes, resolve_memory
from gramian.datasets import Dataset
from gramian.features import Agop, Fact, Update
from gramian.kernels import NTK, Identity, Kernel, KernelOperator, Laplace, Metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training.rounds import metric_of
from gramian.solvers import Direct, RidgeSystem, Workspace

RIDGES = (10.0, 1.0, 0.1, 0.01, 0.001)
ROUNDS = 4
_LAPLACE = Laplace(10.0)
_NTK_DEPTHS = (1, 2, 3, 4, 5)
_DIAGONAL_ROWS = 5000
_AGOP_ROWS = 20_000
_WIDE_ROWS = 5000
"""Largest number of rows solved in float64; more rows use float32."""

Make = Callable[[bool], Update]
UPDATES: dict[str, Make | None] = {
    "paper-laplace": None,
    "paper-ntk": None,
    "paper-rfm": lambda diagonal: Agop(scale=None, diagonal=diagonal, max_rows=_AGOP_ROWS),
    "paper-fact": lambda diagonal: Fact(scale=None, diagonal=diagonal),
    "paper-fact-geometric": lambda diagonal: Fact(geometric=True, scale=None, diagonal=diagonal),
}
"""Method → update of M: none (ridge regression with the Laplace kernel or the NTK), AGOP (paper B), FACT (paper D)."""


@dataclass(frozen=True)
class GridPoint:
    """A point of the tuning grid; ``depth`` is the number of hidden layers of the NTK, 0 for the Laplace kernel."""

    ridge: float
    normalize: bool
    diagonal: bool
    round: int
    depth: int = 0

    @property
    def kernel(self) -> Kernel:
        """The kernel of this point."""
        return NTK(self.depth) if self.depth else _LAPLACE


@dataclass(frozen=True)
class Outcome:
    """Result of the protocol on one data set: mean accuracy over the four splits, and the tuned grid point."""

    score: float
    scores: tuple[float, ...]
    validation: float
    choice: GridPoint

    def as_dict(self) -> dict[str, Any]:
        """Return the result for a record."""
        return asdict(self)


def evaluate(data: Dataset, method: str) -> Outcome:
    """Run the protocol on one data set.

    Parameters
    ----------
    data : Dataset
        With ``tuning`` and four ``splits``, as :func:`gramian.datasets.uci` gives.
    method : str
        One of :data:`UPDATES`.
    """
    if data.tuning is None:
        raise ValueError("the paper's protocol needs a data set with a tuning split")
    _check_memory(max(len(rows) for rows, _ in (data.tuning, *data.splits)))
    make = UPDATES[method]
    train, valid = (torch.as_tensor(rows) for rows in data.tuning)
    labels = torch.as_tensor(np.unique(data.y, return_inverse=True)[1])
    Y = torch.nn.functional.one_hot(labels).double()
    inputs = _inputs(data.X, len(train))
    workspace = Workspace()
    best: tuple[float, GridPoint, Metric] | None = None
    for start in _starts(method, inputs, len(data.X)):
        X = inputs[start.normalize]
        steps = _rounds(X[train], Y[train], start, make and make(start.diagonal), workspace, ROUNDS)
        for index, machine in enumerate(steps):
            accuracy = _accuracy(machine, X[valid], labels[valid])
            if best is None or accuracy > best[0]:
                best = accuracy, replace(start, round=index), machine.metric
    assert best is not None
    validation, choice, metric = best
    X = inputs[choice.normalize]
    scores = []
    for split in data.splits:
        rows, out = (torch.as_tensor(part) for part in split)
        machine = _fit(X[rows], Y[rows], choice, metric, workspace)
        scores.append(_accuracy(machine, X[out], labels[out]))
    return Outcome(float(np.mean(scores)), tuple(scores), validation, choice)


def evaluate_without_leak(data: Dataset, method: str, choice: GridPoint) -> tuple[float, ...]:
    """Return the accuracy on the four splits with M learned from the training rows of each split.

    Ridge, number of rounds and form of M stay as tuned.

    Parameters
    ----------
    data : Dataset
        As for :func:`evaluate`.
    method : str
        One of :data:`UPDATES`.
    choice : GridPoint
        The grid point that :func:`evaluate` selected.
    """
    make = UPDATES[method]
    labels = torch.as_tensor(np.unique(data.y, return_inverse=True)[1])
    Y = torch.nn.functional.one_hot(labels).double()
    X = _inputs(data.X, max(len(rows) for rows, _ in data.splits))[choice.normalize]
    workspace = Workspace()
    scores = []
    for split in data.splits:
        rows, out = (torch.as_tensor(part) for part in split)
        steps = list(_rounds(X[rows], Y[rows], choice, make and make(choice.diagonal), workspace, choice.round))
        scores.append(_accuracy(steps[-1], X[out], labels[out]))
    return tuple(scores)


def _starts(method: str, inputs: Iterable[bool], n: int) -> Iterator[GridPoint]:
    """Yield the grid without its rounds, in the order in which the first of equal points is selected."""
    both = UPDATES[method] is not None and n <= _DIAGONAL_ROWS
    for normalize in inputs:
        for depth in _NTK_DEPTHS if method == "paper-ntk" else (0,):
            for diagonal in (False, True) if both else (False,):
                for ridge in RIDGES:
                    yield GridPoint(ridge, normalize, diagonal, 0, depth)


def _check_memory(n: int) -> None:
    """Raise MemoryError if the direct solver would exceed the available memory."""
    needed = Direct().bytes_needed(n, torch.float64 if n <= _WIDE_ROWS else torch.float32)
    budget = resolve_memory(None, torch.device("cpu"))
    if needed > budget:
        raise MemoryError(f"{n} rows need {format_bytes(needed)}, and {format_bytes(budget)} may be used")


def _inputs(X: np.ndarray, n: int) -> dict[bool, Tensor]:
    """Return the rows as given and divided by their norm; only the former if a row is zero (balance-scale)."""
    plain = torch.as_tensor(X, dtype=torch.float64 if n <= _WIDE_ROWS else torch.float32)
    norms = plain.norm(dim=1, keepdim=True)
    return {False: plain} if bool((norms == 0).any()) else {False: plain, True: plain / norms}


def _rounds(
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "n c"],
    point: GridPoint,
    update: Update | None,
    workspace: Workspace,
    n_rounds: int,
) -> Iterator[KernelMachine]:
    metric: Metric = Identity(X.shape[1])
    rng = torch.Generator().manual_seed(0)
    for index in range(n_rounds + 1):
        machine = _fit(X, Y, point, metric, workspace)
        yield machine
        if update is None or index == n_rounds:
            return
        learned = metric_of(update(machine, rng))
        if learned is None:
            return  # a constant predictor has no gradient
        metric = learned


def _fit(
    X: Float[Tensor, "n d"], Y: Float[Tensor, "n c"], point: GridPoint, metric: Metric, workspace: Workspace
) -> KernelMachine:
    system = RidgeSystem(KernelOperator(point.kernel, X, metric), Y, point.ridge)
    solution = Direct().solve(system, workspace=workspace)
    return KernelMachine(solution.operator, solution.coef)


def _accuracy(machine: KernelMachine, X: Float[Tensor, "m d"], labels: Int[Tensor, " m"]) -> float:
    return float((machine.predict(X, batch_invariant=False).argmax(dim=1) == labels).double().mean())
