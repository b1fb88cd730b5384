"""Sections on how good the predictions are: scores with intervals, and whether probabilities and intervals hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.report.model.evidence import Evidence, read_table, take
from gramian.report.model.measures import LEVEL, TOO_FEW, Measure, Score, enough, r2_of_each
from gramian.report.web import Section, lines, note, number, row, shown, span, table, tag, text, tiles
from gramian.report.web.charts import Line
from gramian.rfm.reliability import reliability, wilson

_BINS = 10
_COVERAGES = (0.5, 0.8, 0.9, 0.95)
_Z = 1.96


def scores_section(found: Evidence, measured: list[Score]) -> Section:
    """A line for each score; below, each class or each target."""
    rows = [
        row(
            score.measure.name,
            number(_or_dash(score.value), score.value if score.value == score.value else None),
            number(span(score.low, score.high) if score.low == score.low else _no_interval(found, score)),
            number("higher" if score.measure.rises else "lower"),
        )
        for score in measured
    ]
    heads = ("score", "value", f"{LEVEL:.0%} interval", "better")
    more = _classes(found) if found.probabilities is not None else _targets(found)
    about = f"On {found.words}. Intervals come from 200 resamplings of these rows, one fit"
    about += "; that of the accuracy is Wilson's." if found.probabilities is not None else "."
    return Section("Scores", note(text(about)) + table(heads, rows) + more)


def score_tiles(measured: list[Score]) -> str:
    """The first scores as large numbers."""
    return tiles(
        [(_or_dash(score.value), score.measure.name + _why_none(score.measure, score.value)) for score in measured[:3]]
    )


def _no_interval(found: Evidence, score: Score) -> str:
    return (_why_none(score.measure, score.value).strip(" ()") or "–") if enough(found) else TOO_FEW


def _why_none(measure: Measure, value: float) -> str:
    """Why a score has no value; nothing where it has one."""
    if value == value:
        return ""
    return " (y is constant)" if measure.name.startswith("R²") else " (one class only)"


def calibration_section(model: Any, found: Evidence, X: Any = None, y: Any = None) -> Section:
    """Probabilities or predictions beside what was observed, and how often intervals and sets hold the target."""
    body = _reliability(found) if found.probabilities is not None else _predicted_and_observed(found)
    if X is None or y is None:
        held = "Coverage of intervals and sets can be checked on new rows only: give X and y to the report."
        return Section("Calibration", body + note(held))
    return Section("Calibration", tag("div", body + tag("div", _coverage(model, found, X)), class_="side"))


def _classes(found: Evidence) -> str:
    rows = []
    for c, name in enumerate(found.classes):
        true, said = found.y == c, found.predicted == c
        hit = float(found.weights @ (true & said))
        of_true, of_said = float(found.weights @ true), float(found.weights @ said)
        recall = hit / of_true if of_true else float("nan")
        precision = hit / of_said if of_said else float("nan")
        cells = [number(_or_dash(value), value if value == value else None) for value in (recall, precision)]
        rows.append(row(name, number(f"{int(true.sum()):,}", int(true.sum())), *cells))
    return table(("class", "rows", "recall", "precision"), rows, sort=True, title="Classes")


def _targets(found: Evidence) -> str:
    if found.y.shape[1] == 1:
        return ""
    rows = [
        row(f"target {c}", number(_or_dash(value), value if value == value else None))
        for c, value in enumerate(r2_of_each(found).tolist())
    ]
    return table(("target", "R²"), rows, sort=True, title="Targets")


def _reliability(found: Evidence) -> str:
    assert found.probabilities is not None
    curve = reliability(found.probabilities, found.y, found.weights, level=LEVEL)
    x, observed, low, high = (part.tolist() for part in (curve.confidence, curve.accuracy, curve.low, curve.high))
    alt = "Reliability curve. " + "; ".join(f"said {a:.0%}, right {b:.0%}" for a, b in zip(x, observed, strict=True))
    chart = lines(
        [Line("", x, observed, low, high)],
        alt,
        x="probability of the predicted class",
        y="share that was right",
        diagonal=True,
        caption=f"Points are tenths of the probability that have rows, with {LEVEL:.0%} intervals; dashed: calibrated.",
    )
    said_so = f"Calibration error {curve.error:.3f}: the mean distance from the dashed line. On {found.words}."
    return tag("div", note(text(said_so)) + chart)


def _predicted_and_observed(found: Evidence) -> str:
    series = []
    for c in range(min(found.y.shape[1], 5)):
        x, y, low, high = [], [], [], []
        for inside in _bins(found.predicted[:, c]):
            w, values = found.weights[inside], found.y[inside, c]
            mean = float(np.average(values, weights=w))
            half = _Z * float(np.sqrt(np.average((values - mean) ** 2, weights=w) / len(w)))
            x.append(float(np.average(found.predicted[inside, c], weights=w)))
            y.append(mean)
            low.append(mean - half)
            high.append(mean + half)
        series.append(Line(f"target {c}" if found.y.shape[1] > 1 else "", x, y, low, high))
    said = zip(series[0].x, series[0].y, strict=True)
    alt = "Predicted and observed means. " + "; ".join(f"predicted {shown(a)}, observed {shown(b)}" for a, b in said)
    caption = f"Means over tenths of the rows, by prediction, with {LEVEL:.0%} intervals; dashed: as predicted."
    chart = lines(series, alt, x="mean prediction", y="mean of y", diagonal=True, caption=caption)
    return tag("div", note(text(f"On {found.words}.")) + chart)


def _coverage(model: Any, found: Evidence, X: Any) -> str:
    assert found.rows is not None
    part, rows = take(read_table(X), found.rows), []
    classes = found.probabilities is not None
    for wanted in _COVERAGES:
        if classes:
            sets = model.predict_set(part, wanted)
            inside, size = sets[np.arange(len(found)), found.y], sets.sum(axis=1).mean()
        else:
            ends = model.predict_interval(part, wanted).reshape(len(found), -1, 2)
            inside = ((ends[..., 0] <= found.y) & (found.y <= ends[..., 1])).mean(axis=1)
            size = (ends[..., 1] - ends[..., 0]).mean()
        share = float(np.mean(inside))
        observed = f"{share:.1%}"
        ends_of = " … ".join(f"{end:.1%}" for end in wilson(share, len(found), LEVEL))
        rows.append(row(f"{wanted:.0%}", number(observed, share), number(ends_of), number(shown(float(size), 3))))
    what = "classes in a set, mean" if classes else "length, mean"
    title = "Coverage of sets of classes" if classes else "Coverage of prediction intervals"
    return table(("asked for", "observed", f"{LEVEL:.0%} interval", what), rows, title=title)


def _bins(values: np.ndarray) -> list[np.ndarray]:
    """Rows in up to ten groups of about equal size by value; equal values stay together."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[1:-1]))
    which = np.searchsorted(edges, values, side="right")
    return [which == b for b in range(len(edges) + 1) if (which == b).any()]


def _or_dash(value: float) -> str:
    return shown(value, 3) if value == value else "–"
