"""The result of one forward pass, and the gradients at every layer of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from gramian.nets.layer_forms import Layer

Calls = dict[str, list["Call"]]
"""The uses of every layer in a forward pass, by the layer's name."""


@dataclass(frozen=True)
class Call:
    """One use of a layer in a forward pass: its output in the graph, and the map of gradients there to rows.

    ``group`` is the one of several weight matrices that this use multiplies by (a routed expert), None for all;
    ``count`` is then the number of rows.
    """

    edge: GradientEdge
    rows: Callable[[Tensor], Tensor]
    group: int | None = None
    count: int = 0


@dataclass(frozen=True)
class LayerFeatures:
    """Input and output of a layer, each (batch, features): the mean over the positions of a sample that count.

    ``tokens`` are the same at every position, (batch, positions, features), where the targets have positions too.
    """

    input: Tensor
    output: Tensor
    tokens: tuple[Tensor, Tensor] | None = None


@dataclass(frozen=True)
class ForwardPass:
    """The result of one forward pass: outputs, the calls of every layer in the graph, and pooled features.

    ``raw`` is what the model returned and ``output`` its tensor; ``order`` names the layers in the order of their
    first call, ``without_graph`` those that ran without gradients, ``refused`` the reasons of those whose output is not
    that of their normal form, ``shared`` the layers whose rows belong to several samples of the batch; ``features`` is
    empty unless the :class:`gramian.nets.capture.Capture` pools them; ``reused`` are layers whose weight is used
    outside their module too, and ``effective`` has the matrices of layers that do not multiply by their own weight.
    ``computed`` has, in a pass with other weights, the matrices that hooks computed from them.
    """

    raw: object
    output: Tensor
    layers: Sequence[Layer]
    calls: Calls
    order: tuple[str, ...]
    without_graph: frozenset[str]
    refused: Mapping[str, str]
    shared: frozenset[str]
    features: Mapping[str, LayerFeatures]
    reused: frozenset[str] = frozenset()
    effective: Mapping[str, Tensor] = field(default_factory=dict)
    computed: Mapping[str, Tensor] = field(default_factory=dict)

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
        try:
            found = torch.autograd.grad(scalar, wanted, retain_graph=retain, allow_unused=True) if wanted else ()
        except RuntimeError as error:
            if "use_reentrant" not in str(error):
                raise
            raise ValueError(
                "the model uses reentrant activation checkpointing, through which no gradient at a layer can be taken: "
                "pass use_reentrant=False to torch.utils.checkpoint, or switch checkpointing off "
                "(model.gradient_checkpointing_disable() of Hugging Face models)"
            ) from error
        at = dict(zip(edges, found, strict=False))
        rows: dict[str, list[Tensor]] = {}
        for layer in self.layers:
            uses = [(call, at[call.edge]) for call in self.calls[layer.name]]
            reached = [(call.group, call.rows(grad)) for call, grad in uses if grad is not None]
            rows[layer.name] = [D for group, D in reached if group is None]
            routed = [(group, D) for group, D in reached if group is not None]
            if routed:
                rows[layer.name].append(_side_by_side(routed, layer.weight_matrix().shape[0]))
        return rows, found[len(edges) :]

    def routed_rows(self, name: str) -> list[int] | None:
        """Number of rows of each weight matrix of a layer whose rows are routed to one of several, otherwise None."""
        groups = {call.group for call in self.calls[name]}
        if groups in (set(), {None}):
            return None
        layer = next(layer for layer in self.layers if layer.name == name)
        counts = [0] * layer.weight_matrix().shape[0]
        for call in self.calls[name]:
            for group in range(len(counts)) if call.group is None else [call.group]:
                counts[group] += call.count
        return counts


def _side_by_side(routed: Sequence[tuple[int, Tensor]], groups: int) -> Tensor:
    """Rows (n, 1, m) of single groups as rows (n, groups, m), with zero rows where a group has fewer than another."""
    by_group: dict[int, list[Tensor]] = {}
    for group, D in routed:
        by_group.setdefault(group, []).append(D[:, 0])
    parts = {group: torch.cat(found) for group, found in by_group.items()}
    any_part = next(iter(parts.values()))
    result = any_part.new_zeros(max(len(part) for part in parts.values()), groups, any_part.shape[1])
    for group, part in parts.items():
        result[: len(part), group] = part
    return result
