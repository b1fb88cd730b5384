"""One unit of resumable work, and the key that identifies its record."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

Record = dict[str, Any]
"""The result of one cell in the types of JSON; has at least ``key`` and ``error`` (None, or the reason of failure)."""


def hash_key(identity: Mapping[str, Any], digits: int) -> str:
    """Hash everything that decides a result: the first hexadecimal digits of the sha256 of its JSON form.

    >>> hash_key({"b": 1, "a": 2}, digits=6) == hash_key({"a": 2, "b": 1}, digits=6)
    True
    """
    text = json.dumps(identity, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


class WorkCell(ABC):
    """One unit of work. Two cells with the same key have the same result, so one record serves both."""

    @property
    @abstractmethod
    def key(self) -> str:
        """Hash of everything that decides the result; the record is stored under it."""

    @abstractmethod
    def head(self) -> Record:
        """Return the part of the record that is known before the work starts; it contains ``key``."""

    @abstractmethod
    def task(self) -> Callable[[], Record]:
        """Return the work as a picklable function; a worker process calls it and returns the rest of the record."""

    @abstractmethod
    def failure(self, error: str, seconds: float) -> Record:
        """Return the rest of the record for a cell whose worker raised, crashed or exceeded the time limit."""

    @abstractmethod
    def levels(self) -> tuple[str, ...]:
        """Return the groups of similar cells this one belongs to, largest first; their times predict its time."""

    @abstractmethod
    def seconds(self, record: Record) -> float:
        """Return the duration of the work, from its record."""

    @abstractmethod
    def summary(self, record: Record) -> str:
        """Describe the result in one line, for the log."""
