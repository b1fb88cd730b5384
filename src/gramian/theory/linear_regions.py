"""The linear regions that a segment crosses in a ReLU network (paper E, Lemma 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class SegmentPath:
    """A ReLU network along the segment from x to x′: ``p`` pieces on which it is linear.

    Attributes
    ----------
    x, end : Tensor (d,)
        The ends x and x′.
    times : Tensor (p + 1,)
        Positions of the ends of the pieces in [0, 1], 0 and 1 included.
    gradients : Tensor (p, d)
        Gradient of the output on each piece.
    value : float
        Output at x′.
    """

    x: Float[Tensor, " d"]
    end: Float[Tensor, " d"]
    times: Float[Tensor, " p1"]
    gradients: Float[Tensor, "p d"]
    value: float

    @property
    def crossings(self) -> int:
        """Number of boundaries between regions on the segment."""
        return len(self.gradients) - 1

    @property
    def largest_jump(self) -> float:
        """Largest distance between the gradients of adjacent pieces; 0 without a crossing."""
        return float(self.gradients.diff(dim=0).norm(dim=1).max()) if self.crossings else 0.0

    @property
    def remainder(self) -> float:
        """``|f(x′) − ∇f(x)ᵀx′|``, the error of the first-order expansion of a homogeneous network at x."""
        return abs(self.value - float(self.gradients[0] @ self.end))

    @property
    def bound(self) -> float:
        """``crossings × largest jump × ‖x′ − x‖``, which the remainder never exceeds (Lemma 4)."""
        return self.crossings * self.largest_jump * float((self.end - self.x).norm())

    @property
    def integral(self) -> float:
        """``f(x) + Σ gradientᵀ(x′ − x)·length`` over the pieces, which equals ``f(x′)``."""
        steps = self.gradients @ (self.end - self.x) * self.times.diff()
        return float(self.gradients[0] @ self.x + steps.sum())


def segment_path(
    weights: Sequence[Float[Tensor, "_m _k"]], x: Float[Tensor, " d"], end: Float[Tensor, " d"]
) -> SegmentPath:
    """Find all boundaries of linear regions on a segment of a ReLU network ``W_L φ(… φ(W₁x))`` without bias.

    On a piece on which all earlier layers are linear, the pre-activations of the next one are linear in the position,
    so that their zeros are found exactly; every layer cuts the pieces of the one before.

    Parameters
    ----------
    weights : sequence of Tensor
        ``W₁ … W_L``; the last has one row.
    x, end : Tensor (d,)

    Examples
    --------
    >>> W, a = torch.eye(2), torch.tensor([[1.0, -1.0]])
    >>> path = segment_path([W, a], torch.tensor([1.0, -1.0]), torch.tensor([-1.0, 1.0]))
    >>> path.crossings, path.times.tolist(), path.gradients.abs().tolist()
    (1, [0.0, 0.5, 1.0], [[1.0, 0.0], [0.0, 1.0]])
    """
    if len(weights) < 1 or weights[-1].shape[0] != 1:
        raise ValueError(f"the last of the weights must have one row, got {[tuple(W.shape) for W in weights]}")
    times = torch.tensor([0.0, 1.0], dtype=x.dtype)
    for depth in range(1, len(weights)):
        z = _preactivations(weights[:depth], x + times[:, None] * (end - x))
        a, b = z[:-1], z[1:]
        share = a / (a - b)
        inside = (a * b < 0) & (share > 0) & (share < 1)
        at = (times[:-1, None] + share * times.diff()[:, None])[inside]
        times = torch.cat([times, at]).unique()  # sorted
    middle = (times[:-1] + times[1:]) / 2
    gradients = _gradients(weights, x + middle[:, None] * (end - x))
    different = (gradients.diff(dim=0).abs().amax(1) > 0) if len(gradients) > 1 else torch.zeros(0, dtype=torch.bool)
    starts = torch.cat([torch.tensor([True]), different])  # a unit whose output is not read makes no boundary
    times = torch.cat([times[:-1][starts], times[-1:]])
    return SegmentPath(x, end, times, gradients[starts], float(_outputs(weights, end[None])))


def _outputs(weights: Sequence[Tensor], X: Tensor) -> Tensor:
    return _preactivations(weights, X)[:, 0]


def _preactivations(weights: Sequence[Tensor], X: Tensor) -> Tensor:
    """Return the pre-activations of the last of these layers."""
    Z = X @ weights[0].mT
    for W in weights[1:]:
        Z = torch.relu(Z) @ W.mT
    return Z


def _gradients(weights: Sequence[Tensor], X: Float[Tensor, "p d"]) -> Float[Tensor, "p d"]:
    masks, Z = [], X
    for W in weights[:-1]:
        Z = Z @ W.mT
        masks.append(Z > 0)
        Z = torch.relu(Z)
    G = weights[-1].expand(len(X), -1)
    for W, mask in zip(reversed(weights[:-1]), reversed(masks), strict=True):
        G = (G * mask) @ W
    return G
