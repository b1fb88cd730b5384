"""State dicts in files of torch, read without running code, and loaded into a network under any wrapper's names."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from gramian.core.paths import check_exists

Value = TypeVar("Value")

_STATE_DICT_KEYS = ("state_dict", "model_state_dict", "model", "module", "net", "network", "weights")
"""Keys under which training loops store the weights, in the order in which they are tried."""
_COMPILED, _PARALLEL = "_orig_mod.", "module."
_DATA = "data goes to --data of the command, and to data= in Python"
_OTHERS = {".gramian": "gramian report MODEL shows a model of gramian's"} | dict.fromkeys(
    (".csv", ".tsv", ".parquet", ".npz", ".npy", ".txt"), _DATA
)


def read_torch_file(path: Path, *, mmap: bool = False) -> tuple[dict[str, Tensor], str]:
    """Read the state dict in a file, or under one of its keys such as "state_dict", and return a note about the key.

    The file is read by ``torch.load(weights_only=True)``, so no code in it is run. ``mmap`` maps the file instead of
    reading it at once, where its format allows that.
    """
    check_exists(path, "a checkpoint is what torch.save(model.state_dict(), path) writes")
    if path.suffix.lower() in _OTHERS:
        raise ValueError(f"{path} is not a checkpoint of a network: {_OTHERS[path.suffix.lower()]}")
    try:
        found = _load(path, mmap)
    except pickle.UnpicklingError as error:
        raise ValueError(_not_weights(path, str(error))) from error
    except Exception as error:  # a damaged file may fail in any way: the unpickler trusts its bytes
        raise ValueError(
            f"{path} cannot be read as a checkpoint ({_first_line(error)}): it is damaged, or was not written by "
            "torch.save(model.state_dict(), path)"
        ) from error
    return _state_dict(found, path)


def _load(path: Path, mmap: bool) -> Any:
    with warnings.catch_warnings():
        # torch asks for a report of a file that is no checkpoint; our error says what the file is.
        warnings.filterwarnings("ignore", message="Detected pickle protocol")
        try:
            return torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)
        except RuntimeError as error:
            if not mmap or "mmap" not in str(error):
                raise
            return torch.load(path, map_location="cpu", weights_only=True)  # a file of before torch 1.6


def _first_line(error: Exception) -> str:
    """Return the first line of the message of an error, or the name of its class."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _not_weights(path: Path, message: str) -> str:
    named = re.search(r"GLOBAL ([\w.]+)", message)
    what = (
        f"holds more than weights (a {named[1]})"
        if named
        else "is not a checkpoint of torch, or holds more than weights"
    )
    return (
        f"{path} {what}, and opening that could run code: save the weights alone, "
        "torch.save(model.state_dict(), path), where you trust the file"
    )


def _state_dict(found: Any, path: Path) -> tuple[dict[str, Tensor], str]:
    if _is_state_dict(found):
        return dict(found), ""
    if not isinstance(found, Mapping):
        raise ValueError(f"{path} holds a {type(found).__name__}, not weights by name: save model.state_dict()")
    dicts = [name for name, value in found.items() if _is_state_dict(value)]
    known = [name for name in _STATE_DICT_KEYS if name in dicts] or (dicts if len(dicts) == 1 else [])
    if not known:
        keys = ", ".join(map(repr, list(found)[:8]))
        raise ValueError(f"{path} holds no weights under a known key; it has {keys}: save model.state_dict() alone")
    return dict(found[known[0]]), f"the weights under {known[0]!r}"


def _is_state_dict(value: Any) -> bool:
    """Return whether a value is a mapping from names to tensors; entries ``_extra_state`` may be anything."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        return False
    rest = [item for key, item in value.items() if not key.endswith("_extra_state")]
    return bool(rest) and all(isinstance(item, Tensor) for item in rest)


def fit_weights(model: nn.Module, weights: Mapping[str, Tensor], name: object, *, hint: str = "") -> str:
    """Load weights into a model, also under the prefixes that DataParallel, torch.compile and Lightning add.

    Returns a note about a prefix that was removed. A ValueError lists missing and unexpected names, or shapes that
    differ; it names the checkpoint by ``name`` and ends with ``hint``.

    >>> model = nn.Linear(2, 1)
    >>> fit_weights(model, {f"module.{key}": value for key, value in model.state_dict().items()}, "w.pt")
    "'module.' (DataParallel) left out of the names"
    """
    expected = model.state_dict()
    fitting, note = renamed(weights, list(expected))
    missing, unexpected = [k for k in expected if k not in fitting], [k for k in fitting if k not in expected]
    more = f". {hint}" if hint else ""
    if missing or unexpected:
        parts = [
            f"{title} {_listed(names)}" for title, names in (("missing", missing), ("unexpected", unexpected)) if names
        ]
        raise ValueError(
            f"{name} does not fit the model: {'; '.join(parts)}. Is it the network these weights were trained in?{more}"
        )
    shapes = [
        f"{key} is {tuple(fitting[key].shape)} in the file and {tuple(value.shape)} in the model"
        for key, value in expected.items()
        if isinstance(value, Tensor) and not nn.parameter.is_lazy(value) and fitting[key].shape != value.shape
    ]
    if shapes:
        raise ValueError(f"{name} does not fit the model: {_listed(shapes, 3, '; ')}{more}")
    model.load_state_dict(fitting)
    return note


def renamed(weights: Mapping[str, Value], expected: Sequence[str]) -> tuple[dict[str, Value], str]:
    """Return the weights under the names of the model, without the prefixes of wrappers, and a note about them.

    >>> renamed({"model.0.weight": 1, "model.0.bias": 2, "loss.weight": 3}, ["0.weight", "0.bias"])[0]
    {'0.weight': 1, '0.bias': 2}
    """
    weights = dict(weights)
    if not expected or set(expected) <= set(weights):
        return weights, ""
    notes = []
    if any(_COMPILED in key for key in weights) and not any(_COMPILED in key for key in expected):
        weights = {key.replace(_COMPILED, ""): value for key, value in weights.items()}
        notes.append(f"{_COMPILED!r} (torch.compile) left out of the names")
    first = expected[0]
    prefixes = [key.removesuffix(first) for key in weights if key.endswith(f".{first}")]
    whole = [prefix for prefix in prefixes if all(prefix + name in weights for name in expected)]
    if whole and not set(expected) <= set(weights):
        prefix = min(whole, key=len)
        others = [key for key in weights if not key.startswith(prefix)]
        why = " (DataParallel)" if prefix == _PARALLEL else ""
        notes.append(f"{prefix!r}{why} left out of the names")
        if others:
            notes.append(f"{len(others)} weights outside {prefix!r} not used: {_listed(others, 3)}")
        weights = {key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)}
    return weights, "; ".join(notes)


def without_wrappers(pattern: str) -> str:
    """Return the pattern of a name without the prefixes of DataParallel and torch.compile.

    >>> without_wrappers("module._orig_mod.0.*")
    '0.*'
    """
    return pattern.replace(_COMPILED, "").removeprefix(_PARALLEL)


def unwrapped_names(names: Iterable[str]) -> tuple[dict[str, str], str]:
    """Return every name with the one that it has without DataParallel and torch.compile, and a note about them.

    ``module.`` counts as DataParallel's where all names begin with it. The prefix of Lightning may belong to the
    network itself, and stays.

    >>> unwrapped_names(["module.0.weight", "module.0.bias"])
    ({'module.0.weight': '0.weight', 'module.0.bias': '0.bias'}, "'module.' (DataParallel) left out of the names")
    """
    found = {name: name.replace(_COMPILED, "") for name in names}
    notes = [f"{_COMPILED!r} (torch.compile) left out of the names"] if any(_COMPILED in name for name in found) else []
    if found and all(name.startswith(_PARALLEL) for name in found.values()):
        found = {old: name.removeprefix(_PARALLEL) for old, name in found.items()}
        notes.append(f"{_PARALLEL!r} (DataParallel) left out of the names")
    if len(set(found.values())) < len(found):
        return {name: name for name in found}, ""  # two tensors would have one name
    return found, "; ".join(notes)


def _listed(names: Iterable[str], most: int = 5, mark: str = ", ") -> str:
    names = list(names)
    return mark.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
