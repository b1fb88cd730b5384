"""Encodings and channels: one column of the user as one or more columns of numbers.

The fields of an encoding are plain data, which a model file can hold. The ``center`` and ``scale`` of a channel are NaN
if the estimator should standardise from data. They are prescribed where a standard deviation would be the wrong unit:

- A rare level divided by its standard deviation ``√(p(1−p))`` would be far from all other rows. The channels of one
  category are divided by ``√v``, ``v = Σ p(1−p)``: the expected squared distance of two random rows is then 2, as for
  one standardised number. ``v`` is at least 1/4 (1/8 for a single 0/1 channel), so that the squared distance of rows of
  different levels is at most 8.
- Points on a circle (weekday, time of year) have radius 1: the expected squared distance of uniform ones is 2 as well.
- The channels of one text are divided by the root of their summed variances, for the same reason.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.tables.columns import RawColumn
from gramian.tables.values import Array

FARTHEST = 8.0
"""Squared distance of rows that differ in one level, at most."""


@dataclass(frozen=True, eq=False)
class Channel:
    """Encoded column: name, centre and scale (NaN: standardise from data)."""

    name: str
    center: float = np.nan
    scale: float = np.nan
    indicator: bool = False
    """True if the column only marks missing values."""


class Encoding(ABC):
    """Fitted map from one column to channels."""

    @property
    def has_levels(self) -> bool:
        """True if the column consists of levels, of which later rows may have new ones."""
        return False

    def knows(self, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is no new level: a training row had it, or it needs no level."""
        return [True] * len(texts)

    @abstractmethod
    def encode(self, column: RawColumn) -> Array:
        """Return all channels of these rows, ``(n, k)``, without NaN."""

    @abstractmethod
    def channels(self, name: str, block: Array, weights: Array) -> list[Channel]:
        """Return names and scales of the channels, given the encoded training rows and their weights."""

    @abstractmethod
    def description(self) -> str:
        """Describe the encoding in words."""

    def notes(self) -> list[str]:
        """Return what the user should know about the reading of the column, each a clause without the column's name."""
        return []

    @abstractmethod
    def trial_values(self) -> NDArray[Any]:
        """Return a few values, a new one and a missing one among them, that every encoding of this class can encode."""


def flag_channel(name: str, values: Array, weights: Array) -> Channel:
    """Return the channel of a 0/1 column, centred, with a scale that bounds the distance of a rare 1."""
    share = float(weights @ values / weights.sum())
    return Channel(name, share, float(np.sqrt(max(share * (1 - share), 1 / FARTHEST))))


def missing_channel(name: str, values: Array, weights: Array) -> Channel:
    """Return the channel that marks the missing values of a column."""
    return replace(flag_channel(f"{name}__missing", values, weights), indicator=True)


def filled_by(by: str, indicator: bool) -> str:
    """Describe the value in the place of missing ones, and their indicator."""
    return f"missing: {by}" + (" and an indicator" if indicator else "")
