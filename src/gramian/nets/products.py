"""Products with parameters that a module holds itself: stacks of experts, routers, ``x @ self.weight``.

While such a module runs, every torch function that receives one of its parameters, or a view of one, is seen. Products
``Z = H Wᵀ`` are recorded: ``F.linear``, ``@``, ``bmm``, ``einsum`` and ``grouped_mm``, with the whole parameter or with
one matrix of a stack (E, m, k), whose E matrices are the groups of the layer. A parameter that is used in any other way
has no normal form, and is skipped with the name of that function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter
from torch.overrides import TorchFunctionMode, resolve_name

from gramian.nets.layer_forms import Layer, Orientation, Undo
from gramian.nets.product_forms import Product, find_product
from gramian.nets.recording import Recording


def product_layers(name: str, module: nn.Module) -> list[Layer]:
    """Parameters of a module's own that may be weight matrices, as layers; a forward pass shows which of them are.

    >>> class Own(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.kernel, self.bias = nn.Parameter(torch.ones(3, 2)), nn.Parameter(torch.ones(2))
    >>> [layer.name for layer in product_layers("0", Own())]
    ['0.kernel']
    """
    layers = []
    for key, p in module.named_parameters(recurse=False):
        if not isinstance(p, UninitializedParameter) and p.ndim not in (2, 3):
            continue
        # The experts of transformers say how their weights are stored.
        known = bool(module.is_transposed) if hasattr(module, "is_transposed") else None
        orientation = Orientation(known)
        layers.append(
            Layer(
                f"{name}.{key}" if name else key,
                type(module).__name__,
                module,
                key,
                matrix=orientation.matrix,
                watch=watch_products,
                orientation=orientation,
            )
        )
    return layers


def watch_products(module: nn.Module, parts: list[Layer], current: Callable[[], Recording | None]) -> list[Undo]:
    """See every torch function that runs inside a module; returns the functions that end it."""
    plain = module.forward
    own = vars(module).get("forward")

    def forward(*args: Any, **kwargs: Any) -> Any:
        recording = current()
        open_parts = [] if recording is None else [part for part in parts if part.name not in recording.refused]
        if recording is None or not open_parts:
            return plain(*args, **kwargs)
        with _Watcher(recording, {id(part.weight()): part for part in open_parts}):
            return plain(*args, **kwargs)

    module.forward = forward

    def restore() -> None:
        vars(module).pop("forward", None)
        if own is not None:
            vars(module)["forward"] = own

    return [restore, _use_eager_experts(module)]


def _use_eager_experts(module: nn.Module) -> Undo:
    """Let experts of transformers run as a loop over experts, which computes the same as their fused kernels."""
    config = getattr(module, "config", None)
    chosen = getattr(config, "_experts_implementation", None)
    if config is None or chosen in (None, "eager"):
        return lambda: None
    config._experts_implementation = "eager"

    def restore() -> None:
        config._experts_implementation = chosen

    return restore


def unexplained(recording: Recording, output: Tensor, layers: list[Layer]) -> list[Layer]:
    """The layers whose weight has another gradient than their recorded products give it, on a random combination.

    Uses that no torch function shows (a custom autograd function) are found in this way.
    """
    found = [layer for layer in layers if recording.factors.get(layer.name)]
    if not found or not output.requires_grad:
        return []
    direction = torch.randn(output.shape, generator=torch.Generator().manual_seed(0)).to(output)
    calls = [call for layer in found for call in recording.calls[layer.name]]
    wanted: list[Any] = [*(call.edge for call in calls), *(layer.weight() for layer in found)]
    gradients = torch.autograd.grad((output * direction).sum(), wanted, retain_graph=True, allow_unused=True)
    at, weights = iter(gradients[: len(calls)]), gradients[len(calls) :]
    wrong = []
    for layer, grad in zip(found, weights, strict=True):
        total, size = torch.zeros_like(layer.weight_matrix(), dtype=torch.float64), 0.0
        for call, H in zip(recording.calls[layer.name], recording.factors[layer.name], strict=True):
            gradient = next(at)
            if gradient is not None:
                D, H = call.rows(gradient).double(), H.double()
                part = torch.einsum("ngm,ngk->gmk", D, H)
                size += float(D.norm() * H.norm())  # of the terms, which may cancel
                total[slice(None) if call.group is None else slice(call.group, call.group + 1)] += part
        actual = torch.zeros_like(total) if grad is None else layer.matrix(grad).double()
        precisions = [output.dtype, *(H.dtype for H in recording.factors[layer.name])]
        tolerance = 1000 * max(torch.finfo(dtype).eps for dtype in precisions)
        if float((total - actual).norm()) > tolerance * max(float(actual.norm()), size):
            wrong.append(layer)
    return wrong


_CASTS = (Tensor.to, Tensor.type, Tensor.type_as, Tensor.float, Tensor.double, Tensor.half, Tensor.bfloat16)


class _Call(NamedTuple):
    """``result = func(*args, **kwargs)``, in which ``operand`` is a watched tensor or a view of one."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    operand: Tensor
    result: Any


class _Uses(TorchFunctionMode, ABC):
    """Calls :meth:`used` for every torch function that receives a watched tensor, or a view of one."""

    def __init__(self, watched: Container[int]):
        super().__init__()
        self._watched = watched

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        for operand in _tensors((*args, *kwargs.values())):
            base = operand if id(operand) in self._watched else operand._base
            if base is not None and id(base) in self._watched:
                self.used(base, _Call(func, args, kwargs, operand, result))
        return result

    @abstractmethod
    def used(self, base: Tensor, call: _Call) -> None:
        """React to a call that receives the watched tensor ``base``, or a view of it."""


class WeightUses(_Uses):
    """Counts the torch functions that compute something from each weight, views and values without gradients aside.

    >>> weight = nn.Parameter(torch.ones(2, 2))
    >>> with WeightUses([weight]) as uses:
    ...     _ = torch.ones(1, 2) @ weight.T, weight.shape, weight + 1
    >>> uses.count(weight)
    2
    """

    def __init__(self, weights: Iterable[Tensor]):
        # Held, because a hook may replace a weight by a new tensor, which must not get the id of an old one.
        self._weights = list(weights)
        self._counts = {id(weight): 0 for weight in self._weights}
        super().__init__(self._counts)

    def count(self, weight: Tensor) -> int:
        """Number of functions that used a weight; 0 for a tensor that is not watched."""
        return self._counts.get(id(weight), 0)

    def used(self, base: Tensor, call: _Call) -> None:
        if not _is_passive(call.result, base):
            self._counts[id(base)] += 1


def _is_passive(result: object, base: Tensor) -> bool:
    """True for a view of the tensor, a size, or a value without gradients."""
    return all(T is base or T._base is base or not T.requires_grad for T in _tensors(result))


class _Watcher(_Uses):
    """Sees the torch functions that receive a parameter, and records those that are products."""

    def __init__(self, recording: Recording, layers: dict[int, Layer]):
        super().__init__(layers)
        self.recording, self.layers = recording, layers
        # Weights in another precision, kept because a new tensor could get the id of an old one.
        self.copies: list[Tensor] = []

    def used(self, base: Tensor, call: _Call) -> None:
        layer = self.layers[id(base)]
        if layer.name in self.recording.refused:
            return
        if call.func in _CASTS and call.operand is base and call.operand is call.args[0]:
            self.layers[id(call.result)] = layer
            self.copies.append(call.result)
            return
        transformed = torch._C._functorch.maybe_current_level() is not None  # by vmap or torch.func
        if not transformed and _is_passive(call.result, base):
            return
        found = None if transformed else find_product(*call[:4], base, call.result)
        if transformed or not self._record(layer, found, call.result):
            name = (resolve_name(call.func) or str(call.func)).rsplit(".", 1)[-1]
            self.recording.refused[layer.name] = (
                f"it is used by {name!r}, which is no product Z = H Wᵀ with the whole matrix (a bias or an "
                "embedding of positions has none; otherwise register one with gramian.nets.register_layer)"
            )

    def _is_parameter(self, T: Tensor) -> bool:
        return id(T) in self.layers or id(T._base) in self.layers

    def _record(self, layer: Layer, product: Product | None, result: Tensor) -> bool:
        orientation = layer.orientation
        assert orientation is not None
        if product is None or self._is_parameter(product.input):
            return False  # in a product of two parameters neither of them is a layer
        calls = self.recording.calls[layer.name]
        if orientation.transposed is None:
            orientation.transposed = product.transposed
        if orientation.transposed != product.transposed:
            return False
        shape, H = tuple(product.input.shape), product.rows_in(product.input.detach())
        for group, part in product.parts:
            before = len(calls)
            rows = _rows_of(product, part)
            self.recording.add(layer, result, rows, input_shape=shape, group=group, count=H[part].shape[0])
            if layer.name in self.recording.unchecked and len(calls) > before:
                self.recording.factors.setdefault(layer.name, []).append(H[part])
        if product.plain and product.parts == [(None, slice(None))]:
            self.recording.add_features(layer, product.input, result, self.recording.call_axes(layer))
        return True


def _rows_of(product: Product, part: slice) -> Callable[[Tensor], Tensor]:
    return lambda gradient: product.rows_out(gradient)[part]


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
