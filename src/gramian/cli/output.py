"""JSON for machines: one document on standard output, valid whatever the numbers are."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from datetime import date
from typing import Any

import click
import numpy as np


def emit(record: Any) -> None:
    """Print a record as one JSON document; everything else a command has to say goes to standard error."""
    # A pipe that cannot carry every letter gets escapes, which mean the same; a replaced letter would not.
    narrow = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()
    click.echo(json.dumps(plain(record), indent=2, ensure_ascii=narrow, allow_nan=False))


def plain(value: Any) -> Any:
    """A value in the types of JSON: arrays as lists, keys and paths as text, and null for NaN, NaT and infinities.

    Dates are ISO text, whatever type they have.

    >>> from pathlib import Path
    >>> plain({"scores": np.array([0.5, np.nan]), 3: Path("a/b"), "size": np.int64(2)})
    {'scores': [0.5, None], '3': 'a/b', 'size': 2}
    >>> plain([np.datetime64("2024-05-01T12", "ns"), np.datetime64("2024-05", "M"), np.datetime64("NaT")])
    ['2024-05-01T12:00:00.000000000', '2024-05', None]
    """
    if isinstance(value, np.datetime64 | np.timedelta64):  # as numbers of Python's, nanoseconds would be integers
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM" and value.ndim:
        return [plain(item) for item in value]
    if isinstance(value, date):
        return value.isoformat() if value == value else None  # pandas' NaT is a date, and equals nothing
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)  # paths, dates, devices, classes of any other kind
