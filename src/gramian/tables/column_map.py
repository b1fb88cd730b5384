"""Correspondence of the user's columns and the encoded ones: names, sums over encoded columns, values of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.sparse import issparse

from gramian.tables.columns import without_sparse
from gramian.tables.types import TableLike

Values = Float[np.ndarray, "*batch d"]


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """The ``p`` columns of the user, each encoded as one or more of the ``d`` columns that a model is fitted to.

    ``groups[j]`` is the index of the user's column from which encoded column j was made; ``numeric`` is True for the
    user's columns that hold numbers.

    >>> columns = ColumnMap(("age", "city"), ("age", "city=Bonn", "city=Rome"), np.array([0, 1, 1]), (True, False))
    >>> columns.fold(np.array([1.0, 2.0, 3.0]))
    array([1., 5.])
    >>> columns.own(np.array([1.0, 2.0, 3.0]))
    array([ 1., nan])
    """

    names: tuple[str, ...]
    encoded: tuple[str, ...]
    groups: Int[np.ndarray, " d"]
    numeric: tuple[bool, ...]

    def fold(self, values: Values) -> Float[np.ndarray, "*batch p"]:
        """Sum over the encoded columns of each of the user's columns: ``(…, d) → (…, p)``."""
        out = np.zeros((*values.shape[:-1], len(self.names)))
        np.add.at(out.T, self.groups, values.T)
        return out

    def own(self, values: Values) -> Float[np.ndarray, "*batch p"]:
        """Return the value at the encoded column that is the user's number, in its own units; NaN if there is none.

        An encoder gives that column the user's name. Where further encoded columns depend on the same number (a rank
        score, say) no single one represents it; an indicator of missing values does not depend on it.
        """
        out = np.full((*values.shape[:-1], len(self.names)), np.nan)
        for group, name in enumerate(self.names):
            encoded = np.flatnonzero(self.groups == group)
            dependent = [j for j in encoded if self.encoded[j] != f"{name}__missing"]
            if self.numeric[group] and [self.encoded[j] for j in dependent] == [name]:
                out[..., group] = values[..., dependent[0]]
        return out

    def cells(self, X: TableLike, row: int) -> tuple[Any, ...]:
        """Return the entries of one row of the user's table, in the order of ``names``."""
        if getattr(X, "columns", None) is None:
            return tuple(np.asarray(X)[row].tolist())
        return tuple(self.column(X, p)[row] for p in range(len(self.names)))

    def column(self, X: TableLike, p: int) -> NDArray[Any]:
        """Return the user's column ``p`` of a table: by name, or by position if the training table had no names.

        >>> import pandas as pd
        >>> ColumnMap(("x0",), ("x0",), np.array([0]), (True,)).column(pd.DataFrame([[7.0]]), 0)
        array([7.])
        """
        called = getattr(X, "columns", None)
        if called is None:
            return np.asarray(X)[:, p]
        keys = {str(key): key for key in called}
        return np.asarray(X[keys.get(self.names[p], list(called)[p])])

    def select(self, X: TableLike, at: list[int]) -> Any:
        """Return the part of a table that holds some of the user's columns."""
        X, called = without_sparse(X), getattr(X, "columns", None)
        width = len(self.names)
        if (np.asarray(X).shape[1:] if called is None else (len(called),)) != (width,):
            raise ValueError(f"X must have the {width} columns of the training table")
        if called is None:
            return np.asarray(X)[:, at]
        keys = {str(key): key for key in called}
        return X[[keys.get(self.names[j], list(called)[j]) for j in at]]


def is_missing(value: object) -> bool:
    """Return True for NaN, None, NaT and pandas' NA.

    >>> is_missing(float("nan")), is_missing("")
    (True, False)
    """
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def row_as_table(X: TableLike) -> Any:
    """Return one row (a list, an array or a pandas Series) as a table of one row, and a table unchanged.

    >>> row_as_table([1.5, "red"]).shape
    (1, 2)
    """
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        raise ValueError("X is a dict: pass a frame of one row, for example pandas.DataFrame([X])")
    if hasattr(X, "to_frame") and hasattr(X, "index"):  # a row of a pandas frame: its entries are the columns
        return X.to_frame().T.infer_objects()
    if hasattr(X, "columns"):
        return X
    if issparse(X):
        return np.atleast_2d(X.toarray())
    if not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object)  # a list may contain numbers and text
    return X[None, :] if X.ndim == 1 else X
