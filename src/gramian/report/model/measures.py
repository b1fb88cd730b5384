"""Scores of predictions with bootstrap intervals: each is a function of row weights, so that resampling is easy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gramian.report.model.evidence import Evidence
from gramian.rfm.reliability import rows_of, wilson

LEVEL = 0.95
FEWEST = 20
"""Rows: resamplings of fewer are too alike for an interval that holds what it says."""
TOO_FEW = "too few rows to say"
_RESAMPLINGS = 200
_MOST_AUC_CLASSES = 20
Weights = Float[np.ndarray, " m"]


@dataclass(frozen=True)
class Measure:
    """A score: its name, whether more is better, and how it is computed from rows and their weights."""

    name: str
    rises: bool
    of: Callable[[Evidence, Weights], float]
    share: bool = False
    """A share of rows: its interval is Wilson's, since resamplings of rows that are all right are all right too."""


@dataclass(frozen=True)
class Score:
    """A measured value with its 95 % interval, NaN where the rows are too few to say."""

    measure: Measure
    value: float
    low: float
    high: float


def measures(found: Evidence) -> list[Measure]:
    """What is measured on these rows: accuracy and probabilities, or errors of numbers."""
    if found.probabilities is None:
        several = " (mean over targets)" if found.y.shape[1] > 1 else ""
        return [
            Measure(f"R²{several}", True, _r2),
            Measure(f"RMSE{several}", False, _rmse),
            Measure(f"MAE{several}", False, _mae),
        ]
    chosen = [
        Measure("accuracy", True, lambda e, w: float(w @ (e.y == e.predicted) / w.sum()), share=True),
        Measure("balanced accuracy", True, _balanced),
        Measure("log loss", False, _log_loss),
        Measure("Brier score", False, _brier),
    ]
    if found.probabilities.shape[1] <= _MOST_AUC_CLASSES:
        name = "ROC AUC" if found.probabilities.shape[1] == 2 else "ROC AUC (one class against the rest, mean)"
        chosen.insert(2, Measure(name, True, _auc))
    return chosen


def scores(found: Evidence) -> list[Score]:
    """All measures on these rows, each with its interval."""
    out = []
    for measure in measures(found):
        values = resampled(measure, [found])[:, 0]
        out.append(Score(measure, measure.of(found, found.weights), *interval_of(measure, found, values)))
    return out


def enough(found: Evidence) -> bool:
    """Whether the rows, as many as their weights amount to, are enough for an interval: 20."""
    return rows_of(found.weights) >= FEWEST


def interval_of(measure: Measure, found: Evidence, values: Float[np.ndarray, " b"]) -> tuple[float, float]:
    """The interval of a measure on these rows, given its resampled values; NaN where the rows are too few to say."""
    if not enough(found):
        return np.nan, np.nan
    if measure.share:
        low, high = wilson(measure.of(found, found.weights), rows_of(found.weights), LEVEL)
        return float(low), float(high)
    return interval(values)


def resampled(measure: Measure, several: Sequence[Evidence]) -> Float[np.ndarray, "b e"]:
    """A measure on 200 resamplings of the rows, the same ones for each model."""
    m = len(several[0])
    rng = np.random.default_rng(0)
    out = np.empty((_RESAMPLINGS, len(several)))
    for b in range(_RESAMPLINGS):
        counts = rng.multinomial(m, np.full(m, 1 / m))
        out[b] = [measure.of(found, counts * found.weights) for found in several]
    return out


def interval(values: Float[np.ndarray, " b"]) -> tuple[float, float]:
    """The middle 95 % of resampled values; those that do not exist (a class was not drawn) do not count."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def r2_of_each(found: Evidence) -> Float[np.ndarray, " c"]:
    """R² of each target; NaN where it is constant."""
    return _r2s(found, found.weights)


def _r2s(found: Evidence, w: Weights) -> Float[np.ndarray, " c"]:
    mean = w @ found.y / w.sum()
    spread = w @ (found.y - mean) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, 1 - w @ (found.y - found.predicted) ** 2 / spread, np.nan)


def _r2(found: Evidence, w: Weights) -> float:
    each = _r2s(found, w)
    return float(np.mean(each[np.isfinite(each)])) if np.isfinite(each).any() else float("nan")


def _rmse(found: Evidence, w: Weights) -> float:
    return float(np.sqrt(w @ (found.y - found.predicted) ** 2 / w.sum()).mean())


def _mae(found: Evidence, w: Weights) -> float:
    return float((w @ np.abs(found.y - found.predicted) / w.sum()).mean())


def _balanced(found: Evidence, w: Weights) -> float:
    hits = np.bincount(found.y, w * (found.y == found.predicted))
    all_of_it = np.bincount(found.y, w)
    there = all_of_it > 0
    return float(np.mean(hits[there] / all_of_it[there]))


def _log_loss(found: Evidence, w: Weights) -> float:
    assert found.probabilities is not None
    true = found.probabilities[np.arange(len(found)), found.y]
    return float(-w @ np.log(true.clip(min=np.finfo(float).tiny)) / w.sum())


def _brier(found: Evidence, w: Weights) -> float:
    assert found.probabilities is not None
    wanted = np.eye(found.probabilities.shape[1])[found.y]
    both = 2 if found.probabilities.shape[1] == 2 else 1  # of two classes only one counts, as in scikit-learn
    return float(w @ ((found.probabilities - wanted) ** 2).sum(axis=1) / w.sum()) / both


def _auc(found: Evidence, w: Weights) -> float:
    assert found.probabilities is not None
    k = found.probabilities.shape[1]
    each = [_auc_of(found.places[c], found.y == c, w) for c in range(1 if k == 2 else 0, k)]
    finite = [value for value in each if np.isfinite(value)]
    return float(np.mean(finite)) if finite else float("nan")


def _auc_of(place: Int[np.ndarray, " m"], positive: np.ndarray, w: Weights) -> float:
    """``P(score of a positive > that of a negative) + ½ P(equal)``, for weighted rows with places of their scores."""
    up, down = np.bincount(place, w * positive), np.bincount(place, w * ~positive)
    total = up.sum() * down.sum()
    return float(up @ (np.cumsum(down) - down / 2) / total) if total > 0 else float("nan")
