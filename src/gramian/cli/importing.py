"""Objects of the user's own code by name, ``package.module:name``: importing them runs that code."""

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
    """The current folder at the head of the places that Python imports from, as for ``python script.py`` in it."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def import_object(spec: str, option: str) -> Any:
    """The object behind ``package.module:name`` or ``file.py:name``.

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
            f"{option} {spec}: there is no module {error.name} in {os.getcwd()} nor among what is installed; run the "
            f"command in the folder that holds {module.partition('.')[0]}"
        ) from error
    except Exception as error:  # the user's code may fail in any way, and it is not a bug of ours
        raise ValueError(f"{option} {spec}: importing {module} failed with {_say(error)}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            close = difflib.get_close_matches(part, [x for x in vars(found) if not x.startswith("_")], n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise ValueError(f"{option} {spec}: {module} has no {part}{hint}")
        found = getattr(found, part)
    return found


def call(function: Any, spec: str, option: str, arguments: dict[str, Any] | None = None) -> Any:
    """Call a user's function; whatever it raises is a ValueError that says where it came from."""
    try:
        return function(**(arguments or {}))
    except TypeError as error:
        hint = "; pass arguments with --model-args, such as '{\"width\": 128}'" if option == "--model" else ""
        raise ValueError(f"{option} {spec}: {_say(error)}{hint}") from error
    except Exception as error:
        raise ValueError(f"{option} {spec}: it failed with {_say(error)}") from error


def build_model(spec: str, arguments: str | None, seed: int) -> nn.Module:
    """The network that a factory (a function or a class) makes, or a copy of one that stands in the module itself.

    Torch's generator is seeded between the import, which may draw numbers the first time, and the call: keep it in a
    ``torch.random.fork_rng``.
    """
    given = _arguments(arguments)
    found = import_object(spec, "--model")
    torch.manual_seed(seed)
    if isinstance(found, nn.Module):
        return copy.deepcopy(found)
    model = call(found, spec, "--model", given) if callable(found) else None
    if not isinstance(model, nn.Module):
        what = type(found if model is None else model).__name__
        raise ValueError(f"--model {spec}: a function or class that gives a torch.nn.Module is needed, not a {what}")
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


def _say(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
