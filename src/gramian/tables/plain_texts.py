"""Texts with one reading: missing entries, truth values, numbers as Python writes them, dates in ISO format."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

GAPS = frozenset({"", "nan", "NaN", "NAN", "<NA>", "NaT"})
"""Texts that only a missing value is printed as."""
NA_WORDS = frozenset(
    {"NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "NULL", "null", "None", "-NaN", "-nan"}
    | {"1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
)
"""Further texts that ``pandas.read_csv`` reads as missing."""
_BOOLEANS = {"True": 1.0, "False": 0.0, "true": 1.0, "false": 0.0, "TRUE": 1.0, "FALSE": 0.0}
_ISO = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?)?")


def is_gap(text: str, levels: Container[str] = ()) -> bool:
    """Return True for the text of a missing value; a word of ``levels`` is a value even if pandas reads it as missing.

    >>> is_gap(" "), is_gap("NA"), is_gap("NA", levels={"NA"}), is_gap("-")
    (True, True, False, False)
    """
    bare = text.strip()
    return bare in GAPS or (bare in NA_WORDS and text not in levels)


def count_na_words(values: NDArray[Any]) -> dict[str, int]:
    """Count the entries of a column that are words such as ``NA`` for a missing value, by word.

    >>> count_na_words(np.array(["NA", "5", None, "NA", "null"], dtype=object))
    {'NA': 2, 'null': 1}
    """
    if values.dtype.kind not in "OUT":
        return {}
    words = Counter(value.strip() for value in values.tolist() if isinstance(value, str) and value.strip() in NA_WORDS)
    return dict(sorted(words.items()))


def missing_note(word: str, rows: int) -> str:
    """Return the note that a word is read as missing.

    >>> missing_note("NA", 2)
    "'NA' (2 rows) is read as missing"
    """
    return f"{word!r} ({rows:,} row{'s' if rows > 1 else ''}) is read as missing"


def parse_all(levels: Sequence[str], parser: Callable[[str], Any]) -> list[Any] | None:
    """Return the parsed texts, or None if one of them cannot be parsed.

    >>> parse_all(["1", "2.5"], parse_number), parse_all(["1", "red"], parse_number)
    ([1.0, 2.5], None)
    """
    try:
        return [parser(level) for level in levels]
    except (KeyError, OverflowError, ValueError):  # a date of the year 1 may have no instant in UTC
        return None


def parse_boolean(text: str) -> float:
    """Return 1 or 0 for the words True and False, and raise a KeyError for any other text."""
    return _BOOLEANS[text]


def parse_float(text: str) -> float:
    """Return the number that Python reads, and raise a ValueError for NaN or any other text."""
    found = float(text)
    if found != found:
        raise ValueError(text)
    return found


def parse_number(text: str) -> float:
    """Return the number of a text; True and False are 1 and 0."""
    return _BOOLEANS[text] if text in _BOOLEANS else parse_float(text)


def parse_iso(text: str) -> dt.datetime:
    """Return the instant, in UTC, of a text in ISO format; raise a ValueError for any other text.

    >>> parse_iso("2024-02")
    datetime.datetime(2024, 2, 1, 0, 0)
    """
    text = text.strip()
    if not _ISO.fullmatch(text):
        raise ValueError(f"{text!r} is no date in ISO format")
    found = dt.datetime.fromisoformat(text if len(text) > len("2024-02") else text + "-01")
    return found if found.tzinfo is None else found.astimezone(dt.UTC).replace(tzinfo=None)


def parse_instants(levels: Sequence[str]) -> NDArray[Any] | None:
    """Return the instants of texts in ISO format as ``datetime64[us]``, or None if one of them has another form."""
    found = parse_all(levels, parse_iso)
    return None if found is None else np.array(found, dtype="M8[us]")
