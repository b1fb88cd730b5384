"""Hooks in a context manager: the gradients at every layer's output, from one graph, and no trace afterwards.

The forward hook keeps the *gradient edge* of a layer's output, not the tensor: an in-place activation that
follows rewrites the tensor but not the edge, so the gradient is still the one with respect to the
pre-activation, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.utils.hooks import RemovableHandle

from gramian.nets.layers import Layer

# Seen by geometry: (layer, pooled input, pooled output), each (batch, features).
Watcher = Callable[[Layer, Tensor, Tensor], None]


@dataclass(frozen=True)
class Call:
    """One use of a layer in a forward pass; ``columns`` is its slice of a fused output."""

    edge: GradientEdge
    columns: slice | None = None


class Capture:
    """Context manager that records, for each forward pass, where every layer's output sits in the graph.

    ``clear()`` before a forward pass, ``gradients(s)`` after it. On leaving, also through an exception, all
    hooks are gone, every module is in the mode it was in, and ``requires_grad`` of every weight is what it
    was.

    >>> from gramian.nets.layers import find_layers
    >>> model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(inplace=True))
    >>> layers, _ = find_layers(model)
    >>> with Capture(model, layers) as capture:
    ...     y = model(torch.ones(1, 2))
    ...     rows = capture.gradients(y.sum())["0"]
    >>> rows[0].shape
    torch.Size([1, 1, 2])
    """

    def __init__(self, model: nn.Module, layers: Sequence[Layer], watch: Watcher | None = None):
        self.model, self.layers, self.watch = model, list(layers), watch
        self.calls: dict[str, list[Call]] = {}
        self.order: dict[str, None] = {}  # layers in the order of their first call
        self.without_graph: set[str] = set()
        self.listening = False
        self.batch = 0
        self._handles: list[RemovableHandle] = []
        self._training: list[tuple[nn.Module, bool]] = []
        self._grad: list[tuple[Tensor, bool]] = []
        self._linear: list[Callable[..., Tensor]] = []

    def __enter__(self) -> Capture:
        self._training = [(module, module.training) for module in self.model.modules()]
        try:
            self.model.eval()
            for layer in self.layers:
                weight = layer.weight()
                if weight.is_leaf and not weight.requires_grad:
                    # A frozen layer still needs a graph, or its gradients could not be asked for.
                    self._grad.append((weight, False))
                    weight.requires_grad_(True)
            self._register()
        except BaseException:
            self._restore()
            raise
        self.clear()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def clear(self, batch: int = 0) -> None:
        """Forget the last forward pass and listen to the next, of ``batch`` samples."""
        self.batch = batch
        self.calls = {layer.name: [] for layer in self.layers}
        self.listening = True

    def take(self) -> dict[str, list[Call]]:
        """The calls of the last forward pass, layer by layer; stops listening."""
        self.listening = False
        return self.calls

    def gradients(
        self, scalar: Tensor, calls: dict[str, list[Call]] | None = None, *, retain: bool = False
    ) -> dict[str, list[Tensor]]:
        """Gradients of a scalar at every call of every layer it reaches, as (batch · shared, groups, m)."""
        return self.gradients_and_weights(scalar, calls, weights=False, retain=retain)[0]

    def gradients_and_weights(
        self,
        scalar: Tensor,
        calls: dict[str, list[Call]] | None = None,
        *,
        weights: bool = True,
        retain: bool = False,
    ) -> tuple[dict[str, list[Tensor]], dict[str, Tensor]]:
        """The same, and the gradient for each layer's parameter over all its uses, tied ones included."""
        calls = self.calls if calls is None else calls
        # Activation checkpointing runs the forward pass again inside the backward pass: not to be counted.
        self.listening = False
        edges = {call.edge for uses in calls.values() for call in uses}
        places: list[Any] = list(edges)
        used = [layer for layer in self.layers if calls[layer.name]] if weights else []
        tensors = [layer.weight() for layer in used]
        found = torch.autograd.grad(scalar, places + tensors, retain_graph=retain, allow_unused=True)
        at = dict(zip(places, found, strict=False))
        rows: dict[str, list[Tensor]] = {}
        for layer in self.layers:
            rows[layer.name] = []
            for call in calls[layer.name]:
                grad = at[call.edge]
                if grad is not None:
                    part = grad if call.columns is None else grad[..., call.columns]
                    rows[layer.name].append(layer.normal_rows(part))
        by_weight = {
            layer.name: grad.to_dense() if grad.is_sparse else grad
            for layer, grad in zip(used, found[len(places) :], strict=True)
            if grad is not None
        }
        return rows, by_weight

    def _register(self) -> None:
        attention: dict[nn.Module, list[Layer]] = {}
        for layer in self.layers:
            if layer.inside_attention:
                attention.setdefault(layer.module, []).append(layer)
            else:
                self._handles.append(layer.module.register_forward_hook(self._module_hook(layer)))
        for module, parts in attention.items():
            self._handles.append(module.register_forward_pre_hook(self._attention_opens(parts)))
            self._handles.append(module.register_forward_hook(self._attention_closes, always_call=True))

    def _module_hook(self, layer: Layer) -> Callable[[nn.Module, Any, Any], None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            if self.listening and isinstance(output, Tensor):
                H = args[0] if args and isinstance(args[0], Tensor) else None
                self._record(layer, output)
                self._show(layer, H, output)

        return hook

    def _record(self, layer: Layer, output: Tensor, columns: slice | None = None) -> None:
        if output.grad_fn is None:
            self.without_graph.add(layer.name)
            return
        self.order.setdefault(layer.name)
        self.calls[layer.name].append(Call(get_gradient_edge(output), columns))

    def _show(self, layer: Layer, H: Tensor | None, Z: Tensor) -> None:
        if self.watch is not None and H is not None and layer.reads_features:
            with torch.no_grad():
                self.watch(layer, layer.pooled(H.detach(), self.batch), layer.pooled(Z.detach(), self.batch))

    def _attention_opens(self, parts: list[Layer]) -> Callable[[nn.Module, Any], None]:
        """Attention multiplies by its weights without calling a module: listen at F.linear while it runs."""

        def opens(module: nn.Module, args: Any) -> None:
            plain = F.linear
            sizes: list[tuple[int, int]] = []

            def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
                output = plain(input, weight, bias)
                if self.listening:
                    if not sizes and input.ndim == 3:
                        sizes.append((input.shape[0], input.shape[1]))
                    for part in parts:
                        self._record_slice(part, input, weight, output, sizes)
                return output

            self._linear.append(plain)
            F.linear = linear

        return opens

    def _record_slice(
        self, part: Layer, input: Tensor, weight: Tensor, output: Tensor, sizes: list[tuple[int, int]]
    ) -> None:
        parameter = part.weight()
        if weight is parameter:
            start, stop = 0, weight.shape[0]
        elif weight._base is parameter and part.rows is not None:
            start = weight.storage_offset() // weight.shape[1]
            stop = start + weight.shape[0]
        else:
            return
        columns = slice(None)
        if part.rows is not None:
            if not start <= part.rows[0] < stop:
                return
            columns = slice(part.rows[0] - start, part.rows[1] - start)
        self._record(part, output, columns)
        if sizes:
            # Inside attention tensors are (tokens, batch, ·), or those two flattened.
            length, batch = sizes[0] if input.ndim == 2 else input.shape[:2]
            H, Z = (T.reshape(length, batch, -1).transpose(0, 1) for T in (input, output[..., columns]))
            self._show(part, H, Z)

    def _attention_closes(self, module: nn.Module, args: Any, output: Any) -> None:
        if self._linear:
            F.linear = self._linear.pop()

    def _restore(self) -> None:
        while self._linear:
            F.linear = self._linear.pop()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        for module, training in self._training:
            module.training = training
        for weight, required in self._grad:
            weight.requires_grad_(required)
        self._grad.clear()
        self.calls = {}
