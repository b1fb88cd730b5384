"""Control vectors: steering vectors as files that other programs read, ``.gguf`` for llama.cpp and ``.pt`` for torch.

A GGUF file is a header (magic, version, two counts), metadata as pairs of key and value, one entry per tensor, and the
tensors, each at a multiple of 32 bytes; numbers are little-endian. A control vector has the architecture
``controlvector`` and the tensors ``direction.N``, which llama.cpp adds to the output of block N (counted from 0) at
every position, times the scale on its command line. It accepts no ``direction.0``.
"""

from __future__ import annotations

import io
import os
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gramian.concepts.directions import LayerDirection
from gramian.concepts.steering import shifts_by_layer
from gramian.core.atomic import atomic_write

SUFFIXES = (".gguf", ".pt")
"""Suffixes of the files that can be written."""
_ALIGNMENT, _VERSION = 32, 3
_INT32, _STRING, _F32 = 5, 8, 0
"""Numbers of the types of metadata and of tensors in a GGUF file."""


def write_control_vector(
    path: str | os.PathLike[str],
    directions: Sequence[LayerDirection],
    *,
    strength: float = 1.0,
    layers: Literal["auto"] | Sequence[str] = "auto",
    model_hint: str = "llama",
) -> Path:
    """Write the vectors that :func:`gramian.concepts.steering.steer` adds as a file for other programs.

    The vectors are strength × typical length × direction. A program that adds the file at scale 1 therefore does the
    same as ``steer`` at this strength; with the default of 1, its scale is the strength.

    Parameters
    ----------
    path : path
        Its suffix is the format: ``.gguf`` is the control vector of llama.cpp (``--control-vector-scaled FILE SCALE``),
        ``.pt`` is a dict with ``"model_type"`` and ``"directions"`` (number of the block → vector), which
        ``torch.load(path, weights_only=True)`` reads.
    directions : sequence of LayerDirection
        One per layer. The number of a block is the last whole number in the name of its layer.
    strength : float
    layers : "auto" or sequence of str
        Layers to write, chosen as by ``steer``.
    model_hint : str
        Architecture of the model, such as ``"llama"`` or ``"qwen2"``; programs show it or compare it with the model.

    Returns
    -------
    Path
        Path of the file.

    >>> import tempfile
    >>> joy = [LayerDirection(f"model.layers.{i}", torch.ones(4) / 2, 6.0, torch.zeros(4), 0.9) for i in (1, 2)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_control_vector(f"{folder}/joy.pt", joy, strength=0.5)
    ...     torch.load(written, weights_only=True)["directions"][2]
    tensor([1.5000, 1.5000, 1.5000, 1.5000])
    """
    out = Path(path)
    if out.suffix not in SUFFIXES:
        raise ValueError(f"path must end in {' or '.join(SUFFIXES)}, got {out.name}")
    if strength == 0:
        raise ValueError("strength must not be 0: the vectors would all be 0")
    vectors: dict[int, Tensor] = {}
    for layer, shift in shifts_by_layer([(directions, strength)], layers).items():
        number = block_number(layer)
        if number in vectors:
            raise ValueError(f"layer {layer!r} and another one have the number {number}: name one of them in layers")
        vectors[number] = shift.detach().to("cpu", torch.float32).contiguous()
    if len({len(vector) for vector in vectors.values()}) > 1:
        raise ValueError("the layers have hidden states of different dimensions, which a control vector cannot have")
    if out.suffix == ".gguf" and 0 in vectors:
        raise ValueError("llama.cpp does not steer block 0: leave its layer out of layers, or write a .pt file")
    if out.suffix == ".gguf":
        atomic_write(out, gguf_bytes(vectors, model_hint))
    else:
        buffer = io.BytesIO()
        torch.save({"model_type": model_hint, "directions": vectors}, buffer)
        atomic_write(out, buffer.getvalue())
    return out


def block_number(layer: str) -> int:
    """Return the number of a block, the last whole number in the name of its layer.

    >>> block_number("model.layers.8"), block_number("transformer.h.11.mlp")
    (8, 11)
    """
    numbers = re.findall(r"(?<![^.])\d+(?![^.])", layer)
    if not numbers:
        raise ValueError(f"the layer {layer!r} has no number, and a control vector is written for numbered blocks")
    return int(numbers[-1])


def gguf_bytes(vectors: Mapping[int, Float[Tensor, " d"]], model_hint: str) -> bytes:
    """Return a control vector as the bytes of a GGUF file.

    >>> gguf_bytes({1: torch.ones(8)}, "llama")[:4]
    b'GGUF'
    """
    metadata = b"".join(
        [
            _text("general.architecture") + struct.pack("<I", _STRING) + _text("controlvector"),
            _text("controlvector.model_hint") + struct.pack("<I", _STRING) + _text(model_hint),
            _text("controlvector.layer_count") + struct.pack("<Ii", _INT32, len(vectors)),
        ]
    )
    entries, data = b"", b""
    for number, vector in sorted(vectors.items()):
        entries += _text(f"direction.{number}") + struct.pack("<IQIQ", 1, len(vector), _F32, len(data))
        data += _padded(vector.numpy().astype(np.dtype("<f4")).tobytes())
    return _padded(b"GGUF" + struct.pack("<IQQ", _VERSION, len(vectors), 3) + metadata + entries) + data


def _text(words: str) -> bytes:
    encoded = words.encode("utf-8")
    return struct.pack("<Q", len(encoded)) + encoded


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _ALIGNMENT)
