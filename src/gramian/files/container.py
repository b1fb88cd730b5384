"""The container: a safetensors file whose only metadata entry is the manifest, and whose checksums hold it together.

Each array goes by the SHA-256 of its content, so equal arrays are stored once; the manifest names the arrays it uses
and carries its own SHA-256. A file is therefore right from the first byte to the last, or it is not opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from gramian.core.version import __version__

FORMAT = 1
"""Raised when an older gramian could no longer read what a newer one writes."""
_KEY = "gramian"
_MOST_HEADER = 100_000_000
"""What safetensors accepts as a header."""
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


class ModelFileError(ValueError):
    """A file that cannot be opened as a model, and what to do about it."""


def digest(array: NDArray[Any]) -> str:
    """SHA-256 of an array in C order: its format, its shape and its bytes.

    >>> digest(np.zeros(2)) == digest(np.zeros((2, 1)))
    False
    """
    sha = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    sha.update(np.asarray(array, order="C").reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


def pack(path: Path, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write manifest and arrays to a new file, and only then put it in the place of the old one."""
    manifest = {"format": FORMAT, "gramian": __version__, **manifest}
    text = _text({"sha256": _checksum(manifest), **manifest})
    if len(text) > 0.9 * _MOST_HEADER:
        raise ValueError(f"the model holds {len(text) / 1e6:.0f} MB of text and labels, more than a model file can")
    # safetensors writes the memory of an array as it lies, whatever its strides.
    content = save({name: np.asarray(array, order="C") for name, array in arrays.items()}, metadata={_KEY: text})
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to save {target.name} in: make it first")
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def unpack(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Manifest and arrays of a file, after every check."""
    _check_size(path)
    try:
        with safe_open(path, framework="np") as file:
            manifest = _manifest(path, (file.metadata() or {}).get(_KEY))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ModelFileError(
            f"{path} is cut short or damaged ({error}): copy or download it again, or save the model anew"
        ) from error
    for name, array in arrays.items():
        if digest(array) != name:
            raise _wrong_checksum(path)
    return manifest, arrays


def _manifest(path: Path, text: str | None) -> dict[str, Any]:
    if text is None:
        raise ModelFileError(
            f"{path} is a safetensors file, but not one of gramian's: gramian.load opens what model.save has written"
        )
    try:
        manifest = json.loads(text)
        expected, written = manifest.pop("sha256"), manifest["format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _wrong_checksum(path) from error
    # First the version: how a later format is checked is its own affair.
    if isinstance(written, int) and written > FORMAT:
        raise ModelFileError(
            f"{path} has format {written}, written by gramian {manifest.get('gramian')}; this is gramian "
            f"{__version__}, which reads formats up to {FORMAT}: update gramian to open it"
        )
    if _checksum(manifest) != expected:
        raise _wrong_checksum(path)
    return manifest


def _check_size(path: Path) -> None:
    """Tell apart, from the first bytes and the size, what is no model file and what is half of one."""
    with path.open("rb") as file:
        start, size = file.read(64), path.stat().st_size
    length = int.from_bytes(start[:8], "little")
    if size == 0:
        raise ModelFileError(f"{path} is empty: save the model again")
    if start[8:9] != b"{" or length > _MOST_HEADER:
        if start.startswith(_PICKLES):
            raise ModelFileError(
                f"{path} is a pickle, not a gramian model file: pickles run code when opened, so gramian.load does "
                "not. If you trust it, open it with pickle or joblib, and keep it with model.save"
            )
        raise ModelFileError(f"{path} is not a gramian model file: gramian.load opens what model.save has written")
    if size < 8 + length:
        raise ModelFileError(
            f"{path} is cut short: {size:,} bytes, and its head alone has {8 + length:,}. "
            "Copy or download it again, or save the model anew"
        )


def _wrong_checksum(path: Path) -> ModelFileError:
    return ModelFileError(
        f"the checksum of {path} is wrong: its content has changed since it was saved. "
        "Copy or download it again, or save the model anew"
    )


def _checksum(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(_text(manifest).encode()).hexdigest()


def _text(manifest: dict[str, Any]) -> str:
    # ASCII only: text that is not valid Unicode, such as half a surrogate pair, survives as an escape.
    return json.dumps(manifest, separators=(",", ":"), allow_nan=False)
