"""Rooms that are looked up by the package they are for, and imported when somebody uses it.

A room below must not import one above. It asks here instead, and ``gramian/__init__.py``, which knows the whole house,
says which module answers for which package.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

_MODULES: dict[str, str] = {}


def register_plugin(package: str, module: str) -> None:
    """Let a module of ours answer for objects of another package; nothing is imported yet."""
    _MODULES[package] = module


def plugin(package: str) -> ModuleType | None:
    """The module that answers for a package, or None: where none does, and where nobody has imported the package.

    An object of a package cannot be met before the package was imported, so asking costs nothing to those without.

    >>> plugin("a package nobody has") is None
    True
    """
    if package not in _MODULES or package not in sys.modules:
        return None
    return importlib.import_module(_MODULES[package])


def room_for(package: str) -> ModuleType:
    """The module that answers for a package, imported now: for those who are about to use the package themselves."""
    return importlib.import_module(_MODULES[package])


def package_of(value: object) -> str:
    """The package a value's class comes from.

    >>> import numpy as np
    >>> package_of(np.zeros(1))
    'numpy'
    """
    return type(value).__module__.partition(".")[0]
