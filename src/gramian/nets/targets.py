"""The targets of a batch as rows beside the features: one row per sample, or one per position."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from gramian.nets.batches import Batch
from gramian.nets.forward_pass import LayerFeatures
from gramian.nets.losses import IGNORED

MAX_TARGETS = 1024  # columns of Y; a target with more (an image, a vocabulary) is not read as a vector of values


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets ``values (units, c)``: one-hot for class labels, values otherwise.

    ``classes`` is the number of classes, 0 for values, and ``predicted`` (units,) the classes that the model predicts.
    ``kept`` marks the units that count: (batch,) where every sample is a unit, (batch, positions) where every position
    is one; it is None where all samples count.
    """

    values: Tensor
    classes: int = 0
    predicted: Tensor | None = None
    kept: Tensor | None = None

    def rows_of(self, features: LayerFeatures) -> tuple[Tensor, Tensor] | None:
        """Input and output of a layer, each (units, features); None for a layer without these positions."""
        if self.kept is None:
            return features.input, features.output
        if self.kept.ndim == 1:
            kept = self.kept.to(features.input.device)
            return features.input[kept], features.output[kept]
        if features.tokens is None:
            return None
        kept = self.kept.to(features.tokens[0].device)
        return features.tokens[0][kept], features.tokens[1][kept]


def read_targets(batch: Batch, output: Tensor) -> Targets | None:
    """The targets of a batch; None where there are none, or where they cannot be read as labels or values.

    Targets (n, T) or (n, T, c) beside outputs (n, T, c) belong to positions. Padding and labels of -100 do not count.

    >>> labels, logits = torch.tensor([[0, 1], [1, -100]]), torch.zeros(2, 2, 3)
    >>> read_targets(Batch((), {}, labels, 2), logits).values.shape
    torch.Size([3, 3])
    >>> read_targets(Batch((), {}, torch.tensor([2, -100]), 2), torch.zeros(2, 3)).kept
    tensor([ True, False])
    """
    y = batch.target
    if not isinstance(y, Tensor) or y.ndim == 0 or y.shape[0] != batch.size:
        return None
    if output.ndim == 3 and y.ndim in (2, 3) and y.shape[:2] == output.shape[:2]:
        return _of_positions(batch, y, output)
    if y[0].numel() > MAX_TARGETS:
        return None
    if not y.is_floating_point():
        if y.ndim == 1 and output.ndim == 2 and output.shape[1] > 1:
            kept = y != IGNORED
            return _of_labels(y, output, None if bool(kept.all()) else kept)
        if output[0].numel() > 1 or y[0].numel() > 1:
            return None  # a mask or indices: not values to regress on
    return Targets(y.flatten(1).double() if y.ndim > 1 else y[:, None].double())


def _of_positions(batch: Batch, y: Tensor, output: Tensor) -> Targets | None:
    labels = not y.is_floating_point()
    width = output.shape[2] if labels else (y.shape[2] if y.ndim == 3 else 1)
    if width > MAX_TARGETS or (labels and y.ndim == 3) or _is_shifted(batch, y):
        return None
    kept = torch.ones(y.shape[:2], dtype=torch.bool, device=y.device)
    if batch.mask is not None and batch.mask.shape == kept.shape:
        kept &= batch.mask.to(y.device)
    if not labels:
        values = y if y.ndim == 3 else y[..., None]
        return Targets(values[kept].double(), kept=kept)
    return _of_labels(y, output, kept & (y != IGNORED)) if width > 1 else None


def _of_labels(y: Tensor, output: Tensor, kept: Tensor | None) -> Targets | None:
    """Labels of the units that count; None where one of them is no class of the model."""
    classes, predicted = output.shape[-1], output.argmax(-1)
    if kept is not None:
        y, predicted = y[kept], predicted[kept.to(output.device)]
    if not bool(((y >= 0) & (y < classes)).all()):
        return None
    return Targets(F.one_hot(y.long(), classes).double(), classes, predicted, kept)


def _is_shifted(batch: Batch, y: Tensor) -> bool:
    """True for labels that are the model's own tokens: a causal language model shifts them itself, by one position."""
    ids = batch.kwargs.get("input_ids")
    if not isinstance(ids, Tensor) or ids.shape != y.shape or y.is_floating_point():
        return False
    return bool(((ids == y) | (y == IGNORED)).all())
