"""Reading of targets: labels to codes, numbers to float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gramian.tables.columns import RawColumn, is_polars, read_columns
from gramian.tables.types import TargetLike
from gramian.tables.values import Array, Codes, UnreadableError, missing_in, recognise


def encode_labels(y: TargetLike) -> tuple[NDArray[Any], Codes]:
    """Return the sorted classes, and for each row the index of its class.

    Labels may be strings, integers, booleans or dates, in arrays, lists, and pandas or polars series, categories
    included.

    >>> encode_labels(["b", "a", "b"])
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    labels = _labels(y)
    kinds = sorted({type(label).__name__ for label in labels.tolist()})
    if len(kinds) > 1 and "str" in kinds:
        raise ValueError(f"y mixes labels of the types {' and '.join(kinds)}: turn all of them into strings")
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.ravel()


def label_codes(y: TargetLike, classes: NDArray[Any]) -> Codes:
    """Return for each row the index of its label among ``classes``.

    >>> label_codes(["b", "b", "a"], np.array(["a", "b"]))
    array([1, 1, 0])
    """
    at = {label: i for i, label in enumerate(classes.tolist())}
    listed = _labels(y).tolist()
    unknown = [label for label in listed if label not in at]
    if unknown:
        raise ValueError(f"y holds the label {unknown[0]!r}, which no training row has: leave these rows out")
    return np.array([at[label] for label in listed], dtype=np.intp)


def read_target(y: TargetLike) -> Array:
    """Return the target of a regression as float64, ``(n,)`` or ``(n, c)``.

    >>> read_target([1, 2.5])
    array([1. , 2.5])
    """
    y = _without_gradient(y)
    if not hasattr(y, "columns") and (is_polars(y) or np.asarray(y).ndim < 2):
        return _target_column(RawColumn("y", _vector(y)))
    columns = read_columns(y)
    return np.stack([_target_column(column) for column in columns], axis=1)


def _target_column(column: RawColumn) -> Array:
    where = "y" if column.name == "y" else f"the target {column.name!r}"
    _refuse_missing(column.values, where)
    try:
        kind, values = recognise(column.values, parse=False)
    except UnreadableError as error:
        raise ValueError(f"{where} holds {error}") from error
    if kind not in ("number", "boolean"):
        raise ValueError(
            f"{where} holds {kind} and regression needs numbers: convert it, or use the classifier for labels"
        )
    numbers: Array = values
    infinite = int(np.isinf(numbers).sum())
    if infinite:
        raise ValueError(f"{where} contains infinity in {infinite} of {len(numbers)} rows")
    return numbers


def _labels(y: TargetLike) -> NDArray[Any]:
    values = _vector(y)
    _refuse_missing(values, "y")
    if values.dtype.kind == "O":
        listed = values.tolist()
        # Objects of one type are converted to NumPy's own type, so that classes do not depend on the container.
        for kinds, dtype in (((bool, np.bool_), bool), ((int, np.integer), np.int64), ((str,), np.str_)):
            if all(isinstance(label, kinds) for label in listed):
                return np.array(listed, dtype=dtype)
    return values


def _vector(y: TargetLike) -> NDArray[Any]:
    """Return the values of a series, list, array or one-column frame as a one-dimensional array."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if hasattr(y, "columns"):
        if len(y.columns) != 1:
            raise ValueError(f"y has {len(y.columns)} columns and a single one is needed")
        y = y[y.columns[0]]
    if is_polars(y):
        values: NDArray[Any] = read_columns(y.to_frame())[0].values
        return values
    y = _without_gradient(y)
    if hasattr(y, "astype") and not isinstance(getattr(y, "dtype", None), np.dtype):
        # of pandas: categories, nullable, Arrow, text
        return np.asarray(y.astype(object), dtype=object)
    array = np.asarray(y)
    if array.dtype.kind in "US" and not isinstance(y, np.ndarray):
        array = np.array(y, dtype=object)
    vector: NDArray[Any] = column_or_1d(array, warn=True)
    return vector


def _without_gradient(y: TargetLike) -> TargetLike:
    """Return a tensor of torch as an array, also one that is on another device or has a gradient."""
    return y.detach().cpu().numpy() if hasattr(y, "detach") and hasattr(y, "cpu") else y


def _refuse_missing(values: NDArray[Any], where: str) -> None:
    gone = int(missing_in(values).sum())
    if gone:
        raise ValueError(f"{where} is missing (NaN, None) in {gone} of {len(values)} rows: leave these rows out")
