"""Kernel ridge regression of a few rows for several ridges, with exact leave-one-out residuals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.linalg import solve_factored
from gramian.kernels import KernelOperator
from gramian.solvers.base import Workspace
from gramian.solvers.cholesky import SmallCholeskyFactor
from gramian.solvers.left_out import left_out_residuals
from gramian.solvers.scaled import fill_scaled, scaled, unscaled
from gramian.solvers.spectral import SpectralFactor
from gramian.solvers.system import RidgeSystem

SPECTRAL_ROWS = 250
"""Up to this number of rows an eigendecomposition, which gives all ridges, costs less than four Cholesky factors."""
_SPECTRAL_RIDGES = 4
_FLOAT32_RIDGE = 1e-3
"""Ridge, as a multiple of the mean of the diagonal, from which float32 gives leave-one-out errors to four digits."""


@dataclass(frozen=True, eq=False)
class RidgePoint:
    """Solution for one ridge of a path: coefficients and exact leave-one-out residuals ``yᵢ − f₋ᵢ(xᵢ)``."""

    ridge: float
    coef: Float[Tensor, "n c"]
    loo: Float[Tensor, "n c"]


class RidgePath:
    """Solutions for any ridges of one kernel matrix, which is computed once, in the wide format.

    The residual of row i without row i in the fit is ``αᵢ / [(K + λ)⁻¹]ᵢᵢ``: no refit is needed. Where a row stands for
    several ``copies``, one of them is left out: with the residual r of the fit and the leverage h of the row it is
    ``r / (1 − h / copies)``. With ``groups``, all rows of a group G are left out: ``([(K + λ)⁻¹]_GG)⁻¹ α_G``, copies
    included.

    Parameters
    ----------
    operator : KernelOperator
        Of a few hundred rows.
    Y : Tensor (n, c)
    weights, copies : Tensor (n,), optional
        Positive sample weights; numbers of rows that each row stands for.
    groups : Tensor of int (n,), optional
    workspace : Workspace, optional
        Its memory holds the matrix: the path ends where the workspace is used again.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> RidgePath(K, torch.tensor([[1.0], [0.0]], dtype=torch.float64)).at([0.5])[0].loo.squeeze()
    tensor([ 1.0000, -0.4044], dtype=torch.float64)
    """

    def __init__(
        self,
        operator: KernelOperator,
        Y: Float[Tensor, "n c"],
        *,
        weights: Float[Tensor, " n"] | None = None,
        copies: Float[Tensor, " n"] | None = None,
        groups: Int[Tensor, " n"] | None = None,
        workspace: Workspace | None = None,
    ) -> None:
        self.operator, self.Y, self.weights = operator, Y, weights
        self.copies, self.groups = copies, groups
        self._Yw = scaled(Y.to(operator.wide), weights)
        K = fill_scaled(operator.widened(), weights, Workspace() if workspace is None else workspace)
        self._narrow, self._wide = SmallCholeskyFactor(K.to(torch.float32)), SmallCholeskyFactor(K)
        self._spectral: SpectralFactor | None = None

    def at(self, ridges: Sequence[float]) -> list[RidgePoint]:
        """Return the solutions for some ridges; those too small for a positive definite matrix are left out."""
        for ridge in ridges:
            RidgeSystem(self.operator, self.Y, ridge, self.weights)  # checks the arguments
        if self.groups is not None:
            found = self._without_groups(ridges, self.groups)
        else:
            few = self.operator.n <= SPECTRAL_ROWS and (self._spectral or len(ridges) >= _SPECTRAL_RIDGES)
            found = (
                (ridge, alpha, left_out_residuals(alpha, inverse, ridge, self.copies))
                for ridge, alpha, inverse in (self._spectrally(ridges) if few else self._factored(ridges))
            )
        # With weights, coefficients and inverse are multiplied by √w and w: unscaled residuals are divided by √w.
        return [
            RidgePoint(ridge, scaled(alpha, self.weights), unscaled(residuals, self.weights))
            for ridge, alpha, residuals in found
        ]

    def _spectrally(self, ridges: Sequence[float]) -> Iterator[tuple[float, Tensor, Tensor]]:
        """Yield ridge, coefficients and diagonal of the inverse, from one eigendecomposition."""
        if self._spectral is None:
            self._wide.A.diagonal().copy_(self._wide.diagonal)
            self._spectral = SpectralFactor(self._wide.A)
        for ridge in ridges:
            if self._spectral.positive(ridge):
                yield ridge, self._spectral.solve(self._Yw, ridge), self._spectral.inverse_diagonal(ridge)

    def _factored(self, ridges: Sequence[float]) -> Iterator[tuple[float, Tensor, Tensor]]:
        """Yield the same by one factor for each ridge, in float32 where that is enough."""
        enough = _FLOAT32_RIDGE * float(self._wide.diagonal.mean())
        for ridge in ridges:
            factor = self._narrow if ridge >= enough else self._wide
            if factor.factorize(ridge):
                yield ridge, factor.solve(self._Yw).to(self._Yw), factor.inverse_diagonal().to(self._Yw)

    def _without_groups(
        self, ridges: Sequence[float], groups: Int[Tensor, " n"]
    ) -> Iterator[tuple[float, Tensor, Tensor]]:
        """Yield ridge, coefficients and residuals without the row's group."""
        factor, together = self._wide, groups[:, None] == groups[None, :]
        for ridge in ridges:
            if factor.factorize(ridge):
                alpha, inverse = factor.solve(self._Yw), torch.cholesky_inverse(factor.L)
                # Blocks of the inverse, one for each group, are a positive definite matrix as well.
                blocks = torch.linalg.cholesky(torch.where(together, inverse, 0))
                yield ridge, alpha, solve_factored(blocks, alpha)
