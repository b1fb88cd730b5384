"""First-order prediction of the early alignment in deep networks (paper A, appendix C).

The dual PTK ``𝒦 = J Jᵀ (n, n)``, ``J = ∂f(X)/∂h`` at the first layer, is replaced by its expectation over the
weights. For ``f = aᵀφ(W_L … φ(W₁x))`` with ``W_l ~ N(0, 1/fan-in)`` and wide hidden layers,

    Σ₁ = XXᵀ/d,   Σ_{l+1} = E[φ(u)φ(v)],   E[𝒦] = Π_l E[φ'(u)φ'(v)],   (u, v) ~ N(0, Σ_l),

the entries of ``E[𝒦]`` multiplied elementwise. Quadratic and ReLU activations have both means in closed form.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import cosine

Activation = Literal["quadratic", "relu"]


def expected_dual_ptk(
    X: Float[Tensor, "n d"], hidden_layers: int = 2, activation: Activation = "quadratic"
) -> Float[Tensor, "n n"]:
    """``E[𝒦]`` at the first layer in the limit of wide layers; ``φ(z) = z²`` or ``max(z, 0)``.

    >>> expected_dual_ptk(torch.eye(2), hidden_layers=1, activation="relu")
    tensor([[0.5000, 0.2500],
            [0.2500, 0.5000]])
    """
    if hidden_layers < 1:
        raise ValueError(f"a network needs at least one hidden layer, got {hidden_layers}")
    Sigma = X @ X.mT / X.shape[1]
    K = torch.ones_like(Sigma)
    for _ in range(hidden_layers):
        mean, slope = _gaussian_means(Sigma, activation)
        K, Sigma = K * slope, mean
    return K


def sample_dual_ptk(
    X: Float[Tensor, "n d"],
    width: int,
    rng: torch.Generator,
    hidden_layers: int = 2,
    activation: Activation = "quadratic",
) -> Float[Tensor, "n n"]:
    """``𝒦 = J Jᵀ`` at the first layer of one random network of the given width.

    >>> rng = torch.Generator().manual_seed(0)
    >>> sample_dual_ptk(torch.eye(3).double(), 8, rng).shape
    torch.Size([3, 3])
    """
    H, slopes, weights = X, [], []
    for _ in range(hidden_layers):
        W = torch.randn(width, H.shape[1], generator=rng, dtype=torch.float64).to(X) / H.shape[1] ** 0.5
        Z = H @ W.mT
        H, slope = (Z.square(), 2 * Z) if activation == "quadratic" else (Z.relu(), (Z > 0).to(Z.dtype))
        slopes.append(slope)
        weights.append(W)
    a = torch.randn(width, generator=rng, dtype=torch.float64).to(X) / width**0.5
    J = a * slopes[-1]
    for W, slope in zip(reversed(weights[1:]), reversed(slopes[:-1]), strict=True):
        J = (J @ W) * slope
    return J @ J.mT


def alignment_from_dual_ptk(X: Float[Tensor, "n d"], y: Float[Tensor, " n"], K: Float[Tensor, "n n"]) -> float:
    """``ρ(XᵀY𝒦YX, XᵀY𝒦²YX)`` (paper A, (4)): observed if 𝒦 is a network's, first-order predicted if ``E[𝒦]``.

    >>> X, y = torch.eye(2), torch.tensor([1.0, 2.0])
    >>> round(alignment_from_dual_ptk(X, y, torch.eye(2)), 6)
    1.0
    """
    YX = y[:, None] * X
    KYX = K @ YX
    return cosine(YX.mT @ KYX, KYX.mT @ KYX)


def _gaussian_means(Sigma: Tensor, activation: Activation) -> tuple[Tensor, Tensor]:
    """``E[φ(u)φ(v)]`` and ``E[φ'(u)φ'(v)]`` for every pair of rows."""
    variance = Sigma.diagonal()
    if activation == "quadratic":
        return variance[:, None] * variance + 2 * Sigma.square(), 4 * Sigma
    if activation == "relu":
        scale = (variance[:, None] * variance).sqrt()
        # A zero input has no angle; any will do, as its scale is zero.
        cos = torch.where(scale > 0, Sigma / scale.where(scale > 0, torch.ones_like(scale)), 0.0)
        # On the diagonal the cosine is 1 by definition; rounding there would cost half the digits of the
        # angle.
        cos = cos.clamp(-1, 1).fill_diagonal_(1.0)
        angle = torch.arccos(cos)
        mean = scale * (angle.sin() + (math.pi - angle) * cos) / (2 * math.pi)
        return mean, (math.pi - angle) / (2 * math.pi)
    raise ValueError(f'activation must be "quadratic" or "relu", got {activation!r}')
