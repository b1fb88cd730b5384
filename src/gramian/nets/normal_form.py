"""Check that a layer computes what its normal form says, on the first batch.

A subclass with a ``forward`` of its own, or a hook of the user, may change the output of a layer. The output is then
compared with that of the class whose normal form is known. A constant factor (a scaled embedding) is a known linear
map, through which the gradients are carried; a constant offset changes no gradient; any other change is a reason to
skip the layer.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from gramian.nets.layers import Layer

MAX_TOLERANCE = 0.02  # of half precision; other types have 1000 units in the last place


def output_scale(layer: Layer, args: tuple[object, ...], kwargs: Mapping[str, object], output: Tensor) -> float | None:
    """The factor c with output = c · Z + constant for the normal form Z of the layer; None where there is none.

    >>> from torch import nn
    >>> from gramian.nets.layers import find_layers
    >>> class Scaled(nn.Linear):
    ...     def forward(self, x):
    ...         return 3 * super().forward(x)
    >>> model, x = Scaled(4, 5), torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    >>> round(output_scale(find_layers(model)[0][0], (x,), {}, model(x)), 4)
    3.0
    """
    if layer.defined_by is None:
        return 1.0
    try:
        with torch.no_grad():
            Z = layer.defined_by.forward(layer.module, *args, **kwargs)
    except (TypeError, RuntimeError):  # arguments that only the subclass takes
        return None
    if not isinstance(Z, Tensor) or Z.shape != output.shape:
        return None
    scale = _fit_scale(layer, output.detach(), Z)
    if scale is None or scale == 1 or _factor_is_constant(layer, layer.defined_by, args, kwargs):
        return scale
    return None


def reason_to_refuse(layer: Layer) -> str:
    """The reason why a layer without a normal form on the first batch is skipped."""
    known = "its type" if layer.defined_by is None else layer.defined_by.__name__
    return (
        f"its output is not that of {known} with its weight (its forward method or a hook changes it), so it has no "
        "known normal form: register one with gramian.nets.register_layer, or remove the hook"
    )


def _fit_scale(layer: Layer, output: Tensor, Z: Tensor) -> float | None:
    tolerance = _tolerance(output.dtype)
    F, R = (layer.normal_rows(T).flatten(1).double() for T in (output, Z))
    if float((F - R).norm()) <= tolerance * float(R.norm()):
        return 1.0
    size = float(R.norm())
    F, R = F - F.mean(0), R - R.mean(0)
    if R.shape[0] < 2 or R[1:].numel() < 3 or float(R.norm()) <= tolerance * size:
        return None  # too little variation to tell a factor from anything else
    scale = float((F * R).sum() / R.square().sum())
    if float((F - scale * R).norm()) > tolerance * float(F.norm()):
        return None
    return 1.0 if abs(scale - 1) <= tolerance else scale


def _factor_is_constant(
    layer: Layer, defined_by: type[nn.Module], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> bool:
    """True where the factor does not depend on the weight itself, as it does in a normalisation of the weight."""
    # Identity hooks, because activation checkpointing counts every tensor that is saved for the backward pass.
    with torch.enable_grad(), saved_tensors_hooks(lambda T: T, lambda T: T):
        outputs = [
            forward(layer.module, *args, **kwargs) for forward in (type(layer.module).forward, defined_by.forward)
        ]
        scale = _fit_scale(layer, outputs[0].detach(), outputs[1].detach())
        direction = torch.randn(outputs[0].shape, generator=torch.Generator().manual_seed(0)).to(outputs[0])
        weight = layer.weight()
        found = [torch.autograd.grad((T * direction).sum(), weight, allow_unused=True)[0] for T in outputs]
    if scale is None or found[0] is None or found[1] is None:
        return False
    a, b = (grad.to_dense().double() if grad.is_sparse else grad.double() for grad in found)
    return float((a - scale * b).norm()) <= _tolerance(outputs[0].dtype) * float(a.norm())


def _tolerance(dtype: torch.dtype) -> float:
    return min(1000 * torch.finfo(dtype).eps, MAX_TOLERANCE)
