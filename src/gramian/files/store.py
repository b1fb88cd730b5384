"""Writing of values to model files, and reading."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from gramian.core import resolve_device
from gramian.core.version import __version__
from gramian.files.container import ModelFileError, pack, unpack
from gramian.files.decode import Decoder
from gramian.files.encode import Encoder

_REFUSALS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Errors of constructors and of libraries that a file with wrong values can cause."""
PathLike = str | os.PathLike[str]


def write(value: Any, path: PathLike, name: str = "model") -> None:
    """Write a value to a file; an old file of that name is replaced when the new one is complete.

    Parameters
    ----------
    value : object
        A registered object, or any mixture of containers, numbers, text and arrays.
    path : path
    name : str
        Name of the value in error messages: ``model.random_state is a …``.
    """
    encoder = Encoder()
    root = encoder.encode(value, name)
    manifest = {
        "class": type(value).__name__,
        "device": encoder.device,
        "value": root,
        "objects": encoder.objects,
        "arrays": encoder.arrays,
    }
    pack(Path(path), manifest, encoder.data)


def fingerprint(value: Any, name: str = "value") -> str:
    """Return a SHA-256 of the value as :func:`write` would write it: equal for values of equal types and bits.

    >>> fingerprint((1, 2.0)) == fingerprint((1, 2.0)), fingerprint((1, 2)) == fingerprint((1, 2.0))
    (True, False)
    """
    encoder = Encoder()
    root = encoder.encode(value, name)
    return hashlib.sha256(json.dumps([root, encoder.objects, encoder.arrays]).encode()).hexdigest()


def read(path: PathLike, device: str | torch.device = "auto", check: Callable[[Any], None] | None = None) -> Any:
    """Read a file written by :func:`write`; a :class:`ModelFileError` (a ValueError) describes a problem with a file.

    Parameters
    ----------
    path : path
    device : "auto" or a device
        Device of the tensors: ``"auto"`` is the type of device they were saved from, or the CPU if it is not available.
    check : callable, optional
        Called with the value; its errors are errors of the file.
    """
    path = Path(path)
    manifest, data = unpack(path)
    given = None if str(device) == "auto" else resolve_device(device)
    try:
        target = _device(manifest.get("device", "cpu")) if given is None else given
        value = Decoder(manifest, data, target).decode(manifest["value"])
        if check is not None:
            check(value)
        return value
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except _REFUSALS as error:
        raise ModelFileError(
            f"{path} cannot be read by gramian {__version__}, although its checksum is right ({error}): load it with "
            f"gramian {manifest.get('gramian')}, which wrote it, or save the model again"
        ) from error


def _device(saved: object) -> torch.device:
    if not isinstance(saved, str):
        raise TypeError(f"{saved!r} is no device")
    try:
        return resolve_device(saved)
    except ValueError:
        return torch.device("cpu")
