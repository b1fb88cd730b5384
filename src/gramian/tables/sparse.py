"""Sparse matrices as training tables: dense where that fits into memory, else refused with the numbers."""

from __future__ import annotations

import math

from scipy.sparse import issparse

from gramian.core import format_bytes
from gramian.tables.types import TableLike

_DENSE_COPIES = 4
"""Copies of a table, in float64, that exist while it is read and standardised."""


def check_sparse(X: TableLike, max_bytes: int | None) -> TableLike:
    """Return a table; raise a ValueError for a sparse matrix that, as a dense table, does not fit into memory.

    >>> from scipy.sparse import csr_array
    >>> check_sparse(csr_array((1000, 10**6)), 10**9)
    Traceback (most recent call last):
    ValueError: X is a sparse matrix of 1,000 rows × 1,000,000 columns, which a fit holds as a dense table: 4 copies of
    8 bytes per entry need 32.0 GB, and max_memory is 1.0 GB. Use fewer columns (OneHotEncoder(min_frequency=...),
    TruncatedSVD) or fewer rows, or raise max_memory
    """
    if max_bytes is None or not issparse(X):
        return X
    need = _DENSE_COPIES * 8 * math.prod(map(int, X.shape))
    if need > max_bytes:
        rows, columns = X.shape
        raise ValueError(
            f"X is a sparse matrix of {rows:,} rows × {columns:,} columns, which a fit holds as a dense table: "
            f"{_DENSE_COPIES} copies of 8 bytes per entry need {format_bytes(need)}, and max_memory is "
            f"{format_bytes(max_bytes)}. Use fewer columns (OneHotEncoder(min_frequency=...), TruncatedSVD) or fewer "
            "rows, or raise max_memory"
        )
    return X
