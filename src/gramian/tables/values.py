"""The values of one column: what they are, and how they are read as numbers, instants or levels.

Missing is: NaN, None, ``pd.NA``, ``NaT``, null, a string that is empty or blank, and the strings that only a missing
value prints (``nan``, ``NaN``, ``NAN``, ``<NA>``, ``NaT``). "None" and "NA" are levels: the first is a common answer,
the second a country.
"""

from __future__ import annotations

import datetime as dt
import numbers
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

_GHOSTS = {"", "nan", "NaN", "NAN", "<NA>", "NaT"}
_BOOLEANS = {"True": 1.0, "False": 0.0, "true": 1.0, "false": 0.0, "TRUE": 1.0, "FALSE": 0.0}
_ISO = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?)?")
_MICROSECONDS_PER_DAY = 86_400_000_000


class UnreadableError(ValueError):
    """The values cannot be read in the way asked for; says which value is in the way."""


def form(values: NDArray[Any], parse: bool = True) -> str:
    """What the values are: "empty", "number", "boolean", "date", "duration" or "text".

    With ``parse``, text of which every value reads as a number, a boolean or an ISO date is that.

    >>> form(np.array(["1.5", "2", None], dtype=object)), form(np.array(["1.5", "red"], dtype=object))
    ('number', 'text')
    """
    kind = values.dtype.kind
    if kind in "iufbMm":
        missing = missing_in(values)
        return "empty" if missing.all() else {"b": "boolean", "M": "date", "m": "duration"}.get(kind, "number")
    if kind not in "OUST":
        raise UnreadableError("complex numbers. Complex data not supported" if kind == "c" else f"type {values.dtype}")
    found = _forms(values)
    if not found:
        return "empty"
    if found == {"number", "boolean"}:
        return "number"
    if len(found) == 1 and found != {"text"}:
        return found.pop()
    _, levels = read_levels(values)
    if not levels:
        return "empty"
    if parse:
        for name, parser in (("boolean", _booleans), ("number", _floats), ("date", _instants)):
            if parser(levels) is not None:
                return name
    return "text"


def missing_in(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where values are missing; blank text is not looked at here."""
    if values.dtype.kind in "fMm":
        return np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
    if values.dtype.kind == "O":
        return np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def is_plain_numbers(values: NDArray[Any]) -> bool:
    """Whether every value is a number or a boolean and none is missing."""
    if values.dtype.kind in "biuf":
        return not missing_in(values).any()
    if values.dtype.kind != "O":
        return False
    kinds = {_form_of(kind) for kind in set(map(type, values))}
    return kinds <= {"number", "boolean"} and not np.isnan(_object_floats(values)).any()


def read_numbers(values: NDArray[Any]) -> Array:
    """Numbers, booleans as 0 and 1, durations in days, text that reads as one of these; NaN where missing.

    >>> read_numbers(np.array([True, "2.5", None, " "], dtype=object))
    array([1. , 2.5, nan, nan])
    """
    kind = values.dtype.kind
    if kind in "biuf":
        return values.astype(np.float64)
    if kind == "m":
        days = values.astype("m8[us]").astype(np.int64) / _MICROSECONDS_PER_DAY
        return np.where(np.isnat(values), np.nan, days)
    if kind == "M":
        raise UnreadableError("dates, for example " + str(values[~np.isnat(values)][:1]))
    found = _forms(values)
    if found <= {"number", "boolean"}:
        return _object_floats(values)
    if found == {"duration"}:
        return read_numbers(_object_durations(values))
    codes, levels = read_levels(values)
    parsed = _all(levels, _number)
    if parsed is None:
        raise UnreadableError(f"the value {next(level for level in levels if _all([level], _number) is None)!r}")
    return np.array([*parsed, np.nan])[codes]


def read_instants(values: NDArray[Any]) -> NDArray[Any]:
    """Instants as ``datetime64[us]`` in UTC, NaT where missing; text in ISO format is read.

    >>> read_instants(np.array(["2024-02-29", "2024-02-29T12:00+01:00"], dtype=object)).astype(str).tolist()
    ['2024-02-29T00:00:00.000000', '2024-02-29T11:00:00.000000']
    """
    if values.dtype.kind == "M":
        return values.astype("M8[us]")
    if values.dtype.kind in "OUST":
        found = _forms(values)
        if found <= {"date"}:
            return _object_instants(values)
        if found <= {"date", "text"}:
            codes, levels = read_levels(values)
            instants = _instants(levels)
            if instants is not None:
                return np.append(instants, np.datetime64("NaT"))[codes]
            raise UnreadableError(f"the value {next(x for x in levels if _instants([x]) is None)!r}")
    elif missing_in(values).all():
        return np.full(len(values), np.datetime64("NaT"), dtype="M8[us]")
    raise UnreadableError("numbers")


def read_levels(values: NDArray[Any]) -> tuple[Codes, list[str]]:
    """Codes into the sorted distinct texts, −1 where missing. Numbers read as text lose a trailing ``.0``.

    >>> read_levels(np.array(["b", None, "a", 1.0], dtype=object))
    (array([ 2, -1,  1,  0]), ['1', 'a', 'b'])
    """
    if values.dtype.kind in "iufbMm":
        distinct, inverse = np.unique(values, return_inverse=True)
        texts: Sequence[str | None] = [
            None if gone else text_of(value) for value, gone in zip(distinct, missing_in(distinct), strict=True)
        ]
        return _coded(inverse.ravel(), texts)
    listed = values.tolist()
    if set(map(type, listed)) <= {str, type(None)}:
        # Distinct values first: nothing is looked at twice.
        once = list(set(listed))
        at = {value: i for i, value in enumerate(once)}
        inverse = np.fromiter(map(at.__getitem__, listed), dtype=np.intp, count=len(listed))
        return _coded(inverse, [_present(value) for value in once])
    texts = [_present(None if _is_missing(value) else text_of(value)) for value in listed]
    return read_levels(np.fromiter(texts, dtype=object, count=len(texts)))


def text_of(value: Any) -> str:
    """The level a value stands for: 1, 1.0 and "1" are one level, as a missing entry makes floats of integers."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise UnreadableError("bytes that are no UTF-8 text") from error
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return str(value)
    if isinstance(value, numbers.Real | Decimal):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def _coded(inverse: Codes, texts: Sequence[str | None]) -> tuple[Codes, list[str]]:
    levels = sorted({text for text in texts if text is not None})
    at = {level: i for i, level in enumerate(levels)}
    code = np.array([-1 if text is None else at[text] for text in texts], dtype=np.intp)
    return code[inverse], levels


def _present(text: str | None) -> str | None:
    return None if text is None or text.strip() in _GHOSTS else text


# ---- objects: one look at the types, then all values at once ---------------------------------------------------------


def _forms(values: NDArray[Any]) -> set[str]:
    """Which forms the values of an object or text array have; missing ones have none."""
    if values.dtype.kind != "O":
        return {"text"} if len(values) else set()
    listed = values.tolist()
    kinds = {kind: _form_of(kind) for kind in set(map(type, listed))}
    for kind, name in kinds.items():
        if name == "nested":
            raise UnreadableError(f"values of type {kind.__name__}")
        if name == "complex":
            raise UnreadableError("complex numbers. Complex data not supported")
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
    speaks = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
    return "text" if speaks and not nested else "nested"


_FORMS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("boolean", (bool, np.bool_)),
    ("date", (dt.date, np.datetime64)),
    ("duration", (dt.timedelta, np.timedelta64, dt.time)),  # before numbers: NumPy calls a timedelta an integer
    ("number", (numbers.Real, Decimal)),
    ("complex", (numbers.Complex,)),
    ("text", (str, bytes)),
)


def _is_missing(value: Any) -> bool:
    if isinstance(value, float | np.floating | Decimal | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _object_floats(values: NDArray[Any]) -> Array:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):  # pd.NA refuses
        return np.array([np.nan if _is_missing(value) else float(value) for value in values])
    except OverflowError as error:
        raise UnreadableError("an integer too large for a float, that is infinity") from error


def _object_instants(values: NDArray[Any]) -> NDArray[Any]:
    def naive(value: Any) -> Any:
        if _is_missing(value):
            return None
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            return value.astimezone(dt.UTC).replace(tzinfo=None)
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
        return value

    return np.fromiter(map(length, values), dtype=object, count=len(values)).astype("m8[us]")


# ---- text: parsers of distinct levels; None where one of them does not parse -----------------------------------------


def _all(levels: Sequence[str], parser: Callable[[str], Any]) -> list[Any] | None:
    try:
        return [parser(level) for level in levels]
    except (KeyError, ValueError):
        return None


def _booleans(levels: Sequence[str]) -> list[float] | None:
    return _all(levels, _BOOLEANS.__getitem__)


def _floats(levels: Sequence[str]) -> list[float] | None:
    return _all(levels, _float)


def _float(level: str) -> float:
    found = float(level)
    if found != found:
        raise ValueError(level)
    return found


def _number(level: str) -> float:
    return _BOOLEANS[level] if level in _BOOLEANS else _float(level)


def _instants(levels: Sequence[str]) -> NDArray[Any] | None:
    def parse(level: str) -> dt.datetime:
        text = level.strip()
        if not _ISO.fullmatch(text):
            raise ValueError(level)
        found = dt.datetime.fromisoformat(text if len(text) > len("2024-02") else text + "-01")
        return found if found.tzinfo is None else found.astimezone(dt.UTC).replace(tzinfo=None)

    found = _all(levels, parse)
    return None if found is None else np.array(found, dtype="M8[us]")
