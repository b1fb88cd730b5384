"""The user's columns behind the encoded ones: names, folding back, and the values of one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

Values = Float[np.ndarray, "*batch d"]


@dataclass(frozen=True, eq=False)
class Columns:
    """``p`` columns of the user, each behind one or more of the ``d`` encoded columns a machine works on.

    >>> columns = Columns(("age", "city"), ("age", "city=Bonn", "city=Rome"), np.array([0, 1, 1]))
    >>> columns.fold(np.array([1.0, 2.0, 3.0]))
    array([1., 5.])
    """

    names: tuple[str, ...]
    encoded: tuple[str, ...]
    groups: Int[np.ndarray, " d"]
    """For each encoded column the number of the user's column behind it."""

    @classmethod
    def of(cls, model: Any) -> Columns:
        """The columns of a fitted estimator; one without an encoder works on the user's own."""
        encoder = getattr(model, "encoder_", None)
        if encoder is not None:
            encoded = tuple(str(name) for name in encoder.get_feature_names_out())
            return cls(tuple(str(name) for name in encoder.columns_), encoded, np.asarray(encoder.groups_))
        called = getattr(model, "feature_names_in_", None)
        d = len(model.support_)
        names = tuple(f"x{j}" for j in range(d)) if called is None else tuple(str(name) for name in called)
        return cls(names, names, np.arange(d))

    def fold(self, values: Values) -> Float[np.ndarray, "*batch p"]:
        """Sums over the encoded columns behind each of the user's: ``(…, d) → (…, p)``."""
        indicator = np.zeros((len(self.groups), len(self.names)))
        indicator[np.arange(len(self.groups)), self.groups] = 1.0
        return values @ indicator

    def own(self, values: Values) -> Float[np.ndarray, "*batch p"]:
        """The value at the encoded column that is the user's number itself (it has its name); NaN where none is."""
        out = np.full((*values.shape[:-1], len(self.names)), np.nan)
        for j, (name, group) in enumerate(zip(self.encoded, self.groups, strict=True)):
            if name == self.names[group]:
                out[..., group] = values[..., j]
        return out

    def cells(self, X: Any, row: int) -> tuple[Any, ...]:
        """What the user's table holds in one row, in the order of ``names``."""
        called = getattr(X, "columns", None)
        if called is None:
            return tuple(np.asarray(X)[row].tolist())
        keys = {str(key): key for key in called}
        return tuple(np.asarray(X[keys[name]])[row] for name in self.names)


def as_table(X: Any) -> Any:
    """One row (a list, an array or a pandas Series) as a table of one row; a table as it is."""
    if hasattr(X, "to_frame") and hasattr(X, "index"):  # a row of a pandas frame: its entries are the columns
        return X.to_frame().T.infer_objects()
    if hasattr(X, "columns"):
        return X
    X = np.asarray(X)
    return X[None, :] if X.ndim == 1 else X
