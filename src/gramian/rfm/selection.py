"""Judging rounds, updates and kernels on rows they have not seen, with the features learned anew for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

MIN_FOLD_ROWS = 10
"""With fewer rows nothing can be said about rounds, and kernel ridge regression stays."""
_SCOUT_ROWS = 4000
"""Kinds of machines are compared on this many rows, and judged on as many others; the best are fitted on all."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for rows that were held out: ``outputs (m, c)``, or ``(rounds, m, c)``, for the indices ``rows``."""

    rows: Tensor
    outputs: Float[Tensor, "*rounds m c"]


@dataclass(frozen=True)
class Member:
    """One machine of the blend: a round of a run, and its share."""

    run: int
    round: int
    share: float


@dataclass(frozen=True, eq=False)
class Verdict:
    """Who is kept, the best first, and mean squared errors ``scores[run][round]`` on held-out rows."""

    members: tuple[Member, ...]
    scores: list[list[float]]


def fold_count(n: int) -> int:
    """Folds for n rows: five while they are cheap and needed, one split of a part where a part is plenty.

    >>> fold_count(500), fold_count(3_000), fold_count(50_000), fold_count(5)
    (5, 3, 1, 0)
    """
    if n < MIN_FOLD_ROWS:
        return 0
    return 5 if n <= 2000 else 3 if n <= _SCOUT_ROWS else 1


def splits(n: int, folds: int, seed: int, strata: np.ndarray | None = None) -> Iterator[tuple[Tensor, Tensor]]:
    """Training and held-out row indices: three or all five fifths of the rows are held out in turn.

    One fold is 4,000 random rows (four fifths where there are fewer than 5,000) with up to 4,000 others held out.

    With ``strata`` (labels) every fold gets its share of each label.

    >>> sorted(torch.cat([out for _, out in splits(10, 5, seed=0)]).tolist()) == list(range(10))
    True
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    if strata is not None and folds != 1:
        order = order[np.argsort(strata[order], kind="stable")]
    if folds == 1:  # so many rows need no strata
        most = min(_SCOUT_ROWS, n - n // 5)
        yield torch.from_numpy(np.sort(order[:most])), torch.from_numpy(np.sort(order[most : most + _SCOUT_ROWS]))
        return
    groups = np.empty(n, dtype=int)
    groups[order] = np.arange(n) % 5
    for fold in range(folds):
        yield torch.from_numpy(np.flatnonzero(groups != fold)), torch.from_numpy(np.flatnonzero(groups == fold))


def squared_errors(
    held: list[HeldOut], Y: Float[Tensor, "n c"], weights: Float[Tensor, " n"] | None
) -> tuple[Float[Tensor, "t m"], Float[Tensor, " m"]]:
    """Squared error of each held-out row after each round, and the rows' weights."""
    rows = torch.cat([h.rows for h in held])
    outputs = torch.cat([h.outputs for h in held], dim=1)
    errors = (outputs - Y[rows].to(outputs.dtype)).square().mean(dim=2)
    return errors, torch.ones_like(errors[0]) if weights is None else weights[rows].to(errors.dtype)


def as_good(errors: Float[Tensor, " m"], best: Float[Tensor, " m"], share: Float[Tensor, " m"]) -> bool:
    """Whether errors are not worse on average than the best by more than a standard error of the difference.

    The difference is taken row by row; ``share`` are the rows' weights, summing to 1.

    >>> share = torch.full((4,), 0.25)
    >>> best = torch.zeros(4)
    >>> as_good(torch.tensor([1.0, -1.0, 1.0, -0.5]), best, share), as_good(torch.ones(4), best, share)
    (True, False)
    """
    gap = errors - best
    mean = float(gap @ share)
    variance = float(((gap - mean).square() @ share) * share.square().sum())
    return mean <= math.sqrt(max(variance, 0.0))


def decide(
    errors: list[Float[Tensor, "t m"]], weights: Float[Tensor, " m"], *, last: bool = False, most: int = 1
) -> Verdict:
    """Who predicts: one machine, or up to ``most`` with equal shares.

    Every run sends its earliest round that is not worse than its best by more than a standard error (with ``last`` its
    final one). Those that are not worse than the best of them by more than a standard error are kept. The standard
    error is that of the *difference* between two predictors, row by row. Where only one is wanted it is the one with
    the fewest rounds, then the smallest error.

    >>> errors = [torch.tensor([[1.0, 1.1], [0.1, 0.2], [0.1, 0.2]])]
    >>> decide(errors, torch.ones(2)).members
    (Member(run=0, round=1, share=1.0),)
    """
    share = weights / weights.sum()
    scores = [(e @ share).tolist() for e in errors]

    sent = []
    for run, (error, score) in enumerate(zip(errors, scores, strict=True)):
        best = score.index(min(score))
        earliest = next(t for t in range(len(score)) if as_good(error[t], error[best], share))
        at = len(score) - 1 if last else earliest
        sent.append((score[at], at, run))
    sent.sort()
    _, at, run = sent[0]
    reference = errors[run][at]
    kept = [entry for entry in sent if as_good(errors[entry[2]][entry[1]], reference, share)]
    if most == 1:
        kept = [min(kept, key=lambda entry: entry[0] if last else (entry[1], entry[0]))]
    kept = kept[:most]
    return Verdict(tuple(Member(run, at, 1 / len(kept)) for _, at, run in kept), scores)
