"""Scores of predictions with bootstrap intervals. Each score is a function of row weights, which resampling changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from gramian.core.statistics import effective_rows, wilson_interval
from gramian.report.model.predictions import Predictions

LEVEL = 0.95
FEWEST = 20
"""Smallest number of rows for an interval: resamplings of fewer rows are too similar."""
TOO_FEW = "too few rows"
_RESAMPLINGS = 200
_MOST_AUC_CLASSES = 20
Weights = Float[np.ndarray, " m"]


@dataclass(frozen=True)
class Measure:
    """A score: its name, whether higher is better, and its function of predictions and row weights."""

    name: str
    higher_is_better: bool
    of: Callable[[Predictions, Weights], float]
    share: bool = False
    """True for a share of rows, which has Wilson's interval: resampling a share of 100 % gives 100 % again."""


@dataclass(frozen=True)
class Score:
    """A measured value, that of the baseline on the same rows, and a 95 % interval; NaN ends if rows are too few."""

    measure: Measure
    value: float
    baseline: float
    low: float
    high: float


def measures(predictions: Predictions) -> list[Measure]:
    """Return the measures for these predictions: of classes and probabilities, or of numbers."""
    if predictions.probabilities is None:
        several = " (mean over targets)" if predictions.y.shape[1] > 1 else ""
        return [
            Measure(f"R²{several}", True, _r2),
            Measure(f"RMSE{several}", False, _rmse),
            Measure(f"MAE{several}", False, _mae),
        ]
    chosen = [
        Measure("accuracy", True, _accuracy, share=True),
        Measure("balanced accuracy", True, _balanced),
        Measure("log loss", False, _log_loss),
        Measure("Brier score", False, _brier),
    ]
    if predictions.probabilities.shape[1] <= _MOST_AUC_CLASSES:
        name = "AUC" if predictions.probabilities.shape[1] == 2 else "AUC (each class against the rest, mean)"
        chosen.insert(2, Measure(name, True, _auc))
    return chosen


def scores(predictions: Predictions) -> list[Score]:
    """Return all measures of these predictions, each with its interval, and those of the baseline."""
    out, constant = [], baseline(predictions)
    for measure in measures(predictions):
        values = resampled(measure, [predictions])[:, 0]
        value, without = (measure.of(one, one.weights) for one in (predictions, constant))
        out.append(Score(measure, value, without, *interval_of(measure, predictions, values)))
    return out


def baseline(predictions: Predictions) -> Predictions:
    """Return the same rows as a model without columns predicts them, the best constant in hindsight.

    It predicts the mean of each target of these rows, or their class frequencies and their most frequent class. A
    constant from the training rows could only be worse by R², RMSE, log loss or Brier score.

    >>> from gramian.report.model.predictions import Predictions
    >>> rows = Predictions(np.array([1, 1, 0]), np.array([1, 0, 0]), np.eye(2)[[1, 0, 0]], np.ones(3), "", None)
    >>> baseline(rows).predicted, baseline(rows).probabilities[0].round(2)
    (array([1, 1, 1]), array([0.33, 0.67]))
    """
    w = predictions.weights / predictions.weights.sum()
    if predictions.probabilities is None:
        return replace(predictions, predicted=np.tile(w @ predictions.y, (len(predictions), 1)))
    shares = np.bincount(predictions.y, w, minlength=predictions.probabilities.shape[1])
    guesses = np.full(len(predictions), shares.argmax())
    return replace(predictions, predicted=guesses, probabilities=np.tile(shares, (len(predictions), 1)))


def has_enough_rows(predictions: Predictions) -> bool:
    """Return True if the effective number of rows is at least 20, enough for an interval."""
    return effective_rows(predictions.weights) >= FEWEST


def interval_of(measure: Measure, predictions: Predictions, values: Float[np.ndarray, " b"]) -> tuple[float, float]:
    """Return the interval of a measure from its resampled values; NaN if there are too few rows."""
    if not has_enough_rows(predictions):
        return np.nan, np.nan
    if measure.share:
        low, high = wilson_interval(
            measure.of(predictions, predictions.weights), effective_rows(predictions.weights), LEVEL
        )
        return float(low), float(high)
    return interval(values)


def resampled(measure: Measure, several: Sequence[Predictions]) -> Float[np.ndarray, "b e"]:
    """Return a measure on 200 resamplings of the rows, the same for each model."""
    m = len(several[0])
    rng = np.random.default_rng(0)
    out = np.empty((_RESAMPLINGS, len(several)))
    for b in range(_RESAMPLINGS):
        counts = rng.multinomial(m, np.full(m, 1 / m))
        out[b] = [measure.of(predictions, counts * predictions.weights) for predictions in several]
    return out


def interval(values: Float[np.ndarray, " b"]) -> tuple[float, float]:
    """Return the middle 95 % of resampled values, without those that do not exist because a class was not drawn."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def r2_of_each(predictions: Predictions) -> Float[np.ndarray, " c"]:
    """Return R² of each target; NaN if it is constant."""
    return _r2s(predictions, predictions.weights)


def _r2s(predictions: Predictions, w: Weights) -> Float[np.ndarray, " c"]:
    mean = w @ predictions.y / w.sum()
    spread = w @ (predictions.y - mean) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, 1 - w @ (predictions.y - predictions.predicted) ** 2 / spread, np.nan)


def _r2(predictions: Predictions, w: Weights) -> float:
    each = _r2s(predictions, w)
    return float(np.mean(each[np.isfinite(each)])) if np.isfinite(each).any() else float("nan")


def _rmse(predictions: Predictions, w: Weights) -> float:
    return float(np.sqrt(w @ (predictions.y - predictions.predicted) ** 2 / w.sum()).mean())


def _mae(predictions: Predictions, w: Weights) -> float:
    return float((w @ np.abs(predictions.y - predictions.predicted) / w.sum()).mean())


def _accuracy(predictions: Predictions, w: Weights) -> float:
    return float(w @ (predictions.y == predictions.predicted) / w.sum())


def _balanced(predictions: Predictions, w: Weights) -> float:
    hits = np.bincount(predictions.y, w * (predictions.y == predictions.predicted))
    totals = np.bincount(predictions.y, w)
    present = totals > 0
    return float(np.mean(hits[present] / totals[present]))


def _log_loss(predictions: Predictions, w: Weights) -> float:
    assert predictions.probabilities is not None
    true = predictions.probabilities[np.arange(len(predictions)), predictions.y]
    return float(-w @ np.log(true.clip(min=np.finfo(float).tiny)) / w.sum())


def _brier(predictions: Predictions, w: Weights) -> float:
    assert predictions.probabilities is not None
    wanted = np.eye(predictions.probabilities.shape[1])[predictions.y]
    counted = 2 if predictions.probabilities.shape[1] == 2 else 1  # of two classes only one counts, as in scikit-learn
    return float(w @ ((predictions.probabilities - wanted) ** 2).sum(axis=1) / w.sum()) / counted


def _auc(predictions: Predictions, w: Weights) -> float:
    assert predictions.probabilities is not None
    k = predictions.probabilities.shape[1]
    each = [_auc_of(predictions.ranks[c], predictions.y == c, w) for c in range(1 if k == 2 else 0, k)]
    finite = [value for value in each if np.isfinite(value)]
    return float(np.mean(finite)) if finite else float("nan")


def _auc_of(rank: Int[np.ndarray, " m"], positive: np.ndarray, w: Weights) -> float:
    """Return ``P(score of a positive > that of a negative) + ½ P(equal)`` for weighted rows, from ranks of scores."""
    up, down = np.bincount(rank, w * positive), np.bincount(rank, w * ~positive)
    total = up.sum() * down.sum()
    return float(up @ (np.cumsum(down) - down / 2) / total) if total > 0 else float("nan")
