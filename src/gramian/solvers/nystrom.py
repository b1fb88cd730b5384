"""Nyström preconditioner: the kernel matrix seen through m of its columns.

With ``C = K[:, S] (n, m)`` and ``K[S, S] = L Lᵀ``, ``B = C L⁻ᵀ`` gives ``K ≈ B Bᵀ``, and by Woodbury
``(B Bᵀ + λI)⁻¹ = (I − B (λI + BᵀB)⁻¹ Bᵀ)/λ``.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.tiles import spans
from gramian.kernels import KernelOperator


class NystromPreconditioner:
    """Applies ``(K̂ + ridge·I)⁻¹`` with K̂ the Nyström approximation from m random columns.

    Parameters
    ----------
    operator : KernelOperator
    ridge : float
        A zero ridge is replaced by a tiny one: the approximation has no inverse without.
    centers : int
        Number m of columns.
    rng : torch.Generator
        Chooses them.
    weights : Tensor (n,), optional
        For the scaled system ``√w K √w``.
    """

    def __init__(
        self,
        operator: KernelOperator,
        ridge: float,
        centers: int,
        rng: torch.Generator,
        weights: Float[Tensor, " n"] | None = None,
    ) -> None:
        wide, n = operator.wide, operator.n
        chosen = torch.randperm(n, generator=rng)[: min(centers, n)].to(operator.X.device)
        C = operator.columns(chosen)
        if weights is not None:
            root = weights.sqrt().to(C.dtype)
            C = C * root[:, None] * root[chosen][None, :]
        corner = C[chosen].to(wide)
        scale = float(corner.diagonal().mean())
        self.ridge = max(ridge, 1e-9 * scale)
        values, vectors = torch.linalg.eigh((corner + corner.mT) / 2)
        # Directions below round-off of the working format are noise: they would make B blow up.
        keep = values > len(values) * torch.finfo(operator.dtype).eps * values[-1]
        root_inverse = vectors[:, keep] / values[keep].sqrt()
        # In the wide format: (R − B·inside)/ridge cancels, and a small ridge would amplify float32 round-off.
        self.B = torch.empty(n, int(keep.sum()), dtype=wide, device=C.device)
        gram = torch.zeros(self.B.shape[1], self.B.shape[1], dtype=wide, device=C.device)
        for rows in spans(n, 8192):
            self.B[rows] = C[rows].to(wide) @ root_inverse
            gram += self.B[rows].mT @ self.B[rows]
        gram.diagonal().add_(self.ridge)
        self.inner = torch.linalg.cholesky(gram)

    def __call__(self, R: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """``(K̂ + ridge·I)⁻¹ R``."""
        return (R - self.B @ torch.cholesky_solve(self.B.mT @ R, self.inner)) / self.ridge
