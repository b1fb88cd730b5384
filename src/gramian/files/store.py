"""Writing a value to a model file, and reading it back."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch

from gramian.core import resolve_device
from gramian.files.container import ModelFileError, pack, unpack
from gramian.files.decode import Decoder
from gramian.files.encode import Encoder

PathLike = str | os.PathLike[str]


def write(value: Any, path: PathLike, name: str = "model") -> None:
    """Write a value to a file; an old file of that name stays whole until the new one is complete.

    Parameters
    ----------
    value : object
        A registered object, or any mixture of containers, numbers, text and arrays.
    path : path
    name : str
        What errors call the value: ``model.random_state is a …``.
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
    """SHA-256 of what :func:`write` would write: the same for values that are equal to the last bit, types included.

    >>> fingerprint((1, 2.0)) == fingerprint((1, 2.0)), fingerprint((1, 2)) == fingerprint((1, 2.0))
    (True, False)
    """
    encoder = Encoder()
    root = encoder.encode(value, name)
    return hashlib.sha256(json.dumps([root, encoder.objects, encoder.arrays]).encode()).hexdigest()


def read(path: PathLike, device: str | torch.device = "auto") -> Any:
    """Read what :func:`write` has written; a :class:`ModelFileError` (a ValueError) says what is wrong with a file.

    Parameters
    ----------
    path : path
    device : "auto" or a device
        Where tensors go: ``"auto"`` is the kind of device they were saved from, or the CPU where there is none here.
    """
    path = Path(path)
    manifest, data = unpack(path)
    target = _device(manifest.get("device", "cpu")) if str(device) == "auto" else resolve_device(device)
    try:
        return Decoder(manifest, data, target).decode(manifest["value"])
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} makes no sense to this gramian, though its checksum is right ({error}): save the model anew"
        ) from error


def _device(saved: str) -> torch.device:
    try:
        return resolve_device(saved)
    except ValueError:
        return torch.device("cpu")
