"""Stored weights by name, read one tensor at a time: state dicts, safetensors files and shards, GGUF files."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

_DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
"""Types of a safetensors file that torch has on the CPU."""


class WeightSource(ABC):
    """Tensors by name, of which :meth:`tensor` reads one; nothing else is held in memory."""

    in_order: bool = False
    """True where tensors are in the order of the network; files sort them by name."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of all tensors, in the order of the source."""

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor without reading it."""

    @abstractmethod
    def dtype(self, name: str) -> str:
        """Return the stored type of a tensor, such as ``"bfloat16"``."""

    @abstractmethod
    def is_float(self, name: str) -> bool:
        """Return whether a tensor holds floating-point numbers once it is read."""

    @abstractmethod
    def tensor(self, name: str) -> Tensor:
        """Read one tensor to the CPU, in its stored type where torch has that."""


class StateDictSource(WeightSource):
    """A state dict in memory.

    >>> source = StateDictSource({"a": torch.zeros(2, 3)})
    >>> source.names(), source.shape("a"), source.dtype("a")
    (['a'], (2, 3), 'float32')
    """

    in_order = True

    def __init__(self, weights: Mapping[str, Any]) -> None:
        self._weights = {name: value for name, value in weights.items() if isinstance(value, Tensor)}

    def names(self) -> list[str]:
        return list(self._weights)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._weights[name].shape)

    def dtype(self, name: str) -> str:
        return str(self._weights[name].dtype).removeprefix("torch.")

    def is_float(self, name: str) -> bool:
        return self._weights[name].is_floating_point()

    def tensor(self, name: str) -> Tensor:
        return self._weights[name].detach().cpu()


class RenamedSource(WeightSource):
    """The tensors of another source under other names, given as new name → name in that source.

    >>> source = RenamedSource(StateDictSource({"module.a": torch.zeros(2, 3)}), {"a": "module.a"})
    >>> source.names(), source.shape("a")
    (['a'], (2, 3))
    """

    def __init__(self, source: WeightSource, names: Mapping[str, str]) -> None:
        self._source, self._names, self.in_order = source, dict(names), source.in_order

    def names(self) -> list[str]:
        return list(self._names)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._source.shape(self._names[name])

    def dtype(self, name: str) -> str:
        return self._source.dtype(self._names[name])

    def is_float(self, name: str) -> bool:
        return self._source.is_float(self._names[name])

    def tensor(self, name: str) -> Tensor:
        return self._source.tensor(self._names[name])


@dataclass(frozen=True)
class _Entry:
    """The place of a tensor in a safetensors file."""

    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int
    size: int


class SafetensorsSource(WeightSource):
    """Tensors of one or several safetensors files.

    A tensor is read from its place in the file. The file is not mapped into memory, so the memory of a process grows
    with one tensor only, not with the file.
    """

    def __init__(self, paths: Sequence[Path], only: Mapping[str, Path] | None = None) -> None:
        self._entries: dict[str, _Entry] = {}
        for path in paths:
            for name, entry in _read_header(path).items():
                if only is not None and only.get(name) != path:
                    continue
                if name in self._entries:
                    raise ValueError(f"{name} is in {self._entries[name].path} and in {path}: keep one of the files")
                self._entries[name] = entry
        absent = [name for name in only or () if name not in self._entries]
        if absent:
            raise ValueError(f"{(only or {})[absent[0]]} has no {absent[0]}, which the index expects: copy it again")

    def names(self) -> list[str]:
        return list(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._entries[name].shape

    def dtype(self, name: str) -> str:
        found = self._entries[name].dtype
        return str(_DTYPES[found]).removeprefix("torch.") if found in _DTYPES else found

    def is_float(self, name: str) -> bool:
        found = _DTYPES.get(self._entries[name].dtype)
        return found is not None and found.is_floating_point

    def tensor(self, name: str) -> Tensor:
        entry = self._entries[name]
        buffer = bytearray(entry.size)
        with entry.path.open("rb") as file:
            file.seek(entry.start)
            got = file.readinto(buffer)
        if got != entry.size:
            raise ValueError(f"{entry.path} ends inside {name}: it is cut short, copy it again")
        if not entry.size:
            return torch.empty(entry.shape, dtype=_DTYPES[entry.dtype])
        return torch.frombuffer(buffer, dtype=_DTYPES[entry.dtype]).reshape(entry.shape)


def _read_header(path: Path) -> dict[str, _Entry]:
    try:
        with safe_open(path, framework="pt"):
            pass  # safetensors checks the header, the offsets and the length of the file
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"{path} is cut short or not a safetensors file ({error}): copy it again") from error
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(length))
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            found[name] = _Entry(path, about["dtype"], tuple(about["shape"]), 8 + length + begin, end - begin)
    return found


class GgufSource(WeightSource):
    """Tensors of a GGUF file, which are dequantised to float32 one by one; needs the package gguf.

    Names are those of the file, such as ``blk.0.attn_q.weight``.
    """

    def __init__(self, path: Path) -> None:
        try:
            from gguf import GGUFReader
        except ImportError as error:
            raise ImportError(f'{path} needs the package gguf: pip install "gramian[hf]"') from error
        try:
            self._tensors = {tensor.name: tensor for tensor in GGUFReader(path).tensors}
        except (ValueError, IndexError, KeyError) as error:
            raise ValueError(f"{path} cannot be read as GGUF ({error}): copy it again") from error

    def names(self) -> list[str]:
        return list(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(int(size) for size in reversed(self._tensors[name].shape))  # GGUF lists the fastest axis first

    def dtype(self, name: str) -> str:
        return str(self._tensors[name].tensor_type.name)

    def is_float(self, name: str) -> bool:
        return not self.dtype(name).startswith("I") or self.dtype(name).startswith("IQ")

    def tensor(self, name: str) -> Tensor:
        from gguf import dequantize

        found = self._tensors[name]
        # float32 tensors are parts of the mapped file, which cannot be written to, and are copied
        values = np.require(dequantize(found.data, found.tensor_type), np.float32, "W")
        return torch.from_numpy(values).reshape(self.shape(name))


def count_entries(source: WeightSource) -> int:
    """Return the number of entries of all tensors of a source.

    >>> count_entries(StateDictSource({"a": torch.zeros(2, 3), "b": torch.zeros(4)}))
    10
    """
    return sum(math.prod(source.shape(name)) for name in source.names())
