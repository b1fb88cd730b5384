"""The result of one forward pass, and the gradients at every layer of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from gramian.nets.layers import Layer

Calls = dict[str, list["Call"]]
"""The uses of every layer in a forward pass, by the layer's name."""


@dataclass(frozen=True)
class Call:
    """One use of a layer in a forward pass; ``columns`` is its slice of a fused output.

    ``scale`` is the constant factor by which a forward method or a hook multiplied the output.
    """

    edge: GradientEdge
    columns: slice | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class PooledFeatures:
    """Input and output of a layer, each (batch, features): the mean over the positions of a sample."""

    input: Tensor
    output: Tensor


@dataclass(frozen=True)
class ForwardPass:
    """The result of one forward pass: outputs, the calls of every layer in the graph, and pooled features.

    ``raw`` is what the model returned and ``output`` its tensor; ``order`` names the layers in the order of their
    first call, ``without_graph`` those that ran without gradients, ``refused`` the reasons of those whose output is not
    that of their normal form, ``shared`` the layers whose rows belong to several samples of the batch; ``features`` is
    empty unless the :class:`gramian.nets.capture.Capture` pools them.
    """

    raw: object
    output: Tensor
    layers: Sequence[Layer]
    calls: Calls
    order: tuple[str, ...]
    without_graph: frozenset[str]
    refused: Mapping[str, str]
    shared: frozenset[str]
    features: Mapping[str, PooledFeatures]

    def only(self, names: frozenset[str]) -> ForwardPass:
        """The same pass with the calls of some layers only."""
        chosen = [layer for layer in self.layers if layer.name in names]
        return replace(self, layers=chosen, calls={layer.name: self.calls[layer.name] for layer in chosen})

    def gradients(self, scalar: Tensor, *, retain: bool = False) -> dict[str, list[Tensor]]:
        """Gradients of a scalar at every call of every layer it reaches, as (batch · shared, groups, m)."""
        return self._differentiate(scalar, [], retain)[0]

    def gradients_and_weights(
        self, scalar: Tensor, *, retain: bool = False
    ) -> tuple[dict[str, list[Tensor]], dict[str, Tensor]]:
        """The same, and the gradient for each layer's parameter over all its uses, tied ones included."""
        used = [layer for layer in self.layers if self.calls[layer.name]]
        rows, found = self._differentiate(scalar, [layer.weight() for layer in used], retain)
        by_weight = {
            layer.name: grad.to_dense() if grad.is_sparse else grad
            for layer, grad in zip(used, found, strict=True)
            if grad is not None
        }
        return rows, by_weight

    def _differentiate(
        self, scalar: Tensor, weights: list[Tensor], retain: bool
    ) -> tuple[dict[str, list[Tensor]], Sequence[Tensor | None]]:
        edges: list[Any] = list({call.edge for uses in self.calls.values() for call in uses})
        wanted = edges + weights
        found = torch.autograd.grad(scalar, wanted, retain_graph=retain, allow_unused=True) if wanted else ()
        at = dict(zip(edges, found, strict=False))
        rows: dict[str, list[Tensor]] = {}
        for layer in self.layers:
            rows[layer.name] = []
            for call in self.calls[layer.name]:
                grad = at[call.edge]
                if grad is not None:
                    part = grad if call.columns is None else grad[..., call.columns]
                    D = layer.normal_rows(part)
                    rows[layer.name].append(D if call.scale == 1 else call.scale * D)
        return rows, found[len(edges) :]
