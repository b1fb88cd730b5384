"""Container of a model file: a safetensors file with the manifest as its only metadata entry, and with checksums.

The name of an array is the SHA-256 of its content, so equal arrays are stored once; the manifest lists the arrays it
uses and contains its own SHA-256. A file with a changed byte is therefore never opened.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from gramian.core.atomic import atomic_file, check_target
from gramian.core.version import __version__

FORMAT = 4
"""Number of the file format, which increases whenever older files or older versions of gramian become incompatible."""
_KEY = "gramian"
_MOST_HEADER = 100_000_000
"""Largest header that safetensors accepts."""
_DTYPES = {
    "f8": "F64",
    "f4": "F32",
    "f2": "F16",
    "i8": "I64",
    "i4": "I32",
    "i2": "I16",
    "i1": "I8",
    "u8": "U64",
    "u4": "U32",
    "u2": "U16",
    "u1": "U8",
    "b1": "BOOL",
}
"""Formats of numbers by their name in numpy and in safetensors."""
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


class ModelFileError(ValueError):
    """A file cannot be opened as a model; the message contains the remedy."""


def digest(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array in C order: of its format, its shape and its bytes.

    >>> digest(np.zeros(2)) == digest(np.zeros((2, 1)))
    False
    """
    sha = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    sha.update(np.asarray(array, order="C").reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


def pack(path: Path, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write manifest and arrays to a new file, which replaces the old one when it is complete."""
    manifest = {"format": FORMAT, "gramian": __version__, **manifest}
    text = _text({"sha256": _checksum(manifest), **manifest})
    if len(text) > 0.9 * _MOST_HEADER:
        raise ValueError(
            f"the model has {len(text) / 1e6:.0f} MB of text and labels, too much for a model file: use joblib.dump"
        )
    target = check_target(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to save {target.name} in: create it first")
    with atomic_file(path) as file:
        _write_tensors(file, arrays, {_KEY: text})


def _write_tensors(file: BinaryIO, arrays: dict[str, NDArray[Any]], metadata: dict[str, str]) -> None:
    """Write arrays in the format of safetensors, one after the other; its own writer holds all of them twice."""
    # Larger numbers come first, so that every array begins at a multiple of its numbers' size.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))
    header: dict[str, Any] = {"__metadata__": metadata}
    at = 0
    for name, array in ordered:
        header[name] = {
            "dtype": _DTYPES[array.dtype.newbyteorder("=").str[1:]],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for _, array in ordered:
        # A contiguous copy in little-endian order, where the array is not one already.
        file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8).data)


def unpack(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return manifest and arrays of a file, after all checks."""
    _check_size(path)
    try:
        with safe_open(path, framework="np") as file:
            manifest = _manifest(path, (file.metadata() or {}).get(_KEY))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ModelFileError(
            f"{path} is cut short or damaged ({error}): copy or download it again, or save the model again"
        ) from error
    for name, array in arrays.items():
        if digest(array) != name:
            raise _wrong_checksum(path)
    return manifest, arrays


def _manifest(path: Path, text: str | None) -> dict[str, Any]:
    if text is None:
        raise ModelFileError(
            f"{path} is a safetensors file, but not one of gramian: gramian.load opens files written by model.save"
        )
    try:
        manifest: dict[str, Any] = json.loads(text)
        expected, written = manifest.pop("sha256"), manifest["format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _wrong_checksum(path) from error
    # The version comes first: a later format may have other checksums.
    if isinstance(written, int) and written > FORMAT:
        raise ModelFileError(
            f"{path} has format {written}, written by gramian {manifest.get('gramian')}; this is gramian "
            f"{__version__}, which reads formats up to {FORMAT}: update gramian to open it"
        )
    if _checksum(manifest) != expected:
        raise _wrong_checksum(path)
    if written != FORMAT:
        raise ModelFileError(
            f"{path} has format {written}, written by gramian {manifest.get('gramian')} before format {FORMAT}, which "
            f"this gramian {__version__} reads: load it with the version that wrote it, or fit the model again"
        )
    return manifest


def _check_size(path: Path) -> None:
    """Raise an error for a file that is not a model file or is cut short, by its first bytes and its size."""
    with path.open("rb") as file:
        start, size = file.read(64), path.stat().st_size
    length = int.from_bytes(start[:8], "little")
    if size == 0:
        raise ModelFileError(f"{path} is empty: save the model again")
    if start[8:9] != b"{" or length > _MOST_HEADER:
        if start.startswith(_PICKLES):
            raise ModelFileError(
                f"{path} is a pickle, not a gramian model file: pickles run code when opened, so gramian.load does "
                "not open them. If you trust it, open it with pickle or joblib, and store it with model.save"
            )
        raise ModelFileError(f"{path} is not a gramian model file: gramian.load opens files written by model.save")
    if size < 8 + length:
        raise ModelFileError(
            f"{path} is cut short: {size:,} bytes, and its header alone has {8 + length:,}. "
            "Copy or download it again, or save the model again"
        )


def _wrong_checksum(path: Path) -> ModelFileError:
    return ModelFileError(
        f"the checksum of {path} is wrong: its content has changed since it was saved. "
        "Copy or download it again, or save the model again"
    )


def _checksum(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(_text(manifest).encode()).hexdigest()


def _text(manifest: dict[str, Any]) -> str:
    # ASCII only: text that is not valid Unicode, such as half a surrogate pair, is stored as an escape.
    return json.dumps(manifest, separators=(",", ":"), allow_nan=False)
