"""Predictions for rows with known targets: rows that the user gives, or holdout rows of the fit."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing, check_consistent_length

from gramian.rfm.columns import as_table
from gramian.rfm.judged import unseen
from gramian.tables import label_codes, read_target

_MOST_ROWS = 20_000
_SELECTION = "by which kernel and round were selected: slightly optimistic"
_SOURCES = {
    "folds": f"rows: out-of-fold predictions, {_SELECTION}",
    "split": f"rows: the holdout part of one split, {_SELECTION}",
    "evaluation set": f"rows: the evaluation set of the fit, {_SELECTION}",
    "leave-one-out": "rows: leave-one-out predictions given M, which was learned from these rows: slightly optimistic",
}


@dataclass(frozen=True, eq=False)
class Predictions:
    """m rows: targets ``y (m, c)`` of a regressor or class numbers ``(m,)``, the predictions, and their source."""

    y: Float[np.ndarray, "m c"] | Int[np.ndarray, " m"]
    predicted: Float[np.ndarray, "m c"] | Int[np.ndarray, " m"]
    probabilities: Float[np.ndarray, "m k"] | None
    weights: Float[np.ndarray, " m"]
    source: str
    rows: Int[np.ndarray, " m"] | None
    """Row numbers in the table of the user; None for holdout rows of the fit."""
    classes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def ranks(self) -> Int[np.ndarray, "k m"]:
        """Rank of each row by its probability, for each class; equal probabilities have equal ranks."""
        assert self.probabilities is not None
        return np.stack([np.unique(column, return_inverse=True)[1] for column in self.probabilities.T])

    @property
    def description(self) -> str:
        """The number of rows and their source."""
        return f"{len(self):,} {self.source}"


def predictions_for(model: Any, X: Any = None, y: Any = None) -> Predictions:
    """Return predictions for the rows of the user, at most 20,000 random ones, or for holdout rows of the fit.

    Parameters
    ----------
    model : fitted estimator
    X, y : table (n, d) and targets (n,) or (n, c), optional
        Rows the model was not fitted to.
    """
    if X is None or y is None:
        if y is not None:
            raise ValueError("y was given without X: give the rows it belongs to as well")
        found = unseen(model)
        return _coded(model, found.y, found.predicted, found.probabilities, found.weights, _SOURCES[found.how], None)
    table = read_table(X)
    y = np.asarray(y)
    check_consistent_length(table, y)
    n = len(y)
    rows = np.arange(n)
    source = "rows given with the report"
    if n > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_ROWS])
        table, y = take(table, rows), y[rows]
        source = f"rows, a random sample of the {n:,} given with the report"
    ones = np.ones(len(y))
    if not hasattr(model, "classes_"):
        return _coded(model, y, model.predict(table), None, ones, source, rows)
    probabilities = model.predict_proba(table)
    return _coded(model, y, model.classes_[probabilities.argmax(axis=1)], probabilities, ones, source, rows)


def one_output(model: Any, predictions: Predictions) -> Any:
    """Return the output that is shown if only one can be: the first target or class, None if there is one only."""
    if predictions.probabilities is not None:
        return model.classes_.tolist()[0] if len(predictions.classes) > 2 else None
    return 0 if predictions.y.shape[1] > 1 else None


def read_table(X: Any) -> Any:
    """Return rows in memory, as a frame or an array; refuse tables that are not in memory, sparse or empty."""
    if isinstance(X, str | os.PathLike) or hasattr(X, "dask"):
        raise ValueError("X must be a table in memory, a frame or an array: read some rows of it first")
    if issparse(X):
        raise ValueError("X must be dense, a frame or an array, and is a sparse matrix: give X.toarray()")
    table = as_table(X)
    if len(table) == 0:
        raise ValueError("X has no rows: a report needs at least one")
    return table


def take(table: Any, rows: Any) -> Any:
    """Return some rows of a frame or an array."""
    return _safe_indexing(table, np.asarray(rows), axis=0)


def _coded(
    model: Any,
    y: NDArray[Any],
    predicted: NDArray[Any],
    probabilities: NDArray[Any] | None,
    weights: NDArray[Any],
    source: str,
    rows: NDArray[Any] | None,
) -> Predictions:
    """Return predictions with classes as numbers, and targets as a matrix."""
    if probabilities is not None:
        codes = label_codes(y, model.classes_)
        names = tuple(str(name) for name in model.classes_.tolist())
        return Predictions(codes, label_codes(predicted, model.classes_), probabilities, weights, source, rows, names)
    y, predicted = read_target(y).reshape(len(y), -1), predicted.reshape(len(y), -1)
    if y.shape != predicted.shape:
        raise ValueError(f"y has {y.shape[1]} targets, the model {predicted.shape[1]}: give as many as in the fit")
    return Predictions(y, predicted, None, weights, source, rows)
