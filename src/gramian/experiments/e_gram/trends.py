"""Order and shape of short curves: Kendall's rank correlation, and the fit of a straight line."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Return the share of pairs in the same order minus that in the opposite order; equal values count as neither.

    >>> kendall([1, 2, 3], [10, 30, 20])
    0.3333333333333333
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    i, j = np.triu_indices(len(a), 1)
    return float(np.mean(np.sign(a[j] - a[i]) * np.sign(b[j] - b[i])))


def straightness(x: ArrayLike, y: ArrayLike) -> float:
    """Return the coefficient of determination of the line through the points by least squares.

    >>> straightness([0, 1, 2], [1, 3, 5])
    1.0
    """
    return float(np.corrcoef(np.asarray(x, dtype=float), np.asarray(y, dtype=float))[0, 1] ** 2)
