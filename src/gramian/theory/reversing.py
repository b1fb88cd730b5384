"""The data set that turns the early AGOP away from the NFM (paper A, appendix F)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def alignment_reversing(
    n: int,
    d: int,
    balance: float,
    rng: torch.Generator,
    *,
    spike: float = 1.0,
    isotropic: float = 0.5,
    scale: float = 1.0,
    noise: float = 1e-2,
    label_shift: float = 1e-5,
) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
    """Inputs ``X = [X₁; X₂] + ε₂Z`` and labels 1 on X₁, 0 on X₂ (plus ``label_shift``), in float64.

    ``X₁`` holds ``γn`` rows of ``scale · N(0, spike · 11ᵀ + ε₁I)``; ``X₂ = V₂S₁⁻¹U₁ᵀ`` makes
    ``X₂ᵀX₂ = (X₁ᵀX₁)⁻²``, so that its share of ``S B S`` in the AGOP is a projector while the NFM keeps
    ``S²``. γ is ``balance``, ε₁ ``isotropic``, ε₂ ``noise``; the defaults are paper A's.

    At those defaults the direction 1 has variance d against ε₁ for the others, both matrices are its outer
    product, and nothing is reversed: the alignment stays above 0.999 at every γ. A spike of the size of the
    rest, ``spike=1/d``, with inputs of unit length, ``scale=d**-0.5``, shows the effect the paper describes.

    With ``γn < d`` rows ``X₁ᵀX₁`` has no inverse, and X₂ has too few rows for one if ``n < d``. The inverse
    is therefore taken on the leading ``min(γn, n − γn, d)`` directions of X₁ and is zero on the others (a
    pseudo-inverse); paper A does not state its choice.

    >>> X, y = alignment_reversing(8, 8, 0.25, torch.Generator().manual_seed(0))
    >>> X.shape, int((y > 0.5).sum())
    (torch.Size([8, 8]), 2)
    """
    if not 0 < balance <= 1:
        raise ValueError(f"balance must be in (0, 1], got {balance}")
    n1 = max(1, round(balance * n))
    X1 = scale * _correlated(n1, d, spike, isotropic, rng)
    X2 = scale * _correlated(n - n1, d, spike, isotropic, rng)
    if n1 < n:
        _, s, Vh = torch.linalg.svd(X1, full_matrices=False)
        V2, _, _ = torch.linalg.svd(X2, full_matrices=False)
        r = min(s.shape[0], V2.shape[1])
        X2 = (V2[:, :r] / s[:r].square()) @ Vh[:r]
    X = torch.cat([X1, X2])
    X = X + noise * torch.randn(n, d, generator=rng, dtype=torch.float64)
    y = torch.cat([torch.ones(n1), torch.zeros(n - n1)]).double() + label_shift
    return X, y


def _correlated(n: int, d: int, spike: float, isotropic: float, rng: torch.Generator) -> Tensor:
    """Rows of ``N(0, spike · 11ᵀ + ε₁ I)``: one shared coordinate plus independent ones."""
    shared = torch.randn(n, 1, generator=rng, dtype=torch.float64)
    return spike**0.5 * shared + isotropic**0.5 * torch.randn(n, d, generator=rng, dtype=torch.float64)
