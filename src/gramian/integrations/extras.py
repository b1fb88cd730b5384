"""Imports of optional packages, with an error that names the line to install them."""

from __future__ import annotations

import importlib
from types import ModuleType


def require(module: str, purpose: str, extra: str) -> ModuleType:
    """Import a module of an optional package, or raise an ImportError that names the extra which installs it.

    Parameters
    ----------
    module : str
        Name of the module, such as ``"mlflow.pyfunc"``.
    purpose : str
        Subject of the message: what needs the package.
    extra : str
        The extra of gramian that installs it.

    >>> require("json", "this example", "tables").loads("[1]")
    [1]
    >>> require("a_package.that.does_not_exist", "this example", "tables")
    Traceback (most recent call last):
    ImportError: this example needs the package a_package: pip install "gramian[tables]"
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f'{purpose} needs the package {package}: pip install "gramian[{extra}]"') from error
