"""Modules of gramian that handle objects of a third-party package, imported only where that package is in use.

A lower package must not import a higher one. It looks the module up here instead; ``gramian/__init__.py`` registers
which module handles which package.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

_MODULES: dict[str, str] = {}


def register_plugin(package: str, module: str) -> None:
    """Register the module of gramian that handles objects of a package; nothing is imported yet."""
    _MODULES[package] = module


def plugin(package: str) -> ModuleType | None:
    """Return the module that handles a package; None where no module does, or the package has not been imported.

    Objects of a package exist only after its import, so that a lookup never imports a package the user does not use.

    >>> plugin("a package that is not installed") is None
    True
    """
    if package not in _MODULES or package not in sys.modules:
        return None
    return importlib.import_module(_MODULES[package])


def package_of(value: object) -> str:
    """Return the name of the package that defines a value's class.

    >>> import numpy as np
    >>> package_of(np.zeros(1))
    'numpy'
    """
    return type(value).__module__.partition(".")[0]
