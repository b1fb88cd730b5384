"""From the user's arrays to the rows a machine is fitted on: checks with clear words, scaling, repeated rows.

Equal rows with equal targets are merged into one row of higher weight, and rows are put into a canonical order. A
weight of 2 is then the same as saying it twice, by construction; leaving one row out leaves its copies out too; and the
order in which rows come changes nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_ROWS = 65_536
"""Rows handled at a time where all at once would be another copy of the table."""


def check_finite(X: Array, names: NDArray[Any] | None) -> None:
    """Raise a ValueError that names the columns with infinity."""
    bad = np.isinf(X)
    if not bad.any():
        return
    told = [str(j) if names is None else repr(str(names[j])) for j in np.flatnonzero(bad.any(axis=0))]
    shown = ", ".join(told[:5]) + (f" and {len(told) - 5} more" if len(told) > 5 else "")
    raise ValueError(
        f"Input X contains infinity in column{'s' if len(told) > 1 else ''} {shown} ({int(bad.sum())} entries): "
        "drop the rows or make the entries missing (NaN)"
    )


@dataclass(frozen=True, eq=False)
class Scaler:
    """``(X − center) / scale`` column by column; a constant column becomes exactly 0.

    >>> X = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> Scaler.fit(X, np.ones(2)).apply(X)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    center: Array
    scale: Array

    @classmethod
    def fit(cls, X: Array, weights: Array, center: bool = True, scale: bool = True) -> Scaler:
        """Weighted mean and standard deviation, safe for columns of any magnitude."""
        d = X.shape[1]
        low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
        size = np.maximum(np.abs(low), np.abs(high))
        size = np.where(size > 0, size, 1.0)
        share = weights / weights.sum()
        # Some rows at a time: a table in units of its own size would be one more copy of it.
        parts = [slice(start, start + _ROWS) for start in range(0, len(X), _ROWS)]
        mean = np.sum([share[part] @ (X[part] / size) for part in parts], axis=0)
        spread = np.sqrt(np.sum([share[part] @ (X[part] / size - mean) ** 2 for part in parts], axis=0))
        constant = high / size - low / size <= 4 * np.finfo(float).eps
        mean = np.where(constant, X[0] / size, mean)
        spread = np.where(constant | (spread == 0), 1.0, spread)
        return cls(mean * size if center else np.zeros(d), spread * size if scale else np.ones(d))

    @classmethod
    def identity(cls, d: int) -> Scaler:
        """Leaves everything as it is."""
        return cls(np.zeros(d), np.ones(d))

    def apply(self, X: Array) -> Array:
        """Scale rows."""
        out = X - self.center
        out /= self.scale  # in place: a large table is not copied twice
        return out

    def undo(self, X: Array) -> Array:
        """Put scaled rows back into the user's units."""
        return X * self.scale + self.center


@dataclass(frozen=True, eq=False)
class Table:
    """Distinct rows with their targets and weights, in canonical order."""

    X: Array
    y: NDArray[Any]
    weights: Array | None
    index: NDArray[np.intp]
    """Where the first copy of each row stands in the user's table."""

    def __len__(self) -> int:
        return len(self.X)

    @property
    def weights_or_ones(self) -> Array:
        """The weights, or ones."""
        return np.ones(len(self)) if self.weights is None else self.weights


def merge_rows(X: Array, y: NDArray[Any], weights: Array | None) -> Table:
    """Leave out rows of weight 0, merge equal ones, sort.

    >>> rows = merge_rows(np.array([[2.0], [-1.0], [2.0]]), np.array([5.0, 6.0, 5.0]), None)
    >>> rows.X.ravel(), rows.weights
    (array([-1.,  2.]), array([1., 2.]))
    """
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    if (w < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {w.min()} at row {int(w.argmin())}")
    keep = w > 0
    if not keep.any():
        raise ValueError("sample_weight is zero for every row: nothing is left to fit")
    if not keep.all():
        X, y, w = X[keep], y[keep], w[keep]
    keys = _row_keys(np.ascontiguousarray(np.hstack([X, y.reshape(len(y), -1)])))
    order = np.argsort(keys, kind="stable")
    new = np.ones(len(X), dtype=bool)
    for start in range(1, len(X), _ROWS):  # some rows at a time: keys are as large as the table
        at = order[start - 1 : start + _ROWS]
        new[start : start + _ROWS] = keys[at[1:]] != keys[at[:-1]]
    starts = np.flatnonzero(new)
    total = np.add.reduceat(w[order], starts)
    plain, first = bool((total == 1).all()), order[starts]
    return Table(X[first], y[first], None if plain else total, np.flatnonzero(keep)[first])


def _row_keys(rows: Array) -> NDArray[Any]:
    """One string of bytes per row, in the rows' lexicographic order: sorting those is far faster than by columns.

    Flipping the sign bit (all bits of a negative number) makes the order of floats that of their big-endian bits. The
    rows are overwritten.
    """
    rows += 0.0  # makes the two zeros one
    bits = rows.view(np.uint64)
    sign = np.uint64(1 << 63)
    for start in range(0, len(bits), _ROWS):
        part = bits[start : start + _ROWS]
        part[...] = np.where(part & sign, ~part, part | sign)
    if sys.byteorder == "little":
        bits.byteswap(inplace=True)
    return bits.view(np.dtype((np.void, 8 * rows.shape[1]))).ravel()
