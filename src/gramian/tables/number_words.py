"""Numbers as people write them: one text taken apart into its bound, its sign, its digits, and what they count.

``"$1,037.50"``, ``"(120)"``, ``"12.5 %"``, ``"15 kg"``, ``">20"``, ``"10-20"`` and ``"50plus"`` are numbers with more
around them. :mod:`gramian.tables.number_texts` decides for a whole column how its digits are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_SIGNS = "$€£¥₹₽₩₺₪฿₫₴₦₱"
_CODES = "USD|EUR|GBP|JPY|CNY|INR|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BRL|MXN|ZAR|KRW|TRY|RUB|SGD|HKD|Rs|R\\$"
_CURRENCY = rf"(?:(?:US|CA|A|NZ)?[{_SIGNS}]|{_CODES}|kr|zł|Kč|Ft)\.?"
_BODY = r"(?:\d+(?:[.,'\s]\d+)*|[.,]\d+)(?:[eE][+-]?\d+)?"
_UNIT = r"[^\W\d_]+(?:[/. ²³]+[^\W\d_]+)*[²³.]?|[°%‰\"'][CFKcfk]?"
_ONE = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+-])?\s*(?P<before>{_CURRENCY})?\s*(?P<inner>[+-])?\s*(?P<body>{_BODY})\s*"
    rf"(?P<after>{_CURRENCY}(?![^\W\d_])|{_UNIT})?\s*(?P<scaled>{_CURRENCY})?\s*(?P<close>\))?"
)
_AFFIX = re.compile(_CURRENCY)
_LESS = re.compile(r"(?:(<=|≤|up to|at most)|<|below|under|less than|fewer than)\s*(.+)", re.IGNORECASE)
_MORE = re.compile(r"(?:(>=|≥|at least|from)|>|above|over|more than|greater than)\s*(.+)", re.IGNORECASE)
_MORE_AFTER = re.compile(r"(.+?)\s*(?:\+|plus|(?:and|or) (?:over|above|more|older|higher|up))", re.IGNORECASE)
_MORE_BEFORE_UNIT = re.compile(r"(.*\d)\s*\+\s*([^\W\d_].*)")
_LESS_AFTER = re.compile(r"(.+?)\s*(?:and|or) (?:under|below|less|fewer|younger|lower)", re.IGNORECASE)
_RANGE = re.compile(r"(.*\d.*?)\s*(?:-|\bto\b|\.\.+)\s*(.*\d.*)", re.IGNORECASE)
_LONGEST = 60
"""Characters of the longest number; a longer text is a sentence."""
_PLAIN = str.maketrans({"−": "-", "–": "-", "—": "-", "’": "'", "\u00a0": " ", "\u202f": " ", "\u2009": " "})


@dataclass(frozen=True)
class Amount:
    """One number: its sign (1 or −1), its digits as written, and the currency and unit around it, empty if none."""

    sign: int
    body: str
    currency: str
    unit: str


@dataclass(frozen=True)
class NumberParts:
    """A number, or a bound of numbers: ``relation`` is ``=``, ``<``, ``<=``, ``>``, ``>=`` or ``range``."""

    relation: str
    amounts: tuple[Amount, ...]


def take_apart(text: str) -> NumberParts | None:
    """Return the parts of a text that is a number or a bound, and None for any other text.

    >>> take_apart("(€ 1.037,50)")
    NumberParts(relation='=', amounts=(Amount(sign=-1, body='1.037,50', currency='€', unit=''),))
    >>> take_apart("50plus").relation, take_apart("10 - 20 kg").relation, take_apart("never")
    ('>=', 'range', None)
    """
    text = text.translate(_PLAIN).strip()
    if len(text) > _LONGEST or not any(letter.isdigit() for letter in text):
        return None
    for pattern, strict, loose in ((_LESS, "<", "<="), (_MORE, ">", ">=")):
        if found := pattern.fullmatch(text):
            return _made(loose if found[1] else strict, found[2])
    for pattern, relation in ((_MORE_AFTER, ">="), (_LESS_AFTER, "<=")):
        if found := pattern.fullmatch(text):
            return _made(relation, found[1])
    if found := _MORE_BEFORE_UNIT.fullmatch(text):
        return _made(">=", f"{found[1]} {found[2]}")
    if whole := _made("=", text):
        return whole
    found = _RANGE.fullmatch(text)
    return None if found is None else _shared_unit(_made("range", found[1], found[2]))


def _shared_unit(found: NumberParts | None) -> NumberParts | None:
    """Return a range whose two ends have the unit and the currency that stand beside one of them: ``$5-10 k``."""
    if found is None:
        return None
    low, high = found.amounts
    units, currencies = {low.unit, high.unit} - {""}, {low.currency, high.currency} - {""}
    if len(units) > 1 or len(currencies) > 1:
        return None
    unit, currency = "".join(units), "".join(currencies)
    return replace(found, amounts=tuple(replace(amount, unit=unit, currency=currency) for amount in found.amounts))


def _made(relation: str, *parts: str) -> NumberParts | None:
    amounts = [_amount(part) for part in parts]
    known = tuple(amount for amount in amounts if amount is not None)
    return NumberParts(relation, known) if len(known) == len(amounts) else None


def _amount(text: str) -> Amount | None:
    found = _ONE.fullmatch(text.strip())
    if found is None or bool(found["open"]) != bool(found["close"]) or (found["sign"] and found["inner"]):
        return None
    after, scaled = found["after"] or "", found["scaled"] or ""
    money_after = bool(_AFFIX.fullmatch(after))
    currencies = [found["before"] or "", after if money_after else "", scaled]
    if sum(map(bool, currencies)) > 1:
        return None
    unit = "" if money_after else " ".join(after.split())
    sign = -1 if found["open"] or "-" in (found["sign"], found["inner"]) else 1
    return Amount(sign, found["body"], "".join(currencies), unit)
