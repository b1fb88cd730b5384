"""Rows with known targets beside what a model predicts for them: the user's, or those its fit had held out."""

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
_CHOSEN = "by which kernel and round were chosen: a little too good"
_WORDS = {
    "folds": f"rows the fit had held out, {_CHOSEN}",
    "split": f"rows of one split that the fit had held out, {_CHOSEN}",
    "evaluation set": f"the evaluation set given to the fit, {_CHOSEN}",
    "leave-one-out": "training rows left out one by one given M, which has seen them: a little too good",
}


@dataclass(frozen=True, eq=False)
class Evidence:
    """m rows: ``y (m, c)`` of a regressor or class numbers ``(m,)``, what was predicted, and where they are from."""

    y: Float[np.ndarray, "m c"] | Int[np.ndarray, " m"]
    predicted: Float[np.ndarray, "m c"] | Int[np.ndarray, " m"]
    probabilities: Float[np.ndarray, "m k"] | None
    weights: Float[np.ndarray, " m"]
    source: str
    rows: Int[np.ndarray, " m"] | None
    """Which rows of the user's table they are; None where they are not from there."""
    classes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def places(self) -> Int[np.ndarray, "k m"]:
        """The place of each row's probability among those of all rows, for each class; equal ones share one."""
        assert self.probabilities is not None
        return np.stack([np.unique(column, return_inverse=True)[1] for column in self.probabilities.T])

    @property
    def words(self) -> str:
        """How many rows, and where from."""
        return (
            f"{len(self):,} {self.source}" if self.source.startswith("rows") else f"{len(self):,} rows: {self.source}"
        )


def evidence(model: Any, X: Any = None, y: Any = None) -> Evidence:
    """Predictions for the user's rows, at most 20,000 random ones, or for rows the fit had held out.

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
        return _made(model, found.y, found.predicted, found.probabilities, found.weights, _WORDS[found.how], None)
    table = read_table(X)
    y = np.asarray(y)
    check_consistent_length(table, y)
    n = len(y)
    rows = np.arange(n)
    source = "rows given with the report"
    if n > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_ROWS])
        table, y = take(table, rows), y[rows]
        source = f"random ones of the {n:,} given with the report"
    ones = np.ones(len(y))
    if not hasattr(model, "classes_"):
        return _made(model, y, model.predict(table), None, ones, source, rows)
    probabilities = model.predict_proba(table)
    return _made(model, y, model.classes_[probabilities.argmax(axis=1)], probabilities, ones, source, rows)


def one_output(model: Any, found: Evidence) -> Any:
    """The output to look at where several cannot be shown: the first target or class; None where there is only one."""
    if found.probabilities is not None:
        return model.classes_.tolist()[0] if len(found.classes) > 2 else None
    return 0 if found.y.shape[1] > 1 else None


def read_table(X: Any) -> Any:
    """Rows in memory, as a frame or an array; an error for what is not in memory, and for no rows at all."""
    if isinstance(X, str | os.PathLike) or hasattr(X, "dask"):
        raise ValueError("X must be a table in memory, a frame or an array: read some rows of it first")
    if issparse(X):
        raise ValueError("X must be dense, a frame or an array, and is a sparse matrix: give X.toarray()")
    table = as_table(X)
    if len(table) == 0:
        raise ValueError("X has no rows: a report needs at least one")
    return table


def take(table: Any, rows: Any) -> Any:
    """Some rows of a frame or an array."""
    return _safe_indexing(table, np.asarray(rows), axis=0)


def _made(
    model: Any,
    y: NDArray[Any],
    predicted: NDArray[Any],
    probabilities: NDArray[Any] | None,
    weights: NDArray[Any],
    source: str,
    rows: NDArray[Any] | None,
) -> Evidence:
    if probabilities is not None:
        codes = label_codes(y, model.classes_)
        names = tuple(str(name) for name in model.classes_.tolist())
        return Evidence(codes, label_codes(predicted, model.classes_), probabilities, weights, source, rows, names)
    y, predicted = read_target(y).reshape(len(y), -1), predicted.reshape(len(y), -1)
    if y.shape != predicted.shape:
        raise ValueError(f"y has {y.shape[1]} targets, the model {predicted.shape[1]}: give as many as in the fit")
    return Evidence(y, predicted, None, weights, source, rows)
