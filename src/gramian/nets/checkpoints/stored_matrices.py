"""The weight matrices of a checkpoint in normal form ``Z = H Wᵀ``, found by the names and shapes of its tensors."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

import torch
from torch import Tensor, nn

from gramian.nets.checkpoints.opening import OpenCheckpoint
from gramian.nets.checkpoints.sources import WeightSource
from gramian.nets.layers import find_layers, unwrap

_EMBEDDING = re.compile(r"(^|\.)(\w*embed\w*|wte|wpe|token_embd|position_embd)(\.|$)")
_EXPERTS = re.compile(r"expert|_exps(\.|$)")
_TRANSPOSED = re.compile(r"(^|\.)(c_attn|c_proj|c_fc|q_attn)$")
"""Layers of GPT-2 and its relatives that store their weight as (inputs, outputs)."""
_TRANSPOSED_MODELS = ("gpt2", "openai-gpt", "imagegpt", "decision_transformer")
_SCALES = ("_scale_inv", "_scale")
"""Suffixes of the tensor with the scales of float8 weights."""
_PAIRS = (
    ("fc1", "fc2"),
    ("linear1", "linear2"),
    ("lin1", "lin2"),
    ("c_fc", "c_proj"),
    ("wi", "wo"),
    ("dense_h_to_4h", "dense_4h_to_h"),
    ("intermediate.dense", "output.dense"),
    ("up_proj", "down_proj"),
    ("ffn_up", "ffn_down"),
)
"""Names of two layers with only an activation between, by which many feed-forward blocks are known."""
_GATES = ("gate_proj", "ffn_gate", "wi_0", "wi_1")
"""Names beside which a block multiplies two layers, so that no balance is conserved."""


@dataclass(frozen=True)
class StoredMatrix:
    """One weight matrix ``(groups, m, k)`` of a checkpoint, read by ``read`` in its stored type."""

    layer: str
    kind: str
    shape: tuple[int, int, int]
    dtype: str
    read: Callable[[], Tensor]


def stored_matrices(opened: OpenCheckpoint) -> tuple[list[StoredMatrix], dict[str, str]]:
    """Return the weight matrices of a checkpoint, and the reason for every tensor that is none.

    A tensor ``(m, k)`` is a matrix of m outputs and k inputs, one of more dimensions a convolution ``(m, rest)``, or a
    stack of experts where its name says so. A table of embeddings is transposed, because a token is a one-hot input,
    and so are the layers of GPT-2 by its config. Groups of a convolution are not known from its weights: pass the
    module itself.

    >>> from gramian.nets.checkpoints.opening import open_checkpoint
    >>> model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
    >>> found, skipped = stored_matrices(open_checkpoint(model.state_dict()))
    >>> [(one.layer, one.shape) for one in found], skipped
    ([('0', (1, 4, 3))], {'0.bias': 'a vector', '1.weight': 'a vector', '1.bias': 'a vector'})
    """
    source = opened.source
    transposed = opened.config.get("model_type") in _TRANSPOSED_MODELS
    found: list[StoredMatrix] = []
    skipped: dict[str, str] = {}
    names = source.names()
    for name in names:
        shape = source.shape(name)
        if name.endswith(_SCALES) and name.removesuffix("_inv").removesuffix("_scale") in names:
            continue
        reason = _reason_to_skip(source, name, shape)
        if reason:
            skipped[name] = reason
            continue
        layer = name.removesuffix(".weight")
        kind, change = _form(layer, shape, transposed)
        found.append(
            StoredMatrix(
                layer, kind, _normal_shape(shape, kind), source.dtype(name), partial(_read, source, name, change)
            )
        )
    return found if source.in_order else sorted(found, key=_place), skipped


def _place(one: StoredMatrix) -> tuple[int, list[tuple[int, str]]]:
    """Return the place of a layer that files sort by name: embeddings first, blocks by number, then all others."""
    parts = [(int(part), "") if part.isdigit() else (-1, part) for part in one.layer.split(".")]
    numbered = any(number >= 0 for number, _ in parts)
    return 0 if one.kind == "embedding" else 1 if numbered else 2, parts


def module_matrices(model: nn.Module) -> tuple[list[StoredMatrix], dict[str, str]]:
    """Return the weight matrices of a module by the normal forms of its layers, as :func:`gramian.nets.inspect` has.

    >>> [one.shape for one in module_matrices(nn.Conv2d(4, 6, 3, groups=2))[0]]
    [(2, 3, 18)]
    """
    layers, skipped = find_layers(unwrap(model))
    found = []
    for layer in layers:
        weight = layer.weight().detach()
        shape = layer.matrix(weight).shape
        found.append(
            StoredMatrix(
                layer.name,
                layer.kind,
                (shape[0], shape[1], shape[2]),
                str(weight.dtype).removeprefix("torch."),
                partial(lambda one, w: one.matrix(w).cpu(), layer, weight),
            )
        )
    return found, skipped


def select(found: Sequence[StoredMatrix], patterns: str | Iterable[str] | None) -> list[StoredMatrix]:
    """Return the matrices whose layer has one of the names or patterns; a pattern without any raises a ValueError."""
    if patterns is None:
        return list(found)
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    names = [one.layer for one in found]
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in names):
            close = difflib.get_close_matches(pattern, names, n=3) or names[:8]
            raise ValueError(f"layers asks for {pattern!r}, which is no weight matrix; there are {close}")
    return [one for one in found if any(fnmatchcase(one.layer, pattern) for pattern in wanted)]


def followed_by(found: Sequence[StoredMatrix], names: Sequence[str]) -> dict[str, str]:
    """Return the layers whose next layer is known by its name, with that layer.

    Those are the two layers of a feed-forward block without a gate, and neighbours in an ``nn.Sequential`` (``0`` and
    ``2``) with nothing that has weights between. ``names`` are the names of all tensors.

    >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> from gramian.nets.checkpoints.opening import open_checkpoint
    >>> followed_by(stored_matrices(open_checkpoint(model.state_dict()))[0], list(model.state_dict()))
    {'0': '2'}
    """
    by_name = {one.layer: one for one in found}
    owners = {name.rpartition(".")[0] for name in names} | set(by_name)
    pairs = {}
    for layer in by_name:
        after = _named_successor(layer, owners) or _next_in_sequence(layer, owners)
        if after is None or after not in by_name:
            continue
        (g, m, _), (h, _, k) = by_name[layer].shape, by_name[after].shape
        if g == h == 1 and m == k and "embedding" not in (by_name[layer].kind, by_name[after].kind):
            pairs[layer] = after
    return pairs


def _named_successor(layer: str, owners: set[str]) -> str | None:
    for first, second in _PAIRS:
        if layer == first or layer.endswith(f".{first}"):
            parent = layer.removesuffix(first)
            gated = any(f"{parent}{gate}" in owners for gate in _GATES)
            return None if gated else f"{parent}{second}"
    return None


def _next_in_sequence(layer: str, owners: set[str]) -> str | None:
    parent, dot, last = layer.rpartition(".")
    if not last.isdigit():
        return None
    siblings = [name.removeprefix(parent + dot) for name in owners if name.startswith(parent + dot)]
    if any(not name.split(".")[0].isdigit() for name in siblings if name):
        return None  # not the children of a Sequential
    later = sorted({int(name.split(".")[0]) for name in siblings if name and int(name.split(".")[0]) > int(last)})
    after = f"{parent}{dot}{later[0]}" if later else None
    return after if after in owners else None


def _reason_to_skip(source: WeightSource, name: str, shape: tuple[int, ...]) -> str | None:
    if len(shape) == 0:
        return "a number"
    if len(shape) == 1:
        return "a vector"
    if not source.is_float(name):
        return f"stored as {source.dtype(name)}, which needs the rules of its quantisation to be read as weights"
    if 0 in shape:
        return "an empty tensor"
    if len(shape) > 2 and math.prod(shape) == max(shape):
        return "a vector"
    return None


def _form(layer: str, shape: tuple[int, ...], transposed: bool) -> tuple[str, Callable[[Tensor], Tensor]]:
    if len(shape) == 2:
        if _EMBEDDING.search(layer):
            return "embedding", lambda W: W.mT[None]
        if transposed and _TRANSPOSED.search(layer):
            return "transposed", lambda W: W.mT[None]
        return "matrix", lambda W: W[None]
    if len(shape) == 3 and _EXPERTS.search(layer):
        return "experts", lambda W: W
    return "convolution", lambda W: W.flatten(1)[None]


def _normal_shape(shape: tuple[int, ...], kind: str) -> tuple[int, int, int]:
    if kind == "experts":
        return shape[0], shape[1], shape[2]
    if kind in ("embedding", "transposed"):
        return 1, shape[1], shape[0]
    return 1, shape[0], math.prod(shape[1:])


def _read(source: WeightSource, name: str, change: Callable[[Tensor], Tensor]) -> Tensor:
    W = source.tensor(name)
    if W.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        W = _scaled(W, source, name)
    return change(W)


def _scaled(W: Tensor, source: WeightSource, name: str) -> Tensor:
    """Return float8 weights times their scales: one number, one per row, or one per block."""
    known = set(source.names())
    mark = next((mark for mark in _SCALES if f"{name}{mark}" in known), None)
    if mark is None:
        return W
    scale, W = source.tensor(f"{name}{mark}").float(), W.float()
    if scale.numel() == 1:
        return W * scale.reshape(())
    scale = scale[:, None] if scale.ndim == 1 else scale
    if scale.ndim != W.ndim or any(n > m for n, m in zip(scale.shape, W.shape, strict=True)):
        raise ValueError(f"{name}{mark} has shape {tuple(scale.shape)} for weights of shape {tuple(W.shape)}")
    for axis, (blocks, size) in enumerate(zip(scale.shape, W.shape, strict=True)):
        scale = scale.repeat_interleave(math.ceil(size / blocks), axis).narrow(axis, 0, size)
    return W * scale
