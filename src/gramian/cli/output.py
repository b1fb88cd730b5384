"""Standard output of the commands: a console for people, and one JSON document for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from datetime import date
from typing import Any

import click
import numpy as np
from rich.console import Console


def make_console() -> Console:
    """Return a console on standard output: colour on a terminal, plain text in a pipe."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a pipe without Unicode shows ? for a bar, and does not fail
    return _Console(highlight=False)


def console_for(as_json: bool) -> Console:
    """Return a console on standard output, or on standard error if that is left to a JSON document."""
    return Console(stderr=True, highlight=False) if as_json else make_console()


class _Console(Console):
    """A console that leaves a closed pipe to the command group, which knows the exit code."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise BrokenPipeError


def emit(record: Any) -> None:
    """Print a record as one JSON document; all other messages of a command go to standard error."""
    # A pipe that cannot carry every letter gets escapes, which mean the same; a replaced letter would not.
    narrow = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()
    click.echo(json.dumps(to_json_types(record), indent=2, ensure_ascii=narrow, allow_nan=False))


def to_json_types(value: Any) -> Any:
    """Convert a value to the types of JSON: arrays to lists, keys and paths to text, NaN, NaT and infinities to null.

    Dates of any type become ISO text.

    >>> from pathlib import Path
    >>> to_json_types({"scores": np.array([0.5, np.nan]), 3: Path("a/b"), "size": np.int64(2)})
    {'scores': [0.5, None], '3': 'a/b', 'size': 2}
    >>> to_json_types([np.datetime64("2024-05-01T12", "ns"), np.datetime64("2024-05", "M"), np.datetime64("NaT")])
    ['2024-05-01T12:00:00.000000000', '2024-05', None]
    """
    if isinstance(value, np.datetime64 | np.timedelta64):  # their tolist() would give integers for nanoseconds
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM" and value.ndim:
        return [to_json_types(item) for item in value]
    if isinstance(value, date):
        return value.isoformat() if value == value else None  # the NaT of pandas is a date that differs from itself
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(to_json_types(key)): to_json_types(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_types(item) for item in value]
    return str(value)  # paths, devices, and objects of any other class
