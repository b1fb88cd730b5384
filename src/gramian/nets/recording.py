"""The record of one forward pass while it runs: the uses of every layer, their shapes, and pooled features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge

from gramian.nets.batch_axes import BatchAxes, CallShapes, LayerAxes, Shape, Shapes
from gramian.nets.forward_pass import Call, Calls, LayerFeatures
from gramian.nets.layer_forms import Layer


@dataclass
class Recording:
    """State that hooks fill during one forward pass.

    ``axes`` finds the batch dimensions of the layers. ``mask`` (batch, positions) is False for padding,
    ``target_positions`` the number of positions of targets that may have one value per position, ``unmasked`` a number
    of positions whose padding is not known. ``refused`` has the reasons of layers without a normal form, ``factors``
    the inputs (rows, groups, k) of products that are checked through the gradient of their weight.
    """

    batch: int
    calls: Calls
    axes: BatchAxes
    pools: bool = False
    mask: Tensor | None = None
    target_positions: int | None = None
    unmasked: int | None = None
    unchecked: set[str] = field(default_factory=set)
    shapes: Shapes = field(default_factory=dict)
    order: dict[str, None] = field(default_factory=dict)
    without_graph: set[str] = field(default_factory=set)
    features: dict[str, LayerFeatures] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    factors: dict[str, list[Tensor]] = field(default_factory=dict)

    def add(
        self,
        layer: Layer,
        output: Tensor,
        rows: Callable[[Tensor], Tensor],
        *,
        input_shape: Shape | None = None,
        group: int | None = None,
        count: int = 0,
    ) -> None:
        """Record a use of a layer: the output of its product, and the map of gradients there to rows.

        ``group`` is the one of several weight matrices that was used, with ``count`` rows.
        """
        self.shapes.setdefault(layer.name, []).append(CallShapes(input_shape, tuple(output.shape)))
        if output.grad_fn is None:
            self.without_graph.add(layer.name)
            return
        self.order.setdefault(layer.name)
        self.calls[layer.name].append(Call(*_stable_edge(output, rows), group, count))

    def call_axes(self, layer: Layer) -> LayerAxes:
        """The batch dimensions of the call of a layer that was recorded last."""
        calls = self.shapes[layer.name]
        return self.axes.of(layer.name, len(calls) - 1, calls[-1], self.batch)

    def add_features(self, layer: Layer, H: Tensor, Z: Tensor, axes: LayerAxes) -> None:
        """Record the features of a layer, in place of those of an earlier call."""
        if not (self.pools and layer.reads_features):
            return
        self.features.pop(layer.name, None)
        with torch.no_grad():
            h, z = (
                _samples_first(T.detach(), layer.channel_dim, axis) for T, axis in ((H, axes.input), (Z, axes.output))
            )
            if h is None or z is None or not len(h) == len(z) == self.batch or self._unknown_padding(h, z):
                return
            tokens = None
            if self.target_positions is not None and h.shape[1:-1] == z.shape[1:-1] == (self.target_positions,):
                tokens = (h.clone(), z.clone())
            self.features[layer.name] = LayerFeatures(self._pooled(h), self._pooled(z), tokens)

    def _unknown_padding(self, *features: Tensor) -> bool:
        return self.unmasked is not None and any(T.shape[1:-1] == (self.unmasked,) for T in features)

    def _pooled(self, T: Tensor) -> Tensor:
        """The mean over the positions that count, as a copy, because an in-place activation may follow."""
        if T.ndim == 2:
            return T.clone()
        mask = self.mask
        if mask is None or T.shape[1:-1] != mask.shape[1:]:
            return T.flatten(1, -2).mean(1)
        kept = mask.to(T)[:, :, None]
        # A sample that is all padding has no features; its mean over nothing is taken as 0.
        return torch.where(kept.bool(), T, 0).sum(1) / kept.sum(1).clamp(min=1)


def _samples_first(T: Tensor, channel_dim: int, axis: int | None) -> Tensor | None:
    """A tensor as (batch, positions …, features); None where the batch dimension is not known, or holds features."""
    channel = channel_dim % T.ndim
    if axis is None or axis == channel:
        return None
    return T.movedim((axis, channel), (0, -1))


def _stable_edge(output: Tensor, rows: Callable[[Tensor], Tensor]) -> tuple[GradientEdge, Callable[[Tensor], Tensor]]:
    """The place of an output in the graph that an in-place activation does not remove.

    An in-place operation on a view replaces the node of the view, but not that of its base, so the gradient is taken at
    the base, in the places of the view. ``F.linear`` returns a view for an input with positions.
    """
    base = output._base
    if base is None or base.grad_fn is None or _repeats(output) or _repeats(base):
        return get_gradient_edge(output), rows
    shape, strides, start = output.shape, output.stride(), output.storage_offset() - base.storage_offset()
    layout, contiguous = (base.shape, base.stride()), base.is_contiguous()

    def rows_of_view(gradient: Tensor) -> Tensor:
        if contiguous:
            placed = gradient.contiguous()
        else:
            placed = torch.empty_strided(*layout, dtype=gradient.dtype, device=gradient.device).copy_(gradient)
        return rows(placed.as_strided(shape, strides, placed.storage_offset() + start))

    return get_gradient_edge(base), rows_of_view


def _repeats(T: Tensor) -> bool:
    """True for an expanded tensor, of which several entries have one place in memory."""
    return any(size > 1 and step == 0 for size, step in zip(T.shape, T.stride(), strict=True))
