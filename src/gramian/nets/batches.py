"""Batches of (arguments, keyword arguments, target) from tensors, loaders and other iterables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

TARGET_KEYS = ("labels", "label", "targets", "target", "y")
OUTPUT_KEYS = ("logits", "last_hidden_state", "prediction", "out", "output")


@dataclass(frozen=True)
class Batch:
    """Arguments of one forward pass, and the target (None when the data has none).

    ``mask`` (size, positions) is False for padding; None where the data has no padding.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    target: Any
    size: int
    mask: Tensor | None = None

    @property
    def target_positions(self) -> int | None:
        """Number of positions of a target that may have one value per position: (n, T) or (n, T, c)."""
        y = self.target
        return int(y.shape[1]) if isinstance(y, Tensor) and y.ndim in (2, 3) and len(y) == self.size else None

    @property
    def unmasked_positions(self) -> int | None:
        """A number of positions whose padding is not known: those of a decoder that are as many as the encoder's."""
        if self.mask is None:
            return None
        T = int(self.mask.shape[1])
        decoder = [v for key, v in self.kwargs.items() if key.startswith("decoder_") and isinstance(v, Tensor)]
        return T if any(v.ndim > 1 and v.shape[1] == T for v in decoder) else None

    @property
    def can_be_cut(self) -> bool:
        """True unless the samples are stored one after the other with offsets, which slices would tear apart."""
        first = next(self.inputs(), None)
        return first is None or first.shape[:1] == (self.size,)

    def inputs(self) -> Iterator[Tensor]:
        """All tensors of the arguments."""
        return _tensors((self.args, self.kwargs))

    def tensors(self) -> Iterator[Tensor]:
        """All tensors of the arguments and the target."""
        return _tensors((self.args, self.kwargs, self.target))

    def first(self, count: int) -> Batch:
        """The first ``count`` samples of this batch."""
        return self._cut(0, count)

    def sample(self, index: int) -> Batch:
        """One sample of this batch, as a batch of size 1."""
        return self._cut(index, index + 1)

    def copied(self) -> Batch:
        """This batch with copies of its input tensors, which a forward pass may change in place."""
        copies: dict[int, Tensor] = {}

        def copy(value: object) -> object:
            # A tensor that is passed twice stays one tensor: some modules ask whether query and key are the same.
            if not isinstance(value, Tensor):
                return value
            if id(value) not in copies:
                copies[id(value)] = value.clone()
            return copies[id(value)]

        return self._with_inputs(copy)

    def with_first_repeated(self) -> Batch:
        """This batch with the first sample in place of all others.

        >>> Batch((torch.arange(3.0), torch.zeros(3)), {}, None, 3).with_first_repeated().args[0]
        tensor([0., 0., 0.])
        """

        def repeat(value: object) -> object:
            return value[:1].expand_as(value).clone() if self._has_samples(value) else value

        return self._with_inputs(repeat)

    def first_by_one_tensor(self) -> Iterator[Batch]:
        """The first sample, each time with one tensor cut and the others whole, which may have n rows by accident."""
        for chosen in [T for T in self.inputs() if self._has_samples(T)]:

            def cut(value: object, chosen: Tensor = chosen) -> object:
                return chosen[:1] if value is chosen else value

            changed = self._with_inputs(cut)
            yield replace(self.sample(0), args=changed.args, kwargs=changed.kwargs)

    def _with_inputs(self, change: Callable[[object], object]) -> Batch:
        return replace(self, args=_map_nested(self.args, change), kwargs=_map_nested(self.kwargs, change))

    def _has_samples(self, value: object) -> TypeGuard[Tensor]:
        return isinstance(value, Tensor) and value.shape[:1] == (self.size,)

    def _cut(self, start: int, stop: int) -> Batch:
        def cut(value: object) -> object:
            return value[start:stop] if self._has_samples(value) else value

        mask = None if self.mask is None else self.mask[start:stop]
        return replace(self._with_inputs(cut), target=_map_nested(self.target, cut), size=stop - start, mask=mask)


Unpack = Callable[[Any], tuple[Any, ...]]
"""A function that splits a batch into ``(args, kwargs, target)``, or ``(args, kwargs, target, number of samples)``."""
ReadMask = Callable[[Any], Any]
"""A function of a batch that returns its padding mask (n, positions), which is 0 or False at padding."""


def batches(
    data: object,
    *,
    device: torch.device | str = "cpu",
    batch_size: int = 256,
    keep_target: bool = False,
    unpack: Unpack | None = None,
    mask: ReadMask | None = None,
    max_samples: int | None = None,
) -> Iterator[Batch]:
    """Iterate over ``data``: a tensor (or array), a tuple of tensors ``(X, y)``, or any iterable of batches.

    A batch is a tensor, a tuple or list whose last element is the target, or a mapping whose target has the key
    ``labels`` (or ``label``, ``target``, ``y``). ``keep_target`` also leaves it among the keyword
    arguments, for models that compute their own loss. ``unpack(batch) -> (args, kwargs, target)`` overrides
    all of this. The number of samples is that of the first tensor, or that of the target where another tensor agrees
    with it (bags of token ids with offsets); ``unpack`` may return it as a fourth element. ``mask(batch)`` returns the
    padding mask, by default the entry ``attention_mask`` of a mapping.

    >>> [batch.size for batch in batches(torch.zeros(5, 2), batch_size=2)]
    [2, 2, 1]
    >>> next(iter(batches([{"x": torch.zeros(3, 2), "labels": torch.ones(3)}]))).target
    tensor([1., 1., 1.])
    """
    seen = 0
    for raw in _split(data, batch_size):
        batch = _read(raw, device, keep_target, unpack, mask)
        if max_samples is not None and seen + batch.size > max_samples:
            if not batch.can_be_cut:
                return
            batch = batch.first(max_samples - seen)
        if batch.size:
            yield batch
        seen += batch.size
        if max_samples is not None and seen >= max_samples:
            return


def can_repeat(data: object) -> bool:
    """True if ``data`` can be iterated over a second time; False for generators and iterators.

    >>> can_repeat([torch.zeros(2, 2)]), can_repeat(iter([torch.zeros(2, 2)]))
    (True, False)
    """
    return not isinstance(data, Iterator)


def _split(data: object, batch_size: int) -> Iterable[object]:
    if isinstance(data, Tensor | np.ndarray):
        return torch.as_tensor(data).split(batch_size)
    if isinstance(data, tuple) and data and all(isinstance(part, Tensor | np.ndarray) for part in data):
        parts = [torch.as_tensor(part) for part in data]
        if len({part.shape[0] for part in parts}) > 1:
            raise ValueError(
                f"data is a tuple of arrays with {[part.shape[0] for part in parts]} rows; they must agree "
                "(pass a list if each element is a batch of its own)"
            )
        return zip(*(part.split(batch_size) for part in parts), strict=True)
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise ValueError(
            f"data must be a tensor, a tuple (X, y) or an iterable of batches, got {type(data).__name__}"
            + (": wrap a single dict batch in a list" if isinstance(data, Mapping) else "")
        )
    return data


def _read(
    raw: object, device: torch.device | str, keep_target: bool, unpack: Unpack | None, mask: ReadMask | None
) -> Batch:
    size: int | None = None
    if unpack is not None:
        unpacked = unpack(raw)
        if len(unpacked) not in (3, 4):
            raise ValueError(
                f"unpack returned {len(unpacked)} values: return (args, kwargs, target), or (args, kwargs, target, "
                "number of samples)"
            )
        args, kwargs, target = unpacked[:3]
        size = int(unpacked[3]) if len(unpacked) == 4 else None
        args, kwargs = tuple(args), dict(kwargs)
    elif isinstance(raw, Mapping):
        kwargs = dict(raw)
        key = next((key for key in TARGET_KEYS if key in kwargs), None)
        target = None if key is None else kwargs[key] if keep_target else kwargs.pop(key)
        args = ()
    elif isinstance(raw, tuple | list):
        args, kwargs, target = (tuple(raw), {}, None) if len(raw) == 1 else (tuple(raw[:-1]), {}, raw[-1])
    else:
        args, kwargs, target = (raw,), {}, None

    def move(value: object) -> object:
        if isinstance(value, np.ndarray):
            value = torch.as_tensor(value)
        return value.to(device) if isinstance(value, Tensor) else value

    args, kwargs, target = _map_nested(args, move), _map_nested(kwargs, move), _map_nested(target, move)
    first = next(_tensors((args, kwargs)), None)
    if first is None or first.ndim == 0:
        raise ValueError(
            f"a batch of type {type(raw).__name__} holds no tensor with a batch dimension; pass "
            "options=InspectOptions(unpack=lambda batch: (args, kwargs, target))"
        )
    if size is None:
        size = _sample_count((args, kwargs), target)
    padding = _as_mask(kwargs.get("attention_mask"), size) if mask is None else _checked_mask(move(mask(raw)), size)
    return Batch(args, kwargs, target, size, padding)


def _sample_count(inputs: object, target: object) -> int:
    """The length of the first tensor, or of the target where another input agrees with it and the first does not."""
    lengths = [int(T.shape[0]) for T in _tensors(inputs) if T.ndim]
    if isinstance(target, Tensor) and target.ndim and len(target) in lengths:
        return len(target)
    return lengths[0]


def _as_mask(value: object, size: int) -> Tensor | None:
    """A padding mask (n, positions) of whole numbers or booleans; None for anything else, such as additive masks."""
    fits = isinstance(value, Tensor) and value.ndim == 2 and len(value) == size and not value.is_floating_point()
    return value.bool() if fits and isinstance(value, Tensor) else None


def _checked_mask(value: object, size: int) -> Tensor:
    found = _as_mask(value, size)
    if found is None:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(
            f"mask must return whole numbers or booleans of shape (n, positions) for {size} samples, got {shape}"
        )
    return found


def explain_types(batch: Batch, dtype: torch.dtype) -> str | None:
    """Advice where the floating-point data of a batch has another type than the model, otherwise None.

    >>> explain_types(Batch((torch.zeros(2, dtype=torch.float64),), {}, None, 2), torch.float32)
    'the data is torch.float64 and the model torch.float32: convert the data with .to(torch.float32)'
    """
    others = {T.dtype for T in batch.inputs() if T.is_floating_point()} - {dtype}
    if not others:
        return None
    names = ", ".join(sorted(str(other) for other in others))
    return f"the data is {names} and the model {dtype}: convert the data with .to({dtype})"


def _map_nested(value: Any, change: Callable[[object], object]) -> Any:
    if isinstance(value, Mapping):
        return {key: _map_nested(item, change) for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)([_map_nested(item, change) for item in value])
    if isinstance(value, tuple) and hasattr(value, "_fields") and not isinstance(value, PackedSequence):
        return type(value)(*(_map_nested(item, change) for item in value))
    if isinstance(value, tuple | list):
        return value
    return change(value)


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)


def output_tensor(output: object, size: int) -> Tensor:
    """The model's output as one tensor whose first dimension is the batch.

    A mapping, or an object with attributes such as a dataclass, gives its logits (or last hidden state), a tuple its
    first tensor.

    >>> output_tensor({"logits": torch.zeros(2, 3), "aux": None}, 2).shape
    torch.Size([2, 3])
    """
    chosen = output
    if isinstance(output, Mapping):
        key = next((key for key in OUTPUT_KEYS if isinstance(output.get(key), Tensor)), None)
        chosen = output[key] if key is not None else next(_tensors(output), None)
    elif isinstance(output, tuple | list):
        chosen = next(_tensors(output), None)
    elif not isinstance(output, Tensor):
        found = (getattr(output, key, None) for key in OUTPUT_KEYS)
        chosen = next((value for value in found if isinstance(value, Tensor)), None)
    if not isinstance(chosen, Tensor) or not chosen.is_floating_point():
        raise ValueError(
            f"the model returned {type(output).__name__}, in which no floating-point tensor was found; pass "
            "options=InspectOptions(output=lambda result: tensor)"
        )
    if chosen.ndim == 0 or chosen.shape[0] != size:
        raise ValueError(
            f"the model's output has shape {tuple(chosen.shape)} for a batch of {size}: its first dimension must be "
            "the batch; pass options=InspectOptions(output=lambda result: tensor) to choose or rearrange it"
        )
    return chosen
