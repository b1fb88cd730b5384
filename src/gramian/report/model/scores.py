"""Sections on the quality of the predictions: scores with intervals, and calibration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.core.statistics import wilson_interval
from gramian.display import Cell, Entry, Table, format_fixed, format_percent, format_score, typographic_minus
from gramian.report.model.measures import LEVEL, TOO_FEW, Measure, Score, has_enough_rows, r2_of_each
from gramian.report.model.predictions import Predictions, read_table, take
from gramian.report.web import PageSection, lines, note, number, number_cell, table, tag, text, tiles
from gramian.report.web.charts import Line
from gramian.rfm import RFMClassifier, RFMRegressor
from gramian.rfm.uncertainty.reliability import reliability
from gramian.tables.types import TableLike, TargetLike

_BINS = 10
_COVERAGES = (0.5, 0.8, 0.9, 0.95)
_Z = 1.96
_MOST_TARGETS = 5
"""Largest number of targets whose calibration is drawn."""


def scores_section(predictions: Predictions, measured: Sequence[Score]) -> PageSection:
    """Return a table of all scores beside the baseline, and a table of the classes or targets."""
    rows: list[list[Entry]] = [
        [
            _with_small(score.measure.name, f"{'higher' if score.measure.higher_is_better else 'lower'} is better"),
            _with_small(number_cell(score.value, format_score).text, _interval(predictions, score)),
            number_cell(score.baseline, format_score),
        ]
        for score in measured
    ]
    classes = predictions.probabilities is not None
    more = _classes(predictions) if classes else _targets(predictions)
    constant = "the class frequencies and the most frequent class" if classes else "the mean"
    about = (
        f"On {predictions.description}. The baseline uses no column and predicts {constant} of these rows. In small "
        f"print: {LEVEL:.0%} intervals from 200 resamplings of these rows, without refitting"
    )
    about += "; that of the accuracy is Wilson's." if classes else "."
    return PageSection("Scores", note(text(about)) + table(Table(["score", "model", "baseline"], rows)) + more)


def interval_text(score: Score) -> str:
    """Return the interval of a score, with three decimals if the score has them."""
    form = format_fixed if format_score(score.value) == format_fixed(score.value) else format_score
    return f"{form(score.low)} … {form(score.high)}"


def score_tiles(measured: Sequence[Score]) -> str:
    """Return the first scores as large numbers, with that of the baseline below each."""
    return tiles([(typographic_minus(format_score(score.value)), _tile_name(score)) for score in measured[:3]])


def calibration_section(
    estimator: RFMClassifier | RFMRegressor, predictions: Predictions, X: TableLike = None, y: TargetLike = None
) -> PageSection:
    """Return predictions compared with observations, and the observed coverage of intervals and sets."""
    body = _reliability(predictions) if predictions.probabilities is not None else _observed_means(predictions)
    if X is None or y is None:
        about = "Whether intervals and sets contain the truth as often as requested can be checked on new rows only."
        return PageSection("Calibration", body + note(about))
    return PageSection(
        "Calibration", tag("div", body + tag("div", _coverage(estimator, predictions, X)), class_="side")
    )


def _with_small(words: str, below: str) -> Cell:
    """Return a cell with a second line in small print."""
    markup = text(typographic_minus(words)) + "<br>" + tag("small", text(typographic_minus(below)))
    return Cell(f"{words} ({below})", markup=markup)


def _tile_name(score: Score) -> str:
    if np.isnan(score.value):
        return score.measure.name + _reason(score.measure, score.value, " ({})")
    return f"{score.measure.name} (baseline {typographic_minus(format_score(score.baseline))})"


def _interval(predictions: Predictions, score: Score) -> str:
    if not np.isnan(score.low):
        return interval_text(score)
    return _reason(score.measure, score.value, "{}") or "–" if has_enough_rows(predictions) else TOO_FEW


def _reason(measure: Measure, value: float, form: str) -> str:
    """Return the reason why a score does not exist; an empty text if it exists."""
    if not np.isnan(value):
        return ""
    return form.format("y is constant" if measure.name.startswith("R²") else "one class only")


def _classes(predictions: Predictions) -> str:
    rows: list[list[Entry]] = []
    for c, name in enumerate(predictions.classes):
        true, chosen = predictions.y == c, predictions.predicted == c
        hit = float(predictions.weights @ (true & chosen))
        of_true, of_chosen = float(predictions.weights @ true), float(predictions.weights @ chosen)
        recall = hit / of_true if of_true else float("nan")
        precision = hit / of_chosen if of_chosen else float("nan")
        rows.append([name, number_cell(int(true.sum())), *(number_cell(v, format_score) for v in (recall, precision))])
    return table(Table(["class", "rows", "recall", "precision"], rows), sortable=True, title="Classes")


def _targets(predictions: Predictions) -> str:
    if predictions.y.shape[1] == 1:
        return ""
    rows: list[list[Entry]] = [
        [f"target {c}", number_cell(v, format_score)] for c, v in enumerate(r2_of_each(predictions).tolist())
    ]
    return table(Table(["target", "R²"], rows), sortable=True, title="Targets")


def _reliability(predictions: Predictions) -> str:
    assert predictions.probabilities is not None
    curve = reliability(predictions.probabilities, predictions.y, predictions.weights, level=LEVEL)
    x, observed, low, high = (part.tolist() for part in (curve.confidence, curve.accuracy, curve.low, curve.high))
    pairs = "; ".join(f"predicted {a:.0%}, correct {b:.0%}" for a, b in zip(x, observed, strict=True))
    chart = lines(
        [Line("", x, observed, low, high)],
        f"Reliability curve. {pairs}",
        x="probability of the predicted class",
        y="share of correct predictions",
        diagonal=True,
        caption=f"Rows are grouped by their probability; bars are {LEVEL:.0%} intervals. Dashed: perfectly calibrated.",
    )
    about = (
        "If the model says 80 %, it should be right in 80 % of such cases. Calibration error "
        f"{curve.error:.3f}: the mean distance from the dashed line. On {predictions.description}."
    )
    return tag("div", note(text(about)) + chart)


def _observed_means(predictions: Predictions) -> str:
    series = []
    for c in range(min(predictions.y.shape[1], _MOST_TARGETS)):
        x, y, low, high = [], [], [], []
        for inside in _bins(predictions.predicted[:, c]):
            w, values = predictions.weights[inside], predictions.y[inside, c]
            mean = float(np.average(values, weights=w))
            half = _Z * float(np.sqrt(np.average((values - mean) ** 2, weights=w) / len(w)))
            x.append(float(np.average(predictions.predicted[inside, c], weights=w)))
            y.append(mean)
            low.append(mean - half)
            high.append(mean + half)
        series.append(Line(f"target {c}" if predictions.y.shape[1] > 1 else "", x, y, low, high))
    pairs = zip(series[0].x, series[0].y, strict=True)
    alt = "Predicted and observed means. " + "; ".join(f"predicted {number(a)}, observed {number(b)}" for a, b in pairs)
    caption = (
        f"The rows are sorted by prediction and divided into ten groups of equal size; bars are {LEVEL:.0%} intervals. "
        "Dashed: no systematic error."
    )
    chart = lines(series, alt, x="mean prediction of the group", y="mean true value", diagonal=True, caption=caption)
    return tag("div", note(text(f"On {predictions.description}.")) + chart)


def _coverage(estimator: RFMClassifier | RFMRegressor, predictions: Predictions, X: TableLike) -> str:
    assert predictions.rows is not None
    part = take(read_table(X), predictions.rows)
    rows: list[list[Entry]] = []
    classes = isinstance(estimator, RFMClassifier)
    for wanted in _COVERAGES:
        if isinstance(estimator, RFMClassifier):
            sets = estimator.predict_set(part, wanted)
            inside, size = sets[np.arange(len(predictions)), predictions.y], sets.sum(axis=1).mean()
        else:
            ends = estimator.predict_interval(part, wanted).reshape(len(predictions), -1, 2)
            inside = ((ends[..., 0] <= predictions.y) & (predictions.y <= ends[..., 1])).mean(axis=1)
            size = (ends[..., 1] - ends[..., 0]).mean()
        share = float(np.mean(inside))
        interval = " … ".join(format_percent(float(end)) for end in wilson_interval(share, len(predictions), LEVEL))
        rows.append([f"{wanted:.0%}", _with_small(format_percent(share), interval), format_score(float(size))])
    size_name = "classes in a set (mean)" if classes else "length (mean)"
    title = "Sets of classes that contain the true class" if classes else "Intervals that contain the true value"
    about = "A set may be empty, if no class is likely enough." if classes else ""
    about = f"In small print: {LEVEL:.0%} intervals. " + about
    return table(Table(["requested", "observed", size_name], rows), title=title) + note(about)


def _bins(values: np.ndarray) -> list[np.ndarray]:
    """Return up to ten groups of about as many rows each by value; equal values are in one group."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[1:-1]))
    which = np.searchsorted(edges, values, side="right")
    return [which == b for b in range(len(edges) + 1) if (which == b).any()]
