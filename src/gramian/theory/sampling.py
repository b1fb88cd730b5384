"""Random matrices drawn from a generator that the caller owns."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import haar, symmetrize


def same_spectrum(K: Float[Tensor, "d d"], rng: torch.Generator) -> Float[Tensor, "d d"]:
    """``Q = U diag(λ(K)) Uᵀ`` with a Haar basis U: the eigenvalues of K with random eigenvectors.

    Paper A's corrupted AGOP is ``WᵀQW`` with K the PTK of a layer: the alignment of NFM and AGOP that
    remains when only the spectrum of K is preserved (Fig. 1: 0.53 of 0.93).

    >>> Q = same_spectrum(torch.diag(torch.tensor([3.0, 1.0])), torch.Generator().manual_seed(0))
    >>> torch.allclose(torch.linalg.eigvalsh(Q), torch.tensor([1.0, 3.0]))
    True
    """
    U = haar(K.shape[0], rng).to(K)
    return symmetrize((U * torch.linalg.eigvalsh(symmetrize(K))) @ U.mT)


def decaying_spectrum(d: int, alpha: float) -> Float[Tensor, " d"]:
    """Eigenvalues ``λ_k = 1/(1 + k^α)``, k = 1…d (paper A, appendix C), in float64.

    α = 0 is isotropic data; α → ∞ leaves a single direction: both are projectors up to scale.

    >>> decaying_spectrum(3, 1.0)
    tensor([0.5000, 0.3333, 0.2500], dtype=torch.float64)
    """
    return 1 / (1 + torch.arange(1, d + 1, dtype=torch.float64) ** alpha)


def decaying_gaussian(
    n: int, d: int, alpha: float, rng: torch.Generator
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "d d"]]:
    """Rows ``x ~ N(0, U diag(λ) Uᵀ)`` with ``λ_k = 1/(1 + k^α)`` and a Haar basis U; returns (X, covariance).

    >>> X, C = decaying_gaussian(5, 3, 2.0, torch.Generator().manual_seed(0))
    >>> X.shape, round(C.trace().item(), 4)
    (torch.Size([5, 3]), 0.8)
    """
    basis = haar(d, rng)
    spectrum = decaying_spectrum(d, alpha)
    X = torch.randn(n, d, generator=rng, dtype=torch.float64) * spectrum.sqrt() @ basis.mT
    return X, (basis * spectrum) @ basis.mT
