"""Check that a layer computes what its normal form says.

A subclass with a ``forward`` of its own may change the output of a layer. The output is then compared with that of the
class whose normal form is known. (A hook of the user runs after the output is recorded.) A constant factor (a scaled
embedding) is a known linear map, through which the gradients are carried; a constant offset changes no gradient. A
linear layer or a convolution that multiplies by another matrix than its weight (a low-rank update, a normalised or
quantised weight) is measured through that matrix, see :mod:`gramian.nets.effective`. Any other change is a reason to
skip the layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from gramian.nets.effective import effective_output, effective_weight
from gramian.nets.layer_forms import Layer

EXAMPLES = 64  # tokens that are looked up to find a factor
MAX_TOLERANCE = 0.02  # of half precision; other types have 1000 units in the last place


@dataclass(frozen=True, eq=False)
class NormalForm:
    """The output of a layer as ``scale · H Wᵀ + constant``, where W is its weight or ``effective`` (groups, m, k).

    ``changed`` marks layers with a forward method of their own, which are checked in every batch.
    """

    scale: float = 1.0
    effective: Tensor | None = None
    changed: bool = False


def find_normal_form(
    layer: Layer,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    output: Tensor,
    known: NormalForm | None = None,
) -> NormalForm | None:
    """The normal form of a layer from one call; None where it has none, or another one than is ``known``.

    >>> from gramian.nets.layers import find_layers
    >>> class Scaled(nn.Linear):
    ...     def forward(self, x):
    ...         return 3 * super().forward(x)
    >>> model, x = Scaled(4, 5), torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    >>> round(find_normal_form(find_layers(model)[0][0], (x,), {}, model(x)).scale, 4)
    3.0
    """
    defined_by = layer.defined_by
    if defined_by is None or getattr(layer.module.forward, "__func__", None) is defined_by.forward:
        return NormalForm()
    form = known
    if form is None:
        # From examples where that is possible: data may be special (one row, inputs of zero).
        W = effective_weight(layer, args, kwargs)
        if W is not None:
            form = _form_of_matrix(layer, W)
        elif (scale := _scale_of_data(layer, defined_by, args, kwargs, output.detach())) is not None:
            form = NormalForm(scale, changed=True)
    if form is None or not _is_form(form, layer, defined_by, args, kwargs, output.detach()):
        return None
    if known is not None or form.effective is not None or form.scale == 1:
        return form
    if _factor_is_constant(layer, defined_by, args, kwargs, form.scale):
        return form
    return None if (W := effective_weight(layer, args, kwargs)) is None else NormalForm(1.0, W, changed=True)


def reason_to_refuse(layer: Layer) -> str:
    """The reason why a layer without a normal form is skipped."""
    known = "its type" if layer.defined_by is None else layer.defined_by.__name__
    return (
        f"its output is not that of {known} with its weight (its forward method changes it), so it has no known normal "
        "form: register one with gramian.nets.register_layer"
    )


def _form_of_matrix(layer: Layer, W: Tensor) -> NormalForm:
    """A multiple of the weight is a factor; any other matrix is effective."""
    weight, tolerance = layer.matrix(layer.weight().detach()).double(), _tolerance(W.dtype)
    scale = float((W.double() * weight).sum() / weight.square().sum().clamp(min=1e-300))
    if float((W.double() - scale * weight).norm()) > tolerance * float(W.double().norm()):
        return NormalForm(1.0, W, changed=True)
    return NormalForm(1.0 if abs(scale - 1) <= tolerance else scale, changed=True)


def _scale_of_data(
    layer: Layer,
    defined_by: type[nn.Module],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    output: Tensor,
) -> float | None:
    """The factor c with output = c · Z + constant for the normal form Z of the layer; None where there is none."""
    Z = _class_output(layer, defined_by, args, kwargs)
    if Z is None or Z.shape != output.shape:
        return None
    F, R = layer.flat_output(output), layer.flat_output(Z)
    if isinstance(layer.module, nn.Embedding):
        # With further tokens, because one alone cannot tell a factor.
        ids = torch.arange(min(EXAMPLES, layer.module.num_embeddings), device=output.device)
        more = [_class_output(layer, cls, (ids,), {}) for cls in (type(layer.module), defined_by)]
        if more[0] is None or more[1] is None or more[0].shape != more[1].shape:
            return None
        F, R = torch.cat([F, more[0]]), torch.cat([R, more[1]])
    return _fit_scale(F, R)


def _is_form(
    form: NormalForm,
    layer: Layer,
    defined_by: type[nn.Module],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    output: Tensor,
) -> bool:
    """True where a normal form gives the output."""
    tolerance = _tolerance(output.dtype)
    expected = effective_output(layer, form.effective, form.scale, args, kwargs)
    if expected is not None:
        same = expected.shape == output.shape
        return same and float((output - expected).double().norm()) <= tolerance * float(output.double().norm())
    scale = _scale_of_data(layer, defined_by, args, kwargs, output)
    return scale is not None and abs(scale - form.scale) <= tolerance * abs(scale)


def _class_output(
    layer: Layer, defined_by: type[nn.Module], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Tensor | None:
    try:
        with torch.no_grad():
            Z = defined_by.forward(layer.module, *args, **kwargs)
    except (TypeError, RuntimeError):  # arguments that only the subclass takes
        return None
    return Z if isinstance(Z, Tensor) else None


def _fit_scale(F: Tensor, R: Tensor) -> float | None:
    """The factor c with F = c · R + constant, for rows (n, m)."""
    tolerance = _tolerance(F.dtype)
    F, R = F.double(), R.double()
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
    layer: Layer, defined_by: type[nn.Module], args: tuple[object, ...], kwargs: Mapping[str, object], scale: float
) -> bool:
    """True where the factor does not depend on the weight itself, as it does in a normalisation of the weight."""
    # Identity hooks, because activation checkpointing counts every tensor that is saved for the backward pass.
    with torch.enable_grad(), saved_tensors_hooks(lambda T: T, lambda T: T):
        outputs = [
            forward(layer.module, *args, **kwargs) for forward in (type(layer.module).forward, defined_by.forward)
        ]
        direction = torch.randn(outputs[0].shape, generator=torch.Generator().manual_seed(0)).to(outputs[0])
        weight = layer.weight()
        found = [torch.autograd.grad((T * direction).sum(), weight, allow_unused=True)[0] for T in outputs]
    if found[0] is None or found[1] is None:
        return False
    a, b = (grad.to_dense().double() if grad.is_sparse else grad.double() for grad in found)
    return float((a - scale * b).norm()) <= _tolerance(outputs[0].dtype) * float(a.norm())


def _tolerance(dtype: torch.dtype) -> float:
    return min(1000 * torch.finfo(dtype).eps, MAX_TOLERANCE)
