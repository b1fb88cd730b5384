"""Registry of the types that may be in a file, with their names there.

A name consists of package and class, ``"kernels.Laplace"``, so it does not change when a class moves to another module.
A type that is not registered is neither written nor read: a file can create objects of registered types only.
"""

from __future__ import annotations

_TYPES: dict[str, type] = {}
_NAMES: dict[type, str] = {}


def register(package: str, *types: type) -> None:
    """Allow types in files under the names ``package.ClassName``. Repeated registration has no effect.

    A dataclass is written as its fields and created by its constructor. Any other class is written as its state for
    pickle (``__getstate__``), created without arguments, and then given that state.

    >>> from gramian.kernels import Laplace
    >>> register("kernels", Laplace)
    >>> registered()["kernels.Laplace"] is Laplace
    True
    """
    for cls in types:
        name = f"{package}.{cls.__name__}"
        if _TYPES.get(name, cls) is not cls:
            known = _TYPES[name]
            raise ValueError(
                f"{name!r} is already the name of {known.__qualname__} of {known.__module__}: use another package name"
            )
        _TYPES[name] = cls
        _NAMES[cls] = name


def registered() -> dict[str, type]:
    """Return all registered types by their names."""
    return dict(_TYPES)


def name_of(cls: type) -> str | None:
    """Return the name of a type in files; None if it is not registered."""
    return _NAMES.get(cls)


def type_of(name: str) -> type | None:
    """Return the type with a name; None if the name is not registered."""
    return _TYPES.get(name)
