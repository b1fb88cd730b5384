"""Check of the fields of a dataclass against their annotations.

A file may give any value for any field. The constructors of registered classes are written for callers with a type
checker and do not look at every value, so an object with text in the place of a number would fail much later.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union

import numpy as np
from jaxtyping import AbstractArray

_NUMBERS = {float: (int, float, np.integer, np.floating), int: (int, np.integer), bool: (bool, np.bool_)}


def check_fields(value: Any) -> None:
    """Raise a TypeError that names the first field of a dataclass whose value is not of the annotated type.

    Names of axes, as in ``Float[Tensor, "n d"]``, stand for one length in all fields of the object.

    >>> @dataclasses.dataclass
    ... class Row:
    ...     name: str
    ...     cells: tuple[float, ...]
    >>> check_fields(Row("a", (1, 2.5)))
    >>> check_fields(Row("a", (1, "b")))
    Traceback (most recent call last):
    TypeError: Row.cells is not of type tuple[float, ...]
    """
    cls = type(value)
    lengths: dict[str, int] = {}
    for name, annotation in _annotations(cls):  # type: ignore[arg-type]
        content = getattr(value, name)
        if not _fits(content, annotation):
            shown = getattr(annotation, "__name__", None) if isinstance(annotation, type) else None
            raise TypeError(f"{cls.__name__}.{name} is not of type {shown or annotation}")
        for axis, length in _axes(content, annotation):
            if lengths.setdefault(axis, length) != length:
                raise TypeError(f"{cls.__name__}.{name} has {length} for {axis}, and another field {lengths[axis]}")


@cache
def _annotations(cls: type) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(cls)
    return tuple((field.name, hints[field.name]) for field in dataclasses.fields(cls))


def _axes(value: Any, annotation: Any) -> list[tuple[str, int]]:
    """Return the named axes of an array with their lengths."""
    found = []
    for part in (annotation, *typing.get_args(annotation)):
        if isinstance(part, type) and issubclass(part, AbstractArray) and hasattr(value, "shape"):
            names = part.dim_str.split()
            if len(names) == len(value.shape):
                found += [(axis, n) for axis, n in zip(names, value.shape, strict=True) if axis.isalpha()]
    return found


def _fits(value: Any, annotation: Any) -> bool:
    """Return whether a value is of a type; an annotation of a form that no registered class uses accepts everything."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any or isinstance(annotation, typing.TypeVar):
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return any(value == part and type(value) is type(part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and _fits_tuple(value, parts)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _fits_dtype(value.dtype, parts)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, origin) and all(
            _fits(key, parts[0]) and _fits(item, parts[1]) for key, item in value.items()
        )
    if isinstance(origin, type):
        return isinstance(value, origin)
    if annotation in _NUMBERS:
        return isinstance(value, _NUMBERS[annotation]) and (annotation is bool or not isinstance(value, bool))
    if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
        return isinstance(value, annotation)
    return not isinstance(annotation, type) or isinstance(value, annotation)


def _fits_tuple(value: tuple[Any, ...], parts: tuple[Any, ...]) -> bool:
    if len(parts) == 2 and parts[1] is Ellipsis:
        return all(_fits(item, parts[0]) for item in value)
    return len(value) == len(parts) and all(map(_fits, value, parts))


def _fits_dtype(dtype: np.dtype[Any], parts: tuple[Any, ...]) -> bool:
    """Compare the kind of numbers: an array of float32 may be in the place of one of float64."""
    wanted = typing.get_args(parts[1])[0] if len(parts) == 2 and typing.get_args(parts[1]) else Any
    return wanted is Any or not isinstance(wanted, type) or np.dtype(wanted).kind == dtype.kind
