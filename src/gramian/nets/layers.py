"""Modules that hold a weight matrix, and the normal form ``Z = H Wᵀ`` of each.

Every layer has one normal form: rows ``(batch, shared, groups, features)``, where *shared* runs over the
positions that use the same weights (pixels of a convolution, tokens of a sentence) and *groups* over
independent weight matrices (grouped convolutions; 1 everywhere else). The weights become ``W (groups, m,
k)``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

ROOT = "model"  # the name of a model that is itself one layer, where PyTorch's dotted name is empty

LayerSelection = str | Iterable[str] | Callable[[str, nn.Module], bool]
"""Names or patterns of layers, or a function of ``(name, module)``."""


@dataclass(frozen=True)
class LayerForm:
    """Normal form ``Z = H Wᵀ`` of one type of module: the parameter, its matrix, and the dimension of the features.

    ``matrix(module, p)`` maps the parameter to ``(groups, m, k)`` and must be linear in ``p``: gradients go
    through the same map. ``channel_dim`` is the dimension of the module's input and output that holds the
    features.
    ``refuse(module)`` returns a reason to skip a module of this type, or None.

    >>> form = LayerForm(matrix=lambda module, p: p.mT[None])
    >>> form.parameter, form.channel_dim
    ('weight', -1)
    """

    matrix: Callable[[nn.Module, Tensor], Tensor]
    parameter: str = "weight"
    channel_dim: int = -1
    refuse: Callable[[nn.Module], str | None] = lambda module: None
    reads_features: bool = True  # False where the input is not a feature vector (token ids)


@dataclass(frozen=True)
class Layer:
    """One weight matrix of a model in normal form; ``rows`` is its slice of a fused parameter.

    ``defined_by`` is the class whose ``forward`` has this normal form, which a subclass may override.
    """

    name: str
    kind: str
    module: nn.Module
    parameter: str
    matrix: Callable[[Tensor], Tensor]
    channel_dim: int = -1
    reads_features: bool = True
    rows: tuple[int, int] | None = None
    inside_attention: bool = False
    defined_by: type[nn.Module] | None = None

    def weight(self) -> Tensor:
        """The tensor that the module uses now: the parameter, or the value of a parametrisation."""
        owner: object = self.module
        for part in self.parameter.split("."):
            owner = getattr(owner, part)
        assert isinstance(owner, Tensor)
        return owner

    def shares_weight(self, other: Layer) -> bool:
        """True for another layer that multiplies by the same weight (tied weights)."""
        return self.name != other.name and self.rows == other.rows and self.weight() is other.weight()

    def state_key(self, model: nn.Module) -> str:
        """Key of the weight in the state dict of the model.

        >>> model = nn.Sequential(nn.Linear(2, 2))
        >>> find_layers(model)[0][0].state_key(model)
        '0.weight'
        """
        path = next(name for name, module in model.named_modules() if module is self.module)
        return f"{path}.{self.parameter}" if path else self.parameter

    def normal_rows(self, Z: Tensor) -> Tensor:
        """Outputs (or gradients with respect to them) as rows ``(batch · shared, groups, m / groups)``.

        >>> import torch
        >>> layer = find_layers(nn.Conv2d(4, 6, 3, groups=2))[0][0]
        >>> layer.normal_rows(torch.zeros(5, 6, 7, 7)).shape
        torch.Size([245, 2, 3])
        """
        groups = self.matrix(self.weight()).shape[0]
        Z = Z.movedim(self.channel_dim, -1)
        return Z.reshape(-1, groups, Z.shape[-1] // groups)

    def pooled(self, H: Tensor, axis: int | None) -> Tensor | None:
        """Features per sample ``(batch, features)``: the mean over the shared positions, as a copy.

        ``axis`` is the dimension that runs over the samples; without it, or where it holds the features, there are no
        features per sample.
        """
        channel = self.channel_dim % H.ndim
        if axis is None or axis == channel:
            return None
        H = H.movedim((axis, channel), (0, -1))
        # A copy, because an in-place activation may follow.
        return H.flatten(1, -2).mean(1) if H.ndim > 2 else H.clone()


def _convolution(module: nn.Module, p: Tensor) -> Tensor:
    groups = int(module.groups)  # type: ignore[arg-type]
    return p.reshape(groups, p.shape[0] // groups, -1)


def _refuse_embedding(module: nn.Module) -> str | None:
    if getattr(module, "max_norm", None) is not None:
        return "max_norm rewrites the weights during the forward pass, so measuring would change the model"
    if getattr(module, "mode", None) == "max":
        return "mode='max' is not a matrix product of the weights"
    return None


_LINEAR = LayerForm(matrix=lambda module, p: p[None])


def _convolution_form(dimensions: int) -> LayerForm:
    # Counted from the end, because a convolution may be called on one sample without a batch dimension.
    return LayerForm(matrix=_convolution, channel_dim=-1 - dimensions)


# A token is a one-hot row of H, so Z = H Wᵀ with W the transposed table.
_TABLE = LayerForm(matrix=lambda module, p: p.mT[None], refuse=_refuse_embedding, reads_features=False)

_forms: dict[type | str, LayerForm] = {
    nn.Linear: _LINEAR,
    nn.Conv1d: _convolution_form(1),
    nn.Conv2d: _convolution_form(2),
    nn.Conv3d: _convolution_form(3),
    nn.Embedding: _TABLE,
    nn.EmbeddingBag: _TABLE,
    # GPT-2's linear layer stores its weight transposed; it is named by its path, because transformers is not imported.
    "transformers.pytorch_utils.Conv1D": LayerForm(matrix=lambda module, p: p.mT[None]),
}


def register_layer(module_type: type, form: LayerForm) -> None:
    """Register the normal form of a module type of your own (subclasses included) with :func:`gramian.nets.inspect`.

    >>> import torch
    >>> class Scaled(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.table = nn.Parameter(torch.ones(3, 2))
    ...     def forward(self, x):
    ...         return x @ self.table
    >>> register_layer(Scaled, LayerForm(parameter="table", matrix=lambda module, p: p.mT[None]))
    >>> [layer.kind for layer in find_layers(nn.Sequential(Scaled()))[0]]
    ['Scaled']
    """
    if not (isinstance(module_type, type) and issubclass(module_type, nn.Module)):
        raise ValueError(f"module_type must be a subclass of nn.Module, got {module_type!r}")
    _forms[module_type] = form


def _form_of(module: nn.Module) -> tuple[type[nn.Module], LayerForm] | None:
    for cls in type(module).__mro__:
        form = _forms.get(cls) or _forms.get(f"{cls.__module__}.{cls.__qualname__}")
        if form is not None:
            return cls, form
    return None


def _select_rows(rows: tuple[int, int]) -> Callable[[Tensor], Tensor]:
    return lambda p: p[rows[0] : rows[1]][None]


def _attention_layers(name: str, module: nn.MultiheadAttention) -> list[Layer]:
    E = module.embed_dim
    prefix = "" if name == ROOT else f"{name}."
    layers = []
    for j, letter in enumerate("qkv"):
        if module.in_proj_weight is not None:
            rows = (j * E, (j + 1) * E)
            layers.append(
                Layer(
                    f"{prefix}{letter}_proj",
                    "attention",
                    module,
                    "in_proj_weight",
                    matrix=_select_rows(rows),
                    rows=rows,
                    inside_attention=True,
                )
            )
        else:
            layers.append(
                Layer(
                    f"{prefix}{letter}_proj",
                    "attention",
                    module,
                    f"{letter}_proj_weight",
                    matrix=lambda p: p[None],
                    inside_attention=True,
                )
            )
    layers.append(
        Layer(
            f"{prefix}out_proj",
            "attention",
            module,
            "out_proj.weight",
            matrix=lambda p: p[None],
            inside_attention=True,
        )
    )
    return layers


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
            owned = (*owned, "out_proj" if name == ROOT else f"{name}.out_proj")
            layers += _attention_layers(name, module)
            continue
        known = _form_of(module)
        if known is None:
            reason = _reason_to_skip(module)
            if reason is not None:
                skipped[name] = reason
            continue
        defined_by, form = known
        layer = Layer(
            name,
            type(module).__name__,
            module,
            form.parameter,
            matrix=partial(form.matrix, module),
            channel_dim=form.channel_dim,
            reads_features=form.reads_features,
            defined_by=defined_by,
        )
        reason = _unreadable(layer) or form.refuse(module)
        if reason is not None:
            skipped[name] = reason
        else:
            layers.append(layer)
    return (layers, skipped) if select is None else (_select(layers, skipped, select), {})


def _unreadable(layer: Layer) -> str | None:
    weight = layer.weight()
    if isinstance(weight, UninitializedParameter):
        return "a lazy module that has not seen data yet: run the model on one batch first"
    if not weight.is_floating_point():
        return f"its weight is {weight.dtype}, not floating point"
    return None


def _reason_to_skip(module: nn.Module) -> str | None:
    own = list(module.parameters(recurse=False))
    kind = type(module).__name__
    if not own:
        return None
    if isinstance(module, nn.RNNBase):
        return f"{kind} multiplies by its weights in one fused call: use cells (nn.{kind}Cell) or your own loop"
    if all(not isinstance(p, UninitializedParameter) and p.ndim < 2 for p in own):
        return f"{kind} has no weight matrix (it scales or shifts coordinates one by one)"
    return f"no normal form is known for {kind}: register one with gramian.nets.register_layer"


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
