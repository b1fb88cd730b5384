"""Comparison of methods over data sets: pure functions of a matrix of scores x (sets × methods).

Definitions are those of paper B, appendix E, after Fernández-Delgado et al. (2014) and Grinsztajn et al. (2022). Larger
scores are better (accuracy, R²). NaN marks a missing score; every function documents how it treats it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

Scores = Float[np.ndarray, "sets methods"]
PerMethod = Float[np.ndarray, " methods"]

_TIE = 1e-12
"""Scores closer than this count as equal: means over splits in another order differ by rounding."""


def average(x: Scores) -> PerMethod:
    """Compute the average score: "just the average over all available accuracies across datasets".

    Missing scores are dropped.

    >>> average(np.array([[0.9, 0.5], [0.7, np.nan]])).tolist()
    [0.8, 0.5]
    """
    return _mean(x)


def friedman_rank(x: Scores) -> PerMethod:
    """Compute the mean rank over data sets, 1 for the best; tied methods share the mean of their ranks.

    Paper B: "rank classifiers in order of performance (the top performer gets rank 1) for each dataset and then average
    the ranks".

    Missing entries are imputed "via the average classifier performance for this data", as the paper does.

    >>> friedman_rank(np.array([[0.9, 0.8, 0.8], [0.5, 0.7, np.nan]])).tolist()
    [2.0, 1.75, 2.25]
    """
    _check(x)
    filled = np.where(np.isnan(x), np.nanmean(x, axis=1, keepdims=True), x)
    return np.mean([rankdata(-_snap(row)) for row in filled], axis=0)


def pma(x: Scores) -> PerMethod:
    """Compute the percentage of the maximum accuracy: the mean over sets of ``100 · x_ij / max_k x_ik``.

    Missing scores are dropped. Sets whose best score is not positive (possible for R²) are left out: they have no such
    percentage.

    >>> pma(np.array([[0.8, 0.4], [0.5, 0.5]])).tolist()
    [100.0, 75.0]
    """
    return 100 * _mean(_share(x))


def pma_spread(x: Scores) -> PerMethod:
    """Compute the standard deviation over sets of the percentages of :func:`pma`, printed after ± in paper B.

    >>> pma_spread(np.array([[0.8, 0.4], [0.5, 0.5]])).tolist()
    [0.0, 25.0]
    """
    share = _share(x)
    return 100 * np.sqrt(_mean((share - _mean(share)) ** 2))


def within(x: Scores, percent: float) -> PerMethod:
    """Compute P90 and P95: the percentage of sets with ``x_ij ≥ (percent/100) · max_k x_ik``; missing ones are dropped.

    Paper B: "the percentage of datasets on which the classifier obtained accuracy within 90 % / 95 % of that of the
    best performing model".

    >>> within(np.array([[1.0, 0.94], [0.8, 0.4]]), 90).tolist()
    [100.0, 50.0]
    """
    share = _share(x)
    reached = np.where(np.isnan(share), np.nan, share >= percent / 100 - _TIE)
    return 100 * _mean(reached)


def adtm(x: Scores) -> PerMethod:
    """Compute the average distance to the minimum: the mean of ``(x_ij − min_k x_ik) / (max_k x_ik − min_k x_ik)``.

    Paper B prints only ``max_j x_ij`` in the denominator, but also says that the best method has 1 and the worst 0 and
    that it is "min-max scaling across classifier performance", which requires the denominator used here. Sets where all
    methods tie are left out; missing scores are dropped.

    >>> adtm(np.array([[1.0, 0.5, 0.75], [0.2, 0.4, 0.2]])).tolist()
    [0.5, 0.5, 0.25]
    """
    _check(x)
    low, high = np.nanmin(x, axis=1, keepdims=True), np.nanmax(x, axis=1, keepdims=True)
    span = np.where(high - low > _TIE, high - low, np.nan)
    return _mean((x - low) / span)


def normalized_r2(x: Scores, lowest: float = 0.0) -> PerMethod:
    """Compute the normalised R²: :func:`adtm` of R² clipped from below.

    R² is unbounded below: one method that fails on one set would dominate the scale of that set. Scores below
    ``lowest`` (predicting the mean has R² = 0) therefore count as ``lowest``. The result of a method depends on the
    others in the matrix; compare within one table only.

    >>> normalized_r2(np.array([[0.5, 1.0, -40.0]])).tolist()
    [0.5, 1.0, 0.0]
    """
    return adtm(np.fmax(x, np.where(np.isnan(x), np.nan, lowest)))


def wins(x: Scores) -> PerMethod:
    """Count the sets on which the method is best; all methods tied for the best place count.

    >>> wins(np.array([[0.9, 0.9, 0.1], [0.2, 0.3, np.nan]])).tolist()
    [1.0, 2.0, 0.0]
    """
    _check(x)
    return (x >= np.nanmax(x, axis=1, keepdims=True) - _TIE).sum(axis=0).astype(np.float64)


def _share(x: Scores) -> Scores:
    _check(x)
    best = np.nanmax(x, axis=1, keepdims=True)
    return x / np.where(best > 0, best, np.nan)


def _mean(x: Scores) -> PerMethod:
    """Mean over sets without missing scores; NaN for a method without any."""
    present = ~np.isnan(x)
    count = present.sum(axis=0)
    return np.where(count > 0, np.where(present, x, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)


def _snap(row: Float[np.ndarray, " methods"]) -> Float[np.ndarray, " methods"]:
    """Round, so that values that differ only by rounding errors tie."""
    return np.round(row, 12)


def _check(x: Scores) -> None:
    if x.size == 0 or np.isnan(x).all(axis=1).any():
        raise ValueError("every set needs the score of at least one method; remove sets without any")
