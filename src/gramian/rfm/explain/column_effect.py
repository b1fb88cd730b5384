"""The effect of one column: the average prediction as the column takes different values (partial dependence)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gramian.display import Bar, Renderable, Section, Table, bars, format_number, format_value
from gramian.rfm.explain.directions import check_positive
from gramian.rfm.model import FittedRFM
from gramian.tables.column_map import is_missing
from gramian.tables.types import TableLike

_RANGE = (0.01, 0.99)
"""The grid of a number lies between these quantiles of its values."""
_DIGITS = 6
"""Digits of a number beyond the leading one of the column's range that are shown."""
_MOST_CENTERS = 5000
"""Training rows from which the values of a number are taken, at most."""


@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffect(Renderable):
    """Average predictions of rows in which one column has been set to a value, for several values.

    ``values`` are entries of the column: numbers or dates in rising order (``ordered``), or the most frequent levels.
    ``mean[g, c]`` is the average of output c with value g; ``outputs`` names them: the prediction, or the classes whose
    probabilities they are.
    """

    column: str
    values: tuple[object, ...]
    numeric: bool
    ordered: bool
    outputs: tuple[str, ...]
    mean: Float[np.ndarray, "g c"]

    @property
    def reach(self) -> float:
        """The largest difference that the column makes to the average of an output."""
        return float(np.ptp(self.mean, axis=0).max())

    def sections(self) -> list[Section]:
        """Return a table with one line per value and a bar for the first output."""
        drawn = bars((self.mean[:, 0] - min(0.0, self.mean[:, 0].min())).tolist())
        rows: list[list[str | Bar]] = [
            [format_value(value), bar, *(format_number(float(m)) for m in means)]
            for value, bar, means in zip(self.values, drawn, self.mean, strict=True)
        ]
        return [Section(f"average prediction by {self.column}", Table([self.column, "", *self.outputs], rows))]


def column_effect(
    model: FittedRFM, column: str, X: TableLike = None, grid: int = 15, levels: int = 8, rows: int = 100
) -> ColumnEffect | None:
    """Average the predictions of training rows in which one of the user's columns is set to a value.

    ``mean(v) = avgᵢ f(xᵢ with column = v)``, over at most ``rows`` training rows i. The values v are quantiles of a
    number or of a date, or the most frequent levels of any other column. All encoded columns of the user's column are
    set to those of a row that has the value, so that no row is encoded in a way that no table has. Predictions are in
    the user's terms: numbers in the units of the target, or probabilities (of the second of two classes, else of each).

    Parameters
    ----------
    model : FittedRFM
    column : str
        Name of a column of the training table.
    X : table (n, d), optional
        Rows from which the values of columns without numbers are taken, since a model does not store them.
    grid, levels : int
        Largest number of values of a number, and of levels of any other column.
    rows : int
        Training rows to average over, at most.

    Returns
    -------
    ColumnEffect, or None if fewer than two values are known

    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 0] ** 2).model_
    >>> found = column_effect(model, "x0", grid=3)
    >>> bool(found.mean[0] > found.mean[1] < found.mean[2])
    True
    """
    for name, count in (("grid", grid), ("levels", levels), ("rows", rows)):
        check_positive(name, count)
    if column not in model.columns.names:
        raise ValueError(f"column must be one of the training table such as {model.columns.names[0]!r}, got {column!r}")
    p = model.columns.names.index(column)
    block = np.flatnonzero(model.columns.groups == p)
    if not len(block):
        return None  # the column is not used
    source, numbers = _training_numbers(model, p)
    numeric = ordered = bool(np.isfinite(numbers).all()) and len(numbers) > 0
    if numeric:
        chosen = _at_quantiles(numbers, grid)
        values: tuple[object, ...] = tuple(numbers[chosen].tolist())
    elif X is not None:
        source, entries = _known_entries(model, p, X)
        ordered = _is_date(model, p)
        chosen = _at_quantiles(source[:, block[0]], levels) if ordered else _most_frequent(entries, levels)
        values = tuple(entries[i] for i in chosen)
    else:
        return None
    if len(chosen) < 2:
        return None
    Z, weights = model.center_rows(int(rows))
    changed = np.repeat(Z[None], len(chosen), axis=0)
    changed[:, :, block] = source[chosen][:, None, block]
    outputs, names = _in_users_terms(model, model.outputs_at(changed.reshape(-1, Z.shape[1])))
    mean = np.average(outputs.reshape(len(chosen), len(Z), -1), axis=1, weights=weights)
    return ColumnEffect(column, values, numeric, ordered, names, mean)


def _is_date(model: FittedRFM, p: int) -> bool:
    """Return True for a column of dates, whose first encoded column is the time."""
    encoder = model.preprocessing.reader.encoder
    return encoder is not None and encoder.records_[p].kind == "date"


def _training_numbers(model: FittedRFM, p: int) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, " m"]]:
    """Return standardised training rows in which column p is not missing, and its numbers; NaN if it has none."""
    Z, _ = model.center_rows(_MOST_CENTERS)
    raw = model.preprocessing.scaler.inverse_transform(Z)
    gaps = [j for j, name in enumerate(model.columns.encoded) if name == f"{model.columns.names[p]}__missing"]
    known = raw[:, gaps[0]] < 0.5 if gaps else np.ones(len(Z), dtype=bool)
    numbers = model.columns.own(raw)[known, p]
    spread = float(np.ptp(numbers)) if len(numbers) else 0.0
    if np.isfinite(spread) and spread > 0:  # centres are stored in single precision
        numbers = np.round(numbers, _DIGITS - int(np.floor(np.log10(spread))))
    return Z[known], numbers


def _known_entries(model: FittedRFM, p: int, X: TableLike) -> tuple[Float[np.ndarray, "m d"], list[object]]:
    """Return standardised rows of a table in which column p is not missing, and its entries."""
    entries: list[object] = list(model.columns.column(X, p))
    present = [i for i, entry in enumerate(entries) if not is_missing(entry)]
    Z: Float[np.ndarray, "m d"] = model.preprocessing.transform(X)[present]
    return Z, [entries[i] for i in present]


def _at_quantiles(numbers: Float[np.ndarray, " m"], grid: int) -> Int[np.ndarray, " g"]:
    """Return rows whose numbers are quantiles, in rising order and each number once."""
    order = np.argsort(numbers, kind="stable")
    places = np.unique(np.round(np.linspace(*_RANGE, int(grid)) * (len(order) - 1)).astype(int))
    distinct = np.unique(numbers)
    if len(distinct) <= grid:
        each: Int[np.ndarray, " g"] = order[np.searchsorted(numbers[order], distinct)]
        return each
    _, first = np.unique(numbers[order[places]], return_index=True)
    chosen: Int[np.ndarray, " g"] = order[places[first]]
    return chosen


def _most_frequent(entries: list[object], levels: int) -> Int[np.ndarray, " g"]:
    """Return the first row of each of the most frequent levels; none if there are no entries or all are different."""
    texts = np.array([str(entry) for entry in entries])
    if not len(texts):
        return np.zeros(0, dtype=int)
    _, first, counts = np.unique(texts, return_index=True, return_counts=True)
    chosen: Int[np.ndarray, " g"] = first[np.argsort(-counts, kind="stable")[: int(levels)]]
    return chosen if counts.max() > 1 else chosen[:0]


def _in_users_terms(
    model: FittedRFM, outputs: Float[np.ndarray, "m c"]
) -> tuple[Float[np.ndarray, "m k"], tuple[str, ...]]:
    if model.classes is None:
        predicted = np.asarray(model.target.predictions(outputs), dtype=float).reshape(len(outputs), -1)
        several = predicted.shape[1] > 1
        return predicted, tuple(f"target {c}" if several else "prediction" for c in range(predicted.shape[1]))
    probabilities = np.exp(model.log_probabilities(outputs))
    names = tuple(str(label) for label in model.classes.tolist())
    return (probabilities[:, 1:], names[1:]) if len(names) == 2 else (probabilities, names)
