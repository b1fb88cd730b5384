"""The features of every layer beside the targets, streamed: what the forward hooks show goes into
FeatureMoments."""

from __future__ import annotations

import torch
from torch import Tensor

from gramian.nets.batches import Batch
from gramian.nets.geometry import FeatureMoments, class_means, nearest_mean, neural_collapse
from gramian.nets.layers import Layer

MOST_TARGETS = 1024  # columns of Y; a target with more (an image) is not read as a vector of values


class FeatureWatch:
    """Sums of pooled features and targets per layer; a layer that is used several times counts with its last
    call.

    The number of ``classes`` is 0 until class labels were seen.
    """

    def __init__(self, max_dim: int):
        self.max_dim = max_dim
        self.classes = 0
        self.shown: dict[str, tuple[Tensor, Tensor]] = {}
        self.inputs: dict[str, FeatureMoments] = {}
        self.outputs: dict[str, FeatureMoments] = {}

    def show(self, layer: Layer, H: Tensor, Z: Tensor) -> None:
        """Called by the forward hooks with the layer's input and output, one row per sample."""
        self.shown[layer.name] = (H, Z)

    def clear(self) -> None:
        """Forget the last forward pass."""
        self.shown = {}

    def add(self, batch: Batch, f: Tensor) -> None:
        """Add what was shown during the forward pass of this batch, whose outputs are ``f``."""
        Y = self.targets(batch, f)
        if Y is None:
            return
        for name, (H, Z) in self.shown.items():
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
        if y[0].numel() > MOST_TARGETS:
            return None
        if not y.is_floating_point():
            if y.ndim == 1 and f.ndim == 2 and f.shape[1] > 1 and bool(((y >= 0) & (y < f.shape[1])).all()):
                self.classes = f.shape[1]
                return torch.nn.functional.one_hot(y.long(), f.shape[1]).double()
            if f[0].numel() > 1 or y[0].numel() > 1:
                return None  # token ids, or a mask: not values to regress on
        return y.flatten(1).double() if y.ndim > 1 else y[:, None].double()

    def measure(self, layer: Layer, ridge: float, samples: int) -> dict[str, float]:
        """The numbers of one layer; {} where some batch could not be read."""
        moments = self.inputs.get(layer.name)
        if moments is None or moments.count != samples:
            return {}
        gamma = ridge * moments.mean_square
        found = {
            "target_linearity": moments.target_linearity(gamma),
            "target_linearity_gamma": gamma,
            "surrogate": self.outputs[layer.name].surrogate(),
            "surrogate_input": moments.surrogate(),
        }
        if self.classes:
            W = layer.matrix(layer.weight().detach())[0].cpu()
            found |= neural_collapse(moments, W if layer.kind == "Linear" else None)
        return found

    def means(self, samples: int) -> dict[str, Tensor]:
        """Class means of every fully read layer."""
        complete = {name: m for name, m in self.inputs.items() if m.count == samples}
        return {name: class_means(m) for name, m in complete.items()} if self.classes else {}

    def agreement(self, means: dict[str, Tensor], predicted: Tensor) -> dict[str, int]:
        """Per layer: samples of the last forward pass whose nearest class mean is the predicted class."""
        return {
            name: int((nearest_mean(self.shown[name][0].cpu(), mu) == predicted).sum()) for name, mu in means.items()
        }
