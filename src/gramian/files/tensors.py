"""Reading of a safetensors file whose size bounds the memory: every length is checked before anything is allocated.

The format: eight bytes with the length of the header, the header in JSON, and then the bytes of the arrays. A header
names the format, the shape and the place of each array; together the arrays fill the file exactly.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any, BinaryIO, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray

MOST_HEADER = 100_000_000
"""Largest header that readers of safetensors accept."""
DTYPES = {
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
_NUMPY = {theirs: np.dtype(f"<{own}") for own, theirs in DTYPES.items()}
_BYTES_PER_MARK = ((b"{", 230), (b"[", 110), (b",", 70))
"""Upper bounds of the memory of a parsed object, list and value, by the mark that each has in JSON."""
MARGIN = 140_000_000
"""Memory that a parsed header may take beyond four times its length."""
_PARTS = {"dtype", "shape", "data_offsets"}


class DamagedError(ValueError):
    """The content is not that of a complete safetensors file; the message says why."""


def parsed_bytes(text: bytes) -> int:
    """Return an upper bound of the memory that JSON takes when parsed, beside the text itself.

    >>> parsed_bytes(b'{"a": [1, 2]}')
    410
    """
    return sum(text.count(mark) * size for mark, size in _BYTES_PER_MARK)


def parse_json(text: str | bytes) -> Any:
    """Parse JSON without NaN and infinities, which its standard does not have.

    >>> parse_json("[1, NaN]")
    Traceback (most recent call last):
    ValueError: NaN is no number of JSON
    """

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number of JSON")

    return json.loads(text, parse_constant=refuse)


def read_header(file: BinaryIO, size: int) -> dict[str, Any]:
    """Return the header of an open file of that size; the file is then at the first byte of the arrays."""
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= min(MOST_HEADER, size - 8):
        raise DamagedError(f"a header of {length:,} bytes in a file of {size:,}")
    text = file.read(length)
    if not text.isascii():  # letters beyond ASCII are escaped; one of them would take four bytes for every other letter
        raise DamagedError("letters in the header that are not ASCII")
    if parsed_bytes(text) > length + MARGIN:
        raise DamagedError(f"a header of {length / 1e6:.1f} MB that would take {parsed_bytes(text) / 1e6:,.0f} MB")
    try:
        header = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError("the header is not JSON") from error
    if not isinstance(header, dict):
        raise DamagedError("the header is not an object")
    return header


def read_arrays(file: BinaryIO, header: dict[str, Any], size: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that is at its first array; each has memory of its own, aligned as torch's."""
    entries = [(name, *_entry(name, value)) for name, value in header.items() if name != "__metadata__"]
    entries.sort(key=lambda entry: entry[3])
    edges = [0, *(edge for *_, start, end in entries for edge in (start, end)), size - file.tell()]
    if any(one != other for one, other in list(pairwise(edges))[::2]):
        raise DamagedError("the arrays do not fill the file, or overlap")
    arrays = {}
    for name, dtype, shape, start, end in entries:
        memory = torch.empty(end - start, dtype=torch.uint8).numpy()
        if file.readinto(memory) != end - start:  # type: ignore[attr-defined]
            raise DamagedError(f"the array {name!r} is cut short")
        arrays[name] = memory.view(dtype).reshape(shape)
    return arrays


def _entry(name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """Return format, shape, start and end of an array, checked against one another."""
    if not isinstance(entry, dict) or set(entry) != _PARTS or not isinstance(entry["dtype"], str):
        raise DamagedError(f"the entry of the array {name!r} has other parts than {', '.join(sorted(_PARTS))}")
    dtype, shape, place = _NUMPY.get(entry["dtype"]), entry["shape"], entry["data_offsets"]
    if dtype is None or not (_are_sizes(shape) and _are_sizes(place) and len(place) == 2):
        raise DamagedError(f"the entry of the array {name!r} is not valid")
    # An empty array with a huge side is not made by any program, and numpy cannot hold it.
    if len(shape) > 32 or math.prod(n or 1 for n in shape) * dtype.itemsize >= 2**62:
        raise DamagedError(f"the shape of the array {name!r} is not valid")
    if math.prod(shape) * dtype.itemsize != place[1] - place[0]:
        raise DamagedError(f"the shape of the array {name!r} disagrees with its length")
    return dtype, tuple(shape), place[0], place[1]


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(n) is int and 0 <= n < 2**62 for n in values)
