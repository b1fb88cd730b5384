"""Groups and times of rows, as a user gives them to ``fit``: the condition on splits that they stand for."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gramian.core.splits import SplitBy
from gramian.tables.column_map import is_missing

_YEAR_FIRST = re.compile(r"\d{4}-\d{2}(\D|$)")


def split_condition(groups: ArrayLike | None, time: ArrayLike | None) -> SplitBy | None:
    """Return the condition on splits that ``groups`` or ``time`` of a fit stand for.

    >>> split_condition(None, ["2024-02", "2024-01", "2024-02"]).codes
    array([1, 0, 1])
    """
    if groups is not None and time is not None:
        raise ValueError("groups and time were both given: rows are split by one of them")
    name, given = ("groups", groups) if time is None else ("time", time)
    if given is None:
        return None
    given = _ordered_codes(given, name)
    values = np.asarray(given)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one entry per row, got an array of shape {values.shape}")
    missing = [i for i, value in enumerate(values.tolist()) if is_missing(value)]
    if missing:
        raise ValueError(f"{name} is missing at row {missing[0]} ({len(missing)} rows in all): fill or drop these rows")
    try:
        units, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"{name} has entries that cannot be ordered, such as numbers beside text: {error}") from error
    if len(units) < 2:
        raise ValueError(f"{name} has the same entry in all rows, so that none can be held out")
    return SplitBy(codes, ordered=name == "time")


def _ordered_codes(given: Any, name: str) -> Any:
    """Return the codes of ordered categories; entries without a natural order are refused as times."""
    categorical = getattr(given, "cat", given)  # a pandas Series has its categories there
    if name == "time" and hasattr(categorical, "categories"):
        if not categorical.ordered:
            raise ValueError("time has categories without an order: use ordered ones, numbers or dates")
        codes = np.asarray(categorical.codes)
        return np.where(codes < 0, np.nan, codes)
    if name == "time" and (texts := [v for v in np.asarray(given).ravel().tolist() if isinstance(v, str)]):
        strange = [text for text in texts if not _YEAR_FIRST.match(text)]
        if strange:
            raise ValueError(
                f"time has text that does not sort as time, such as {strange[0]!r}: give numbers, dates, or text with "
                "the year first (2024-01-31)"
            )
    return given
