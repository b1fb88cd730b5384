"""The matrix, or stack of matrices, that each weight of a model is to the Gram-whitened optimiser."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_GATES = {nn.LSTM: 4, nn.LSTMCell: 4, nn.GRU: 3, nn.GRUCell: 3, nn.RNN: 1, nn.RNNCell: 1}
_RECURRENT = tuple(_GATES)
# Modules of transformers that multiply by a weight stored as (in, out), and say so by their name only.
_INPUT_FIRST = ("Conv1D", "Llama4TextExperts")
EMBEDDING = "an embedding: its rows are words and not neurons"


@dataclass(frozen=True)
class MatrixForm:
    """A weight as a stack of matrices ``(stack, outputs, inputs)``; each is whitened on its own.

    ``shape`` is the weight's shape with the stack as its first dimension, such as
    ``(groups, out/groups, in/groups, k, k)`` of a grouped convolution. Its second dimension has the outputs, or its
    third if ``transposed``; all others have the inputs.

    >>> form = MatrixForm((2, 3, 4, 5), transposed=True)
    >>> W = torch.randn(6, 4, 5)
    >>> form.stack(W).shape
    torch.Size([2, 4, 15])
    >>> torch.equal(form.restore(form.stack(W), W.shape), W)
    True
    """

    shape: tuple[int, ...]
    transposed: bool = False

    def __post_init__(self) -> None:
        if len(self.shape) < 3:
            raise ValueError(f"shape must be (stack, outputs, inputs, …), got {self.shape}: write (1, *weight.shape)")

    @classmethod
    def of(cls, weight: Tensor) -> MatrixForm:
        """One matrix ``(first dimension, all others)``: the form of the weight of a linear layer or a convolution."""
        return cls((1, *weight.shape))

    def stack(self, weight: Tensor) -> Float[Tensor, "stack m k"]:
        """The matrices of a weight."""
        blocks = weight.reshape(self.shape)
        return (blocks.transpose(1, 2) if self.transposed else blocks).flatten(2)

    def restore(self, matrices: Float[Tensor, "stack m k"], shape: torch.Size) -> Tensor:
        """The weight of this shape that has these matrices."""
        if not self.transposed:
            return matrices.reshape(shape)
        stack, inputs, outputs, *kernel = self.shape
        return matrices.reshape(stack, outputs, inputs, *kernel).transpose(1, 2).reshape(shape)

    def fits(self, weight: Tensor) -> bool:
        """True for a weight with as many entries as the form."""
        return math.prod(self.shape) == weight.numel()


def matrix_forms(
    model: nn.Module, whiten: Mapping[str, bool | MatrixForm] | None = None
) -> dict[str, MatrixForm | str]:
    """The form in which each parameter of a model is whitened, or the reason why it is left to the base optimiser.

    Whitened are the weights of linear layers, convolutions (per group), transposed convolutions (their outputs are the
    second dimension), recurrent layers (per gate), attention (queries, keys and values apart) and stacks of experts
    ``(E, h, d)`` (per expert). Left are vectors, embeddings and all weights tied with one, normalisations, the head and
    parameters of no known kind. The head is what ``model.get_output_embeddings()`` returns, as Hugging Face models
    have it, or else the layer that was registered last.

    Parameters
    ----------
    model
        The model; its parameters are listed once, by the first name they have.
    whiten
        Exceptions by the name of a module or parameter: True, False, or the :class:`MatrixForm` of a parameter.

    >>> model = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    >>> for name, form in matrix_forms(model).items():
    ...     print(name, form)
    0.weight an embedding: its rows are words and not neurons
    1.weight MatrixForm(shape=(1, 6, 4), transposed=False)
    1.bias a vector
    3.weight the head
    3.bias a vector
    """
    parameters = dict(model.named_parameters())
    names = {id(parameter): name for name, parameter in parameters.items()}
    natural: dict[str, MatrixForm | str] = {}
    left: dict[str, str] = {}
    last: tuple[nn.Module, MatrixForm] | None = None
    for prefix, module in model.named_modules():
        for key, parameter in module.named_parameters(recurse=False):
            name = names[id(parameter)]
            if nn.parameter.is_lazy(parameter):
                raise ValueError(f"{name!r} has no shape yet: run the model once before the optimiser is made")
            form = _form_of(module, key, parameter)
            natural.setdefault(name, form)
            if isinstance(form, MatrixForm):
                last = module, form
            if isinstance(module, nn.Embedding | nn.EmbeddingBag):
                own = name == (f"{prefix}.{key}" if prefix else key)
                left[name] = EMBEDDING if own else f"tied with the embedding {prefix!r}"
    head = _head(model, last)
    for parameter in head.parameters() if head is not None else ():
        if isinstance(natural[names[id(parameter)]], MatrixForm):
            left.setdefault(names[id(parameter)], "the head")
    found = natural | left
    for name, value in _exceptions(whiten or {}, parameters).items():
        if value is True:
            found[name] = _forced(name, natural[name], parameters[name])
        else:
            found[name] = value if isinstance(value, MatrixForm) else "whiten says so"
    return found


def _form_of(module: nn.Module, key: str, parameter: Tensor) -> MatrixForm | str:
    if (reason := refusal(parameter)) is not None:
        return "a vector" if parameter.ndim < 2 else reason
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        return EMBEDDING
    if isinstance(module, nn.LayerNorm | nn.RMSNorm):
        return "a normalisation"
    shape = tuple(parameter.shape)
    if isinstance(module, _TRANSPOSED) and key == "weight":
        return MatrixForm((module.groups, shape[0] // module.groups, *shape[1:]), transposed=True)
    if isinstance(module, _CONVOLUTIONS) and key == "weight":
        return MatrixForm((module.groups, shape[0] // module.groups, *shape[1:]))
    if isinstance(module, nn.Linear | nn.Bilinear) and key == "weight":
        return MatrixForm((1, *shape))
    if isinstance(module, nn.MultiheadAttention) and key.endswith("_weight"):
        stack = 3 if key == "in_proj_weight" else 1
        return MatrixForm((stack, shape[0] // stack, *shape[1:]))
    if isinstance(module, _RECURRENT) and key.startswith("weight_"):
        # The projection weight_hr of an LSTM is one matrix, all others have a block of rows per gate.
        gates = next(count for kind, count in _GATES.items() if isinstance(module, kind))
        gates = 1 if key.startswith("weight_hr") else gates
        return MatrixForm((gates, shape[0] // gates, *shape[1:]))
    return _unknown_form(module, key, shape)


def _unknown_form(module: nn.Module, key: str, shape: tuple[int, ...]) -> MatrixForm | str:
    """The form of a parameter that a module of no known kind holds, by its shape and name."""
    kind = type(module)
    by_name = kind.__module__.startswith("transformers.") and kind.__name__ in _INPUT_FIRST
    transposed = by_name or getattr(module, "is_transposed", False) is True
    weight_like = key.endswith(("weight", "_proj"))
    if len(shape) == 2 and weight_like:
        return MatrixForm((1, *shape), transposed)
    # A first dimension of 1 is that of a table which is added to every sample, such as position embeddings.
    if len(shape) == 3 and shape[0] > 1 and not key.endswith("bias"):
        return MatrixForm(shape, transposed)
    return f"not known to be a weight (whiten={{name: True}} whitens it): {kind.__name__} has it as {key!r}"


def _head(model: nn.Module, last: tuple[nn.Module, MatrixForm] | None) -> nn.Module | None:
    for module in model.modules():
        getter = getattr(module, "get_output_embeddings", None)
        output = getter() if callable(getter) else None
        if isinstance(output, nn.Module):
            return output
    # A stack of several matrices is experts, gates or attention, and no head.
    return last[0] if last is not None and last[1].shape[0] == 1 else None


def _exceptions(
    whiten: Mapping[str, bool | MatrixForm], parameters: Mapping[str, Tensor]
) -> dict[str, bool | MatrixForm]:
    """The exceptions by parameter; a longer name is the more special one and wins."""
    found: dict[str, bool | MatrixForm] = {}
    for key in sorted(whiten, key=len):
        value = whiten[key]
        named = [name for name in parameters if name == key or name.startswith(f"{key}.")]
        if not named:
            raise ValueError(f"whiten: the model has no parameter or module {key!r}; it has {list(parameters)}")
        for name in named:
            reason = refusal(parameters[name])
            if reason is None:
                if isinstance(value, MatrixForm):
                    check_fit(value, parameters[name])
                found[name] = value
            elif name == key and value is not False:
                raise ValueError(f"whiten: cannot whiten {name!r} of shape {tuple(parameters[name].shape)}: {reason}")
    return found


def _forced(name: str, natural: MatrixForm | str, parameter: Tensor) -> MatrixForm:
    if isinstance(natural, MatrixForm):
        return natural
    if parameter.ndim == 2:
        return MatrixForm.of(parameter)
    raise ValueError(
        f"whiten: the form of {name!r} with shape {tuple(parameter.shape)} is not known: pass "
        f"whiten={{{name!r}: MatrixForm((stack, outputs, inputs, …))}} instead of True"
    )


def check_fit(form: MatrixForm, parameter: Tensor) -> None:
    """Refuse a form of another size than the parameter."""
    if not form.fits(parameter):
        raise ValueError(f"whiten: {form} does not fit a parameter of shape {tuple(parameter.shape)}")


def refusal(parameter: Tensor) -> str | None:
    """The reason why a parameter can have no Gram matrix, or None."""
    if parameter.ndim < 2:
        return "a Gram matrix needs two or more dimensions"
    if parameter.numel() == 0:
        return "it is empty"
    if not parameter.is_floating_point():
        return f"{parameter.dtype} is not a real floating-point type"
    return None
