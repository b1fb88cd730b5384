"""The dimension of a layer's tensors that runs over the samples, found by running one sample alone.

Sizes alone cannot tell samples from tokens where a batch has as many of one as of the other. A dimension that is n in
a batch of n samples and 1 for its first sample alone is the batch; a layer whose output has the same shape in both
computes rows that all samples share (position embeddings, learned queries).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

Shape = tuple[int, ...]


@dataclass(frozen=True)
class CallShapes:
    """Shapes of the input and the output of one call of a layer; the input is None where it is not known."""

    input: Shape | None
    output: Shape


Shapes = dict[str, list[CallShapes]]
"""The shapes of all calls of every layer in a forward pass."""


@dataclass(frozen=True)
class LayerAxes:
    """The batch dimension of the input and the output of a layer, None where it is not known."""

    input: int | None = None
    output: int | None = None


@dataclass
class BatchAxes:
    """Batch dimensions of all layers: from a sample that was run ``alone``, or from sizes where that is impossible."""

    alone: Shapes | None = None
    known: dict[str, LayerAxes] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()

    def of(self, name: str, call: int, shapes: CallShapes, batch: int) -> LayerAxes:
        """The batch dimensions of one call of a layer.

        >>> axes = BatchAxes(alone={"a": [CallShapes((5, 1, 2), (5, 1, 3))]})
        >>> axes.of("a", 0, CallShapes((5, 5, 2), (5, 5, 3)), batch=5)
        LayerAxes(input=1, output=1)
        >>> BatchAxes().of("a", 0, CallShapes((5, 5, 2), (5, 5, 3)), batch=5)
        LayerAxes(input=None, output=None)
        """
        if self.alone is None or batch == 1:
            return LayerAxes(_by_size(shapes.input, batch), _by_size(shapes.output, batch))
        if name not in self.known:
            calls = self.alone.get(name, [])
            if call >= len(calls):
                return LayerAxes()
            one = calls[call]
            self.known[name] = LayerAxes(
                _changed(one.input, shapes.input, batch), _changed(one.output, shapes.output, batch)
            )
        return self.known[name]

    def find_shared(self, whole: Shapes, batch: int) -> None:
        """Find the layers whose rows belong to several samples, from the shapes of a batch of at least two."""
        alone = self.alone
        if alone is None:
            names = [name for name, calls in whole.items() if any(not _has_samples(c.output, batch) for c in calls)]
        else:
            names = [name for name, calls in whole.items() if _equal_shapes(alone.get(name, []), calls)]
        self.shared = frozenset(names)


def same_outputs(alone: Tensor, together: Tensor) -> bool:
    """True where the outputs of samples that were run alone are those of the batch, up to rounding."""
    if alone.shape != together.shape:
        return False
    tolerance = torch.finfo(together.dtype).eps ** 0.5
    return bool((alone.detach() - together.detach()).norm() <= tolerance * together.detach().norm())


def _by_size(shape: Shape | None, batch: int) -> int | None:
    """The one of the first two dimensions that has the size of the batch; None where it is both or neither."""
    if shape is None:
        return None
    if batch == 1 and len(shape) > 2:
        return 1 if shape[0] != 1 and shape[1] == 1 else 0
    fits = [axis for axis in range(min(2, len(shape) - 1)) if shape[axis] == batch]
    return fits[0] if len(fits) == 1 else None


def _changed(alone: Shape | None, whole: Shape | None, batch: int) -> int | None:
    if alone is None or whole is None or len(alone) != len(whole):
        return None
    changed = [axis for axis, (one, all_) in enumerate(zip(alone, whole, strict=True)) if one != all_]
    if len(changed) != 1 or alone[changed[0]] != 1 or whole[changed[0]] != batch:
        return None
    return changed[0]


def _has_samples(shape: Shape, batch: int) -> bool:
    return any(size and size % batch == 0 for size in shape)


def _equal_shapes(alone: Sequence[CallShapes], whole: Sequence[CallShapes]) -> bool:
    """True where some call has the same output shape for one sample as for the batch."""
    return len(alone) == len(whole) and any(a.output == b.output for a, b in zip(alone, whole, strict=True))
