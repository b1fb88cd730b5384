"""Encodings of columns: one frozen class per kind of column, with constants from training rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.core.statistics import median_pair, normal_scores, weighted_median
from gramian.tables.channels import FARTHEST, Channel, Encoding, filled_by, flag_channel, missing_channel
from gramian.tables.columns import RawColumn
from gramian.tables.values import Array, Codes, read_instants, read_levels, read_numbers

_KNOTS = 1000


@dataclass(frozen=True, eq=False)
class Number(Encoding):
    """Numbers in their own units, with the training median for missing ones, and an indicator of missing values.

    The indicator exists if training rows have missing values. With ``knots`` there is also the channel
    ``x ↦ Φ⁻¹(F(x))``, where F is the empirical distribution of the training rows (middle of the step), interpolated
    between knots.
    """

    fill: float
    indicator: bool
    value: bool
    knots: Array | None
    scores: Array | None

    @classmethod
    def fit(cls, column: RawColumn, missing: str, rank_gauss: Any, weights: Array) -> Number:
        """Find the median, and with ``rank_gauss`` the knots of that channel."""
        values = finite_numbers(column)
        known = ~np.isnan(values)
        there, weights = values[known], weights[known]
        knots, scores = normal_scores(there, weights, _KNOTS) if rank_gauss else (None, None)
        if knots is not None and len(knots) <= 2:  # scores of two values are the values, standardised
            knots, scores = None, None
        indicator = missing == "indicator" and len(there) < len(values)
        return cls(weighted_median(there, weights), indicator, knots is None or rank_gauss != "only", knots, scores)

    def encode(self, column: RawColumn) -> Array:
        values = finite_numbers(column)
        gone = np.isnan(values)
        filled = np.where(gone, self.fill, values) + 0.0
        parts = [filled] if self.value else []
        if self.knots is not None and self.scores is not None:
            parts.append(np.interp(filled, self.knots, self.scores))
        if self.indicator:
            parts.append(gone.astype(np.float64))
        return np.stack(parts, axis=1)

    def channels(self, name: str, block: Array, weights: Array) -> list[Channel]:
        names = ([name] if self.value else []) + ([f"{name}__gauss"] if self.knots is not None else [])
        return [Channel(each) for each in names] + (
            [missing_channel(name, block[:, -1], weights)] if self.indicator else []
        )

    def description(self) -> str:
        also = "" if self.knots is None else ", rank-Gauss channel" if self.value else " replaced by rank-Gauss scores"
        return f"numbers{also}; {filled_by(f'the median {self.fill:g}', self.indicator)}"

    def trial_values(self) -> NDArray[Any]:
        return np.array([self.fill, 0.0, np.nan])


@dataclass(frozen=True, eq=False)
class Date(Encoding):
    """Days since the training median, and points on circles for weekday, time of year and time of day if they vary."""

    origin: int
    """Microseconds since 1970, UTC."""
    week: bool
    year: bool
    day: bool
    indicator: bool

    @classmethod
    def fit(cls, column: RawColumn, missing: str, weights: Array) -> Date:
        """Find the median instant and the cycles that vary."""
        instants = read_instants(column.values)
        known = ~np.isnat(instants)
        there = instants[known]
        week, year, day = (len(np.unique(np.floor(turn * steps + 1e-9))) > 1 for turn, steps in _turns(there))
        origin = int(median_pair(there, weights[known])[0].astype(np.int64))
        return cls(origin, week, year, day, missing == "indicator" and len(there) < len(instants))

    def encode(self, column: RawColumn) -> Array:
        instants = read_instants(column.values)
        gone = np.isnat(instants)
        filled = np.where(gone, np.datetime64(self.origin, "us"), instants)
        days = (filled.astype(np.int64) - self.origin) / 86_400_000_000
        parts = [days]
        for used, (turn, _) in zip((self.week, self.year, self.day), _turns(filled), strict=True):
            if used:  # a missing instant is encoded as the centre of the circle
                parts += [np.where(gone, 0.0, wave(2 * np.pi * turn)) for wave in (np.sin, np.cos)]
        if self.indicator:
            parts.append(gone.astype(np.float64))
        return np.stack(parts, axis=1)

    def channels(self, name: str, block: Array, weights: Array) -> list[Channel]:
        cycles = [cycle for cycle in ("week", "year", "day") if getattr(self, cycle)]
        circles = [Channel(f"{name}__{cycle}_{wave}", 0.0, 1.0) for cycle in cycles for wave in ("sin", "cos")]
        return [Channel(name), *circles] + ([missing_channel(name, block[:, -1], weights)] if self.indicator else [])

    def description(self) -> str:
        cycles = [word for used, word in zip((self.week, self.year, self.day), _CYCLES, strict=True) if used]
        also = f" and cyclic {', '.join(cycles)}" if cycles else ""
        origin = np.datetime64(self.origin, "us").astype("M8[s]")
        return f"days since {origin}{also}; {filled_by('that instant', self.indicator)}"

    def trial_values(self) -> NDArray[Any]:
        return np.array(["2000-02-29", "NaT"], dtype="M8[us]")


@dataclass(frozen=True, eq=False)
class Ordered(Encoding):
    """Rank in the declared order, from 0 to 1; the median rank where missing or unknown."""

    levels: tuple[str, ...]
    fill: float
    indicator: bool

    @property
    def has_levels(self) -> bool:
        return True

    def knows(self, texts: Sequence[str]) -> list[bool]:
        return [text in self.levels for text in texts]

    @classmethod
    def fit(cls, column: RawColumn, missing: str, weights: Array) -> Ordered:
        """Find the median rank among the levels that the frame declares, whether training rows have them or not."""
        assert column.order is not None
        places = _places(column, column.order)
        known = ~np.isnan(places)
        there = places[known]
        return cls(
            column.order, weighted_median(there, weights[known]), missing == "indicator" and len(there) < len(places)
        )

    def encode(self, column: RawColumn) -> Array:
        places = _places(column, self.levels)
        gone = np.isnan(places)
        filled = np.where(gone, self.fill, places)
        return np.stack([filled, gone.astype(np.float64)] if self.indicator else [filled], axis=1)

    def channels(self, name: str, block: Array, weights: Array) -> list[Channel]:
        return [Channel(name)] + ([missing_channel(name, block[:, -1], weights)] if self.indicator else [])

    def description(self) -> str:
        place = filled_by(f"place {self.fill:g}", self.indicator)
        return f"place among {len(self.levels)} ordered levels, scaled to [0, 1]; {place}"

    def trial_values(self) -> NDArray[Any]:
        return _objects(["no such level", None, *self.levels])


@dataclass(frozen=True, eq=False)
class Category(Encoding):
    """One channel per level (one for two levels); missing is a level; of many levels only the frequent ones have one.

    With more than ``max_categories`` levels the most frequent have a channel each, the others share ``other``, and a
    channel contains ``log(1 + rows of that level)``. A level without training rows is ``other`` if there is such a
    channel, otherwise 0 in every channel, and 1/2 in a single channel. The target is not used: a target mean per level,
    computed before the folds, would reveal to every fold its own held-out labels.
    """

    levels: tuple[str, ...]
    """Levels with a channel, sorted."""
    other: bool
    missing: bool
    counted: tuple[str, ...]
    """Sorted levels of more than one training row, for the frequency channel; empty if there is no such channel."""
    counts: NDArray[np.int64]

    @property
    def has_levels(self) -> bool:
        return True

    def knows(self, texts: Sequence[str]) -> list[bool]:
        known = {*self.levels, *self.counted}
        return [text in known for text in texts]

    @classmethod
    def fit(cls, column: RawColumn, max_categories: int, copies: Array) -> Category:
        """Find the levels that have a channel; ``copies (n,)`` says how often each row is in the table."""
        found = read_levels(column.values)
        levels = found.texts
        missing = bool((found.codes < 0).any())
        known = found.codes >= 0
        counts = np.bincount(found.codes[known], weights=copies[known], minlength=len(levels))
        if len(levels) <= max_categories:
            return cls(tuple(levels), False, missing, (), np.zeros(0, dtype=np.int64))
        # A level of one row has no information about other rows; ties are sorted by name, not by the order of rows.
        repeated = np.flatnonzero(counts > 1)
        frequent = repeated[np.argsort(-counts[repeated], kind="stable")][: max_categories - 1]
        kept = tuple(levels[i] for i in np.sort(frequent))
        return cls(kept, True, missing, tuple(levels[i] for i in repeated), counts[repeated].astype(np.int64))

    def covered(self) -> int:
        """Return the number of training rows whose level has a channel, if there are more than ``max_categories``."""
        return int(self.counts[[_find(self.counted, level, -1) for level in self.levels]].sum())

    def encode(self, column: RawColumn) -> Array:
        levels = read_levels(column.values, {*self.levels, *self.counted})
        slots = len(self.levels) + self.other + self.missing
        unknown = len(self.levels) if self.other else slots
        slot = np.array([_find(self.levels, text, unknown) for text in levels.texts], dtype=np.intp)
        at: Codes = levels.map(slot, slots - 1 if self.missing else unknown)
        if slots == 2:
            hot = np.where(at == 2, 0.5, at)[:, None].astype(np.float64)
        else:
            hot = (at[:, None] == np.arange(slots)).astype(np.float64)
        if not self.other:
            return hot
        counts = np.append(self.counts, 1)  # a level of one row counts as unknown
        frequency = np.log1p(counts[[_find(self.counted, text, len(self.counted)) for text in levels.texts]])
        return np.column_stack([hot, levels.map(frequency, 0.0)])

    def channels(self, name: str, block: Array, weights: Array) -> list[Channel]:
        names = [f"{name}={level}" for level in self.levels]
        names += [f"{name}__other"] * self.other + [f"{name}__missing"] * self.missing
        if len(names) == 2:
            return [flag_channel(names[1], block[:, 0], weights), *[Channel(f"{name}__frequency")] * self.other]
        shares = weights @ block[:, : len(names)] / weights.sum()
        scale = float(np.sqrt(max((shares * (1 - shares)).sum(), 2 / FARTHEST)))
        hot = [Channel(each, float(share), scale) for each, share in zip(names, shares, strict=True)]
        return hot + [Channel(f"{name}__frequency")] * self.other

    def description(self) -> str:
        gone = ", missing is a level" if self.missing else ""
        if self.other:
            return f"the {len(self.levels)} most frequent levels one-hot, the rest as other, frequency{gone}"
        return f"{len(self.levels)} levels one-hot{gone}"

    def trial_values(self) -> NDArray[Any]:
        return _objects(["no such level", None, *self.counted[:1], *self.levels])


def finite_numbers(column: RawColumn) -> Array:
    """Return the column's numbers, NaN where missing; raise a ValueError if one is infinite."""
    values = read_numbers(column.values)
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise ValueError(
            f"Input X contains infinity in column {column.name!r} ({infinite} entries): "
            "replace it by a number or by a missing value"
        )
    return values


_CYCLES = ("weekday", "time of year", "time of day")


def _turns(instants: NDArray[Any]) -> list[tuple[Array, int]]:
    """Return for each cycle the part of the turn in [0, 1), and the number of steps for the test if it varies."""
    day = instants.astype("M8[D]")
    in_year = (day - instants.astype("M8[Y]").astype("M8[D]")).astype(np.int64)
    in_day = (instants - day).astype(np.int64) / 86_400_000_000
    return [((day.astype(np.int64) + 3) % 7 / 7, 7), (in_year / 366, 12), (in_day, 24)]


def _places(column: RawColumn, order: tuple[str, ...]) -> Array:
    levels = read_levels(column.values, order)
    last = max(len(order) - 1, 1)
    known = {level: i / last for i, level in enumerate(order)}
    return levels.map([known.get(text, np.nan) for text in levels.texts], np.nan)


def _find(ordered: tuple[str, ...], level: str, default: int) -> int:
    at = bisect_left(ordered, level)
    return at if at < len(ordered) and ordered[at] == level else default


def _objects(values: list[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))
