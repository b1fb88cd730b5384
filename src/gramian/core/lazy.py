"""Packages whose names are imported when first used, so that ``import gramian`` and ``gramian --help`` are quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazily(
    package: str, names: Mapping[str, Sequence[str]], subpackages: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the functions ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Parameters
    ----------
    package : str
        Name of the package.
    names : mapping of str to sequence of str
        Modules, each with the names that the package takes from it.
    subpackages : sequence of str
        Packages inside it that are attributes before they have been imported.

    >>> look_up, _ = lazily("gramian", {"gramian.core.version": ["__version__"]}, subpackages=["core"])
    >>> look_up("__version__")
    '...'
    >>> look_up("core")
    <module 'gramian.core' from ...>
    >>> look_up("versoin")
    Traceback (most recent call last):
    AttributeError: module 'gramian' has no attribute 'versoin'
    """
    modules = {name: module for module, taken in names.items() for name in taken}

    def look_up(name: str) -> Any:
        if name in subpackages:
            return importlib.import_module(f"{package}.{name}")  # which also makes it an attribute
        if name not in modules:
            owner = sys.modules[package]
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=owner)
        value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # the next access does not call this function
        return value

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules, *subpackages})

    return look_up, listing
