"""Distinct training rows in canonical order.

Equal rows with equal targets are merged into one row of higher weight, and rows are sorted. By construction a weight of
2 is the same as a repeated row, and the order of rows has no effect.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gramian.tables.scaling import Array

_MOST_COPIES = 10
"""Mean of the user's weights up to which whole numbers count copies of a row."""
_BLOCK_ROWS = 65_536
"""Number of rows processed at a time: the sort keys are as large as the table."""


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct rows ``X (n, d)`` with their targets and weights, in canonical order.

    ``index (n,)`` is the position of the first copy of each row in the user's table; ``weights`` is None if every row
    has weight 1. ``copies`` says how often each row is in the table, whatever its weight; None for once each.

    >>> merge_rows(np.array([[2.0], [-1.0], [2.0]]), np.array([5.0, 6.0, 5.0]), None).copies
    array([1., 2.])
    """

    X: Array
    y: NDArray[np.float64]
    weights: Array | None
    index: NDArray[np.intp]
    copies: Array | None = None

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: NDArray[np.intp]) -> MergedRows:
        weights, copies = (None if part is None else part[rows] for part in (self.weights, self.copies))
        return MergedRows(self.X[rows], self.y[rows], weights, self.index[rows], copies)

    @property
    def weights_or_ones(self) -> Array:
        """The weights, or ones if there are none."""
        return np.ones(len(self)) if self.weights is None else self.weights


def counts_rows(weights: Array) -> bool:
    """Tell whether weights count copies of a row: whole numbers, at most 10 on average over rows that have any.

    >>> counts_rows(np.array([1.0, 3.0])), counts_rows(np.array([0.5, 1.0])), counts_rows(np.array([50.0]))
    (True, False, False)
    """
    there = weights[weights > 0]
    return bool((there == np.rint(there)).all() and there.mean() <= _MOST_COPIES)


def check_weights(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Return ``sample_weight`` as ``n`` finite numbers of at least 0, or raise a ValueError that names the problem.

    >>> check_weights(2.0, 3)
    array([2., 2., 2.])
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("sample_weight must be numbers, one per row, and has entries that are none") from error
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({n},): one weight per row")
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {weights.min()} at row {int(weights.argmin())}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: nothing is left to fit")
    return weights


def merge_rows(
    X: Array, y: NDArray[np.float64], weights: Array | None, codes: NDArray[np.intp] | None = None
) -> MergedRows:
    """Merge equal rows with equal targets (and equal codes of groups), and sort; weights are positive.

    Whole weights of at most 10 on average count copies of a row: a weight of 2 is the same as the row twice. Other
    weights state importance, and rows are counted as they are in the table; merged ones share their total weight.

    >>> rows = merge_rows(np.array([[2.0], [-1.0], [2.0]]), np.array([5.0, 6.0, 5.0]), None)
    >>> rows.X.ravel(), rows.weights
    (array([-1.,  2.]), array([1., 2.]))
    """
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    parts = [X, y.reshape(len(y), -1)]
    if codes is not None:
        parts.append(codes[:, None].astype(np.float64))
    keys = _row_keys(np.ascontiguousarray(np.hstack(parts)))
    by_weight = np.argsort(w, kind="stable")  # so that the last bit of a sum does not depend on the order of rows
    order = by_weight[np.argsort(keys[by_weight], kind="stable")]
    new = np.ones(len(X), dtype=bool)
    for start in range(1, len(X), _BLOCK_ROWS):
        at = order[start - 1 : start + _BLOCK_ROWS]
        new[start : start + _BLOCK_ROWS] = keys[at[1:]] != keys[at[:-1]]
    starts = np.flatnonzero(new)
    first, total = np.minimum.reduceat(order, starts), np.add.reduceat(w[order], starts)
    counted = weights is None or counts_rows(w)
    copies = total if counted else np.diff(starts, append=len(X)).astype(np.float64)
    return MergedRows(X[first], y[first], _unless_ones(total), first, _unless_ones(copies))


def _unless_ones(values: Array) -> Array | None:
    return None if (values == 1).all() else values


def _row_keys(rows: Array) -> NDArray[Any]:
    """Return one byte string per row whose order is the rows' lexicographic order; ``rows`` is overwritten.

    Flipping the sign bit (all bits of a negative number) makes the order of floats that of their big-endian bits.
    Sorting byte strings is far faster than sorting by columns.
    """
    rows += 0.0  # −0.0 becomes 0.0
    bits = rows.view(np.uint64)
    sign = np.uint64(1 << 63)
    for start in range(0, len(bits), _BLOCK_ROWS):
        part = bits[start : start + _BLOCK_ROWS]
        part[...] = np.where(part & sign, ~part, part | sign)
    if sys.byteorder == "little":
        bits.byteswap(inplace=True)
    keys: NDArray[Any] = bits.view(np.dtype((np.void, 8 * rows.shape[1]))).ravel()
    return keys
