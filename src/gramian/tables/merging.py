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
    has weight 1. They are ``counted`` where they say how often a row is in the table, and not how much it matters.
    """

    X: Array
    y: NDArray[np.float64]
    weights: Array | None
    index: NDArray[np.intp]
    counted: bool = True

    def __len__(self) -> int:
        return len(self.X)

    @property
    def weights_or_ones(self) -> Array:
        """The weights, or ones if there are none."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @property
    def copies(self) -> Array | None:
        """Number of times that each row is in the table; None for once each, and where weights do not count rows.

        >>> merge_rows(np.array([[2.0], [-1.0], [2.0]]), np.array([5.0, 6.0, 5.0]), None).copies
        array([1., 2.])
        """
        return self.weights if self.counted else None


def check_weights(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Return ``sample_weight`` as ``n`` finite numbers, or raise a ValueError that names the problem.

    >>> check_weights(2.0, 3)
    array([2., 2., 2.])
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({n},): one weight per row")
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity")
    return weights


def merge_rows(
    X: Array, y: NDArray[np.float64], weights: Array | None, codes: NDArray[np.intp] | None = None
) -> MergedRows:
    """Drop rows of weight 0, merge equal rows with equal targets (and equal codes of groups), and sort.

    Whole weights of at most 10 on average count copies of a row: a weight of 2 is the same as the row twice. Other
    weights state importance, and the row is in the table once.

    >>> rows = merge_rows(np.array([[2.0], [-1.0], [2.0]]), np.array([5.0, 6.0, 5.0]), None)
    >>> rows.X.ravel(), rows.weights
    (array([-1.,  2.]), array([1., 2.]))
    """
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    if (w < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {w.min()} at row {int(w.argmin())}")
    present = w > 0
    if not present.any():
        raise ValueError("sample_weight is zero for every row: nothing is left to fit")
    if not present.all():
        X, y, w = X[present], y[present], w[present]
    parts = [X, y.reshape(len(y), -1)]
    if codes is not None:
        parts.append(codes[present, None].astype(np.float64))
    keys = _row_keys(np.ascontiguousarray(np.hstack(parts)))
    order = np.argsort(keys, kind="stable")
    new = np.ones(len(X), dtype=bool)
    for start in range(1, len(X), _BLOCK_ROWS):
        at = order[start - 1 : start + _BLOCK_ROWS]
        new[start : start + _BLOCK_ROWS] = keys[at[1:]] != keys[at[:-1]]
    starts = np.flatnonzero(new)
    total = np.add.reduceat(w[order], starts)
    unweighted, first = bool((total == 1).all()), order[starts]
    counted = weights is None or bool((w == np.rint(w)).all() and w.mean() <= _MOST_COPIES)
    return MergedRows(X[first], y[first], None if unweighted else total, np.flatnonzero(present)[first], counted)


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
