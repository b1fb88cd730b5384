"""Column-wise centring and scaling with weights, safe for columns of any magnitude."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_BLOCK_ROWS = 65_536
"""Number of rows processed at a time, so that a large table is not copied."""


@dataclass(frozen=True, eq=False)
class Scaler:
    """Map ``(X − center) / scale`` of each column; a constant column becomes exactly 0.

    >>> X = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> Scaler.fit(X, np.ones(2)).transform(X)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    center: Array
    scale: Array

    @classmethod
    def fit(cls, X: Array, weights: Array, center: bool = True, scale: bool = True) -> Scaler:
        """Compute the weighted mean and standard deviation of each column of ``X (n, d)``."""
        d = X.shape[1]
        low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
        size = np.maximum(np.abs(low), np.abs(high))
        size = np.where(size > 0, size, 1.0)
        share = weights / weights.sum()
        parts = [slice(start, start + _BLOCK_ROWS) for start in range(0, len(X), _BLOCK_ROWS)]
        mean = np.sum([share[part] @ (X[part] / size) for part in parts], axis=0)
        spread = np.sqrt(np.sum([share[part] @ (X[part] / size - mean) ** 2 for part in parts], axis=0))
        constant = high / size - low / size <= 4 * np.finfo(float).eps
        mean = np.where(constant, X[0] / size, mean)
        spread = np.where(constant | (spread == 0), 1.0, spread)
        width = spread * size
        width = np.where(width > 0, width, 1.0)  # the spread of numbers next to 0 may be no number above 0
        return cls(mean * size if center else np.zeros(d), width if scale else np.ones(d))

    def transform(self, X: Array) -> Array:
        """Scale rows ``(n, d)``."""
        with np.errstate(over="ignore"):
            out = X - self.center
        out /= self.scale  # in place: a large table is not copied twice
        if not np.isfinite(out).all():  # the difference of two numbers near the end of the range
            out = np.where(np.isinf(out), X / self.scale - self.center / self.scale, out)
        return out

    def inverse_transform(self, Z: Array) -> Array:
        """Convert scaled rows ``(n, d)`` back to the user's units."""
        return Z * self.scale + self.center
