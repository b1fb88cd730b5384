"""Large symmetric matrices that are known only through random probes or thin factors."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import fix_signs


def nystrom_factor(AO: Float[Tensor, "d q"], omega: Float[Tensor, "d q"], tol: float = 1e-10) -> Float[Tensor, "r d"]:
    """Thin ``Y (r, d)`` with ``YᵀY ≈ A`` for a PSD matrix known by ``AΩ``: Nyström's ``AΩ (ΩᵀAΩ)⁺ (AΩ)ᵀ``.

    Exact when the rank of A is at most q.

    >>> g = torch.Generator().manual_seed(0)
    >>> F = torch.randn(3, 50, generator=g, dtype=torch.float64)
    >>> O = torch.randn(50, 8, generator=g, dtype=torch.float64)
    >>> Y = nystrom_factor(F.T @ (F @ O), O)
    >>> torch.allclose(Y.T @ Y, F.T @ F)
    True
    """
    core = omega.mT @ AO
    values, vectors = torch.linalg.eigh((core + core.mT) / 2)
    keep = values > tol * values.max().clamp_min(0)
    return (AO @ vectors[:, keep] / values[keep].sqrt()).mT


def probed_cosine(AO: Float[Tensor, "d q"], BO: Float[Tensor, "d q"]) -> tuple[float, float]:
    """Cosine of two matrices from ``AΩ`` and ``BΩ`` with the same probes, and its jackknife standard error.

    ``⟨A, B⟩ ≈ (1/q) Σ (Aω)·(Bω)`` is unbiased for ±1 (or standard normal) probes.

    >>> probed_cosine(torch.eye(3), torch.eye(3))
    (1.0, 0.0)
    """
    ab, aa, bb = ((X * Y).sum(0).double() for X, Y in ((AO, BO), (AO, AO), (BO, BO)))
    q = ab.shape[0]
    value = ab.sum() / (aa.sum() * bb.sum()).sqrt()
    left_out = (ab.sum() - ab) / ((aa.sum() - aa) * (bb.sum() - bb)).sqrt()
    error = ((q - 1) / q * (left_out - left_out.mean()).square().sum()).sqrt()
    return float(value), float(error)


def gram_eigh(Y: Float[Tensor, "r d"]) -> tuple[Float[Tensor, " p"], Float[Tensor, "d p"]]:
    """Positive eigenvalues (largest first) and eigenvectors of ``YᵀY (d, d)``, through the smaller of its two sides.

    >>> values, vectors = gram_eigh(torch.tensor([[3.0, 0.0, 0.0]]))
    >>> values, vectors.squeeze()
    (tensor([9.]), tensor([1., 0., 0.]))
    """
    r, d = Y.shape
    small = Y @ Y.mT if r < d else Y.mT @ Y
    values, vectors = torch.linalg.eigh((small + small.mT) / 2)
    values, vectors = values.flip(0), vectors.flip(1)
    keep = values > max(r, d) * torch.finfo(Y.dtype).eps * values[:1].clamp_min(torch.finfo(Y.dtype).tiny)
    values, vectors = values[keep], vectors[:, keep]
    if r < d:
        vectors = Y.mT @ (vectors / values.sqrt())
    return values, fix_signs(vectors)
