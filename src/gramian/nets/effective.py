"""The matrix by which a layer multiplies where that is not its weight: a low-rank update, a normalised weight.

A module whose ``forward`` is linear in its input is determined by its outputs for basis vectors. The matrix is found
from these, and its products are compared with the module's output on the data, so a module that is not linear (a
quantised input, a gate) has none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from gramian.nets.layer_forms import Layer

BLOCK = 512  # basis vectors per call

_CONVOLUTIONS = nn.Conv1d | nn.Conv2d | nn.Conv3d


def effective_weight(layer: Layer, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Tensor | None:
    """The matrices (groups, m, k) by which a Linear or a convolution multiplies, from its outputs for basis vectors.

    None for other modules, for calls with further arguments, and for modules that fail on basis vectors.

    >>> from gramian.nets.layers import find_layers
    >>> class Doubled(nn.Linear):
    ...     def forward(self, x):
    ...         return super().forward(x) + super().forward(x)
    >>> model = Doubled(3, 2)
    >>> W = effective_weight(find_layers(model)[0][0], (torch.ones(1, 3),), {})
    >>> bool((W[0] - 2 * model.weight).abs().max() < 1e-5)
    True
    """
    x = _only_input(args, kwargs)
    if x is None:
        return None
    module, weight = layer.module, layer.weight()
    try:
        with torch.no_grad():
            if isinstance(module, nn.Linear):
                basis = torch.eye(module.in_features, dtype=x.dtype, device=x.device)
                return layer.matrix(_responses(module, basis).mT.to(weight.dtype))
            if isinstance(module, _CONVOLUTIONS):
                return layer.matrix(_kernel(module, x).to(weight.dtype))
    except (RuntimeError, ValueError, TypeError, IndexError):  # a forward method may fail on inputs of another shape
        return None
    return None


class _Probe(nn.Module):
    """A module that returns the effective matrices of a layer, so that it can be run with other weights."""

    def __init__(self, layer: Layer, x: Tensor):
        super().__init__()
        self.module, self.layer, self.x = layer.module, layer, x

    def forward(self) -> Tensor | None:
        return effective_weight(self.layer, (self.x,), {})


def initial_effective(layer: Layer, model: nn.Module, state: Mapping[str, Tensor]) -> Tensor | None:
    """The matrices by which a layer multiplies with the weights of a state dict of the model."""
    path = layer.state_key(model).removesuffix(layer.parameter)
    own = {f"module.{key.removeprefix(path)}": value for key, value in state.items() if key.startswith(path)}
    x = layer.weight().detach().new_zeros(())
    return functional_call(_Probe(layer, x), own, ())


def effective_output(
    layer: Layer, W: Tensor | None, scale: float, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Tensor | None:
    """The output of a Linear or a convolution with the matrices W, or with ``scale`` times its weight.

    The constant is the module's output for an input of zeros. None for other modules, and for calls with further
    arguments.
    """
    x, module = _only_input(args, kwargs), layer.module
    if x is None or not isinstance(module, nn.Linear | _CONVOLUTIONS):
        return None
    weight = layer.weight().detach()
    kernel = scale * weight if W is None else W.reshape(weight.shape)
    with torch.no_grad():
        try:
            constant = _forward(module, torch.zeros_like(x))
        except (RuntimeError, ValueError, TypeError):
            return None
        if isinstance(module, nn.Linear):
            return F.linear(x, kernel.to(x.dtype)) + constant
        assert isinstance(module, _CONVOLUTIONS)
        return module._conv_forward(x, kernel.to(x.dtype), None) + constant


def _only_input(args: tuple[object, ...], kwargs: Mapping[str, object]) -> Tensor | None:
    values = [*args, *kwargs.values()]
    return values[0] if len(values) == 1 and isinstance(values[0], Tensor) else None


def _forward(module: nn.Module, x: Tensor) -> Tensor:
    """The forward method of the module's class, without hooks."""
    forward: Callable[..., Tensor] = type(module).forward
    return forward(module, x)


def _responses(module: nn.Module, basis: Tensor) -> Tensor:
    """Outputs of the module for every basis vector, minus that for zero."""
    at_zero = _forward(module, torch.zeros_like(basis[:1]))
    return torch.cat([_forward(module, part) - at_zero for part in basis.split(BLOCK)])


def _kernel(module: nn.Module, x: Tensor) -> Tensor:
    """The kernel of a convolution, from its outputs for images with one pixel in one window."""
    assert isinstance(module, _CONVOLUTIONS)
    paddings = [int(p) for p in module._reversed_padding_repeated_twice[::-1][1::2]]
    window, space, start = [], [], []
    for kernel, stride, dilation, padding in zip(
        module.kernel_size, module.stride, module.dilation, paddings, strict=True
    ):
        index = -(-padding // stride)  # the first window that begins inside the image
        window.append(index)
        start.append(index * stride - padding)
        # Room for padding by reflection on either side, which needs a larger image.
        space.append(start[-1] + dilation * (kernel - 1) + 1 + padding)
    channels = module.in_channels
    found = x.new_empty(module.out_channels, channels, *module.kernel_size)
    windows: Any = (slice(None), slice(None), *window)
    channel = torch.arange(channels)
    at_zero = _forward(module, x.new_zeros(1, channels, *space))[windows]
    for offset in itertools.product(*map(range, module.kernel_size)):
        pixel = [s + o * d for s, o, d in zip(start, offset, module.dilation, strict=True)]
        images = x.new_zeros(channels, channels, *space)
        one: Any = (channel, channel, *pixel)
        images[one] = 1
        Z = torch.cat([_forward(module, part)[windows] for part in images.split(BLOCK)]) - at_zero
        place: Any = (slice(None), slice(None), *offset)
        found[place] = Z.mT
    if module.groups == 1:
        return found
    m = module.out_channels // module.groups
    parts = [found[g * m : (g + 1) * m].chunk(module.groups, 1)[g] for g in range(module.groups)]
    return torch.cat(parts)
