"""The record of one layer: its sums, its place in the network, and the geometry of its features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from gramian.nets.feature_matrix import Blocks, Unavailable
from gramian.nets.matrices import find_matrix
from gramian.nets.sums import LayerSums

__all__ = ["LayerRecord", "Settings", "Unavailable"]

Settings = dict[str, float | int | str | None]
"""Sizes, loss and options behind a report."""


@dataclass(frozen=True, eq=False)
class LayerRecord:
    """Everything that was measured in one layer; its matrices are computed on request, by name.

    ``depth`` counts the layers from here to the output, this one included; ``geometry`` holds the columns that relate
    features and targets, and the balance with the next layer.
    """

    kind: str
    depth: int
    sums: LayerSums
    geometry: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Dotted name of the layer."""
        return self.sums.name

    @property
    def weight(self) -> Float[Tensor, "g m k"]:
        """The weights, one matrix per group."""
        return self.sums.weight

    @property
    def W(self) -> Float[Tensor, "g m k"]:
        """The weights in float64."""
        return self.sums.W

    def dim(self, name: str) -> int:
        """Number of rows of a matrix, over all groups."""
        return find_matrix(name).dim(self.sums)

    def dense(self, name: str) -> bool:
        """True where the matrix may be formed."""
        return find_matrix(name).may_be_formed(self.sums)

    def blocks(self, name: str) -> Blocks:
        """A matrix as one block per group."""
        return find_matrix(name).blocks(self.sums)
