"""Encodings of text that is read as numbers or dates in the convention of its column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.tables.channels import Channel, Encoding, flag_channel
from gramian.tables.columns import RawColumn
from gramian.tables.date_texts import DateText
from gramian.tables.encodings import Date, Number
from gramian.tables.microseconds import UnreadableError
from gramian.tables.number_texts import NumberText
from gramian.tables.number_words import take_apart
from gramian.tables.values import Array, Levels, read_instants, read_levels, read_numbers

_NAMED = 4
"""Entries that a note names at most."""


def find_writing(levels: Levels) -> DateText | NumberText | None:
    """Return the convention in which the texts of a column are dates or numbers; None if they are other text.

    >>> find_writing(Levels(np.array([0, 1]), ["$5", "$6.50"])).kind
    'money'
    """
    return DateText.of(levels.texts) or NumberText.of(levels.texts)


@dataclass(frozen=True, eq=False)
class WrittenNumber(Encoding):
    """Numbers of a :class:`~gramian.tables.number_texts.NumberText`, with a 0/1 channel per word among them.

    A word is the median in the channel of the numbers, and so is a new word, which has no channel of its own.
    """

    writing: NumberText
    number: Number
    examples: tuple[str, ...]
    """Bounds of the training rows, for the notes."""

    @property
    def has_levels(self) -> bool:
        return bool(self.writing.words)

    def knows(self, texts: Sequence[str]) -> list[bool]:
        return [text in self.writing.words or self.writing.read(text) is not None for text in texts]

    @classmethod
    def fit(
        cls, column: RawColumn, writing: NumberText, missing: str, rank_gauss: bool | str, weights: Array
    ) -> WrittenNumber:
        """Find the median, as :meth:`Number.fit` does for rows with a number."""
        values, words = _read(column, writing)
        number = Number.fit(replace(column, values=values), missing, rank_gauss, weights)
        gaps = bool((np.isnan(values) & (words < 0)).any())
        bounds = sorted((text for text in read_levels(column.values).texts if _relation(text) != "="), key=_is_range)
        return cls(writing, replace(number, indicator=missing == "indicator" and gaps), tuple(bounds[:_NAMED]))

    def encode(self, column: RawColumn) -> Array:
        values, words = _read(column, self.writing)
        block = self.number.encode(replace(column, values=values))
        if self.number.indicator:
            block[:, -1] = np.isnan(values) & (words < 0)
        return np.hstack([block, words[:, None] == np.arange(len(self.writing.words))])

    def channels(self, name: str, block: Array, weights: Array) -> list[Channel]:
        first = block.shape[1] - len(self.writing.words)
        flags = [
            flag_channel(f"{name}={word}", block[:, first + k], weights) for k, word in enumerate(self.writing.words)
        ]
        return self.number.channels(name, block[:, :first], weights) + flags

    def description(self) -> str:
        words = ", ".join(map(repr, self.writing.words[:_NAMED])) + ", …" * (len(self.writing.words) > _NAMED)
        also = f", and a column for each of {words}" if self.writing.words else ""
        what, read = self.writing.description(), self.number.description()
        return f"{what}, read as {read}{also}"

    def notes(self) -> list[str]:
        found = []
        if self.writing.ambiguous:
            value = self.writing.read(self.writing.ambiguous)
            found.append(f"{self.writing.ambiguous!r} is read as {value:,.10g}: no entry shows another decimal mark")
        if self.examples:
            listed = ", ".join(f"{text!r} as {self.writing.read(text):g}" for text in self.examples)
            found.append(f"bounds are read as numbers just beyond them, and ranges as their middle: {listed}")
        if self.writing.words:
            words = ", ".join(map(repr, self.writing.words[:_NAMED])) + ", …" * (len(self.writing.words) > _NAMED)
            found.append(f"{words} among the numbers: words have a column of their own each")
        return found

    def trial_values(self) -> NDArray[Any]:
        words = [*self.writing.words, "no such word"] if self.writing.words else []
        return np.array([self.number.fill, 0.0, None, *words], dtype=object)


@dataclass(frozen=True, eq=False)
class WrittenDate(Encoding):
    """Dates of a :class:`~gramian.tables.date_texts.DateText`."""

    writing: DateText
    date: Date

    @classmethod
    def fit(cls, column: RawColumn, writing: DateText, missing: str, weights: Array) -> WrittenDate:
        """Find the median instant and the cycles that vary, as :meth:`Date.fit` does."""
        return cls(writing, Date.fit(replace(column, values=_instants(column, writing)), missing, weights))

    def encode(self, column: RawColumn) -> Array:
        return self.date.encode(replace(column, values=_instants(column, self.writing)))

    def channels(self, name: str, block: Array, weights: Array) -> list[Channel]:
        return self.date.channels(name, block, weights)

    def description(self) -> str:
        return f"{self.writing.description()}, read as {self.date.description()}"

    def notes(self) -> list[str]:
        first = "day" if self.writing.day_first else "month"
        if self.writing.day_first is None:
            return []
        if self.writing.ambiguous:
            return [
                f"dates such as {self.writing.example!r} are read with the {first} first: no entry has a number above "
                "12 that decides it, and then points mean day first and other marks month first; dates in the form "
                "2008-07-24 have one reading"
            ]
        return [f"dates are read with the {first} first, as {self.writing.example!r} shows"]

    def trial_values(self) -> NDArray[Any]:
        return np.array(["2000-02-29", "2000-02-29T12:30", None], dtype=object)


def _read(column: RawColumn, writing: NumberText) -> tuple[Array, NDArray[np.intp]]:
    """Return the numbers, NaN where there is none, and the index of each row's word: −1 if it has none.

    The index of a new word is one beyond those of the known words. Values that are numbers and not text are used as
    they are: 1.5 is 1.5 even where the texts have a decimal comma.
    """
    values = column.values
    if not isinstance(values, Levels) and values.dtype.kind not in "OUST":
        return read_numbers(values), np.full(len(values), -1)
    typed = _typed_numbers(values)
    levels = read_levels(values, writing.words)
    read = [writing.read(text) for text in levels.texts]
    place = {word: k for k, word in enumerate(writing.words)}
    beyond = len(writing.words)
    index = [-1 if x is not None else place.get(text, beyond) for text, x in zip(levels.texts, read, strict=True)]
    words = levels.map(np.array(index, dtype=np.intp), -1).astype(np.intp)
    words[~np.isnan(typed)] = -1
    if not writing.words and (words >= 0).any():
        raise UnreadableError(f"the value {levels.texts[int(levels.codes[words >= 0].min())]!r}")
    numbers = levels.map(np.array([np.nan if x is None else x for x in read]), np.nan)
    return np.where(np.isnan(typed), numbers, typed), words


def _typed_numbers(values: NDArray[Any] | Levels) -> Array:
    """Return the entries of an object array that are numbers, and NaN for all others."""
    if isinstance(values, Levels) or values.dtype.kind != "O":
        return np.full(len(values), np.nan)
    found = np.full(len(values), np.nan)
    typed = [isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in values.tolist()]
    if any(typed):
        found[typed] = read_numbers(values[typed])
    return found


def _instants(column: RawColumn, writing: DateText) -> NDArray[Any]:
    values = column.values
    if not isinstance(values, Levels):
        if values.dtype.kind not in "OUST" or not any(isinstance(value, str | bytes) for value in values):
            return read_instants(values)
        values = read_levels(values)
    found = [writing.read(text) for text in values.texts]
    if None in found:
        raise UnreadableError(f"the value {values.texts[found.index(None)]!r}")
    return values.map(np.array(found, dtype="M8[us]"), np.datetime64("NaT"))


def _relation(text: str) -> str:
    found = take_apart(text)
    return "=" if found is None else found.relation


def _is_range(text: str) -> bool:
    return _relation(text) == "range"
