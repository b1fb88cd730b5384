"""Features of every layer beside the targets, summed over batches, and the geometry that follows from them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from torch import Tensor

from gramian.nets.batches import Batch
from gramian.nets.forward_pass import ForwardPass
from gramian.nets.geometry import FeatureMoments, class_means, nearest_mean, neural_collapse
from gramian.nets.layer_forms import Layer
from gramian.nets.targets import read_targets


class GeometryCollector:
    """Sums of features and targets per layer; a layer that is used several times counts with its last call.

    The number of ``classes`` is 0 until class labels were seen. Targets with one value or label per position are
    compared with the features of every position, in layers that have these positions; ``units`` counts the samples, or
    the positions that count. ``unread`` counts the batches whose targets could not be read: a part of the samples must
    not stand for all, so there are no numbers then.
    """

    def __init__(self, max_dim: int):
        self.max_dim = max_dim
        self.classes = 0
        self.units = 0
        self.unread = 0
        self.inputs: dict[str, FeatureMoments] = {}
        self.outputs: dict[str, FeatureMoments] = {}

    def add(self, batch: Batch, done: ForwardPass) -> None:
        """Add the features that were recorded in the forward pass of this batch."""
        found = read_targets(batch, done.output)
        if found is None:
            self.unread += 1
            return
        self.classes = self.classes or found.classes
        Y = found.values
        self.units += Y.shape[0]
        for name, features in done.features.items():
            pair = found.rows_of(features)
            if pair is None or pair[0].shape[0] != Y.shape[0] or pair[0].shape[1] > self.max_dim:
                continue
            H, Z = pair
            if name not in self.inputs:
                self.inputs[name] = FeatureMoments(H.shape[1], Y.shape[1])
                self.outputs[name] = FeatureMoments(Z.shape[1], Y.shape[1], second=False)
            if self.inputs[name].y.shape[0] != Y.shape[1]:
                continue  # targets of another length than the first batch's; the layer is then left out
            self.inputs[name].add(H, Y)
            self.outputs[name].add(Z, Y)

    def measure(
        self, layers: Iterable[Layer], ridge: float, classifiers: Collection[str]
    ) -> dict[str, dict[str, float]]:
        """The numbers of every layer that was read in all batches; ``classifiers`` are the last layers of the model.

        Features that are the same for all samples (learned queries, dead units) have none.
        """
        varying = {name for name, moments in self._complete().items() if not moments.is_constant}
        complete = [layer for layer in layers if layer.name in varying]
        return {layer.name: self._measure(layer, ridge, layer.name in classifiers) for layer in complete}

    def class_means(self) -> dict[str, Tensor]:
        """Class means of every layer that was read in all batches; empty without class labels."""
        return {name: class_means(m) for name, m in self._complete().items()} if self.classes else {}

    def underdetermined(self) -> dict[str, int]:
        """Layers with at least as many features as samples, and their number of features."""
        return {name: m.h.shape[0] for name, m in self._complete().items() if m.count <= m.h.shape[0]}

    def _complete(self) -> dict[str, FeatureMoments]:
        if self.unread or not self.units:
            return {}
        return {name: m for name, m in self.inputs.items() if m.count == self.units}

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
            W = layer.weight_matrix()[0].cpu()
            found |= neural_collapse(moments, W if classifier and layer.kind == "Linear" else None)
        return found


def nearest_mean_agreement(
    means: Mapping[str, Tensor], passes: Iterable[tuple[Batch, ForwardPass]]
) -> dict[str, float]:
    """NC4 of every layer: share of samples (or positions) whose nearest class mean is the class the model predicts.

    It needs the finished class means, hence a second pass over the data; NaN where that has no samples.
    """
    agree, units = dict.fromkeys(means, 0), 0
    for batch, done in passes:
        found = read_targets(batch, done.output)
        if found is None or found.predicted is None:
            continue
        for name, centres in means.items():
            pair = found.rows_of(done.features[name])
            assert pair is not None
            nearest = nearest_mean(pair[0].cpu(), centres)
            agree[name] += int((nearest == found.predicted.cpu()).sum())
        units += found.values.shape[0]
    return {name: count / units if units else math.nan for name, count in agree.items()}
