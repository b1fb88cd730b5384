"""Columns of numbers as people write them: money, percent, quantities with a unit, thousands separators, bounds, words.

The decimal mark, the separator of thousands and the unit are those of the column, not of a single text: ``1.200`` may
be 1.2 or 1200, and the other entries decide. Only the distinct texts are looked at, so that neither the order of rows
nor their number matters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gramian.tables.number_words import Amount, NumberParts, take_apart

_MOST_WORDS = 8
"""Words among numbers at most; they have a column each."""
_FEWEST_NUMBERS = 3
"""Different numbers that a column has at least before words, bounds or units are taken for a part of a scale."""
_MOST_RANGES = 50
"""Ranges at most: a column of more of them holds telephone or part numbers."""
_FACTORS = {"k": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "b": 1e9, "bn": 1e9}
_MARKS = re.compile(r"[.,'\s]")


@dataclass(frozen=True)
class NumberText:
    """Convention in which the numbers of a column are written.

    Attributes
    ----------
    decimal, grouping : str
        The decimal mark, and the mark between thousands (empty if there is none).
    currency, unit : str
        Currency and unit of all entries, empty if there is none; the unit of percent is ``%``.
    scaled : bool
        Units are factors: ``k`` is a thousand, ``M`` a million.
    step : float
        Distance of a strict bound from its number, at most half of that number: ``>20`` is 20 + step, ``20+`` is
        20 + step/2. It is the median distance of neighbouring numbers, and 0 if the column has no bounds. A range is
        its middle: ``10-20`` is 15.
    words : tuple of str
        Entries that are no numbers, sorted.
    ambiguous : str
        An entry whose mark may be decimal or between thousands; empty if one of the entries decides it.

    >>> money = NumberText.of(["$1,037.50", "$12", "($3.20)"])
    >>> money.kind, money.read("$2,000"), money.read("($3.20)")
    ('money', 2000.0, -3.2)
    >>> years = NumberText.of(["<1", "1", "2", "3", ">3", "never"])
    >>> years.kind, years.words, years.read("<1"), years.read(">3")
    ('number or word', ('never',), 0.5, 4.0)
    """

    decimal: str
    grouping: str
    currency: str
    unit: str
    scaled: bool
    step: float
    words: tuple[str, ...]
    ambiguous: str = ""

    @classmethod
    def of(cls, texts: Sequence[str]) -> NumberText | None:
        """Return the convention of a column with these distinct texts; None if they are no numbers."""
        found = {text: take_apart(text) for text in texts}
        numbers = {text: number for text, number in found.items() if number is not None}
        words = tuple(sorted(text for text, number in found.items() if number is None))
        if not numbers or len(words) > _MOST_WORDS or len(words) >= len(numbers):
            return None
        amounts = [amount for number in numbers.values() for amount in number.amounts]
        units = _units(amounts)
        if units is None:
            return None
        currency, unit, scaled = units
        marks = _marks([amount.body for amount in amounts], money=bool(currency))
        if marks is None:
            return None
        decimal, grouping, ambiguous = marks
        plain = cls(decimal, grouping, currency, unit, scaled, 0.0, words, ambiguous)
        return plain._with_bounds(numbers)

    def _with_bounds(self, numbers: dict[str, NumberParts]) -> NumberText | None:
        relations = [number.relation for number in numbers.values()]
        values = [self._ends(number) for number in numbers.values()]
        if any(len(ends) == 2 and ends[0] >= ends[1] for ends in values) or relations.count("range") > _MOST_RANGES:
            return None
        centres = np.unique([sum(ends) / len(ends) for ends in values])
        plain_scale = self.currency or self.unit == "%" or self.grouping or self.decimal == ","
        bounded = any(relation != "=" for relation in relations)
        if len(numbers) < _FEWEST_NUMBERS and (self.words or bounded or not plain_scale):
            return None
        step = float(np.median(np.diff(centres))) if bounded and len(centres) > 1 else float(bounded)
        return replace(self, step=step)

    @property
    def kind(self) -> str:
        """Name of the kind of column."""
        if self.words:
            return "number or word"
        if self.step:
            return "bounded number"
        if self.currency:
            return "money"
        return "percent" if self.unit == "%" else "quantity" if self.unit else "formatted number"

    def read(self, text: str) -> float | None:
        """Return the number of a text; None if it is none in this convention."""
        found = take_apart(text)
        if found is None:
            return None
        for amount in found.amounts:
            if amount.currency not in ("", self.currency) or not self._is_unit(amount.unit):
                return None
            if not _pattern(self.decimal, self.grouping).fullmatch(amount.body) and not _is_float(amount.body):
                return None
        ends = self._ends(found)
        middle = sum(ends) / len(ends)
        beyond = {"<": -1.0, "<=": -0.5, ">": 1.0, ">=": 0.5}.get(found.relation, 0.0)
        return middle + beyond * (min(self.step, abs(middle) / 2) if middle else self.step)

    def description(self) -> str:
        """Describe the convention in words."""
        what = f"money in {self.currency}" if self.currency else "percent" if self.unit == "%" else ""
        if self.scaled:
            what = f"{what or 'numbers'} with k for thousands and M for millions"
        elif self.unit and self.unit != "%":
            what = f"{what or 'numbers'} in {self.unit}"
        named = {",": "commas", ".": "points", " ": "spaces", "'": "apostrophes"}
        marks = [f"{named[self.grouping]} between thousands"] if self.grouping else []
        marks += ["a decimal comma"] if self.decimal == "," else []
        bounds = " and bounds" if self.step else ""
        return (what or "numbers") + (f" with {' and '.join(marks)}" if marks else "") + bounds

    def _ends(self, number: NumberParts) -> list[float]:
        return [self._value(amount) for amount in number.amounts]

    def _value(self, amount: Amount) -> float:
        body = amount.body
        if _pattern(self.decimal, self.grouping).fullmatch(body):
            body = body.replace(self.grouping, "") if self.grouping else body
            body = body.replace(self.decimal, ".")
        factor = _FACTORS.get(amount.unit.casefold(), 1.0) if self.scaled else 1.0
        return amount.sign * float(body) * factor

    def _is_unit(self, unit: str) -> bool:
        return unit == "" or _singular(unit) == _singular(self.unit) or (self.scaled and unit.casefold() in _FACTORS)


def _units(amounts: Sequence[Amount]) -> tuple[str, str, bool] | None:
    """Return the currency and the unit of a column, and whether units are factors; None if amounts differ in them."""
    currencies = {amount.currency for amount in amounts} - {""}
    units = {amount.unit for amount in amounts} - {""}
    if len(currencies) > 1:
        return None
    currency = "".join(currencies)
    if units and {unit.casefold() for unit in units} <= set(_FACTORS) and (currency or len(units) > 1):
        return currency, "", True
    if len({_singular(unit) for unit in units}) > 1:
        return None
    # Beside 12 kg, a bare 15 may be anything; 0 is 0 in every unit.
    if units and any(amount.unit == "" and set(amount.body) - set("0.,") for amount in amounts):
        return None
    return currency, max(units, key=lambda unit: (len(unit), unit), default=""), False


def _singular(unit: str) -> str:
    return unit[:-1] if len(unit) > 2 and unit.endswith("s") else unit


def _marks(bodies: Sequence[str], money: bool) -> tuple[str, str, str] | None:
    """Return the decimal mark, the mark between thousands, and an entry that can be read with either."""
    used = {" " if mark.isspace() else mark for body in bodies for mark in _MARKS.findall(body)}
    possible = []
    for decimal in ".,":
        rest = used - {decimal}
        if len(rest) <= 1 and all(_pattern(decimal, "".join(rest)).fullmatch(body) for body in bodies):
            possible.append((decimal, "".join(rest)))
    if not possible:
        return None
    if len(possible) == 1 or not used & {".", ","}:
        return *possible[0], ""
    # A point before three digits is decimal except in money, which has two decimals; a comma there is none.
    grouped = used == {","} or money
    chosen = next(marks for marks in possible if bool(marks[1]) == grouped)
    return *chosen, next(body for body in sorted(bodies) if _MARKS.search(body))


def _pattern(decimal: str, grouping: str) -> re.Pattern[str]:
    point, between = re.escape(decimal), r"\s" if grouping == " " else re.escape(grouping)
    groups = rf"[1-9]\d{{0,2}}(?:{between}\d{{2,3}})*{between}\d{{3}}(?:{point}\d+)?|" if grouping else ""
    return re.compile(rf"{groups}\d+(?:{point}\d+)?(?:[eE][+-]?\d+)?|{point}\d+")


def _is_float(body: str) -> bool:
    return re.fullmatch(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", body) is not None
