"""Container of a model file: a safetensors file with the manifest as its only metadata entry, and with checksums.

The name of an array is the SHA-256 of its content, so equal arrays are stored once; the manifest lists the arrays it
uses and begins with the SHA-256 of the rest of its text. A file with a changed byte in one of them is never opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gramian.core.atomic import atomic_file, check_target
from gramian.core.version import __version__
from gramian.files.tensors import (
    DTYPES,
    MARGIN,
    MOST_HEADER,
    DamagedError,
    parse_json,
    parsed_bytes,
    read_arrays,
    read_header,
)

FORMAT = 4
"""Number of the file format, which increases whenever older files or older versions of gramian become incompatible."""
_KEY = "gramian"
_SEAL = re.compile(rb'{"sha256":"[0-9a-f]{64}",')
"""Begin of a manifest: the SHA-256 of the text without this entry."""
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
    if len(text) > 0.9 * MOST_HEADER or parsed_bytes(text.encode()) > len(text) + MARGIN:
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
            "dtype": DTYPES[array.dtype.newbyteorder("=").str[1:]],
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
    """Return manifest and arrays of a file, after all checks.

    The memory is at most four times the size of the file and 140 MB, whatever the file contains: lengths are checked
    before anything is allocated.
    """
    _check_start(path)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header = read_header(file, size)
            manifest = _manifest(path, header.pop("__metadata__", None))
            arrays = read_arrays(file, header, size)
    except DamagedError as error:
        raise ModelFileError(
            f"{path} is cut short or damaged ({error}): copy or download it again, or save the model again"
        ) from error
    for name, array in arrays.items():
        if digest(array) != name:
            raise _wrong_checksum(path)
    return manifest, arrays


def _manifest(path: Path, metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise ModelFileError(
            f"{path} is a safetensors file, but not one of gramian: gramian.load opens files written by model.save"
        )
    if len(metadata) > 1:
        raise DamagedError("metadata beside that of gramian, for which there is no checksum")
    text = metadata.pop(_KEY).encode("ascii", "replace")
    if parsed_bytes(text) > len(text) + MARGIN:
        raise DamagedError(f"a manifest of {len(text) / 1e6:.1f} MB that would take {parsed_bytes(text) / 1e6:,.0f} MB")
    sealed = _SEAL.match(text)
    try:
        manifest: dict[str, Any] = parse_json(text)
        expected, written = manifest.pop("sha256"), manifest["format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _wrong_checksum(path) from error
    # The version comes first: a later format may have other checksums.
    known = type(written) is int and written >= 1
    if known and written > FORMAT:
        raise ModelFileError(
            f"{path} has format {written}, written by gramian {manifest.get('gramian')}; this is gramian "
            f"{__version__}, which reads formats up to {FORMAT}: update gramian to open it"
        )
    if sealed is None or _digest_of_text(b"{" + text[sealed.end() :]) != expected:
        raise _wrong_checksum(path)
    if not known:
        raise ModelFileError(
            f"{path} has the format {written!r}, which no gramian has written: save the model again, or fit it again"
        )
    if written != FORMAT:
        raise ModelFileError(
            f"{path} has format {written}, written by gramian {manifest.get('gramian')} before format {FORMAT}, which "
            f"this gramian {__version__} reads: load it with the version that wrote it, or fit the model again"
        )
    return manifest


def _check_start(path: Path) -> None:
    """Raise an error for a file that is not a model file or is cut short, by its first bytes and its size."""
    if path.exists() and not path.is_file():  # opening a named pipe would wait for a writer
        raise ModelFileError(f"{path} is not a regular file: gramian.load opens files written by model.save")
    with path.open("rb") as file:
        start, size = file.read(64), path.stat().st_size
    length = int.from_bytes(start[:8], "little")
    if size == 0:
        raise ModelFileError(f"{path} is empty: save the model again")
    if start[8:9] != b"{" or length > MOST_HEADER:
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
    return _digest_of_text(_text(manifest).encode())


def _digest_of_text(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _text(manifest: dict[str, Any]) -> str:
    # ASCII only: text that is not valid Unicode, such as half a surrogate pair, is stored as an escape.
    return json.dumps(manifest, separators=(",", ":"), allow_nan=False)
