"""Labels of the rows of a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.tables.types import TableLike


def index_labels(X: TableLike, rows: NDArray[np.intp]) -> NDArray[Any] | None:
    """Return the labels of some rows in the index of a pandas frame: numbers, dates or text; None without such labels.

    The index of a Dask frame is not read: that would compute the whole frame again.

    >>> import pandas as pd
    >>> index_labels(pd.DataFrame({"a": [1.0, 2.0]}, index=["Ann", "Bob"]), np.array([1])).tolist()
    ['Bob']
    """
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "iloc") or hasattr(X, "__dask_graph__"):
        return None
    if np.array_equal(np.asarray(index), np.arange(len(X))):
        return None
    labels = np.asarray(index)[rows]
    return labels if labels.dtype.kind in "biufM" else np.array([str(label) for label in labels])
