"""Columns of dates as people write them: ``2/02/2023``, ``02.03.2021``, ``Mar 3, 2021``, ``3-Mar-21 14:30``.

Whether ``02.03.2021`` is in February or in March is decided for the whole column: an entry with a number above 12 has
one reading only. Where no entry decides, points mean that the day is first, and other marks that the month is.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gramian.tables.plain_texts import parse_iso

_LONGEST = 60
"""Characters of the longest date; a longer text is a sentence."""
_SHORT = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ENDINGS = ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "tember", "ober", "ember", "ember")
_MONTHS = {
    name: month
    for month, (short, ending) in enumerate(zip(_SHORT, _ENDINGS, strict=True), 1)
    for name in (short, short + ending)
} | {"sept": 9}
_MONTH = "(?P<name>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
_TIME = r"(?:[\s,T]\s*(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?\s*(?P<half>[ap]\.?m\.?)?)?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4}|'?\d{2})"
_NUMBERS = re.compile(rf"(?P<first>\d{{1,2}})(?P<mark>[./-])(?P<second_number>\d{{1,2}})(?P=mark){_YEAR}{_TIME}", re.I)
_YEAR_FIRST = re.compile(
    rf"(?P<year>\d{{4}})(?P<mark>[./-])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}}){_TIME}", re.I
)
_NAMED = tuple(
    re.compile(_WEEKDAY + form + _TIME, re.I)
    for form in (
        rf"{_DAY}[\s.-]*{_MONTH}[\s,.-]*{_YEAR}",
        rf"{_MONTH}[\s-]*{_DAY}(?:,\s*|\s+|-){_YEAR}",
        rf"{_MONTH}[\s,-]*(?P<year>\d{{4}}|'\d{{2}})",
    )
)
_CENTURY = 69
"""Two digits from here on are years after 1900, below it years after 2000, as in POSIX."""


@dataclass(frozen=True)
class DateText:
    """Convention in which the dates of a column are written.

    ``day_first`` is the order of ``02/03/2021``; None if no entry is of that form. ``example`` is an entry that decided
    the order, or, if the column is ``ambiguous``, one that can be read both ways.

    >>> dates = DateText.of(["2/02/2023", "24/07/2008"])
    >>> dates.day_first, str(dates.read("2/03/2023"))
    (True, '2023-03-02 00:00:00')
    >>> DateText.of(["Mar 3, 2021", "April 17, 2021"]).day_first is None
    True
    """

    day_first: bool | None
    ambiguous: bool
    example: str

    @classmethod
    def of(cls, texts: Sequence[str]) -> DateText | None:
        """Return the convention of a column with these distinct texts; None if one of them is no date."""
        numeric = [found for text in texts if (found := _in_numbers(text))]
        day = next((found[0] for found in numeric if int(found["first"]) > 12), None)
        month = next((found[0] for found in numeric if int(found["second_number"]) > 12), None)
        if day is not None and month is not None:
            return None
        if not numeric:
            convention = cls(None, False, "")
        elif day is None and month is None:
            convention = cls(all(found["mark"] == "." for found in numeric), True, numeric[0][0])
        else:
            convention = cls(day is not None, False, str(day or month))
        return None if any(convention.read(text) is None for text in texts) else convention

    def read(self, text: str) -> dt.datetime | None:
        """Return the instant of a text (UTC, unless an ISO text says otherwise); None if it is no date."""
        text = text.strip()
        if len(text) > _LONGEST or not any(letter.isdigit() for letter in text):
            return None
        try:
            if found := _in_numbers(text):
                if self.day_first is None:  # no training row has said which is the day
                    return None
                parts = int(found["first"]), int(found["second_number"])
                day, month = parts if self.day_first else parts[::-1]
                return _instant(found, month, day)
            if found := _YEAR_FIRST.fullmatch(text):
                return _instant(found, int(found["month"]), int(found["day"]))
            for form in _NAMED:
                if found := form.fullmatch(text):
                    day = int(found["day"]) if "day" in form.groupindex else 1
                    return _instant(found, _MONTHS[found["name"].casefold()], day)
            return parse_iso(text)
        except (OverflowError, ValueError):  # the 30th of February; an instant before the year 1
            return None

    def description(self) -> str:
        """Describe the convention in words."""
        if self.day_first is None:
            return "dates"
        return f"dates with the {'day' if self.day_first else 'month'} first"


def _in_numbers(text: str) -> re.Match[str] | None:
    return _NUMBERS.fullmatch(text.strip())


def _instant(found: re.Match[str], month: int, day: int) -> dt.datetime:
    year = int(found["year"].lstrip("'"))
    if len(found["year"].lstrip("'")) == 2:
        year += 1900 if year >= _CENTURY else 2000
    hour = int(found["hour"] or 0)
    if half := found["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(f"{hour} is no hour before or after noon")
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    return dt.datetime(year, month, day, hour, int(found["minute"] or 0), int(found["second"] or 0))
