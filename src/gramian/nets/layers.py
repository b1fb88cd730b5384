"""The layers of a model: every weight matrix that can be measured, and the reasons for the modules that cannot."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import partial

from torch import nn
from torch.nn.parameter import UninitializedParameter
from torch.nn.utils.parametrize import ParametrizationList

from gramian.nets.attention import attention_layers
from gramian.nets.layer_forms import Layer, LayerForm, form_of
from gramian.nets.products import product_layers
from gramian.nets.recurrent import recurrent_layers

ROOT = "model"  # the name of a model that is itself one layer, where PyTorch's dotted name is empty

LayerSelection = str | Iterable[str] | Callable[[str, nn.Module], bool]
"""Names or patterns of layers, or a function of ``(name, module)``."""


def find_layers(model: nn.Module, select: LayerSelection | None = None) -> tuple[list[Layer], dict[str, str]]:
    """Layers of a model in the order of ``named_modules``, and the reason for every module with weights that was
    skipped.

    ``select`` restricts the layers: names or patterns with ``*`` (``"encoder.*.query"``), or a function of
    ``(name, module)``.

    >>> layers, skipped = find_layers(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)))
    >>> [layer.name for layer in layers], list(skipped)
    (['0', '2'], ['1'])
    """
    layers: list[Layer] = []
    skipped: dict[str, str] = {}
    owned: tuple[str, ...] = ()  # children that an attention module uses by their weights only
    for dotted, module in model.named_modules():
        name = dotted or ROOT
        if owned and name.startswith(owned):
            continue
        if isinstance(module, nn.MultiheadAttention):
            owned = (*owned, f"{dotted}.out_proj" if dotted else "out_proj")
            layers += attention_layers(dotted, module)
            continue
        found, reason = _layers_of(name, dotted, module)
        if reason is not None:
            skipped[name] = reason
        for layer in found:
            unreadable = _unreadable(layer)
            if unreadable is None:
                layers.append(layer)
            else:
                skipped[layer.name] = unreadable
    return (layers, skipped) if select is None else (_select(layers, skipped, select), {})


def _layers_of(name: str, dotted: str, module: nn.Module) -> tuple[list[Layer], str | None]:
    """The layers of one module, or the reason why it has none."""
    known = form_of(module)
    if known is not None:
        defined_by, form = known
        reason = form.refuse(module)
        return ([], reason) if reason is not None else ([_registered(name, module, defined_by, form)], None)
    if isinstance(module, nn.RNNBase | nn.RNNCellBase):
        return recurrent_layers(dotted, module)
    if isinstance(module, ParametrizationList):
        return [], None  # the weight that it computes belongs to the module around it
    own = list(module.parameters(recurse=False))
    vectors = all(not isinstance(p, UninitializedParameter) and p.ndim < 2 for p in own)
    if own and (vectors or isinstance(module, _NORMS)):
        kind = type(module).__name__
        return [], f"{kind} has no weight matrix (it scales or shifts coordinates one by one)"
    return product_layers(dotted, module), None


_NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase)


def _registered(name: str, module: nn.Module, defined_by: type[nn.Module], form: LayerForm) -> Layer:
    return Layer(
        name,
        type(module).__name__,
        module,
        form.parameter,
        matrix=partial(form.matrix, module),
        channel_dim=form.channel_dim,
        reads_features=form.reads_features,
        defined_by=defined_by,
        rows_of_gradient=form.rows,
        features=form.features,
    )


def _unreadable(layer: Layer) -> str | None:
    weight = layer.weight()
    if isinstance(weight, UninitializedParameter):
        return "a lazy module that has not seen data yet: run the model on one batch first"
    if not weight.is_floating_point():
        return f"its weight is {weight.dtype}, not floating point"
    return None


def _select(layers: list[Layer], skipped: dict[str, str], select: LayerSelection) -> list[Layer]:
    if callable(select):
        selected = [layer for layer in layers if select(layer.name, layer.module)]
        if not selected:
            raise ValueError(f"layers selects none of {[layer.name for layer in layers]}")
        return selected
    patterns = [select] if isinstance(select, str) else list(select)
    names = [layer.name for layer in layers]
    for pattern in patterns:
        if any(fnmatchcase(name, pattern) for name in names):
            continue
        if pattern in skipped:
            raise ValueError(f"layers asks for {pattern!r}, which cannot be measured: {skipped[pattern]}")
        close = difflib.get_close_matches(pattern, names, n=3) or names[:8]
        raise ValueError(f"layers asks for {pattern!r}, which is not a layer of the model; there are {close}")
    return [layer for layer in layers if any(fnmatchcase(layer.name, p) for p in patterns)]


def unwrap(model: nn.Module) -> nn.Module:
    """The model inside ``DataParallel``, ``DistributedDataParallel`` and ``torch.compile`` wrappers.

    >>> inner = nn.Linear(2, 2)
    >>> unwrap(nn.DataParallel(inner)) is inner
    True
    """
    if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return unwrap(model.module)
    compiled = getattr(model, "_orig_mod", None)
    return unwrap(compiled) if isinstance(compiled, nn.Module) else model
