"""Small statistics: paired comparison of errors, intervals for shares, the number of rows that weights amount to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import norm
from torch import Tensor

_ROUNDING = 1e-12
"""Relative error of a sum of weights: a half of the weight is reached within it."""


def within_standard_error(
    errors: Float[Tensor, " m"], best: Float[Tensor, " m"], share: Float[Tensor, " m"], times: float = 1.0
) -> bool:
    """Return True if mean errors exceed the best by at most one standard error of the difference, or ``times`` it.

    The difference is taken row by row; ``share`` are the rows' weights, which sum to 1.

    >>> import torch
    >>> share = torch.full((4,), 0.25)
    >>> best = torch.zeros(4)
    >>> within_standard_error(torch.tensor([1.0, -1.0, 1.0, -0.5]), best, share)
    True
    >>> within_standard_error(torch.ones(4), best, share)
    False
    """
    gap = errors - best
    mean = float(gap @ share)
    variance = float(((gap - mean).square() @ share) * share.square().sum())
    return mean <= times * math.sqrt(max(variance, 0.0))


def wilson_interval(
    share: float | ArrayLike, count: float | ArrayLike, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Wilson's interval at ``level`` for a share of ``count`` rows: numbers, or arrays of equal shape.

    >>> [round(float(end), 3) for end in wilson_interval(1.0, 10, 0.95)]
    [0.722, 1.0]
    """
    share, count = np.asarray(share, dtype=np.float64), np.asarray(count, dtype=np.float64)
    z = norm.ppf((1 + level) / 2)
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    low, high = np.minimum(middle - half, share).clip(min=0), np.maximum(middle + half, share).clip(max=1)
    return np.asarray(low), np.asarray(high)


def median_pair(values: NDArray[Any], weights: Float[np.ndarray, " n"]) -> NDArray[Any]:
    """Return the two middle values of rows with positive weights, which are equal unless half the weight is below.

    With whole weights they are the middle values of a table in which each row is there that often.

    >>> median_pair(np.array([5.0, 1.0, 3.0]), np.array([1.0, 2.0, 1.0]))
    array([1., 3.])
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half, last = below[-1] / 2, len(order) - 1
    at = [np.searchsorted(below, half * (1 - _ROUNDING)), np.searchsorted(below, half * (1 + _ROUNDING), side="right")]
    middle: NDArray[Any] = values[order[np.minimum(at, last)]]
    return middle


def weighted_median(values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> float:
    """Return the median of rows with positive weights, without overflow: values are halved before they are added.

    >>> weighted_median(np.array([1e308, 1.5e308]), np.ones(2)), weighted_median(np.arange(3.0), np.array([1, 1, 4.0]))
    (1.25e+308, 2.0)
    """
    low, high = median_pair(values, weights)
    return float(low if low == high else low / 2 + high / 2)


def normal_scores(
    values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"], most: int
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Return different values, in order, with their normal scores ``Φ⁻¹(F)``; of many values at most ``most``.

    F of a value is the share of rows below it plus half the share of rows with it.

    >>> knots, scores = normal_scores(np.array([3.0, 1.0, 2.0, 2.0]), np.ones(4), 10)
    >>> knots, scores.round(2) + 0.0
    (array([1., 2., 3.]), array([-1.15,  0.  ,  1.15]))
    """
    knots, at = np.unique(values + 0.0, return_inverse=True)
    share = np.bincount(at, weights=weights) / weights.sum()
    knots, share = knots[share > 0], share[share > 0]
    scores = ndtri(np.clip(np.cumsum(share) - share / 2, 0.0, 1.0))
    if len(knots) > most:
        # Half of the knots are even in rank, half in score: with ranks alone the tails would be a straight line.
        by_rank = np.linspace(0, len(knots) - 1, most // 2).round().astype(int)
        by_score = np.searchsorted(scores, np.linspace(scores[0], scores[-1], most // 2))
        chosen = np.union1d(by_rank, by_score)
        knots, scores = knots[chosen], scores[chosen]
    return knots, scores


def effective_rows(weights: Float[np.ndarray, " n"], copies: Float[np.ndarray, " n"] | None = None) -> float:
    """Return the number of rows that weights amount to, ``(Σ w)² / Σ w²``: n where all are equal.

    Where rows stand for several ``copies``, each copy has its part of the row's weight.

    >>> effective_rows(np.array([2.0, 2.0, 0.0])), effective_rows(np.array([2.0, 2.0]), np.array([2.0, 2.0]))
    (2.0, 4.0)
    """
    return float(weights.sum() ** 2 / (weights @ (weights if copies is None else weights / copies)))
