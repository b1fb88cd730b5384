"""The allow-list: which types may stand in a file, and the name each goes by there.

A name is the room and the class, ``"kernels.Laplace"``: it outlives a move from one module to another. A type that is
not listed is neither written nor read, so a file can only make objects this package has vouched for.
"""

from __future__ import annotations

_TYPES: dict[str, type] = {}
_NAMES: dict[type, str] = {}


def register(room: str, *types: type) -> None:
    """Allow types in files under the names ``room.ClassName``. Saying it twice is the same as once.

    A dataclass is written by its fields and made by its constructor. Any other class is written by the state it would
    give to pickle (``__getstate__``), made without arguments, and given that state back.
    """
    for cls in types:
        name = f"{room}.{cls.__name__}"
        if _TYPES.get(name, cls) is not cls:
            raise ValueError(f"{name!r} already stands for {_TYPES[name].__qualname__} of {_TYPES[name].__module__}")
        _TYPES[name] = cls
        _NAMES[cls] = name


def registered() -> dict[str, type]:
    """All names and what they stand for."""
    return dict(_TYPES)


def name_of(cls: type) -> str | None:
    """The name of a type in files; None where it is not allowed there."""
    return _NAMES.get(cls)


def type_of(name: str) -> type | None:
    """The type behind a name; None where it is unknown."""
    return _TYPES.get(name)
