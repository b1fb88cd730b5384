"""Decoding of a manifest to values: only registered types are created, and the size of the file bounds the memory."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gramian.core.version import __version__
from gramian.files.container import ModelFileError
from gramian.files.encode import STORED_KINDS, TORCH_FORMATS, Json
from gramian.files.fields import check_fields
from gramian.files.registry import type_of

_SPARE = 32_000_000
"""Bytes that values may take beyond twice the size of the arrays in the file."""
_OBJECT_BYTES = 1000
"""Bytes that an object without its values takes at most; the estimators have many arguments."""
_FEW = 1000
_REFERENCES = 1_000_000
"""Values that may be reached from the root, with shared objects counted at every reference."""


class Decoder:
    """Decoder of a manifest, which creates each object and each array when it is first referred to.

    Two records may refer to the same stored array. The second then has a copy of its own while copies and text together
    take less memory than the stored arrays and 32 MB; after that they share memory. Text that would take more is
    refused.

    >>> manifest = {"objects": [], "arrays": []}
    >>> Decoder(manifest, {}, torch.device("cpu")).decode({"tuple": [1, {"float": "inf"}]})
    (1, inf)
    """

    def __init__(self, manifest: dict[str, Any], data: dict[str, NDArray[Any]], device: torch.device) -> None:
        self._manifest = manifest
        self._data = data
        self._device = device
        self._made: dict[tuple[str, int], Any] = {}
        self._sizes: dict[tuple[str, int], int] = {}
        self._reached = 0
        self._spare = _SPARE + sum(array.nbytes for array in data.values())
        self._used: set[str] = set()

    def decode(self, node: Json) -> Any:
        """Return the value of a node."""
        self._reach(1)
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        ((kind, content),) = node.items()
        if kind == "float":
            return float(content)
        if kind == "tuple":
            return tuple(self.decode(content))
        if kind in ("set", "frozenset"):
            return {"set": set, "frozenset": frozenset}[kind](self._keys(content))
        if kind == "dict":
            keys = self._keys([key for key, _ in content])
            return {key: self.decode(value) for key, (_, value) in zip(keys, content, strict=True)}
        if kind == "slice":
            return slice(*self.decode(content))
        if kind == "scalar":
            return _dtype(content[0]).type(self.decode(content[1])) if content[0][1] not in "mM" else _moment(*content)
        if kind == "dtype":
            return _dtype(content)
        if kind == "torch_dtype":
            return TORCH_FORMATS[content]
        if kind == "device":
            return self._device
        if kind not in ("object", "array"):
            raise self._unknown(f"a kind of value {kind!r}")
        return self._numbered(kind, content)

    def _numbered(self, kind: str, number: Any) -> Any:
        if type(number) is not int or number < 0:
            raise ValueError(f"{number!r} is no number of an {kind}")
        key = (kind, number)
        if key in self._made:
            self._reach(self._sizes[key])
        else:
            before = self._reached
            self._made[key] = self._object(number) if kind == "object" else self._array(number)
            self._sizes[key] = self._reached - before
        return self._made[key]

    def _reach(self, values: int) -> None:
        # Objects that each refer twice to the next one are few, but printing or comparing them would take for ever.
        self._reached += values
        if self._reached > _REFERENCES + 10 * len(self._manifest) + 10 * self._spare:
            raise ModelFileError("the objects of the file refer to one another too many times")

    def _spend(self, size: int) -> None:
        self._spare -= size
        if self._spare < 0:
            raise ModelFileError("the file would take much more memory than it has bytes")

    def _keys(self, nodes: Json) -> list[Any]:
        """Return values to be hashed: plain ones, and not many with equal hashes, which would take a long time."""
        keys = self.decode(nodes)
        if not all(map(_is_plain, keys)):
            raise TypeError("an object or an array cannot be a key")
        if len(keys) > _FEW and len(set(map(hash, keys))) < len(keys) / 2:
            raise ValueError("most keys of a dictionary or members of a set have the same hash")
        return list(keys)

    def _object(self, number: int) -> Any:
        record = self._manifest["objects"][number]
        cls = type_of(record["type"])
        if cls is None:
            raise self._unknown(f"an object of type {record['type']!r}")
        self._spend(_OBJECT_BYTES)
        state = {name: self.decode(part) for name, part in record["state"].items()}
        if not dataclasses.is_dataclass(cls):
            made = cls()  # arguments that the file does not contain have their defaults
            arguments = inspect.signature(cls).parameters
            for name in state:
                if name not in arguments and (name.startswith("_") or hasattr(cls, name)):
                    raise self._unknown(f"{record['type']} with an attribute {name!r}")
            vars(made).update(state)
            return made
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for name in state:
            if name not in fields:
                raise self._unknown(f"{record['type']} with a field {name!r}")
        value = cls(**{name: part for name, part in state.items() if fields[name].init})
        for name, part in state.items():
            if not fields[name].init:
                object.__setattr__(value, name, part)
        check_fields(value)
        return value

    def _array(self, number: int) -> Any:
        record = self._manifest["arrays"][number]
        if "items" in record:
            return self._items(record)
        name = record["data"]
        stored = self._data[name]
        if name in self._used and stored.nbytes <= self._spare:
            self._spend(stored.nbytes)
            stored = torch.from_numpy(stored.reshape(-1).view(np.uint8)).clone().numpy().view(stored.dtype)
            stored = stored.reshape(self._data[name].shape)
        self._used.add(name)
        if record.get("torch"):
            try:
                tensor = torch.from_numpy(stored).to(self._device)
            except TypeError as error:
                raise ModelFileError(
                    f'the model cannot be moved to {self._device} ({error}): load it with device="cpu"'
                ) from error
            return tensor.permute(*range(tensor.ndim)[::-1]) if record.get("turned") else tensor
        array = stored.view(_dtype(record["dtype"])) if "dtype" in record else stored
        return array.T if record.get("turned") else array

    def _items(self, record: dict[str, Any]) -> NDArray[Any]:
        items, dtype = record["items"], _dtype(record["dtype"])
        self._spend(len(items) * dtype.itemsize)  # before the array is made: one text may have any length
        array = np.empty(len(items), dtype=dtype)
        for i, item in enumerate(items):  # one by one, since an item may be a sequence
            array[i] = self.decode(item)
        return array.reshape(record["shape"])

    def _unknown(self, what: str) -> ModelFileError:
        return ModelFileError(
            f"the file contains {what}, which gramian {__version__} does not know; it was written by gramian "
            f"{self._manifest.get('gramian')}: use that version, or a newer one"
        )


def _is_plain(key: Any) -> bool:
    if isinstance(key, tuple | frozenset):
        return all(map(_is_plain, key))
    return key is None or isinstance(key, bool | int | float | str | np.generic)


def _dtype(text: str) -> np.dtype[Any]:
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no number format")
    dtype = np.dtype(text)
    if dtype.kind not in STORED_KINDS + "mMUO":
        raise ValueError(f"{text!r} is not a number format of model files")
    return dtype


def _moment(dtype: str, count: int) -> Any:
    return np.array(count, dtype=np.int64).view(_dtype(dtype))[()]
