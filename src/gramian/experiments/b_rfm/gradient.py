"""The gradient of the Laplace kernel with a metric, which paper B sets to zero where the inputs are equal."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.experiments import Claim, Null, Result, between, experiment
from gramian.experiments.b_rfm.propositions import distance
from gramian.kernels import KernelOperator, Laplace, as_metric


@dataclass(frozen=True)
class KernelPoints:
    """Rows and columns of the check, the rank of M and the bandwidth L."""

    n: int
    d: int
    rank: int
    bandwidth: float = 10.0


def laplace(X: Float[Tensor, "n d"], z: Float[Tensor, " d"], M: Float[Tensor, "d d"], L: float) -> Float[Tensor, " n"]:
    """Return ``exp(−‖x − z‖_M / L)`` for the rows x of X.

    >>> laplace(torch.ones(1, 1), torch.zeros(1), torch.eye(1), 1.0)
    tensor([0.3679])
    """
    D = X - z
    return torch.exp(-(D @ M * D).sum(1).clamp_min(0).sqrt() / L)


def printed_gradient(
    X: Float[Tensor, "n d"], z: Float[Tensor, " d"], M: Float[Tensor, "d d"], L: float
) -> Float[Tensor, "n d"]:
    """Return ``(Mx − Mz) K_M(x, z) / (L ‖x − z‖_M)``, the gradient by z, and 0 where the distance is 0.

    >>> printed_gradient(torch.ones(2, 1), torch.ones(1), torch.eye(1), 1.0).flatten()
    tensor([0., 0.])
    """
    D = X - z
    r = (D @ M * D).sum(1).clamp_min(0).sqrt()
    weight = torch.where(r > 0, laplace(X, z, M, L) / (L * r.clamp_min(torch.finfo(r.dtype).tiny)), 0.0)
    return weight[:, None] * (D @ M)


def _equal(key: str, label: str) -> Claim:
    return between(
        key,
        0.0,
        1e-10,
        "an identity, up to rounding",
        label=label,
        kind="proved identity",
        null=Null(1.0, "unrelated vectors, or the gradient at another point"),
    )


_SMALL = (KernelPoints(40, 8, 8), KernelPoints(40, 8, 3))


@experiment(
    "b/gradient",
    "B",
    "The gradient of the Laplace kernel with a metric: the printed formula, automatic differentiation and the library",
    specs={"smoke": (KernelPoints(6, 3, 2),), "small": _SMALL, "paper": _SMALL},
    seeds={"small": 5, "paper": 5},
    claims=[
        _equal("printed/rank=8", "the printed gradient against automatic differentiation, M of full rank"),
        _equal("printed/rank=3", "the printed gradient against automatic differentiation, M of rank 3"),
        _equal("library/rank=8", "the library's gradient of a predictor against the printed formula, M of full rank"),
        _equal("library/rank=3", "the library's gradient of a predictor against the printed formula, M of rank 3"),
        _equal("same/rank=8", "size of the library's gradient of K(x, z) at x = z"),
    ],
)
def gradients(spec: KernelPoints, seed: int) -> Result:
    """Compare three gradients at new points and at training points."""
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(spec.n, spec.d, generator=rng, dtype=torch.float64)
    Z = torch.randn(3, spec.d, generator=rng, dtype=torch.float64)
    F = torch.randn(spec.d, spec.rank, generator=rng, dtype=torch.float64)
    coef = torch.randn(spec.n, 1, generator=rng, dtype=torch.float64)
    M, L = F @ F.mT, spec.bandwidth
    worst, points = 0.0, torch.cat([Z, X[:2]])
    for z in Z:
        leaf = z.clone().requires_grad_()
        for row in range(0, spec.n, max(1, spec.n // 10)):
            (g,) = torch.autograd.grad(laplace(X[row : row + 1], leaf, M, L).sum(), leaf)
            worst = max(worst, distance(printed_gradient(X[row : row + 1], z, M, L)[0], g))
    operator = KernelOperator(Laplace(L), X, as_metric(M))
    ours = operator.gradient(points, coef)[:, 0]
    theirs = torch.stack([(coef * printed_gradient(X, z, M, L)).sum(0) for z in points])
    alone = KernelOperator(Laplace(L), X[:1], as_metric(M)).gradient(X[:1], torch.ones(1, 1, dtype=torch.float64))
    name = f"rank={spec.rank}"
    return Result(
        {
            f"printed/{name}": worst,
            f"library/{name}": distance(ours, theirs),
            f"same/{name}": float(alone.abs().max()),
        }
    )
