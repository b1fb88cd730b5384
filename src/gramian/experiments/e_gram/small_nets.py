"""Multilayer perceptrons of paper E: torch's initialisation from a generator of their own, hidden states on request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh}


def perceptron(
    sizes: Sequence[int],
    activation: str,
    rng: torch.Generator,
    *,
    bias: bool = True,
    dtype: torch.dtype = torch.float32,
) -> nn.Sequential:
    """Make a network with weights and biases uniform in ``±1/√fan-in``, as torch's own, drawn from ``rng``.

    Layers and activations alternate, so that layer l (from 0) is module 2l.

    >>> perceptron((4, 8, 2), "gelu", torch.Generator().manual_seed(0), bias=False)
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=False)
      (1): GELU(approximate='none')
      (2): Linear(in_features=8, out_features=2, bias=False)
    )
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    modules: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layer = nn.utils.skip_init(nn.Linear, fan_in, fan_out, bias=bias, dtype=dtype)
        bound = 1 / math.sqrt(fan_in)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.uniform_(-bound, bound, generator=rng)
        modules += [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*modules[:-1])


def linear_layers(model: nn.Sequential) -> list[nn.Linear]:
    """Return the layers with weights, first to last.

    >>> len(linear_layers(perceptron((4, 8, 2), "relu", torch.Generator().manual_seed(0))))
    2
    """
    return [module for module in model if isinstance(module, nn.Linear)]


def layer_inputs(model: nn.Sequential, X: Float[Tensor, "n d"]) -> tuple[list[Tensor], Tensor]:
    """Return the input of every layer, X first, and the output of the network.

    >>> model = perceptron((4, 8, 2), "relu", torch.Generator().manual_seed(0))
    >>> inputs, output = layer_inputs(model, torch.ones(3, 4))
    >>> [tuple(H.shape) for H in inputs], tuple(output.shape)
    ([(3, 4), (3, 8)], (3, 2))
    """
    inputs, H = [], X
    for module in model:
        if isinstance(module, nn.Linear):
            inputs.append(H)
        H = module(H)
    return inputs, H


def short(values: Sequence[float], digits: int = 4) -> list[float]:
    """Round to a number of significant digits, since records are committed.

    >>> short([1 / 3, 2e-9], 2)
    [0.33, 2e-09]
    """
    return [float(f"{value:.{digits}g}") for value in values]
