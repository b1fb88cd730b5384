"""Packages whose names are imported when first used: ``import gramian`` and ``gramian --help`` wait for no torch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazily(
    package: str, names: Mapping[str, Sequence[str]], rooms: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Args:
        package: Its name.
        names: Modules, each with the names that the package takes from it.
        rooms: Packages inside it that are attributes without having been imported.

    >>> look_up, _ = lazily("gramian", {"gramian.core.version": ["__version__"]}, rooms=["core"])
    >>> look_up("__version__")
    '...'
    >>> look_up("core")
    <module 'gramian.core' from ...>
    >>> look_up("versoin")
    Traceback (most recent call last):
    AttributeError: module 'gramian' has no attribute 'versoin'
    """
    homes = {name: module for module, taken in names.items() for name in taken}

    def look_up(name: str) -> Any:
        if name in rooms:
            return importlib.import_module(f"{package}.{name}")  # which also makes it an attribute
        if name not in homes:
            owner = sys.modules[package]
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=owner)
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *rooms})

    return look_up, listing
