"""Tables of complete numbers, which are used as they are: reading of later rows, and integers that lose digits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.core.warn import warn
from gramian.tables.columns import RawColumn, read_columns, refused
from gramian.tables.scaling import Array
from gramian.tables.types import TableLike
from gramian.tables.values import EXACT, UnreadableError, read_numbers, refuse_durations

_INFINITE = 2**1023
"""A whole number that is refused as infinity, or nearly so."""


def is_number_table(X: TableLike) -> bool:
    """Return True for numbers or booleans that NumPy converts without a look at entries.

    That is an array without a mask, or a frame of pandas whose columns have formats of NumPy.

    >>> is_number_table(np.ones((2, 2))), is_number_table(np.ma.ones((2, 2))), is_number_table([[1.0]])
    (True, False, False)
    """
    if isinstance(X, np.ndarray):
        return not isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "biuf"
    formats = getattr(X, "dtypes", None) if hasattr(X, "iloc") else None
    return formats is not None and all(isinstance(one, np.dtype) and one.kind in "biuf" for one in formats)


def read_number_table(X: TableLike) -> Array:
    """Read a table whose training columns were complete numbers as float64 ``(n, d)``; NaN where an entry is missing.

    Entries may be text, as in the other tables: a number, a boolean, or blank. Everything else is a ValueError that
    names the column.

    >>> read_number_table([["1.5", True], [" ", 2]])
    array([[1.5, 1. ],
           [nan, 2. ]])
    """
    if is_number_table(X):
        return np.asarray(X, dtype=np.float64)
    columns = read_columns(X)
    rows = [_read_column(column) for column in columns]
    return np.stack(rows, axis=1) if rows else np.empty((0, 0))


def warn_of_rounded_integers(columns: Iterable[RawColumn]) -> None:
    """Warn of columns with whole numbers beyond 2⁵³ that are different, and equal once they are float64.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     warn_of_rounded_integers([RawColumn("id", 2**60 + np.arange(100))])
    >>> str(found[0].message).partition(":")[0]
    "the 100 different whole numbers beyond 2**53 in column 'id' become 1 in float64"
    """
    for column in columns:
        large = _large_integers(column.values)
        before, after = len(set(large)), len(set(map(float, large)))
        if after < before:
            warn(
                f"the {before:,} different whole numbers beyond 2**53 in column {column.name!r} become {after:,} in "
                "float64: turn them into text if they are names, else subtract a constant"
            )


def _read_column(column: RawColumn) -> Array:
    try:
        refuse_durations(column.values)
        return read_numbers(column.values)
    except UnreadableError as error:
        raise refused(column.name, error, "number (numbers)") from error


def _large_integers(values: NDArray[Any]) -> list[int]:
    """Return the whole numbers of a column beyond 2⁵³, exactly as they are."""
    if values.dtype.kind in "iu":
        large: list[int] = values[(values > EXACT) | (values < -EXACT)].tolist()
        return large
    if values.dtype.kind != "O":
        return []
    whole = (value for value in values.tolist() if isinstance(value, int | np.integer))
    return [int(value) for value in whole if EXACT < abs(int(value)) < _INFINITE]
