"""Values of one column: recognition of their type, and reading as numbers, instants or levels.

Missing values are NaN, None, ``pd.NA``, ``NaT``, null, a string that is empty or blank, and the strings that
``pandas.read_csv`` reads as missing (``nan``, ``NA``, ``N/A``, ``null``, ``None``, …; see
:mod:`gramian.tables.plain_texts`), so that a table has the same missing values however it was read. In a category that
a frame declares, such words are levels.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Container
from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.tables.microseconds import UnreadableError as UnreadableError
from gramian.tables.microseconds import in_microseconds
from gramian.tables.plain_texts import (
    NA_WORDS,
    is_gap,
    parse_all,
    parse_boolean,
    parse_float,
    parse_instants,
    parse_number,
)

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

EXACT = 2**53
"""Largest whole number up to which float64 has them all."""
_MICROSECONDS_PER_DAY = 86_400_000_000
_LONGEST = dt.timedelta(microseconds=2**63 - 1)
_NUMPY_KINDS = {"b": "boolean", "i": "number", "u": "number", "f": "number", "M": "date", "m": "duration"}
_COMPLEX = "complex numbers. Complex data not supported"


@dataclass(frozen=True, eq=False)
class Levels:
    """Text as codes: row i has the text ``texts[codes[i]]``; the code −1 is a missing entry."""

    codes: Codes
    texts: list[str]
    """The distinct texts, sorted."""

    def __len__(self) -> int:
        return len(self.codes)

    def map(self, values: Any, missing: Any) -> NDArray[Any]:
        """Return one value per row, given one per text and one for missing entries."""
        mapped: NDArray[Any] = np.append(values, missing)[self.codes]
        return mapped


Values = NDArray[Any] | Levels


def recognise(values: Values, parse: bool = True) -> tuple[str, Any]:
    """Return the kind of the values, and the values converted to that kind.

    "number", "boolean" and "duration" (in days) are float64, "date" is ``datetime64[us]``, "text" is :class:`Levels`;
    "empty" has no value at all. With ``parse``, text has the kind boolean, number or date if every value can be parsed
    as that (dates in ISO format).

    >>> recognise(np.array(["1.5", "2", None], dtype=object))
    ('number', array([1.5, 2. , nan]))
    >>> recognise(np.array(["1.5", "red"], dtype=object))[0]
    'text'
    """
    if not isinstance(values, Levels):
        kind = values.dtype.kind
        if kind in _NUMPY_KINDS:
            return ("empty" if missing_in(values).all() else _NUMPY_KINDS[kind]), _typed(values)
        if kind not in "OUST":
            raise UnreadableError(_COMPLEX if kind == "c" else f"type {values.dtype}")
        found = _forms(values)
        if found <= {"number", "boolean"}:
            return ("empty" if not found else "boolean" if found == {"boolean"} else "number"), read_numbers(values)
        if found == {"duration"}:
            return "duration", read_numbers(values)
        if found == {"date"}:
            return "date", read_instants(values)
        values = read_levels(values, () if parse else NA_WORDS)
    if not values.texts:
        return "empty", values
    if parse:
        for name, parser in (("boolean", parse_boolean), ("number", parse_float), ("date", None)):
            parsed = parse_instants(values.texts) if parser is None else parse_all(values.texts, parser)
            if parsed is not None:
                return name, values.map(parsed, np.datetime64("NaT") if name == "date" else np.nan)
    return "text", values


def missing_in(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True for missing values; blank text is not considered here."""
    if values.dtype.kind in "fMm":
        missing: NDArray[np.bool_] = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
        return missing
    if values.dtype.kind == "O":
        return np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def is_plain_numbers(values: NDArray[Any]) -> bool:
    """Return True if every value is a number or a boolean and none is missing."""
    if values.dtype.kind in "biuf":
        return not missing_in(values).any()
    if values.dtype.kind != "O":
        return False
    kinds = {_form_of(kind) for kind in set(map(type, values))}
    return kinds <= {"number", "boolean"} and not np.isnan(_object_floats(values)).any()


def read_numbers(values: Values) -> Array:
    """Read numbers, booleans as 0 and 1, durations in days, and text that is one of these; NaN where missing.

    >>> read_numbers(np.array([True, "2.5", None, " "], dtype=object))
    array([1. , 2.5, nan, nan])
    """
    if not isinstance(values, Levels):
        if values.dtype.kind == "M":
            raise UnreadableError("dates, for example " + str(values[~np.isnat(values)][:1]))
        if values.dtype.kind in _NUMPY_KINDS:
            return _typed(values)
        found = _forms(values)
        if found <= {"number", "boolean"}:
            return _object_floats(values)
        if found == {"duration"}:
            return _typed(_object_durations(values))
        values = read_levels(values)
    parsed = parse_all(values.texts, parse_number)
    if parsed is None:
        raise UnreadableError(f"the value {next(x for x in values.texts if parse_all([x], parse_number) is None)!r}")
    return values.map(parsed, np.nan)


def refuse_durations(values: Values) -> None:
    """Raise an UnreadableError for durations: a column of numbers does not say in which unit it would take them."""
    if isinstance(values, Levels) or values.dtype.kind not in "mO" or missing_in(values).all():
        return
    if values.dtype.kind == "m" or "duration" in _forms(values):
        raise UnreadableError("durations")


def read_instants(values: Values) -> NDArray[Any]:
    """Read instants, also text in ISO format, as ``datetime64[us]`` in UTC; NaT where missing.

    >>> read_instants(np.array(["2024-02-29", "2024-02-29T12:00+01:00"], dtype=object)).astype(str).tolist()
    ['2024-02-29T00:00:00.000000', '2024-02-29T11:00:00.000000']
    """
    if not isinstance(values, Levels):
        if values.dtype.kind == "M":
            return _typed(values)
        if missing_in(values).all():
            return np.full(len(values), np.datetime64("NaT"), dtype="M8[us]")
        found = {"number"} if values.dtype.kind in _NUMPY_KINDS else _forms(values)
        if found <= {"date"}:
            return _object_instants(values)
        if not found <= {"date", "text"}:
            raise UnreadableError("numbers")
        values = read_levels(values)
    instants = parse_instants(values.texts)
    if instants is None:
        raise UnreadableError(f"the value {next(x for x in values.texts if parse_instants([x]) is None)!r}")
    return values.map(instants, np.datetime64("NaT"))


def read_levels(values: Values, levels: Container[str] = ()) -> Levels:
    """Read text as codes into the sorted distinct texts, −1 where missing; whole numbers have no trailing ``.0``.

    A word such as NA is a text and not missing if it is one of the ``levels`` of the column.

    >>> read_levels(np.array(["b", None, "a", 1.0], dtype=object))
    Levels(codes=array([ 2, -1,  1,  0]), texts=['1', 'a', 'b'])
    """
    if isinstance(values, Levels):
        return values
    listed = values.tolist()
    if values.dtype.kind in _NUMPY_KINDS:
        distinct, inverse = np.unique(values, return_inverse=True)
        gone = missing_in(distinct)
        listed = [None if gone[i] else text_of(value) for i, value in enumerate(distinct)]
        found = read_levels(np.fromiter(listed, dtype=object, count=len(listed)))
        return Levels(found.codes[inverse.ravel()], found.texts)
    if not set(map(type, listed)) <= {str, type(None)}:
        listed = [None if _is_missing(value) else text_of(value) for value in listed]
    texts = sorted(text for text in set(listed) if text is not None and not is_gap(text, levels))
    code = {text: i for i, text in enumerate(texts)}
    return Levels(np.fromiter(map(code.get, listed, repeat(-1)), dtype=np.intp, count=len(listed)), texts)


def text_of(value: Any) -> str:
    """Return the level of a value: 1, 1.0 and "1" are the same, since a missing entry turns integers into floats.

    >>> text_of(1.0), text_of(2.5), text_of(True)
    ('1', '2.5', 'True')
    """
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise UnreadableError("bytes that are no UTF-8 text") from error
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    try:
        if isinstance(value, int | np.integer):
            return str(value)
        if isinstance(value, numbers.Real | Decimal):
            number = float(value)
            return str(int(number)) if number.is_integer() else repr(number)
    except (OverflowError, ValueError) as error:
        raise UnreadableError("a number of too many digits") from error
    return str(value)


# ---- objects: the types are examined once, then all values are read at once ------------------------------------------
def _forms(values: NDArray[Any]) -> set[str]:
    """Return the forms that occur among the values of an object or text array; missing values have none."""
    if values.dtype.kind != "O":
        return {"text"} if len(values) else set()
    listed = values.tolist()
    kinds = {kind: _form_of(kind) for kind in set(map(type, listed))}
    for kind, name in kinds.items():
        if name == "nested":
            raise UnreadableError(f"values of type {kind.__name__}")
        if name == "complex":
            raise UnreadableError(_COMPLEX)
    found = set(kinds.values()) - {"missing"}
    if "number" in found and all(_is_missing(value) for value in listed if kinds[type(value)] == "number"):
        found.remove("number")
    if "date" in found and all(_is_missing(value) for value in listed if kinds[type(value)] == "date"):
        found.remove("date")
    return found


def _form_of(kind: type) -> str:
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    for name, kinds in _FORMS:
        if issubclass(kind, kinds):
            return name
    nested = kind.__hash__ is None or issubclass(kind, tuple | frozenset)
    base: type = object
    printable = kind.__str__ is not base.__str__ or kind.__repr__ is not base.__repr__
    return "text" if printable and not nested else "nested"


_FORMS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("boolean", (bool, np.bool_)),
    ("date", (dt.date, np.datetime64)),
    ("duration", (dt.timedelta, np.timedelta64, dt.time)),  # before numbers: NumPy calls a timedelta an integer
    ("number", (numbers.Real, Decimal)),
    ("complex", (numbers.Complex,)),
    ("text", (str, bytes)),
)


def _is_missing(value: Any) -> bool:
    if isinstance(value, Decimal):  # a signalling NaN cannot be compared
        return value.is_nan()
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _typed(values: NDArray[Any]) -> NDArray[Any]:
    """float64 (durations in days), or ``datetime64[us]``."""
    if values.dtype.kind == "M":
        return in_microseconds(values)
    if values.dtype.kind == "m":
        days = in_microseconds(values).astype(np.int64) / _MICROSECONDS_PER_DAY
        return np.where(np.isnat(values), np.nan, days)
    return values.astype(np.float64)


def _object_floats(values: NDArray[Any]) -> Array:
    try:
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):  # pd.NA and a signalling NaN cannot be converted
            return np.array([np.nan if _is_missing(value) else float(value) for value in values])
    except OverflowError as error:
        raise UnreadableError("an integer too large for a float, that is infinity") from error


def _object_instants(values: NDArray[Any]) -> NDArray[Any]:
    def naive(value: Any) -> Any:
        if _is_missing(value):
            return None
        if isinstance(value, np.datetime64):
            return in_microseconds(np.asarray(value))[()]
        if getattr(value, "unit", "") in ("s", "ms"):  # of pandas, whose years go beyond those of datetime
            value = value if value.tzinfo is None else value.tz_convert(None)
            return in_microseconds(np.asarray(value.to_datetime64()))[()]
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            try:
                return value.astimezone(dt.UTC).replace(tzinfo=None)
            except OverflowError as error:
                raise UnreadableError(f"the date {value}, which in UTC is outside the years 1 to 9999") from error
        return value

    return np.fromiter(map(naive, values), dtype=object, count=len(values)).astype("M8[us]")


def _object_durations(values: NDArray[Any]) -> NDArray[Any]:
    def length(value: Any) -> Any:
        if _is_missing(value):
            return None
        if isinstance(value, dt.time):  # since midnight
            return dt.timedelta(
                hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
            )
        if isinstance(value, np.timedelta64):
            return in_microseconds(np.asarray(value))[()]
        if abs(value) > _LONGEST:
            raise UnreadableError(f"the duration {value}, which is more than 290,000 years")
        return value

    return np.fromiter(map(length, values), dtype=object, count=len(values)).astype("m8[us]")
