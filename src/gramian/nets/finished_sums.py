"""The sums of one layer after the last batch, as the value from which its matrices are computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from gramian.nets.decay import Decay
from gramian.nets.effective import initial_effective
from gramian.nets.layer_forms import Layer
from gramian.nets.losses import Normaliser, Reduction
from gramian.nets.options import InspectOptions
from gramian.nets.running_sums import RunningSums
from gramian.nets.sums import LayerSums


@runtime_checkable
class Collected(Protocol):
    """The state of a :class:`gramian.nets.collect.Collector` after the last batch."""

    model: nn.Module
    layers: list[Layer]
    options: InspectOptions
    initial: Mapping[str, Tensor] | None
    initial_computed: Mapping[str, Tensor]
    reduction: Reduction
    normaliser: Normaliser
    decays: dict[str, Decay]
    sums: dict[str, RunningSums]
    reused: frozenset[str]
    routed: dict[str, Tensor]
    unpaired: set[str]
    projections: tuple[int, ...]
    samples: int
    batches: int

    @property
    def undecomposed(self) -> bool:
        """True where the mean loss over all batches cannot be known from their means."""
        ...


def finished_sums(layer: Layer, source: Collected) -> LayerSums:
    """The sums of one layer, normalised by samples and batches."""
    sums, decay = source.sums[layer.name], source.decays[layer.name]
    loss = None if sums.loss is None else sums.loss.finished()
    if loss is not None and source.normaliser.total != source.samples:
        # The loss of a sample is its share of the mean times n.
        loss.total.mul_((source.samples / source.normaliser.total) ** 2)
    gradient = stationary = None
    if sums.gradient is not None and layer.effective is None:
        mean = sums.gradient / (source.batches if source.reduction == "sum" else source.normaliser.total)
        gradient = layer.matrix(mean)
        stationary = gradient if decay.precondition is None else layer.matrix(decay.precondition(mean))
    rows, mean_gradients = _row_means(layer, source)
    return LayerSums(
        name=layer.name,
        weight=_storable(layer.weight_matrix()),
        samples=source.samples,
        rows=rows,
        agop=tuple(moment.finished() for moment in sums.agop),
        projections=source.projections,
        mean=mean_gradients,
        loss=loss,
        gradient=gradient,
        stationary_gradient=stationary,
        decay=decay,
        loss_scale=source.samples / source.batches if source.reduction == "sum" else 1.0,
        step=source.options.step,
        initial=initial_weight(layer, source),
        change=None if sums.change is None or layer.name in source.unpaired else sums.change.finished(),
        untrained=None if sums.untrained is None else sums.untrained.finished(),
        max_dim=source.options.max_dim,
        probes=sums.probes,
        no_fact_reason=_no_fact_reason(layer, source),
        tied_to=_tied_to(layer, source),
    )


def _tied_to(layer: Layer, source: Collected) -> str | None:
    """Another layer with the same weight, or a product outside the layer's module, so that the gradient covers both."""
    other = next((other.name for other in source.layers if other.shares_weight(layer)), None)
    return "a use outside its module" if other is None and layer.name in source.reused else other


def _row_means(layer: Layer, source: Collected) -> tuple[int, Tensor | None]:
    """The number of rows, and the sum of the gradients of each output over them."""
    sums = source.sums[layer.name]
    total = None if sums.mean is None else sums.mean.total
    if layer.name not in source.routed:
        return sums.rows, total
    counts = source.routed[layer.name]
    rows = sums.rows + int(counts.sum())
    if total is not None:
        # Centring subtracts (Σd)(Σd)ᵀ / rows, and every weight matrix has a number of rows of its own.
        total = total * (rows / counts.clamp(min=1).to(total)).sqrt()[:, None]
    return rows, total


def _no_fact_reason(layer: Layer, source: Collected) -> str | None:
    if source.undecomposed:
        return (
            "the model's own loss leaves out labels of -100, so its mean over several batches is not known: pass "
            "all samples as one batch"
        )
    if layer.effective is not None:
        return (
            "the layer multiplies by a matrix that its forward method computes (a low-rank update, a normalised "
            "weight), which is not itself at rest when training stops"
        )
    if not layer.weight().is_leaf:
        return (
            "its weight is computed from other parameters (a parametrisation), so it is not itself at rest when "
            "training stops"
        )
    return None


def initial_weight(layer: Layer, source: Collected) -> Tensor | None:
    """The weight matrix ``(groups, m, k)`` at initialisation; None where it is not known."""
    if source.initial is None:
        return None
    start = source.initial.get(layer.state_key(source.model))
    if start is None:  # a hook computes the weight
        found = source.initial_computed.get(layer.name) if layer.effective is None else None
    elif layer.effective is not None:
        found = initial_effective(layer, source.model, source.initial)
    else:
        found = layer.matrix(start)
    return None if found is None else _storable(found)


def _storable(W: Tensor) -> Tensor:
    """A copy on the CPU in a type that a file can hold: bfloat16 becomes float32, which loses nothing."""
    known = W.dtype in (torch.float16, torch.float32, torch.float64)
    return W.detach().to("cpu", W.dtype if known else torch.float32, copy=True)
