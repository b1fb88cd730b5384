"""Directions of hidden states along which a concept grows, one per layer."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class LayerDirection:
    """One direction of a layer's hidden states along which a concept grows.

    Parameters
    ----------
    layer : str
        Name of a module such as ``"model.layers.8"``; the hidden state is its output (the first element of a tuple).
    vector : Tensor (d,)
        float32, of length 1; a larger inner product with a hidden state means more of the concept.
    typical_norm : float
        Mean length of the layer's hidden states at the scored positions of the training texts.
    centre : Tensor (d,)
        Mean hidden state at these positions.
    auc : float
        Out-of-fold area under the ROC curve along the direction's method, or the score of graded labels; layers are
        ranked by it.

    >>> import torch
    >>> LayerDirection("0", torch.tensor([1.0, 0.0]), 2.0, torch.zeros(2), 0.9).along(torch.tensor([[3.0, 4.0]]))
    tensor([3.])
    """

    layer: str
    vector: Float[Tensor, " d"]
    typical_norm: float
    centre: Float[Tensor, " d"]
    auc: float

    def along(self, hidden: Float[Tensor, "*batch d"]) -> Float[Tensor, " *batch"]:
        """Return the coordinates ``(h − centre)ᵀ vector`` of hidden states along the direction."""
        return (hidden.to(self.vector) - self.centre) @ self.vector
