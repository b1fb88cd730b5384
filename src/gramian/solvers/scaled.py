"""The system with weights in a form with one ridge for all rows: ``(√w K √w + λI) β = √w Y``, ``α = √w β``."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from gramian.kernels import KernelOperator
from gramian.solvers.base import Workspace


def fill_scaled(
    operator: KernelOperator, weights: Float[Tensor, " n"] | None, workspace: Workspace
) -> Float[Tensor, "n n"]:
    """``√w K √w`` in the memory of the workspace: in this scaled system every row has the same ridge."""
    A = operator.fill(workspace.square(operator.n, operator.X, operator.dtype))
    if weights is not None:
        root = weights.sqrt().to(A.dtype)
        A.mul_(root[:, None]).mul_(root[None, :])
    return A


def scaled(V: Float[Tensor, "n c"], weights: Float[Tensor, " n"] | None) -> Float[Tensor, "n c"]:
    """``√w V``."""
    return V if weights is None else V * weights.to(V.dtype).sqrt()[:, None]


def unscaled(V: Float[Tensor, "n c"], weights: Float[Tensor, " n"] | None) -> Float[Tensor, "n c"]:
    """``V / √w``."""
    return V if weights is None else V / weights.to(V.dtype).sqrt()[:, None]
