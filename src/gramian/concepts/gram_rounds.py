"""Rounds of a recursive feature machine that see the rows only through their inner products.

With n rows in d ≫ n dimensions nothing needs d but the Gram matrix ``G = X Xᵀ``. Write ``N = X M Xᵀ`` for the inner
products under the feature matrix M; then

- squared distances under M are ``N_ii + N_jj − 2 N_ij``, from which kernel and coefficients α follow;
- the gradient of ``f_c = Σⱼ α_jc k(·, xⱼ)`` at row i is ``M Xᵀ b_ic`` with ``b_ic = κᵢ ∘ α_c − (κᵢ·α_c) eᵢ``, and its
  inner products with the rows are ``N b_ic``;
- so the AGOP enters the next round as ``X AGOP Xᵀ = (1/m) Σ (N b_ic)(N b_ic)ᵀ``.

A share s of the unlearned metric remains: ``M ← (1 − s) AGOP/a + s I/γ``, with a and γ such that rows have
a mean squared length of 1 under both. The rows are centred once; radial kernels do not depend on the origin.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.features import agop_from_moments
from gramian.kernels import Gaussian, Laplace

RadialKernel = Laplace | Gaussian
_SAME = {torch.float32: 1e-6, torch.float64: 1e-12}
"""Squared distances below this (rows have a mean squared length of 1) are round-off: the rows count as one point."""
_MEDIAN_ROWS = 100


@dataclass(frozen=True, eq=False)
class GramFit:
    """Kernel ridge regression of one round, for several ridges at once.

    ``kernel`` has a number for its bandwidth; ``square (m, m)`` are the squared distances of the training rows,
    ``coef (r, m, c)`` the coefficients for each ridge, ``outputs (r, n, c)`` the predictions at all rows.
    """

    kernel: RadialKernel
    square: Float[Tensor, "m m"]
    coef: Float[Tensor, "r m c"]
    outputs: Float[Tensor, "r n c"]


def centred_gram(X: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """Return ``G = X Xᵀ`` of the centred rows, the only product with d.

    >>> centred_gram(torch.tensor([[1.0], [3.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    X = X - X.mean(dim=0)
    return X @ X.mT


def unit_gram(N: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """Divide inner products by the mean squared length of the rows; zeros are returned unchanged.

    >>> unit_gram(torch.diag(torch.tensor([1.0, 3.0]))).diag()
    tensor([0.5000, 1.5000])
    """
    size = float(N.diagonal().mean())
    return N / size if size > 0 else N


def fit_round(
    N: Float[Tensor, "n n"],
    Y: Float[Tensor, "n c"],
    train: Int[Tensor, " m"],
    kernel: RadialKernel,
    ridges: Float[Tensor, " r"],
) -> GramFit:
    """Fit kernel ridge regression to the training rows, with the bandwidth in multiples of their median distance.

    Parameters
    ----------
    N : Tensor (n, n)
        Inner products ``X M Xᵀ`` of all rows, the held-out ones too.
    Y : Tensor (n, c)
        Targets; only those of the training rows are read.
    train : Tensor of int (m,)
    kernel : Laplace or Gaussian
        Its ``bandwidth_scale`` multiplies the median distance.
    ridges : Tensor (r,)

    >>> N = torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64)
    >>> fit = fit_round(N, N[:, :1], torch.arange(2), Laplace(), torch.tensor([1e-9], dtype=torch.float64))
    >>> fit.outputs.squeeze().round(decimals=3) + 0.0
    tensor([ 1., -1.], dtype=torch.float64)
    """
    length = N.diagonal()
    square = (length[:, None] + length[train][None, :] - 2 * N[:, train]).clamp_min_(0)
    square[train, torch.arange(len(train))] = 0
    kernel = kernel.at_median(median_distance_of(square[train]))
    values = kernel.profile(square.clone())
    system = values[train].expand(len(ridges), -1, -1).clone()
    system.diagonal(dim1=1, dim2=2).add_(ridges[:, None])
    mean = Y[train].mean(dim=0)
    factors = torch.linalg.cholesky_ex(system).L
    coef = torch.cholesky_solve((Y[train] - mean).expand(len(ridges), -1, -1), factors)
    return GramFit(kernel, square[train], coef, values @ coef + mean)


def median_distance_of(square: Float[Tensor, "m m"]) -> float:
    """Return the median distance between some of the rows and all others; 1 if all rows coincide.

    >>> median_distance_of(torch.tensor([[0.0, 4.0], [4.0, 0.0]]))
    2.0
    """
    step = max(1, len(square) // _MEDIAN_ROWS)
    sample = square[::step].flatten()
    sample = sample[sample > _SAME[square.dtype]]
    return float(sample.median().sqrt()) if len(sample) else 1.0


def gradient_weights(fit: GramFit, ridge: int) -> Float[Tensor, "c m m"]:
    """Return ``b_ic`` as rows: the gradient of output c at training row i is ``M Σⱼ b_icj xⱼ``."""
    apart = fit.square > _SAME[fit.square.dtype]
    kappa = fit.kernel.slope(torch.where(apart, fit.square, 1.0)).mul_(apart)
    B = kappa[None] * fit.coef[ridge].mT[:, None, :]
    B.diagonal(dim1=1, dim2=2).sub_(B.sum(dim=2))
    return B


def next_gram(
    N: Float[Tensor, "n n"],
    unlearned: Float[Tensor, "n n"],
    train: Int[Tensor, " m"],
    B: Float[Tensor, "c m m"],
    share: float,
) -> Float[Tensor, "n n"]:
    """Return the inner products of all rows under the next feature matrix.

    ``unlearned`` are the inner products under the identity, of mean squared length 1.
    """
    P = torch.cat([N[:, train] @ b.mT for b in B], dim=1)
    agop = agop_from_moments(P @ P.mT, None, len(train))
    return (1 - share) * unit_gram(agop) + share * unlearned
