"""Encoding of values as a manifest: JSON for small values, arrays for the others, each object and each array once.

JSON's own values represent themselves; every other value is an object with one key, the name of its kind, as in
``{"tuple": [1, 2]}``. Objects and arrays have numbers by which they are referred to, so that a shared object is shared
after loading too.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gramian.files.container import digest
from gramian.files.registry import name_of

Json = Any
STORED_KINDS = "biuf"
"""Kinds of NumPy formats that are stored as they are; dates are stored as integers, text in the manifest."""
TORCH_FORMATS: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
}


class Encoder:
    """Encoder that collects the objects and arrays of the values it encodes.

    >>> encoder = Encoder()
    >>> encoder.encode({"a": (1, float("inf"))}, "value")
    {'dict': [['a', {'tuple': [1, {'float': 'inf'}]}]]}
    """

    def __init__(self) -> None:
        self.objects: list[Json] = []
        self.arrays: list[Json] = []
        self.data: dict[str, NDArray[Any]] = {}
        self.device = "cpu"
        self._numbers: dict[int, Json] = {}
        self._open: set[int] = set()
        self._alive: list[Any] = []
        """Objects numbered by their identity, held here so that no other object gets the same address."""

    def encode(self, value: Any, where: str) -> Json:
        """Return the value as JSON; ``where`` is its path, for error messages."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._items(value, where)
        if kind is tuple:
            return {"tuple": self._items(value, where)}
        if kind in (set, frozenset):
            return {kind.__name__: self._items(sorted(value, key=repr), where)}
        if kind is dict:
            pairs = value.items()
            return {
                "dict": [[self.encode(k, f"{where} key {k!r}"), self.encode(v, f"{where}[{k!r}]")] for k, v in pairs]
            }
        if kind is slice:
            return {"slice": self._items([value.start, value.stop, value.step], where)}
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if isinstance(value, np.dtype) and value.kind in STORED_KINDS + "mMUO":
            return {"dtype": value.str}
        if isinstance(value, torch.dtype):
            return {"torch_dtype": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": value.type}
        if kind in (np.ndarray, np.memmap, Tensor) or name_of(kind) is not None:
            return self._once(value, where)
        raise ValueError(
            f"{where} is a {kind.__module__}.{kind.__qualname__}, which a model file cannot hold: it holds numbers, "
            "text, containers, arrays and objects of gramian. Replace it, or use joblib.dump for classes of your own"
        )

    def _items(self, values: Any, where: str) -> list[Json]:
        return [self.encode(value, f"{where}[{i}]") for i, value in enumerate(values)]

    def _scalar(self, value: np.generic, where: str) -> Json:
        if value.dtype.kind in "mM":
            return {"scalar": [value.dtype.str, int(value.astype(np.int64))]}
        if value.dtype.kind != "U" and not _storable(value.dtype):
            raise _unfit(where, value.dtype)
        return {"scalar": [value.dtype.str, self.encode(value.item(), where)]}

    def _once(self, value: Any, where: str) -> Json:
        key = id(value)
        if key in self._open:
            raise ValueError(f"{where} contains itself, which a model file cannot represent")
        if key not in self._numbers:
            self._open.add(key)
            self._alive.append(value)
            is_array = isinstance(value, np.ndarray | Tensor)
            self._numbers[key] = self._array(value, where) if is_array else self._object(value, where)
            self._open.remove(key)
        return self._numbers[key]

    def _object(self, value: Any, where: str) -> Json:
        if dataclasses.is_dataclass(value):
            state = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        else:
            state = dict(sorted((value.__getstate__() or {}).items()))  # the order of assignment must not matter
        encoded = {name: self.encode(part, f"{where}.{name}") for name, part in state.items()}
        self.objects.append({"type": name_of(type(value)), "state": encoded})
        return {"object": len(self.objects) - 1}

    def _array(self, value: NDArray[Any] | Tensor, where: str) -> Json:
        if isinstance(value, Tensor):
            if value.dtype not in TORCH_FORMATS.values() or value.layout != torch.strided:
                raise _unfit(where, value.dtype)
            if value.device.type != "cpu":
                self.device = value.device.type
            record = {"torch": True, **self._stored(value.detach().cpu().numpy())}
        elif value.dtype.kind in "OU":
            record = {
                "dtype": value.dtype.str,
                "shape": list(value.shape),
                "items": self._items(value.ravel().tolist(), where),
            }
        elif value.dtype.kind in "mM":
            native = np.asarray(value, dtype=value.dtype.newbyteorder("="))
            record = {"dtype": native.dtype.str, **self._stored(native.view(np.int64))}
        elif _storable(value.dtype):
            record = self._stored(np.asarray(value, dtype=value.dtype.newbyteorder("=")))
        else:
            raise _unfit(where, value.dtype)
        self.arrays.append(record)
        return {"array": len(self.arrays) - 1}

    def _stored(self, array: NDArray[Any]) -> dict[str, Json]:
        # The memory order is preserved: a product with a matrix in another order may differ in its last digit.
        turned = array.flags.f_contiguous and not array.flags.c_contiguous
        array = np.asarray(array.T if turned else array, order="C")
        name = digest(array)
        self.data[name] = array
        return {"data": name, "turned": True} if turned else {"data": name}


def _storable(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in STORED_KINDS and dtype.itemsize <= 8


def _unfit(where: str, dtype: Any) -> ValueError:
    return ValueError(f"{where} has the format {dtype}, which a model file cannot hold: convert it to float64 or int64")
