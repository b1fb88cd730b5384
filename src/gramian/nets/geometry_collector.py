"""Pooled features of every layer beside the targets, summed over batches, and the geometry that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import torch
from torch import Tensor

from gramian.nets.batches import Batch
from gramian.nets.forward_pass import ForwardPass
from gramian.nets.geometry import FeatureMoments, class_means, nearest_mean, neural_collapse
from gramian.nets.layers import Layer

MAX_TARGETS = 1024  # columns of Y; a target with more (an image) is not read as a vector of values


class GeometryCollector:
    """Sums of pooled features and targets per layer; a layer that is used several times counts with its last call.

    The number of ``classes`` is 0 until class labels were seen.
    """

    def __init__(self, max_dim: int):
        self.max_dim = max_dim
        self.classes = 0
        self.inputs: dict[str, FeatureMoments] = {}
        self.outputs: dict[str, FeatureMoments] = {}

    def add(self, batch: Batch, done: ForwardPass) -> None:
        """Add the features that were recorded in the forward pass of this batch."""
        Y = self.targets(batch, done.output)
        if Y is None:
            return
        for name, pooled in done.features.items():
            H, Z = pooled.input, pooled.output
            if H.shape[0] != batch.size or H.shape[1] > self.max_dim:
                continue
            if name not in self.inputs:
                self.inputs[name] = FeatureMoments(H.shape[1], Y.shape[1])
                self.outputs[name] = FeatureMoments(Z.shape[1], Y.shape[1], second=False)
            if self.inputs[name].y.shape[0] != Y.shape[1]:
                continue  # targets of another length than the first batch's; the layer is then left out
            self.inputs[name].add(H, Y)
            self.outputs[name].add(Z, Y)

    def targets(self, batch: Batch, f: Tensor) -> Tensor | None:
        """The targets as (n, c): one-hot for class labels, values otherwise; None where there are none."""
        y = batch.target
        if not isinstance(y, Tensor) or y.ndim == 0 or y.shape[0] != batch.size:
            return None
        if y[0].numel() > MAX_TARGETS:
            return None
        if not y.is_floating_point():
            if y.ndim == 1 and f.ndim == 2 and f.shape[1] > 1 and bool(((y >= 0) & (y < f.shape[1])).all()):
                self.classes = f.shape[1]
                return torch.nn.functional.one_hot(y.long(), f.shape[1]).double()
            if f[0].numel() > 1 or y[0].numel() > 1:
                return None  # token ids, or a mask: not values to regress on
        return y.flatten(1).double() if y.ndim > 1 else y[:, None].double()

    def measure(
        self, layers: Iterable[Layer], ridge: float, samples: int, classifiers: Collection[str]
    ) -> dict[str, dict[str, float]]:
        """The numbers of every layer that was read in all batches; ``classifiers`` are the last layers of the model."""
        complete = [layer for layer in layers if layer.name in self._complete(samples)]
        return {layer.name: self._measure(layer, ridge, layer.name in classifiers) for layer in complete}

    def class_means(self, samples: int) -> dict[str, Tensor]:
        """Class means of every layer that was read in all batches; empty without class labels."""
        return {name: class_means(m) for name, m in self._complete(samples).items()} if self.classes else {}

    def underdetermined(self) -> dict[str, int]:
        """Layers with at least as many features as samples, and their number of features."""
        return {name: m.h.shape[0] for name, m in self.inputs.items() if m.count <= m.h.shape[0]}

    def _complete(self, samples: int) -> dict[str, FeatureMoments]:
        return {name: m for name, m in self.inputs.items() if m.count == samples}

    def _measure(self, layer: Layer, ridge: float, classifier: bool) -> dict[str, float]:
        moments = self.inputs[layer.name]
        gamma = ridge * moments.mean_square
        found = {
            "target_linearity": moments.target_linearity(gamma),
            "target_linearity_gamma": gamma,
            "features_per_sample": moments.h.shape[0] / moments.count,
            "surrogate": self.outputs[layer.name].surrogate(),
            "surrogate_input": moments.surrogate(),
        }
        if self.classes:
            W = layer.matrix(layer.weight().detach())[0].cpu()
            found |= neural_collapse(moments, W if classifier and layer.kind == "Linear" else None)
        return found


def nearest_mean_agreement(
    means: Mapping[str, Tensor], passes: Iterable[tuple[Batch, ForwardPass]]
) -> dict[str, float]:
    """NC4 of every layer: share of samples whose nearest class mean is the class that the model predicts.

    It needs the finished class means, hence a second pass over the data.
    """
    agree, samples = dict.fromkeys(means, 0), 0
    for batch, done in passes:
        predicted = done.output.argmax(1).cpu()
        for name, centres in means.items():
            nearest = nearest_mean(done.features[name].input.cpu(), centres)
            agree[name] += int((nearest == predicted).sum())
        samples += batch.size
    return {name: count / samples for name, count in agree.items()}
