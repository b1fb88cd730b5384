"""Agreement of scores with labels as a share of correctly ordered pairs, and intervals for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

Kind = Literal["classes", "soft", "graded"]
"""Names of classes, probabilities of classes, or numbers on a scale."""


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its confidence interval."""

    value: float
    low: float
    high: float


def ordered_pairs(y: Float[Tensor, " n"], kind: Kind) -> Float[Tensor, "n n"]:
    """Return the weight of each pair (i, j) in which i should have the higher score.

    For classes and probabilities it is ``yᵢ (1 − yⱼ)``, so that the share of correctly ordered pairs is the area under
    the ROC curve (its expected value, for probabilities). For graded labels it is 1 where ``yᵢ > yⱼ``.

    >>> ordered_pairs(torch.tensor([0.0, 1.0]), "classes")
    tensor([[0., 0.],
            [1., 0.]])
    """
    if kind == "graded":
        return (y[:, None] > y[None, :]).to(y.dtype)
    W = y[:, None] * (1 - y[None, :])
    return W.fill_diagonal_(0)


def auc(scores: Float[Tensor, "n c"], Y: Float[Tensor, "n c"], kind: Kind = "classes") -> float:
    """Return the share of correctly ordered pairs, averaged over the outputs; equal scores count one half.

    It is the area under the ROC curve for two classes, its one-against-the-rest mean for more, and the concordance for
    graded labels.

    >>> auc(torch.tensor([[0.1], [0.4], [0.35], [0.8]]), torch.tensor([[0.0], [0.0], [1.0], [1.0]]))
    0.75
    """
    return float(np.mean([_shares(scores[:, c], Y[:, c], kind, None)[0] for c in range(Y.shape[1])]))


def _shares(
    score: Float[Tensor, " n"], y: Float[Tensor, " n"], kind: Kind, counts: Float[Tensor, "b n"] | None
) -> Float[np.ndarray, " b"]:
    """Return the share of correctly ordered pairs for each resampling, given as the number of copies of each row."""
    if counts is None:
        counts = torch.ones(1, len(y), dtype=torch.float64)
    if kind != "graded":
        return _sorted_shares(score.double(), y.double(), counts)
    W = ordered_pairs(y.double(), kind)
    s = score.double()
    correct = W * ((s[:, None] > s[None, :]).double() + 0.5 * (s[:, None] == s[None, :]).double())
    right, total = ((counts @ A * counts).sum(dim=1) for A in (correct, W))
    return (right / total).numpy()


def _sorted_shares(
    score: Float[Tensor, " n"], y: Float[Tensor, " n"], counts: Float[Tensor, "b n"]
) -> Float[np.ndarray, " b"]:
    """Return the same for pair weights ``yᵢ (1 − yⱼ)``, by sums over the sorted rows in place of all pairs."""
    _, group = torch.unique(score, return_inverse=True)
    with_it, without = counts * y, counts * (1 - y)
    by_score = torch.zeros(len(counts), int(group.max()) + 1, dtype=torch.float64).index_add_(1, group, without)
    below = by_score.cumsum(dim=1) - by_score
    own = (with_it * without).sum(dim=1)  # a row is no pair with itself
    right = (with_it * (below + 0.5 * by_score)[:, group]).sum(dim=1) - 0.5 * own
    return (right / (with_it.sum(dim=1) * without.sum(dim=1) - own)).numpy()


def resampled_auc(
    scores: Float[Tensor, "n c"], Y: Float[Tensor, "n c"], kind: Kind, resamples: int = 1000, seed: int = 0
) -> Float[np.ndarray, " b"]:
    """Return the AUC on bootstrap resamplings of the rows; equal seeds resample equal rows, so results can be paired.

    >>> y = torch.tensor([[0.0], [1.0], [0.0], [1.0]])
    >>> set(resampled_auc(y, y, "classes", resamples=9).tolist())
    {1.0}
    """
    rng = np.random.default_rng(seed)
    n = len(Y)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    drawn = torch.from_numpy(counts.astype(np.float64))
    found = np.mean([_shares(scores[:, c], Y[:, c], kind, drawn) for c in range(Y.shape[1])], axis=0)
    kept: np.ndarray = found[np.isfinite(found)]  # a resampling of one class only has no pairs
    return kept if len(kept) == len(found) else np.where(np.isfinite(found), found, np.mean(kept))


def auc_interval(
    scores: Float[Tensor, "n c"], Y: Float[Tensor, "n c"], kind: Kind = "classes", level: float = 0.95, seed: int = 0
) -> Interval:
    """Return the AUC with its bootstrap interval over rows."""
    drawn = resampled_auc(scores, Y, kind, seed=seed)
    return _interval(auc(scores, Y, kind), drawn, level)


def paired_interval(
    first: Float[Tensor, "n c"],
    second: Float[Tensor, "n c"],
    Y: Float[Tensor, "n c"],
    kind: Kind = "classes",
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the AUC of the first scores minus that of the second, with its interval over the same resampled rows.

    >>> y = torch.tensor([[0.0], [1.0], [0.0], [1.0]])
    >>> paired_interval(y, y, y)
    Interval(value=0.0, low=0.0, high=0.0)
    """
    drawn = resampled_auc(first, Y, kind, seed=seed) - resampled_auc(second, Y, kind, seed=seed)
    return _interval(auc(first, Y, kind) - auc(second, Y, kind), drawn, level)


def _interval(value: float, drawn: Float[np.ndarray, " b"], level: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))
