"""Values as JSON and back: strict JSON files that can hold NaN, infinities, arrays and frozen dataclasses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_json(value: Any, digits: int | None = None) -> Any:
    """Convert a value to the types of JSON.

    Dictionaries get sorted keys, arrays and tensors become lists, NaN and infinities become ``"nan"``, ``"inf"`` and
    ``"-inf"``. A dataclass becomes a dictionary of its fields with its class name under ``"class"``; a class attribute
    ``record_name`` overrides that name, so that a class can be renamed while the keys of its records stay the same.

    Parameters
    ----------
    value : None, bool, int, float, str, array, tensor, dataclass, or a sequence or mapping of them
    digits : int, optional
        Significant digits of floats; all by default.

    >>> to_json({"b": (1, float("nan")), "a": 1 / 3}, digits=3)
    {'a': 0.333, 'b': [1, 'nan']}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return float(value) if digits is None else float(f"{value:.{digits}g}")
    if is_dataclass(value) and not isinstance(value, type):
        name = vars(type(value)).get("record_name", type(value).__name__)
        return to_json({"class": name} | {f.name: getattr(value, f.name) for f in fields(value)}, digits)
    if isinstance(value, Mapping):
        return {str(key): to_json(value[key], digits) for key in sorted(value, key=str)}
    if hasattr(value, "tolist"):  # arrays and tensors, and their scalars
        return to_json(value.tolist(), digits)
    if isinstance(value, Sequence):
        return [to_json(entry, digits) for entry in value]
    raise ValueError(f"a record holds numbers, text, lists and dicts, got a value of type {type(value).__name__}")


def from_json(value: Any) -> Any:
    """Invert :func:`to_json`: ``"nan"``, ``"inf"`` and ``"-inf"`` become floats again.

    >>> from_json(["nan", "name", -1.0])
    [nan, 'name', -1.0]
    """
    if isinstance(value, str):
        return _NOT_FINITE.get(value, value)
    if isinstance(value, list):
        return [from_json(entry) for entry in value]
    if isinstance(value, dict):
        return {key: from_json(entry) for key, entry in value.items()}
    return value
