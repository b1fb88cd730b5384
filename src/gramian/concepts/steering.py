"""Steering: directions of concepts added to the hidden states of a model, by hooks that are always removed."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gramian.concepts.directions import LayerDirection

AUTO_BAND = (0.25, 0.8)
"""Depths, as shares of the layers, between which ``layers="auto"`` steers. The first layers still assemble words from
tokens, and a shift in the last ones names words directly instead of changing what the text is about."""


@contextmanager
def steer(
    model: nn.Module,
    concepts: Sequence[tuple[Sequence[LayerDirection], float]],
    layers: Literal["auto"] | Sequence[str] = "auto",
    *,
    positions: str = "all",
) -> Iterator[nn.Module]:
    r"""Steer a model along the directions of concepts while the context is open.

    The output :math:`h_l` of each chosen layer becomes

    .. math:: h_l + \sum_c s_c \, n_{c,l} \, v_{c,l}

    with the strength s of a concept c, the typical length n of the layer's hidden states, and the direction v of length
    1. On leaving, also through an exception, Ctrl-C or a closed generator, all hooks are removed. A concept of strength
    0 sets no hook, so the outputs are then bit-identical to those of the model alone.

    Parameters
    ----------
    model : nn.Module
        Its layers return a tensor (..., d) or a tuple that begins with one.
    concepts : sequence of pairs (directions, strength)
        Directions of a concept, at most one per layer, as :meth:`gramian.concepts.Concept.directions` returns them. A
        strength is in units of the typical length; a negative one reduces the concept. Shifts of several concepts in
        one layer are added.
    layers : "auto" or sequence of str
        Names of the layers to steer; by default those in the middle of the model, see :func:`auto_layers`.
    positions : {"all", "last"}
        Positions that are shifted: all of them, or only the last one of each forward pass. With a key-value cache, the
        latter are the end of the prompt and every generated token, so that the prompt is read without a shift.

    Yields
    ------
    nn.Module
        The model itself.

    >>> model = nn.Sequential(nn.Identity(), nn.Identity())
    >>> joy = [LayerDirection("0", torch.tensor([1.0, 0.0]), 2.0, torch.zeros(2), 0.9)]
    >>> with steer(model, [(joy, 0.5)], layers=["0"]):
    ...     model(torch.zeros(1, 2))
    tensor([[1., 0.]])
    >>> model(torch.zeros(1, 2))
    tensor([[0., 0.]])
    """
    if positions not in ("all", "last"):
        raise ValueError(f'positions must be "all" or "last", got {positions!r}')
    modules = dict(model.named_modules())
    shifts = shifts_by_layer(concepts, layers)
    for name in shifts:
        if name not in modules:
            raise ValueError(f"the model has no layer {name!r}{_nearest(name, modules)}")
    handles = []
    try:
        for name, shift in shifts.items():
            handles.append(modules[name].register_forward_hook(_Shift(name, shift, positions)))
        yield model
    finally:
        for handle in handles:
            handle.remove()


def shifts_by_layer(
    concepts: Sequence[tuple[Sequence[LayerDirection], float]], layers: Literal["auto"] | Sequence[str] = "auto"
) -> dict[str, Float[Tensor, " d"]]:
    """Return the vector that :func:`steer` adds to each layer's output; nothing for concepts of strength 0.

    >>> joy = [LayerDirection("a", torch.tensor([0.6, 0.8]), 10.0, torch.zeros(2), 0.9)]
    >>> shifts_by_layer([(joy, 0.5), (joy, -0.25)])["a"]
    tensor([1.5000, 2.0000])
    """
    found: dict[str, Tensor] = {}
    for i, (directions, strength) in enumerate(concepts):
        if not math.isfinite(strength):
            raise ValueError(f"the strength of a concept must be a finite number, got {strength} for concept {i}")
        for direction in choose_directions(directions, layers):
            if not (math.isfinite(direction.typical_norm) and bool(direction.vector.isfinite().all())):
                raise ValueError(
                    f"the direction of layer {direction.layer!r} has entries that are not finite: refit it"
                )
            if strength == 0:
                continue
            shift = strength * direction.typical_norm * direction.vector
            other = found.get(direction.layer)
            if other is not None and other.shape != shift.shape:
                raise ValueError(
                    f"concepts were fitted to different models: layer {direction.layer!r} has {len(other)} and "
                    f"{len(shift)} dimensions"
                )
            found[direction.layer] = shift if other is None else other + shift
    return found


def choose_directions(
    directions: Sequence[LayerDirection], layers: Literal["auto"] | Sequence[str] = "auto"
) -> list[LayerDirection]:
    """Return the directions of the chosen layers, in the order of ``directions``.

    >>> blocks = [LayerDirection(str(i), torch.ones(1), 1.0, torch.zeros(1), 0.5 + i / 20) for i in range(8)]
    >>> [direction.layer for direction in choose_directions(blocks)]
    ['2', '3', '4', '5']
    >>> [direction.layer for direction in choose_directions(blocks, ["7", "1"])]
    ['1', '7']
    """
    known = [direction.layer for direction in directions]
    if not known:
        raise ValueError("directions is empty: a concept needs the direction of at least one layer")
    if len(set(known)) < len(known):
        twice = next(name for name in known if known.count(name) > 1)
        raise ValueError(f"directions has layer {twice!r} twice: pass the directions of one class of the concept")
    if isinstance(layers, str):
        if layers != "auto":
            raise ValueError(f'layers must be "auto" or a list of names of layers, got {layers!r}')
        chosen = set(auto_layers(known))
    else:
        chosen = set(layers)
        for name in layers:
            if name not in known:
                raise ValueError(f"the concept has no direction for layer {name!r}{_nearest(name, known)}")
        if not chosen:
            raise ValueError('layers is empty: name at least one layer, or pass "auto"')
    return [direction for direction in directions if direction.layer in chosen]


def auto_layers(names: Sequence[str]) -> tuple[str, ...]:
    """Return the layers between a quarter and four fifths of the depth; all of them where there are fewer than four.

    >>> auto_layers([f"layers.{i}" for i in range(4)])
    ('layers.1', 'layers.2')
    """
    if len(names) < 4:
        return tuple(names)
    first, last = (math.floor(share * len(names)) for share in AUTO_BAND)
    return tuple(names[first:last])


class _Shift:
    """Forward hook that adds a vector to the hidden states of one layer, in their device and type."""

    def __init__(self, layer: str, shift: Float[Tensor, " d"], positions: str) -> None:
        self.layer, self.shift, self.positions = layer, shift, positions

    def __call__(self, module: nn.Module, args: object, output: object) -> object:
        hidden = output[0] if isinstance(output, tuple) and output else output
        if not isinstance(hidden, Tensor):
            raise ValueError(
                f"layer {self.layer!r} returns {type(output).__name__}, and a tensor or a tuple that begins with one "
                "is needed: steer another layer"
            )
        if hidden.ndim == 0 or hidden.shape[-1] != len(self.shift):
            width = hidden.shape[-1] if hidden.ndim else 0
            raise ValueError(
                f"the direction of layer {self.layer!r} has {len(self.shift)} dimensions and its hidden states have "
                f"{width}: the concept was fitted to another model"
            )
        self.shift = self.shift.to(device=hidden.device)  # once; the type stays, so that no precision is lost
        steered = self._shifted(hidden)
        if not isinstance(output, tuple):
            return steered
        rest = (steered, *output[1:])
        return type(output)(*rest) if hasattr(output, "_fields") else rest

    def _shifted(self, hidden: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        shift = self.shift.to(hidden.dtype)
        if self.positions == "all" or hidden.ndim < 3:
            return hidden + shift
        return torch.cat([hidden[..., :-1, :], hidden[..., -1:, :] + shift], dim=-2)


def _nearest(name: str, known: Sequence[str] | dict[str, nn.Module]) -> str:
    close = difflib.get_close_matches(name, [one for one in known if one], n=3, cutoff=0.3)
    return f"; the nearest names are {', '.join(map(repr, close))}" if close else ""
