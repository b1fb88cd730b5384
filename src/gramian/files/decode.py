"""Decoding of a manifest to values: only registered types are created."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gramian.core.version import __version__
from gramian.files.container import ModelFileError
from gramian.files.encode import STORED_KINDS, TORCH_FORMATS, Json
from gramian.files.registry import type_of


class Decoder:
    """Decoder of a manifest, which creates each object and each array when it is first referred to.

    >>> manifest = {"objects": [], "arrays": []}
    >>> Decoder(manifest, {}, torch.device("cpu")).decode({"tuple": [1, {"float": "inf"}]})
    (1, inf)
    """

    def __init__(self, manifest: dict[str, Any], data: dict[str, NDArray[Any]], device: torch.device) -> None:
        self._manifest = manifest
        self._data = data
        self._device = device
        self._made: dict[tuple[str, int], Any] = {}

    def decode(self, node: Json) -> Any:
        """Return the value of a node."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        ((kind, content),) = node.items()
        if kind == "float":
            return float(content)
        if kind in ("tuple", "set", "frozenset"):
            return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](self.decode(content))
        if kind == "dict":
            return {self.decode(key): self.decode(value) for key, value in content}
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
        key = (kind, content)
        if key not in self._made:
            self._made[key] = self._object(content) if kind == "object" else self._array(content)
        return self._made[key]

    def _object(self, number: int) -> Any:
        record = self._manifest["objects"][number]
        cls = type_of(record["type"])
        if cls is None:
            raise self._unknown(f"an object of type {record['type']!r}")
        state = {name: self.decode(part) for name, part in record["state"].items()}
        if not dataclasses.is_dataclass(cls):
            made = cls()  # arguments that the file does not contain have their defaults
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
        return value

    def _array(self, number: int) -> Any:
        record = self._manifest["arrays"][number]
        if "items" in record:
            array = np.empty(len(record["items"]), dtype=_dtype(record["dtype"]))
            for i, item in enumerate(record["items"]):  # one by one, since an item may be a sequence
                array[i] = self.decode(item)
            return array.reshape(record["shape"])
        stored = self._data[record["data"]]
        if record.get("torch"):
            try:
                # A copy: not a view of the file, and aligned as torch requires.
                tensor = torch.from_numpy(stored).clone().to(self._device)
            except TypeError as error:
                raise ModelFileError(
                    f'the model cannot be moved to {self._device} ({error}): load it with device="cpu"'
                ) from error
            return tensor.permute(*range(tensor.ndim)[::-1]) if record.get("turned") else tensor
        array = stored.copy()
        if "dtype" in record:
            array = array.view(_dtype(record["dtype"]))
        return array.T if record.get("turned") else array

    def _unknown(self, what: str) -> ModelFileError:
        return ModelFileError(
            f"the file contains {what}, which gramian {__version__} does not know; it was written by gramian "
            f"{self._manifest.get('gramian')}: use that version, or a newer one"
        )


def _dtype(text: str) -> np.dtype[Any]:
    dtype = np.dtype(text)
    if dtype.kind not in STORED_KINDS + "mMUO":
        raise ValueError(f"{text!r} is not a number format of model files")
    return dtype


def _moment(dtype: str, count: int) -> Any:
    return np.array(count, dtype=np.int64).view(_dtype(dtype))[()]
