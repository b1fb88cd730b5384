"""The text of a model card: front matter for the Hugging Face Hub, scores, columns, and how to load the model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from gramian.core.version import __version__
from gramian.display import format_number
from gramian.rfm.classifier import RFMClassifier
from gramian.rfm.model import FittedRFM
from gramian.rfm.regressor import RFMRegressor
from gramian.rfm.uncertainty.holdout import ScoredRows

Scores = dict[str, float]
"""Scores by the Hub's name of the metric."""
_NAMES = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "roc_auc": "area under the ROC curve",
    "r_squared": "R²",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
}
_SOURCES = {
    "folds": "each was predicted by models fitted to other folds, and the model in the file is fitted to all rows",
    "splits": "models fitted to parts of other rows predicted them, and the model in the file is fitted to all rows",
    "split": "they are other rows than those of the fits that were compared on them",
    "evaluation set": "they are an evaluation set, which also selected the model",
    "leave-one-out": "each was left out of the last solve, while the features were learned from all rows",
}
"""Descriptions of the sources of :class:`gramian.rfm.uncertainty.holdout.HoldoutPredictions`."""


def card_text(
    model: RFMClassifier | RFMRegressor, title: str, file_name: str, *, dataset: str = "", license: str = ""
) -> str:
    """Return the card of a fitted model as Markdown; see :func:`gramian.integrations.hub.write_card`.

    ``file_name`` is the name of the model file beside the card.

    >>> X = [[float(i)] for i in range(40)]
    >>> text = card_text(RFMRegressor(preset="fast").fit(X, [x for [x] in X]), "lines", "model.gramian")
    >>> "tabular-regression" in text, "contains 40 of its training rows" in text
    (True, True)
    """
    fitted = model.fitted()
    rows = fitted.scored_holdout()
    scores, constant = held_out_scores(rows, fitted), held_out_scores(constant_predictions(rows, fitted), fitted)
    kind = "regression" if fitted.classes is None else "classification"
    front = {
        "library_name": "gramian",
        "pipeline_tag": f"tabular-{kind}",
        "tags": ["gramian", "recursive-feature-machine", "kernel-methods", f"tabular-{kind}"],
        **({"license": license} if license else {}),
        "model-index": [{"name": title, "results": [_results(kind, dataset, rows.source, scores)]}],
    }
    table = [[_NAMES[name], _shown(name, value), _shown(name, constant[name])] for name, value in scores.items()]
    lines = [
        "---",
        *(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items()),  # JSON is YAML
        "---",
        "",
        f"# {title}",
        "",
        f"A recursive feature machine for {kind}, fitted by gramian {__version__} to {fitted.history.plan.n:,} rows"
        f"{' of ' + dataset if dataset else ''}.",
        "",
        "## Scores on held-out rows",
        "",
        *_table(["metric", "model", "constant prediction"], table),
        "",
        f"{len(rows.y):,} rows were held out: {_SOURCES[rows.source]}. The constant prediction is "
        + ("the mean." if fitted.classes is None else "the most frequent class, with the shares of the classes."),
        "",
        "## Fit",
        "",
        *_table(["", ""], model.summary().facts),
        "",
        "## Columns",
        "",
        *_table(["column", "kind"], column_kinds(fitted)),
        "",
        *([] if fitted.classes is None else [f"Classes: {', '.join(map(_cell, fitted.classes))}.", ""]),
        "## Use",
        "",
        "```python",
        "import gramian",
        "",
        f'model = gramian.load("{file_name}")  # numbers and names; no code of the file is run',
        f"model.{'predict' if fitted.classes is None else 'predict_proba'}(frame)  # a frame with the columns above",
        "```",
        "",
        "## The file contains training rows",
        "",
        f"A kernel machine predicts from its centres: `{file_name}` contains {len(fitted.row_index):,} of its training "
        "rows (standardised, with the constants that undo it), the names of the columns and the levels of categories. "
        "Publish it only if these may be public.",
        "",
    ]
    return "\n".join(lines)


def held_out_scores(rows: ScoredRows, model: FittedRFM) -> Scores:
    """Return scores of predictions for rows with known targets, by the Hub's name of the metric.

    The area under the ROC curve is there for two classes that both occur.

    >>> X = [[float(i)] for i in range(40)]
    >>> fitted = RFMRegressor(preset="fast").fit(X, [x for [x] in X]).fitted()
    >>> sorted(held_out_scores(fitted.scored_holdout(), fitted))
    ['mae', 'r_squared', 'rmse']
    """
    y, predicted, p, w = rows.y, rows.predicted, rows.probabilities, rows.weights
    if model.classes is None or p is None:
        return {
            "r_squared": float(r2_score(y, predicted, sample_weight=w)),
            "rmse": float(root_mean_squared_error(y, predicted, sample_weight=w)),
            "mae": float(mean_absolute_error(y, predicted, sample_weight=w)),
        }
    codes = np.searchsorted(model.classes, y)
    scores = {
        "accuracy": float(accuracy_score(y, predicted, sample_weight=w)),
        "log_loss": float(log_loss(codes, p, sample_weight=w, labels=range(len(model.classes)))),
    }
    if len(model.classes) == 2 and len(np.unique(codes)) == 2:
        scores["roc_auc"] = float(roc_auc_score(codes, p[:, 1], sample_weight=w))
    return scores


def constant_predictions(rows: ScoredRows, model: FittedRFM) -> ScoredRows:
    """Return the same rows with the best constant prediction: the mean, or the shares of the classes.

    >>> X = [[float(i)] for i in range(40)]
    >>> fitted = RFMRegressor(preset="fast").fit(X, [x for [x] in X]).fitted()
    >>> held_out_scores(constant_predictions(fitted.scored_holdout(), fitted), fitted)["r_squared"]
    0.0
    """
    w = rows.weights / rows.weights.sum()
    if model.classes is None:
        return replace(rows, predicted=np.broadcast_to(w @ rows.y, rows.y.shape))
    shares = np.array([w[rows.y == label].sum() for label in model.classes])
    most = np.full(len(rows.y), model.classes[shares.argmax()], dtype=rows.y.dtype)
    return replace(rows, predicted=most, probabilities=np.tile(shares, (len(rows.y), 1)))


def column_kinds(model: FittedRFM) -> list[tuple[str, str]]:
    """Return the names of the training table's columns, each with its kind.

    >>> X = [[1.0, "a"], [2.0, "b"]] * 10
    >>> column_kinds(RFMRegressor(preset="fast").fit(X, range(20)).fitted())
    [('x0', 'number'), ('x1', 'category')]
    """
    encoder = model.preprocessing.reader.encoder
    if encoder is None:
        return [(name, "number") for name in model.columns.names]
    return [(str(record.name), record.kind) for record in encoder.records_]


def _results(kind: str, dataset: str, source: str, scores: Scores) -> dict[str, object]:
    return {
        "task": {"type": f"tabular-{kind}", "name": f"tabular {kind}"},
        "dataset": {"type": "tabular", "name": dataset or f"held-out rows ({source})"},
        "metrics": [{"type": name, "name": _NAMES[name], "value": value} for name, value in scores.items()],
    }


def _shown(name: str, value: float) -> str:
    return format_number(value) if name in ("rmse", "mae") else f"{value:.3f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(_cell, line)) + " |" for line in lines]


def _cell(text: object) -> str:
    return " ".join(str(text).split()).replace("|", r"\|")
