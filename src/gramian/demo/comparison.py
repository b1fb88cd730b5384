"""A fair comparison of two models: the same rows to fit, the same rows to score, the difference row set by row set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.base import clone

Part = tuple[Any, Any, Any, Any]
"""Training rows and targets, held-out rows and targets."""


@dataclass(frozen=True)
class Estimate:
    """A mean over splits and its standard error.

    >>> Estimate.of([0.8, 0.9])
    Estimate(mean=0.85, error=0.05)
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Estimate:
        """Mean and standard error ``s/√m`` of m values; the error of a single one is NaN."""
        x = np.asarray(list(values), dtype=float)
        error = x.std(ddof=1) / math.sqrt(len(x)) if len(x) > 1 else math.nan
        return cls(round(float(x.mean()), 12), round(float(error), 12))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of plain kernel ridge and of the feature machine, split by split, and the machine of the first split."""

    metric: str
    ridge_scores: tuple[float, ...]
    rfm_scores: tuple[float, ...]
    model: Any
    kept_rounds: tuple[int, ...]

    @property
    def ridge(self) -> Estimate:
        """Score of plain kernel ridge."""
        return Estimate.of(self.ridge_scores)

    @property
    def rfm(self) -> Estimate:
        """Score of the feature machine."""
        return Estimate.of(self.rfm_scores)

    @property
    def gain(self) -> Estimate:
        """The difference, taken within each split: what both models share cancels."""
        return Estimate.of(b - a for a, b in zip(self.ridge_scores, self.rfm_scores, strict=True))

    @property
    def verdict(self) -> str:
        """How the feature machine did: "better", "worse", or "a tie" where 0 is in the 95 % interval of the difference.

        The interval is Student's: with three splits two standard errors are nothing to speak of.
        """
        if len(self.rfm_scores) < 2 or not abs(self.gain.mean) > self.gain.error * t.ppf(
            0.975, len(self.rfm_scores) - 1
        ):
            return "a tie"
        return "better" if self.gain.mean > 0 else "worse"


def compare(model: Any, parts: Iterable[Part], metric: str, tick: Callable[[], None]) -> Comparison:
    """Fit ``model`` and the same model without rounds of feature learning on each part, and score both.

    Parameters
    ----------
    model : estimator
        Cloned for each fit; plain kernel ridge is its clone with ``n_rounds=0``, so that kernel, bandwidth and ridge
        are chosen in the same way.
    parts : iterable of (X, y, X held out, y held out)
    metric : str
        What ``model.score`` returns, for people.
    tick : function
        Called after each fit.
    """
    ridge_scores, rfm_scores, kept, first = [], [], [], None
    for X, y, X_out, y_out in parts:
        plain = clone(model).set_params(n_rounds=0).fit(X, y)
        tick()
        machine = clone(model).fit(X, y)
        tick()
        ridge_scores.append(float(plain.score(X_out, y_out)))
        rfm_scores.append(float(machine.score(X_out, y_out)))
        kept.append(int(machine.best_round_))
        first = machine if first is None else first
    if first is None:
        raise ValueError("parts must hold at least one split")
    return Comparison(metric, tuple(ridge_scores), tuple(rfm_scores), first, tuple(kept))
