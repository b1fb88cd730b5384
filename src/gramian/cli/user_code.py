"""Objects of the user's own code by name, ``package.module:name``. Importing them runs that code."""

from __future__ import annotations

import copy
import difflib
import importlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn


@contextmanager
def current_folder_first() -> Iterator[None]:
    """Put the current folder first on the import path, as ``python script.py`` does."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def import_object(spec: str, option: str) -> Any:
    """Import the object ``package.module:name`` or ``file.py:name``; ``option`` is named in errors.

    >>> import_object("math:pi", "--model")
    3.14...
    """
    module, mark, name = spec.partition(":")
    if not (mark and module and name):
        raise ValueError(
            f"{option} {spec}: write package.module:name, such as nets.small:make for make in nets/small.py"
        )
    if module.endswith(".py"):
        module = ".".join(Path(module).with_suffix("").parts)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise ValueError(f"{option} {spec}: {module} needs {error.name}, which is not installed") from error
        raise ValueError(
            f"{option} {spec}: there is no module {error.name} in {os.getcwd()} or among the installed ones; run the "
            f"command in the folder that holds {module.partition('.')[0]}"
        ) from error
    except Exception as error:  # the user's code may fail in any way
        raise ValueError(f"{option} {spec}: importing {module} failed with {_described(error)}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            close = difflib.get_close_matches(part, [x for x in vars(found) if not x.startswith("_")], n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise ValueError(f"{option} {spec}: {module} has no {part}{hint}")
        found = getattr(found, part)
    return found


def call(function: Any, spec: str, option: str, arguments: dict[str, Any] | None = None) -> Any:
    """Call a function of the user; an exception becomes a ValueError that names the option and the function."""
    try:
        return function(**(arguments or {}))
    except TypeError as error:
        hint = "; pass arguments with --model-args, such as '{\"width\": 128}'" if option == "--model" else ""
        raise ValueError(f"{option} {spec}: {_described(error)}{hint}") from error
    except Exception as error:
        raise ValueError(f"{option} {spec}: it failed with {_described(error)}") from error


def build_model(spec: str, arguments: str | None, seed: int) -> nn.Module:
    """Build a network by a factory (a function or a class), or copy a network that the module defines itself.

    The global generator of torch is seeded between the import, which may draw numbers, and the call: wrap this function
    in ``torch.random.fork_rng``.
    """
    given = _arguments(arguments)
    found = import_object(spec, "--model")
    torch.manual_seed(seed)
    if isinstance(found, nn.Module):
        return copy.deepcopy(found)
    model = call(found, spec, "--model", given) if callable(found) else None
    if not isinstance(model, nn.Module):
        what = type(found if model is None else model).__name__
        raise ValueError(f"--model {spec}: a function or class that returns a torch.nn.Module is needed, not a {what}")
    return model


def _arguments(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"""--model-args must be JSON such as '{{"width": 128}}': {error}""") from error
    if not isinstance(given, dict):
        raise ValueError(f"""--model-args must be a JSON object such as '{{"width": 128}}', not {text}""")
    return given


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
