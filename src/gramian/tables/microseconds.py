"""Conversion of dates and durations to microseconds, with an error where they are out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class UnreadableError(ValueError):
    """The values cannot be read as the requested type; the message contains the first such value."""


def in_microseconds(values: NDArray[Any]) -> NDArray[Any]:
    """Return dates or durations in microseconds; NumPy itself would begin again at the other end of the range.

    >>> in_microseconds(np.array([2**62], dtype="M8[s]"))
    Traceback (most recent call last):
    gramian.tables.microseconds.UnreadableError: dates more than 290,000 years from now
    """
    kind = values.dtype.kind
    found = values.astype(f"{kind}8[us]")
    unit, _ = np.datetime_data(values.dtype)
    if (
        unit not in ("us", "ns", "ps", "fs", "as", "generic")
        and ((found.astype(values.dtype) != values) & ~np.isnat(values)).any()
    ):
        what = "dates" if kind == "M" else "durations"
        raise UnreadableError(f"{what} more than 290,000 years from now")
    return found
