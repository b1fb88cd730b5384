"""Named columns of a frame, an array or lists, each a NumPy array of one of a few types.

A pandas frame, the same frame in polars and the same values in an object array must have the same encoding, so the
container's type of a column is used only where the values alone determine it too. The one exception is a pandas
category: it is a category even if its levels look like numbers, and ordered if the category is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from gramian.tables.types import TableLike
from gramian.tables.values import EXACT, UnreadableError, is_plain_numbers, text_of


@dataclass(frozen=True, eq=False)
class RawColumn:
    """One column: its name, and its values as given or as read by :func:`~gramian.tables.values.recognise`."""

    name: str
    values: Any
    category: bool = False
    """True if the frame declares it a category: levels that look like numbers or dates are still levels."""
    order: tuple[str, ...] | None = None
    """Levels from lowest to highest, if the frame declares them ordered."""

    def __len__(self) -> int:
        return len(self.values)


def read_columns(X: TableLike) -> list[RawColumn]:
    """Return the columns of a pandas or polars frame, of a two-dimensional array or of a list of rows.

    >>> [column.name for column in read_columns([[1, "a"], [2, None]])]
    ['x0', 'x1']
    """
    frame = as_table(X)
    if isinstance(frame, np.ndarray):
        return [RawColumn(f"x{j}", frame[:, j]) for j in range(frame.shape[1])]
    names = [str(name) for name in frame.columns]
    _check_distinct(names)
    if is_polars(frame):
        return [RawColumn(name, _polars_values(frame[name])) for name in names]
    return [_pandas_column(name, frame.iloc[:, j]) for j, name in enumerate(names)]


def refused(name: str, error: UnreadableError, fitted: str) -> ValueError:
    """Return the error for a column of later rows that cannot be read as the kind it was ``fitted`` as.

    >>> str(refused("age", UnreadableError("dates"), "number")).partition(":")[0]
    "column 'age' holds dates, and it was fitted as number"
    """
    remedy = "write it as in the fitted rows, or leave it empty"
    return ValueError(f"column {name!r} holds {error}, and it was fitted as {fitted}: {remedy}")


def as_table(X: TableLike) -> Any:
    """Return X itself if it is a frame, otherwise X as a two-dimensional NumPy array."""
    if is_polars(X):
        if hasattr(X, "collect"):
            raise ValueError("X is a lazy frame: call X.collect() first")
        if not hasattr(X, "columns"):
            raise ValueError(_single_series(X))
        return X
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return X
    if scipy.sparse.issparse(X):
        raise TypeError("Sparse data was passed for X, but a dense table is required here: use X.toarray()")
    if not isinstance(X, np.ndarray) and hasattr(X, "to_pandas"):
        return as_table(X.to_pandas())
    if isinstance(X, np.ma.MaskedArray):
        mask, X = np.ma.getmaskarray(X), X.data.astype(object)
        X[mask] = None
    # NumPy would convert rows of mixed types to text, or booleans to numbers.
    array = np.array(X, dtype=object) if isinstance(X, list | tuple) else np.asarray(X)
    if array.ndim != 2:
        raise ValueError(_not_a_table(array.ndim))
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: pass real and imaginary parts as two columns")
    return array


def check_table(X: TableLike, expected: Sequence[str] | None = None) -> None:
    """Raise a ValueError for values that are no table of rows and columns, with what to pass instead.

    Everything that has rows and columns passes; scikit-learn and the encoder check the rest. ``expected`` are the names
    of the columns that a fitted model needs.

    >>> check_table({"a": [1.0, 2.0]})
    Traceback (most recent call last):
    ValueError: X is a dict: pass a frame, for example pandas.DataFrame(X)
    """
    if X is None:
        raise ValueError("X is None: pass a table with one row per sample. Expected 2D array")
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # a sparse matrix by keys is a dict too
        raise ValueError("X is a dict: pass a frame, for example pandas.DataFrame(X)")
    if isinstance(X, list | tuple):
        _check_list(X)
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        raise ValueError(
            f"X is a structured array with the fields {', '.join(map(repr, X.dtype.names))}: pass a frame, for example "
            "pandas.DataFrame(X), or one column per field"
        )
    if hasattr(X, "to_frame") and not hasattr(X, "columns"):
        raise ValueError(_single_series(X))
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) < 2:
        raise ValueError(_not_a_table(len(shape)))
    if isinstance(X, np.ndarray) and X.ndim > 2:
        raise ValueError(
            f"X has {X.ndim} dimensions: Found array with dim {X.ndim}, while dim <= 2 is required; a row of X is one "
            "sample, for example X.reshape(len(X), -1)"
        )
    if not hasattr(X, "columns") or not hasattr(X, "shape"):
        return
    names = [str(name) for name in X.columns]
    if not names:
        needed = "" if expected is None else f"; the model needs {', '.join(map(repr, expected[:5]))}"
        more = " and more" if expected is not None and len(expected) > 5 else ""
        raise ValueError(
            f"X has no columns: Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
            f"required{needed}{more}"
        )
    _check_distinct(names)


def without_sparse(X: TableLike) -> TableLike:
    """Return a sparse matrix, or a pandas frame with sparse columns, in dense form, and anything else as it is.

    scikit-learn takes a frame of sparse columns for a sparse matrix.
    """
    if scipy.sparse.issparse(X) and X.ndim == 2:
        return X.toarray()
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        return X
    sparse = [j for j, kind in enumerate(X.dtypes) if hasattr(kind, "subtype") and hasattr(kind, "fill_value")]
    if not sparse:
        return X
    dense = X.copy(deep=False)
    for j in sparse:
        dense.isetitem(j, np.asarray(X.iloc[:, j]))
    return dense


def check_lengths(**counts: int | None) -> None:
    """Raise a ValueError if tables, targets or groups, by their names, have different numbers of rows.

    >>> check_lengths(X=3, y=2)
    Traceback (most recent call last):
    ValueError: X has 3 rows and y has 2: Found input variables with inconsistent numbers of samples
    """
    given = {name: count for name, count in counts.items() if count is not None}
    (first, n), *others = given.items()
    for name, count in others:
        if count != n:
            problem = "Found input variables with inconsistent numbers of samples"
            raise ValueError(f"{first} has {n} rows and {name} has {count}: {problem}")


def _not_a_table(dimensions: int) -> str:
    return (
        f"Expected 2D array, got {dimensions}D array instead. Reshape your data either using array.reshape(-1, 1) if "
        "it is one column or array.reshape(1, -1) if it is one row."
    )


def _single_series(X: TableLike) -> str:
    """Return the message for a series of pandas or polars; one of pandas may be a row of a frame."""
    row = "" if is_polars(X) else "; of one row, X.to_frame().T, or frame.iloc[[0]] in place of frame.iloc[0]"
    return f"X is a single series, and a table has rows and columns: of one column, pass X.to_frame(){row}"


def _check_list(X: Sequence[Any]) -> None:
    if any(isinstance(row, Mapping) for row in X):
        raise ValueError("X is a list of dicts: pass a frame, for example pandas.DataFrame(X)")
    lengths = [
        len(row) if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim) else None for row in X
    ]
    if len(X) and all(row is None or np.isscalar(row) for row in X):
        raise ValueError(_not_a_table(1))
    other = next((i for i, n in enumerate(lengths) if n != lengths[0]), None)
    if other is not None:
        raise ValueError(
            f"X is a list of rows of different lengths: row 0 has {lengths[0] or 'no'} values and row {other} has "
            f"{lengths[other] or 'none'}; fill the gaps with None"
        )


def _check_distinct(names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"more than one column has the name {repeated[0]!r}: rename them so that the names differ")


def needs_encoding(X: TableLike) -> bool:
    """Return True if X has anything but complete columns of numbers (and booleans, which are the numbers 0 and 1).

    The result depends on the values and not on the container: it is the same for a frame, its object array and its
    float array. It is False for input that is not a table; the validation of X raises the error.

    >>> needs_encoding([[1.0, 2.0]]), needs_encoding([[1.0, float("nan")]]), needs_encoding([[1.0, "red"]])
    (False, True, True)
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and not isinstance(X, np.ma.MaskedArray):
        return X.ndim == 2 and X.dtype.kind == "f" and bool(np.isnan(X).any())
    try:
        return any(column.category or not is_plain_numbers(column.values) for column in read_columns(X))
    except UnreadableError:
        return True  # the encoder raises an error that names the column
    except (TypeError, ValueError):
        return is_polars(X) or hasattr(X, "iloc")  # for a frame that it refuses, the encoder raises the error


def is_polars(X: TableLike) -> bool:
    """Return True if X is an object of polars, without importing polars."""
    return type(X).__module__.partition(".")[0] == "polars"


def _pandas_column(name: str, series: Any) -> RawColumn:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return RawColumn(name, series.to_numpy())
    if hasattr(dtype, "categories"):
        if len(dtype.categories) and dtype.categories.dtype.kind == "M":
            return RawColumn(name, np.asarray(series.astype(object), dtype=object))
        texts = _objects([text_of(level) for level in dtype.categories] + [None])
        order = tuple(texts[:-1]) if dtype.ordered else None
        return RawColumn(name, texts[series.cat.codes.to_numpy()], category=True, order=order)
    if getattr(dtype, "_is_numeric", False) and dtype.kind in "iuf":  # nullable, Arrow
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return RawColumn(name, series.to_numpy(dtype=object) if dtype.kind in "iu" and _is_rounded(values) else values)
    if hasattr(dtype, "subtype") and hasattr(dtype, "fill_value"):  # sparse
        return RawColumn(name, np.asarray(series))
    if dtype.kind == "M" and getattr(dtype, "tz", None) is not None and hasattr(dtype, "unit"):
        return RawColumn(name, series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    return RawColumn(name, series.to_numpy(dtype=object))


def _polars_values(series: Any) -> NDArray[Any]:
    dtype = series.dtype
    plain = dtype.is_numeric() and not dtype.is_decimal() and "128" not in str(dtype)
    if plain or (dtype.is_temporal() and str(dtype) != "Time"):
        values: NDArray[Any] = series.to_numpy()
        if not (dtype.is_integer() and values.dtype.kind == "f" and _is_rounded(values)):  # floats where some are null
            return values
    return _objects(series.to_list())


def _is_rounded(values: NDArray[Any]) -> bool:
    """Return True if whole numbers in this format may have lost digits."""
    return bool((np.abs(values) >= EXACT).any())


def _objects(values: list[Any]) -> NDArray[Any]:
    # np.array would unpack nested values; this gives one object per row.
    return np.fromiter(values, dtype=object, count=len(values))
