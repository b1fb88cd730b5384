"""Choosing among rounds and updates on rows they have not seen, with the features learned anew for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gramian.rfm.choice import Choice, Replay, Rows
from gramian.rfm.machine import KernelMachine
from gramian.rfm.rounds import Problem, Round, rounds
from gramian.solvers import Workspace

MIN_FOLD_ROWS = 10
"""With fewer rows nothing can be said about rounds, and kernel ridge regression stays."""


@dataclass(frozen=True, eq=False)
class Run:
    """All rounds of one problem on all rows."""

    problem: Problem
    path: tuple[Choice, ...]
    records: tuple[Round, ...]
    machines: tuple[KernelMachine, ...]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for rows that were held out: ``outputs (m, c)``, or ``(rounds, m, c)``, for the indices ``rows``."""

    rows: Tensor
    outputs: Float[Tensor, "*rounds m c"]


def fold_count(n: int) -> int:
    """Folds for n rows: five while they are cheap and needed, one held-out fifth where a part is plenty.

    >>> fold_count(500), fold_count(5_000), fold_count(50_000), fold_count(5)
    (5, 3, 1, 0)
    """
    if n < MIN_FOLD_ROWS:
        return 0
    return 5 if n <= 2000 else 3 if n <= 6000 else 1


def splits(n: int, folds: int, seed: int, strata: np.ndarray | None = None) -> Iterator[tuple[Tensor, Tensor]]:
    """Training and held-out row indices: a partition into folds, or for one fold a single held-out fifth.

    With ``strata`` (labels) every fold gets its share of each label.

    >>> sorted(torch.cat([out for _, out in splits(10, 5, seed=0)]).tolist()) == list(range(10))
    True
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    groups = np.empty(n, dtype=int)
    groups[order] = np.arange(n) % max(folds, 5)
    for fold in range(folds):
        yield torch.from_numpy(np.flatnonzero(groups != fold)), torch.from_numpy(np.flatnonzero(groups == fold))


def held_out(
    run: Run,
    data: Rows,
    train: Tensor,
    out: Tensor,
    workspace: Workspace,
    per_row_ridge: bool,
    tick: Callable[[], None],
) -> HeldOut:
    """Learn the rounds again without the rows ``out``, and predict those after each round.

    A run may stop early on a fold (a constant predictor); its last round then stands for the missing ones.
    """
    train, out = train.to(data.X.device), out.to(data.X.device)
    part = data[train]
    shrink = part.total_weight / data.total_weight if per_row_ridge else 1.0
    chooser = Replay(run.path, run.problem.seed, shrink)
    problem = replace(run.problem, n_rounds=len(run.path) - 1)
    outputs: list[Tensor] = []
    for _, machine in rounds(problem, part, chooser, workspace):
        outputs.append(machine.predict(data.X[out], stable=False))
        tick()
    while len(outputs) < len(run.path):
        outputs.append(outputs[-1])
        tick()
    return HeldOut(out, torch.stack(outputs))


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which run and round to keep, and mean squared errors ``scores[run][round]`` on held-out rows."""

    run: int
    round: int
    scores: list[list[float]]


def squared_errors(held: list[HeldOut], data: Rows) -> tuple[Float[Tensor, "t m"], Float[Tensor, " m"]]:
    """Squared error of each held-out row after each round, and the rows' weights."""
    rows = torch.cat([h.rows for h in held])
    outputs = torch.cat([h.outputs for h in held], dim=1)
    errors = (outputs - data.Y[rows].to(outputs.dtype)).square().mean(dim=2)
    return errors, torch.ones_like(errors[0]) if data.weights is None else data.weights[rows].to(errors.dtype)


def decide(errors: list[Float[Tensor, "t m"]], weights: Float[Tensor, " m"], last: bool) -> Verdict:
    """Keep the earliest round that is not worse than the best one by more than a standard error.

    The standard error is that of the *difference* between the two, row by row. With ``last`` only final rounds compete.
    Ties go to the earlier round, then to the earlier run.

    >>> errors = [torch.tensor([[1.0, 1.1], [0.1, 0.2], [0.1, 0.2]])]
    >>> decide(errors, torch.ones(2), last=False).round
    1
    """
    share = weights / weights.sum()
    scores = [(e @ share).tolist() for e in errors]
    entries = [(r, t) for r, run in enumerate(scores) for t in ([len(run) - 1] if last else range(len(run)))]
    best = min(entries, key=lambda e: (scores[e[0]][e[1]], e[1], e[0]))
    if last:
        return Verdict(best[0], best[1], scores)
    reference = errors[best[0]][best[1]]

    def as_good(entry: tuple[int, int]) -> bool:
        gap = errors[entry[0]][entry[1]] - reference
        mean = float(gap @ share)
        variance = float(((gap - mean).square() @ share) * share.square().sum())
        return mean <= math.sqrt(max(variance, 0.0))

    earliest = min(t for r, t in entries if as_good((r, t)))
    chosen = min((e for e in entries if e[1] == earliest and as_good(e)), key=lambda e: (scores[e[0]][e[1]], e[0]))
    return Verdict(chosen[0], chosen[1], scores)
