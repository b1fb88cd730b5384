"""Eigendecomposition of a matrix, which gives solutions and leave-one-out residuals for any number of ridges."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


class SpectralFactor:
    """``A = Q Λ Qᵀ``, with which ``(A + λI)⁻¹ = Q (Λ + λ)⁻¹ Qᵀ`` costs one product for each ridge.

    >>> A = torch.tensor([[4.0, 2.0], [2.0, 3.0]], dtype=torch.float64)
    >>> SpectralFactor(A).solve(torch.tensor([[1.0], [0.0]], dtype=torch.float64), 0.0).squeeze()
    tensor([ 0.3750, -0.2500], dtype=torch.float64)
    """

    def __init__(self, A: Float[Tensor, "n n"]) -> None:
        self.values: Tensor
        self.vectors: Tensor
        self.values, self.vectors = torch.linalg.eigh(A)

    def positive(self, ridge: float) -> bool:
        """True if ``A + ridge·I`` is safely positive definite in this format."""
        eps = torch.finfo(self.values.dtype).eps
        return bool(self.values[0] + ridge > len(self.values) * eps * self.values[-1])

    def solve(self, B: Float[Tensor, "n c"], ridge: float) -> Float[Tensor, "n c"]:
        """``(A + ridge·I)⁻¹ B``."""
        return self.vectors @ ((self.vectors.mT @ B) / (self.values + ridge)[:, None])

    def inverse_diagonal(self, ridge: float) -> Float[Tensor, " n"]:
        """Diagonal of ``(A + ridge·I)⁻¹``."""
        diagonal: Tensor = self.vectors.square() @ (1 / (self.values + ridge))
        return diagonal
