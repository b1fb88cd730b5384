"""The section that compares predictions with the truth row by row: confusion matrix and curves, or a scatter plot."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gramian.display import Cell, Column, Entry, Table, format_percent
from gramian.display.table import Tone
from gramian.report.model.predictions import Predictions
from gramian.report.web import PageSection, lines, note, number, number_cell, table, tag, text
from gramian.report.web.charts import Line

_MATRIX_CLASSES = 10
"""Largest number of classes whose confusion matrix is shown; of more, the most frequent confusions are."""
_CURVE_CLASSES = 5
_CONFUSIONS = 20
_DOTS, _CURVE_POINTS = 600, 200


def outcomes_section(predictions: Predictions) -> PageSection:
    """Return the confusion matrix with ROC and precision–recall curves, or predictions against true values."""
    if predictions.probabilities is None:
        body = "".join(_scatter(predictions, c) for c in range(min(predictions.y.shape[1], _CURVE_CLASSES)))
        about = f"On {predictions.description}. A perfect prediction lies on the dashed line."
        return PageSection(
            "Predicted and true values", note(text(about)) + tag("div", body, class_="side wide"), "Errors"
        )
    matrix = confusion(predictions)
    few = len(matrix) <= _MATRIX_CLASSES
    shown = _confusion_matrix(matrix, predictions.classes) if few else _confusions(matrix, predictions.classes)
    curves = _curves(predictions)
    about = f"On {predictions.description}."
    body = note(text(about)) + shown + (tag("div", curves, class_="side") if curves else "")
    return PageSection("Right and wrong predictions", body, "Errors")


def confusion(predictions: Predictions) -> Int[np.ndarray, "k k"]:
    """Return the number of rows by true class and predicted class.

    >>> rows = Predictions(np.array([1, 1, 0]), np.array([1, 0, 0]), np.eye(2)[[1, 0, 0]], np.ones(3), "", None)
    >>> confusion(rows)
    array([[1, 0],
           [1, 1]])
    """
    assert predictions.probabilities is not None
    k = predictions.probabilities.shape[1]
    counts = np.bincount(predictions.y * k + predictions.predicted, minlength=k * k)
    return counts.reshape(k, k)


def roc_curve(
    scores: Float[np.ndarray, " m"], positive: np.ndarray, weights: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Return false positive rate, true positive rate and precision, as the threshold falls through all scores.

    >>> roc_curve(np.array([0.9, 0.8, 0.3]), np.array([True, False, True]), np.ones(3))[1]
    array([0. , 0.5, 0.5, 1. ])
    """
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # the last row of each score
    hits, misses = (np.cumsum(weights[order] * part[order])[last] for part in (positive, ~positive))
    true_rate, false_rate = (np.concatenate([[0.0], part / part[-1]]) for part in (hits, misses))
    precision = np.concatenate([[1.0], hits / (hits + misses)])
    return false_rate, true_rate, precision


def _confusion_matrix(matrix: Int[np.ndarray, "k k"], classes: tuple[str, ...]) -> str:
    totals = matrix.sum(axis=1)
    rows: list[list[Entry]] = []
    for c, name in enumerate(classes):
        cells: list[Entry] = []
        for d, count in enumerate(matrix[c].tolist()):
            share = count / totals[c] if totals[c] else 0.0
            small = format_percent(share, 0) if totals[c] else "–"
            markup = f"{count:,}<br>" + tag("small", small)
            tone: Tone = ("good" if c == d else "bad") if count else "quiet"
            cells.append(Cell(f"{count:,} ({small})", tone, sort=count, markup=markup))
        rows.append([name, *cells])
    headings: list[str | Column] = ["true class", *(Column(name, group="predicted class") for name in classes)]
    about = (
        "Rows by true class (lines) and predicted class (columns), with their share of the true class in small print."
    )
    return table(Table(headings, rows), title="Confusion matrix", class_="matrix") + note(about)


def _confusions(matrix: Int[np.ndarray, "k k"], classes: tuple[str, ...]) -> str:
    wrong = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_CONFUSIONS]
    pairs = [divmod(int(at), len(matrix)) for at in order if wrong.flat[at] > 0]
    if not pairs:
        return note("All rows were classified correctly.")
    totals = matrix.sum(axis=1)
    rows: list[list[Entry]] = [
        [classes[c], classes[d], number_cell(int(wrong[c, d])), number_cell(wrong[c, d] / totals[c], format_percent)]
        for c, d in pairs
    ]
    headings: list[str | Column] = ["true class", Column("predicted class", "left"), "rows", "share of the true class"]
    return table(Table(headings, rows), title="Most frequent errors", sortable=True)


def _curves(predictions: Predictions) -> str:
    assert predictions.probabilities is not None
    k = predictions.probabilities.shape[1]
    if k > _CURVE_CLASSES:
        return ""
    rates, precisions, shares = [], [], []
    for c in [1] if k == 2 else range(k):
        positive = predictions.y == c
        if positive.all() or not positive.any():
            continue
        name = "" if k == 2 else predictions.classes[c]
        false_rate, true_rate, precision = roc_curve(predictions.probabilities[:, c], positive, predictions.weights)
        few = _thinned(len(true_rate))
        rates.append(Line(name, false_rate[few].tolist(), true_rate[few].tolist(), marked=False))
        precisions.append(Line(name, true_rate[few].tolist(), precision[few].tolist(), marked=False))
        shares.append(float(predictions.weights @ positive / predictions.weights.sum()))
    if not rates:
        return ""
    of = f"class {predictions.classes[1]}" if k == 2 else "each class against the others"
    roc = lines(
        rates,
        f"ROC curve of {of}",
        x="false positive rate",
        y="true positive rate (recall)",
        diagonal=True,
        shares=True,
        caption=f"ROC curve of {of}; dashed: guessing.",
    )
    dashed = f"; dashed: guessing, {shares[0]:.1%}" if k == 2 else ""
    recall = lines(
        precisions,
        f"Precision–recall curve of {of}",
        x="recall",
        y="precision",
        shares=True,
        level=shares[0] if k == 2 else None,
        caption=f"Precision–recall curve of {of}{dashed}.",
    )
    return roc + recall


def _thinned(points: int) -> Int[np.ndarray, " t"]:
    return np.unique(np.linspace(0, points - 1, min(points, _CURVE_POINTS)).round().astype(int))


def _scatter(predictions: Predictions, c: int) -> str:
    m = len(predictions)
    shown = np.sort(np.random.default_rng(0).permutation(m)[:_DOTS])
    true, predicted = predictions.y[shown, c].tolist(), predictions.predicted[shown, c].tolist()
    name = f" of target {c}" if predictions.y.shape[1] > 1 else ""
    errors = np.abs(predictions.y[:, c] - predictions.predicted[:, c])
    half, most = np.quantile(errors, [0.5, 0.9])
    caption = f"Half of the errors{name} are at most {number(float(half))}, 90% at most {number(float(most))}."
    if m > _DOTS:
        caption += f" {_DOTS:,} random rows are drawn."
    alt = f"Predicted against true values{name}. {caption}"
    cloud = Line("", true, predicted, joined=False)
    return lines([cloud], alt, x=f"true value{name}", y=f"prediction{name}", diagonal=True, caption=caption)
