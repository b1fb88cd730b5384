"""Modules of gramian that are looked up by name: handlers of a third-party package, and the figures of results.

A lower package must not import a higher one. It looks the module up here instead; ``gramian/__init__.py`` registers
which module handles which package, and which function draws which result. Nothing is imported before it is in use.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_MODULES: dict[str, str] = {}
_FIGURES: dict[str, tuple[str, str]] = {}


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


def register_figures(module: str, functions: dict[str, str]) -> None:
    """Register the functions of a module that draw results, by the names of the results' classes."""
    _FIGURES.update({result: (module, function) for result, function in functions.items()})


def figure_of(result: str) -> Callable[..., Any]:
    """Return the function that draws the results of a class.

    >>> import gramian
    >>> figure_of("Directions").__name__
    'plot_directions'
    """
    module, function = _FIGURES[result]
    drawing: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return drawing
