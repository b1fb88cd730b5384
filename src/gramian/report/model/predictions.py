"""Predictions for rows with known targets: rows that the user gives, or holdout rows of the fit."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing, check_consistent_length

from gramian.rfm import FittedRFM
from gramian.rfm.uncertainty.holdout import ScoredRows
from gramian.tables import label_codes, read_target
from gramian.tables.column_map import row_as_table
from gramian.tables.types import Label, Labels, TableLike, TargetLike

_MOST_ROWS = 20_000
_SELECTION = "kernels and rounds were selected by these predictions, so the scores are slightly optimistic"
_SOURCES = {
    "folds": f"training rows, each predicted by a fit to other folds; {_SELECTION}",
    "splits": f"training rows, predicted by fits to parts of the other rows; {_SELECTION}",
    "split": f"training rows that were held out of the fit; {_SELECTION}",
    "evaluation set": f"rows of the evaluation set of the fit; {_SELECTION}",
    "leave-one-out": (
        "training rows, each predicted without itself; the matrix M was learned from all of them, so the scores are "
        "slightly optimistic"
    ),
}
_GIVEN = "rows that were given with the report and must not be training rows"
_HELD_OUT = "held-out rows, predicted by a fit with the same settings to the other rows"


@dataclass(frozen=True, eq=False)
class Predictions:
    """m scored rows: targets ``y (m, c)`` of a regressor or class numbers ``(m,)``, predictions, and their source.

    Unlike :class:`gramian.rfm.uncertainty.holdout.ScoredRows` it has numbers for classes, and numbers of the rows.
    """

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


def predictions_for(model: FittedRFM, X: TableLike = None, y: TargetLike = None, held_out: bool = False) -> Predictions:
    """Return predictions for the rows of the user, at most 20,000 random ones, or for holdout rows of the fit.

    Parameters
    ----------
    model : FittedRFM
    X, y : table (n, d) and targets (n,) or (n, c), optional
        Rows the model was not fitted to.
    held_out : bool
        The rows were held out of a table, and another model was then fitted to all of it.

    >>> from gramian import RFMRegressor
    >>> rows = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(rows, rows[:, 0]).model_
    >>> predictions_for(model, rows[:5], rows[:5, 0]).description
    '5 rows that were given with the report and must not be training rows'
    """
    if X is None or y is None:
        if y is not None:
            raise ValueError("y was given without X: give the rows it belongs to as well")
        scored = model.scored_holdout()
        return _coded(model, replace(scored, source=_SOURCES[scored.source]), None)
    table = read_table(X)
    y = np.asarray(y)
    check_consistent_length(table, y)
    n = len(y)
    rows = np.arange(n)
    source = _HELD_OUT if held_out else _GIVEN
    if n > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_ROWS])
        table, y = take(table, rows), y[rows]
        source = f"random rows of {n:,} {source}"
    ones = np.ones(len(y))
    if model.classes is None:
        return _coded(model, ScoredRows(y, predicted(model, table), None, ones, source), rows)
    shares = probabilities(model, table)
    return _coded(model, ScoredRows(y, model.classes[shares.argmax(axis=1)], shares, ones, source), rows)


def predicted(model: FittedRFM, table: TableLike) -> Labels:
    """Return the predictions of a model for a table, in the user's terms."""
    return model.target.predictions(model.outputs(table))


def probabilities(model: FittedRFM, table: TableLike) -> Float[np.ndarray, "m k"]:
    """Return the class probabilities of a classifier for a table."""
    return np.exp(model.log_probabilities(model.outputs(table)))


def one_output(model: FittedRFM, predictions: Predictions) -> Label:
    """Return the output that is shown if only one can be: the first target or class, None if there is one only."""
    if model.classes is not None:
        return model.classes.tolist()[0] if len(model.classes) > 2 else None
    return 0 if predictions.y.shape[1] > 1 else None


def read_table(X: TableLike) -> TableLike:
    """Return rows in memory, as a frame or an array; refuse tables that are not in memory, sparse or empty."""
    if isinstance(X, str | os.PathLike) or hasattr(X, "dask"):
        raise ValueError("X must be a table in memory, a frame or an array: read some rows of it first")
    if issparse(X):
        raise ValueError("X must be dense, a frame or an array, and is a sparse matrix: give X.toarray()")
    table = row_as_table(X)
    if len(table) == 0:
        raise ValueError("X has no rows: a report needs at least one")
    return table


def take(table: TableLike, rows: ArrayLike) -> TableLike:
    """Return some rows of a frame or an array."""
    return _safe_indexing(table, np.asarray(rows), axis=0)


def _coded(model: FittedRFM, scored: ScoredRows, rows: Int[np.ndarray, " m"] | None) -> Predictions:
    """Return scored rows with classes as numbers, or with targets as a matrix."""
    if model.classes is not None:
        codes, guesses = (label_codes(labels, model.classes) for labels in (scored.y, scored.predicted))
        names = tuple(str(name) for name in model.classes.tolist())
        return Predictions(codes, guesses, scored.probabilities, scored.weights, scored.source, rows, names)
    y, guesses = read_target(scored.y).reshape(len(scored.y), -1), scored.predicted.reshape(len(scored.y), -1)
    if y.shape != guesses.shape:
        raise ValueError(f"y has {y.shape[1]} targets, the model {guesses.shape[1]}: give as many as in the fit")
    return Predictions(y, guesses, None, scored.weights, scored.source, rows)
