"""The user's columns behind the encoded ones: names, folding back, and the values of one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

Values = Float[np.ndarray, "*batch d"]


@dataclass(frozen=True, eq=False)
class Columns:
    """``p`` columns of the user, each behind one or more of the ``d`` encoded columns a machine works on.

    >>> columns = Columns(("age", "city"), ("age", "city=Bonn", "city=Rome"), np.array([0, 1, 1]), (True, False))
    >>> columns.fold(np.array([1.0, 2.0, 3.0]))
    array([1., 5.])
    >>> columns.own(np.array([1.0, 2.0, 3.0]))
    array([ 1., nan])
    """

    names: tuple[str, ...]
    encoded: tuple[str, ...]
    groups: Int[np.ndarray, " d"]
    """For each encoded column the number of the user's column behind it."""
    numeric: tuple[bool, ...]
    """Which of the user's columns hold numbers."""

    @classmethod
    def of(cls, model: Any) -> Columns:
        """The columns of a fitted estimator; one without an encoder works on the user's own."""
        encoder = getattr(model, "encoder_", None)
        if encoder is not None:
            encoded = tuple(str(name) for name in encoder.get_feature_names_out())
            numeric = tuple(kind == "number" for kind in encoder.kinds_)
            return cls(tuple(map(str, encoder.columns_)), encoded, np.asarray(encoder.groups_), numeric)
        called = getattr(model, "feature_names_in_", None)
        d = len(model.support_)
        names = tuple(f"x{j}" for j in range(d)) if called is None else tuple(str(name) for name in called)
        return cls(names, names, np.arange(d), (True,) * d)

    def fold(self, values: Values) -> Float[np.ndarray, "*batch p"]:
        """Sums over the encoded columns behind each of the user's: ``(…, d) → (…, p)``."""
        indicator = np.zeros((len(self.groups), len(self.names)))
        indicator[np.arange(len(self.groups)), self.groups] = 1.0
        return values @ indicator

    def own(self, values: Values) -> Float[np.ndarray, "*batch p"]:
        """The value at the encoded column that is the user's number, in its own units; NaN where there is none.

        An encoder gives that column the user's name. Where other columns follow the same number too (a rank score, say)
        no single one of them stands for it; an indicator of missing values does not follow it.
        """
        out = np.full((*values.shape[:-1], len(self.names)), np.nan)
        for group, name in enumerate(self.names):
            behind = np.flatnonzero(self.groups == group)
            following = [j for j in behind if self.encoded[j] != f"{name}__missing"]
            if self.numeric[group] and [self.encoded[j] for j in following] == [name]:
                out[..., group] = values[..., following[0]]
        return out

    def cells(self, X: Any, row: int) -> tuple[Any, ...]:
        """What the user's table holds in one row, in the order of ``names``."""
        if getattr(X, "columns", None) is None:
            return tuple(np.asarray(X)[row].tolist())
        return tuple(self.column(X, p)[row] for p in range(len(self.names)))

    def column(self, X: Any, p: int) -> NDArray[Any]:
        """The user's column ``p`` in a table: by its name, or by its place where the fit has seen no names.

        >>> import pandas as pd
        >>> Columns(("x0",), ("x0",), np.array([0]), (True,)).column(pd.DataFrame([[7.0]]), 0)
        array([7.])
        """
        called = getattr(X, "columns", None)
        if called is None:
            return np.asarray(X)[:, p]
        keys = {str(key): key for key in called}
        return np.asarray(X[keys.get(self.names[p], list(called)[p])])


def missing(value: Any) -> bool:
    """NaN, None, NaT or pandas' NA.

    >>> missing(float("nan")), missing("")
    (True, False)
    """
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def as_table(X: Any) -> Any:
    """One row (a list, an array or a pandas Series) as a table of one row; a table as it is."""
    if hasattr(X, "to_frame") and hasattr(X, "index"):  # a row of a pandas frame: its entries are the columns
        return X.to_frame().T.infer_objects()
    if hasattr(X, "columns"):
        return X
    if not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object)  # a list may hold numbers and texts
    return X[None, :] if X.ndim == 1 else X
