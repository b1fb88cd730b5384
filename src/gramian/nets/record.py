"""The record of one layer: its sums, its place in the network, and the geometry of its features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from gramian.nets.feature_matrix import Blocks, Unavailable
from gramian.nets.matrices import find_matrix
from gramian.nets.sums import LayerSums

__all__ = ["LayerRecord", "Numbers", "Settings", "Unavailable"]

Settings = dict[str, float | int | str | None]
"""Sizes, loss and options behind a report."""
Numbers = dict[str, float | int | str]
"""Columns of one layer with their values."""


@dataclass(frozen=True, eq=False)
class LayerRecord:
    """Everything that was measured in one layer; its matrices are computed on request, by name.

    ``depth`` counts the layers from here to the output, this one included; ``shape`` is (groups, outputs, inputs);
    ``geometry`` holds the columns that relate features and targets, and the balance with the next layer. A network
    that was measured a few layers at a time has the ``numbers`` of its layers and no sums.
    """

    name: str
    kind: str
    depth: int
    shape: tuple[int, int, int]
    kept: LayerSums | None
    geometry: Mapping[str, float] = field(default_factory=dict)
    numbers: Mapping[str, float | int | str] = field(default_factory=dict)

    @property
    def sums(self) -> LayerSums:
        """The sums over all samples; raises where they were not kept."""
        if self.kept is None:
            raise Unavailable(
                f"the matrices of layer {self.name!r} were not kept, because the layers were measured a few at a time: "
                f"inspect(..., layers=[{self.name!r}]) without layers_at_a_time has them"
            )
        return self.kept

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
        groups, m, k = self.shape
        return groups * (k if find_matrix(name).side == "input" else m)

    def dense(self, name: str) -> bool:
        """True where the matrix may be formed."""
        return find_matrix(name).may_be_formed(self.sums)

    def blocks(self, name: str) -> Blocks:
        """A matrix as one block per group."""
        return find_matrix(name).blocks(self.sums)
