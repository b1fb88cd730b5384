"""One weight matrix of a model as a :class:`Layer`, and the normal form ``Z = H Wᵀ`` of each type of module.

Every layer has one normal form: rows ``(batch, shared, groups, features)``, where *shared* runs over the
positions that use the same weights (pixels of a convolution, tokens of a sentence) and *groups* over
independent weight matrices (grouped convolutions, experts; 1 everywhere else). The weights become ``W (groups, m,
k)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gramian.nets.transposed import scattered_rows

Shape = tuple[int, ...]
Undo = Callable[[], None]
Watch = Callable[[nn.Module, "list[Layer]", Callable[[], Any]], list[Undo]]
"""A function of (module, its layers, function that returns the current Recording or None) that begins to record the
products of these layers, and returns what ends it."""
Rows = Callable[[nn.Module, Tensor, Shape | None], Tensor]
"""A function of (module, gradient at its output, shape of its input) that returns rows (n, groups, m)."""
Features = Callable[..., Tensor]
"""A function of a module's tensor arguments that returns the features H, in the dimension ``channel_dim``."""


@dataclass(frozen=True)
class LayerForm:
    """Normal form ``Z = H Wᵀ`` of one type of module: the parameter, its matrix, and the dimension of the features.

    ``matrix(module, p)`` maps the parameter to ``(groups, m, k)`` and must be linear in ``p``: gradients go
    through the same map. ``channel_dim`` is the dimension of the module's input and output that holds the
    features. ``rows(module, gradient, input_shape)`` returns the gradients with respect to the rows of Z where the
    module's output is not Z itself but a linear map of it (a transposed convolution adds overlapping rows).
    ``features(*tensors)`` computes the features H where they are not the first argument.
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
    rows: Rows | None = None
    features: Features | None = None


@dataclass
class Orientation:
    """Orientation of a stored matrix: (m, k) as in ``nn.Linear``, or (k, m); ``transposed`` is None until it is known.

    >>> Orientation(transposed=True).matrix(torch.zeros(5, 3)).shape
    torch.Size([1, 3, 5])
    """

    transposed: bool | None = None

    def matrix(self, p: Tensor) -> Tensor:
        """A matrix, or a stack of matrices, as (groups, m, k)."""
        stack = p if p.ndim == 3 else p[None]
        return stack.mT if self.transposed else stack


@dataclass(frozen=True, eq=False)
class Layer:
    """One weight matrix of a model in normal form; ``part`` is its slice of the rows of a fused parameter.

    ``defined_by`` is the class whose ``forward`` has this normal form, which a subclass may override. ``watch`` records
    the products of modules that multiply by their weights without calling a layer of torch (attention, recurrent
    modules, parameters of a module's own). ``effective`` is the matrix by which a module multiplies if that is not its
    weight (a low-rank update, a normalised weight). ``orientation`` belongs to a parameter whose use
    only a forward pass shows.
    """

    name: str
    kind: str
    module: nn.Module
    parameter: str
    matrix: Callable[[Tensor], Tensor]
    channel_dim: int = -1
    reads_features: bool = True
    part: tuple[int, int] | None = None
    defined_by: type[nn.Module] | None = None
    watch: Watch | None = None
    rows_of_gradient: Rows | None = None
    features: Features | None = None
    effective: Tensor | None = None
    orientation: Orientation | None = None

    def weight(self) -> Tensor:
        """The tensor that the module uses now: the parameter, or the value of a parametrisation."""
        owner: object = self.module
        for part in self.parameter.split("."):
            owner = getattr(owner, part)
        assert isinstance(owner, Tensor)
        return owner

    @property
    def has_parameter(self) -> bool:
        """True where the weight is itself a parameter, and not computed from others (pruning, weight norm)."""
        return isinstance(self.weight(), nn.Parameter)

    @property
    def is_oriented(self) -> bool:
        """True where the matrix of the parameter is known: always, but for parameters that no product has shown yet."""
        return self.orientation is None or self.orientation.transposed is not None

    def weight_matrix(self) -> Tensor:
        """The matrices ``W (groups, m, k)`` of the normal form, detached: effective ones where they are not the weight.

        >>> Layer("a", "Linear", nn.Linear(3, 2), "weight", matrix=lambda p: p[None]).weight_matrix().shape
        torch.Size([1, 2, 3])
        """
        return self.matrix(self.weight().detach()) if self.effective is None else self.effective

    def shares_weight(self, other: Layer) -> bool:
        """True for another layer that multiplies by the same weight (tied weights)."""
        return self.name != other.name and self.part == other.part and self.weight() is other.weight()

    def state_key(self, model: nn.Module) -> str:
        """Key of the weight in the state dict of the model.

        >>> linear = nn.Linear(2, 2)
        >>> Layer("0", "Linear", linear, "weight", matrix=lambda p: p[None]).state_key(nn.Sequential(linear))
        '0.weight'
        """
        path = next(name for name, module in model.named_modules() if module is self.module)
        return f"{path}.{self.parameter}" if path else self.parameter

    def normal_rows(self, Z: Tensor, input_shape: Shape | None = None) -> Tensor:
        """Gradients with respect to outputs (or outputs themselves) as rows ``(batch · shared, groups, m / groups)``.

        >>> layer = Layer("0", "Conv2d", nn.Conv2d(4, 6, 3, groups=2), "weight",
        ...               matrix=lambda p: p.reshape(2, 3, -1), channel_dim=-3)
        >>> layer.normal_rows(torch.zeros(5, 6, 7, 7)).shape
        torch.Size([245, 2, 3])
        """
        if self.rows_of_gradient is not None:
            return self.rows_of_gradient(self.module, Z, input_shape)
        groups = self.matrix(self.weight()).shape[0]
        Z = Z.movedim(self.channel_dim, -1)
        return Z.reshape(-1, groups, Z.shape[-1] // groups)

    def flat_output(self, Z: Tensor) -> Tensor:
        """Outputs of the module as (positions, channels)."""
        return Z.movedim(self.channel_dim, -1).flatten(0, -2) if Z.ndim > 1 else Z[None]


def _convolution(module: nn.Module, p: Tensor) -> Tensor:
    groups = int(module.groups)  # type: ignore[arg-type]
    return p.reshape(groups, p.shape[0] // groups, -1)


def _transposed_convolution(module: nn.Module, p: Tensor) -> Tensor:
    # Stored as (inputs, outputs / groups, *kernel): every input position is a row that the weights spread over a patch.
    groups = int(module.groups)  # type: ignore[arg-type]
    return p.reshape(groups, p.shape[0] // groups, -1).mT


def _refuse_embedding(module: nn.Module) -> str | None:
    if getattr(module, "max_norm", None) is not None:
        return "max_norm rewrites the weights during the forward pass, so measuring would change the model"
    if getattr(module, "mode", None) == "max":
        return "mode='max' is not a matrix product of the weights"
    return None


def _outer(x1: Tensor, x2: Tensor) -> Tensor:
    return torch.einsum("...i,...j->...ij", x1, x2).flatten(-2)


_LINEAR = LayerForm(matrix=lambda module, p: p[None])


def _convolution_form(dimensions: int) -> LayerForm:
    # Counted from the end, because a convolution may be called on one sample without a batch dimension.
    return LayerForm(matrix=_convolution, channel_dim=-1 - dimensions)


def _transposed_form(dimensions: int) -> LayerForm:
    return LayerForm(matrix=_transposed_convolution, channel_dim=-1 - dimensions, rows=scattered_rows)


# A token is a one-hot row of H, so Z = H Wᵀ with W the transposed table; a bag of tokens is a row of counts.
_TABLE = LayerForm(matrix=lambda module, p: p.mT[None], refuse=_refuse_embedding, reads_features=False)

_forms: dict[type | str, LayerForm] = {
    nn.Linear: _LINEAR,
    nn.Conv1d: _convolution_form(1),
    nn.Conv2d: _convolution_form(2),
    nn.Conv3d: _convolution_form(3),
    nn.ConvTranspose1d: _transposed_form(1),
    nn.ConvTranspose2d: _transposed_form(2),
    nn.ConvTranspose3d: _transposed_form(3),
    # z = Σ wᵢⱼ x1ᵢ x2ⱼ is linear in the outer product of the two inputs.
    nn.Bilinear: LayerForm(matrix=lambda module, p: p.flatten(1)[None], features=_outer),
    nn.Embedding: _TABLE,
    nn.EmbeddingBag: _TABLE,
    # GPT-2's linear layer stores its weight transposed; it is named by its path, because transformers is not imported.
    "transformers.pytorch_utils.Conv1D": LayerForm(matrix=lambda module, p: p.mT[None]),
}


def register_layer(module_type: type, form: LayerForm) -> None:
    """Register the normal form of a module type of your own (subclasses included) with :func:`gramian.nets.inspect`.

    >>> class Scaled(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.table = nn.Parameter(torch.ones(3, 2))
    ...     def forward(self, x):
    ...         return 2 * x @ self.table
    >>> register_layer(Scaled, LayerForm(parameter="table", matrix=lambda module, p: 2 * p.mT[None]))
    >>> form_of(Scaled())[0].__name__
    'Scaled'
    """
    if not (isinstance(module_type, type) and issubclass(module_type, nn.Module)):
        raise ValueError(f"module_type must be a subclass of nn.Module, got {module_type!r}")
    _forms[module_type] = form


def form_of(module: nn.Module) -> tuple[type[nn.Module], LayerForm] | None:
    """The class whose normal form a module has, and that form; None where none is registered.

    >>> form_of(nn.Linear(2, 2))[0].__name__
    'Linear'
    """
    for cls in type(module).__mro__:
        form = _forms.get(cls) or _forms.get(f"{cls.__module__}.{cls.__qualname__}")
        if form is not None:
            return cls, form
    return None
