"""Types of the user's tables and targets.

pandas, polars, pyarrow and Dask are optional, so their classes cannot be named here. A function that takes one of these
aliases accepts everything its description lists; :mod:`gramian.tables` reads it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import ArrayLike, NDArray

TableLike: TypeAlias = Any
"""An array or list of rows, a pandas or polars frame, a memory map, a Parquet or Arrow file, a Dask collection."""
TargetLike: TypeAlias = Any
"""An array, list or series of labels or numbers, a frame of targets, or the name of a column of a file."""
WeightsLike: TypeAlias = ArrayLike | None
"""One weight per row, one weight for all rows, or None."""
EvalSet: TypeAlias = Any
"""A pair of a table and its targets, or None."""
Label: TypeAlias = Any
"""A class label of any type, the number of a target, or None."""
Labels: TypeAlias = NDArray[Any]
"""An array of class labels of any type."""
