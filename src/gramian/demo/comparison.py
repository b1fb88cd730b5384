"""Paired comparison of two models: the same training rows and test rows, differences within each split."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.base import clone

DataSplit = tuple[Any, Any, Any, Any]
"""Training rows and targets, test rows and targets."""


@dataclass(frozen=True)
class ScoreEstimate:
    """A mean over splits with its standard error.

    >>> ScoreEstimate.of([0.8, 0.9])
    ScoreEstimate(mean=0.85, error=0.05)
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: Iterable[float]) -> ScoreEstimate:
        """Compute mean and standard error ``s/√m`` of m values; the error of a single value is NaN."""
        x = np.asarray(list(values), dtype=float)
        error = x.std(ddof=1) / math.sqrt(len(x)) if len(x) > 1 else math.nan
        return cls(round(float(x.mean()), 12), round(float(error), 12))


@dataclass(frozen=True, eq=False)
class PairedComparison:
    """Scores of kernel ridge and of the recursive feature machine by split, and the model of the first split.

    ``best_rounds`` are the rounds that the feature machine selected.
    """

    metric: str
    ridge_scores: tuple[float, ...]
    rfm_scores: tuple[float, ...]
    model: Any
    best_rounds: tuple[int, ...]

    @property
    def ridge(self) -> ScoreEstimate:
        """Score of kernel ridge regression."""
        return ScoreEstimate.of(self.ridge_scores)

    @property
    def rfm(self) -> ScoreEstimate:
        """Score of the recursive feature machine."""
        return ScoreEstimate.of(self.rfm_scores)

    @property
    def gain(self) -> ScoreEstimate:
        """Difference of the scores within each split, so that the effect of the split cancels."""
        return ScoreEstimate.of(b - a for a, b in zip(self.ridge_scores, self.rfm_scores, strict=True))

    @property
    def verdict(self) -> str:
        """``"better"`` or ``"worse"`` for the feature machine, ``"a tie"`` if the 95 % interval of the gain contains 0.

        The interval is Student's: with three splits, two standard errors are too narrow.
        """
        if len(self.rfm_scores) < 2 or not abs(self.gain.mean) > self.gain.error * t.ppf(
            0.975, len(self.rfm_scores) - 1
        ):
            return "a tie"
        return "better" if self.gain.mean > 0 else "worse"


def compare(model: Any, splits: Iterable[DataSplit], metric: str, tick: Callable[[], None]) -> PairedComparison:
    """Fit ``model`` with and without rounds of feature learning on each split, and score both.

    Parameters
    ----------
    model : estimator
        Cloned for each fit; kernel ridge regression is its clone with ``n_rounds=0``, so that kernel, bandwidth and
        ridge are selected in the same way.
    splits : iterable of (training X, training y, test X, test y)
    metric : str
        Name of what ``model.score`` returns.
    tick : function
        Called after each fit.
    """
    ridge_scores, rfm_scores, best_rounds, first = [], [], [], None
    for X, y, X_test, y_test in splits:
        ridge = clone(model).set_params(n_rounds=0).fit(X, y)
        tick()
        rfm = clone(model).fit(X, y)
        tick()
        ridge_scores.append(float(ridge.score(X_test, y_test)))
        rfm_scores.append(float(rfm.score(X_test, y_test)))
        best_rounds.append(int(rfm.best_round_))
        first = rfm if first is None else first
    if first is None:
        raise ValueError("splits must contain at least one split")
    return PairedComparison(metric, tuple(ridge_scores), tuple(rfm_scores), first, tuple(best_rounds))
