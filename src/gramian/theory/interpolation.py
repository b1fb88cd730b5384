"""Conditions under which a decoder interpolates linearly (paper E, Proposition 3, appendix B.6).

``Z (n, q)`` are latent codes, ``X (n, d)`` the inputs they came from, ``D`` the decoder. Distances are root mean
squares over samples (or pairs) of Euclidean norms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


def ols_decoder(
    Z: Float[Tensor, "n q"], X: Float[Tensor, "n d"]
) -> Callable[[Float[Tensor, "m q"]], Float[Tensor, "m d"]]:
    """The least-squares affine map from codes to inputs, ``z ↦ x̄ + Bᵀ(z − z̄)``.

    >>> Z = torch.tensor([[0.0], [1.0], [2.0]])
    >>> ols_decoder(Z, 3 * Z + 1)(torch.tensor([[5.0]]))
    tensor([[16.]])
    """
    z, x = Z.mean(0), X.mean(0)
    B = torch.linalg.pinv(Z - z) @ (X - x)
    return lambda points: x + (points - z) @ B


def interpolation_bound(Z: Float[Tensor, "n q"], X: Float[Tensor, "n d"]) -> float:
    """The least-squares reconstruction error ``√((1/n) Σ‖xᵢ − Bzᵢ‖²) = √(1 − TL₀(Z, X)) · √((1/n) Σ‖xᵢ − x̄‖²)``.

    Proposition 3: a function class that contains the least-squares map holds a decoder whose
    :func:`interpolation_gap` is at most this, for every weight. So a latent space of high target linearity can be
    interpolated.

    >>> Z = torch.tensor([[0.0], [1.0], [2.0]])
    >>> round(interpolation_bound(Z, 3 * Z + 1), 5)
    0.0
    """
    return _rms(X - ols_decoder(Z, X)(Z))


def interpolation_gap(
    decode: Callable[[Tensor], Tensor],
    Z: Float[Tensor, "n q"],
    X: Float[Tensor, "n d"],
    weight: float,
    pairs: Int[Tensor, "p 2"] | None = None,
) -> float:
    """``√(mean ‖D(λz₁ + (1 − λ)z₂) − (λx₁ + (1 − λ)x₂)‖²)`` over ``pairs`` of rows, all n² by default.

    λ is ``weight``.
    For the least-squares map over all pairs it is ``√(λ² + (1 − λ)²)`` times :func:`interpolation_bound`: at λ = ½
    interpolations are nearer than reconstructions by √2.

    >>> Z = torch.tensor([[0.0], [1.0]])
    >>> interpolation_gap(lambda z: 2 * z, Z, 2 * Z, weight=0.3)
    0.0
    """
    z, x = _mixed(Z, X, weight, pairs)
    return _rms(decode(z) - x)


@dataclass(frozen=True)
class InterpolationSplit:
    """A decoder's interpolation gap and its bounds: ``gap ≤ departure + linear ≤ departure + bound``.

    ``departure`` is the distance of the decoder from the least-squares map at the interpolated codes, ``linear`` the
    gap of that map, ``bound`` its reconstruction error (the last step holds over all pairs).

    >>> InterpolationSplit(gap=1.0, departure=0.5, linear=0.7, bound=0.8).departure
    0.5
    """

    gap: float
    departure: float
    linear: float
    bound: float


def interpolation_split(
    decode: Callable[[Tensor], Tensor],
    Z: Float[Tensor, "n q"],
    X: Float[Tensor, "n d"],
    weight: float,
    pairs: Int[Tensor, "p 2"] | None = None,
) -> InterpolationSplit:
    """The proof of Proposition 3 in numbers: a decoder's gap, split into curvature and codes.

    The proposition is about the best decoder of a class, for which the departure may be taken as 0; a trained one
    has it too.

    >>> Z = torch.tensor([[0.0], [1.0]])
    >>> split = interpolation_split(lambda z: z.square(), Z, Z, weight=0.5)
    >>> round(split.gap, 5) == round(split.departure, 5), round(split.bound, 5)
    (True, 0.0)
    """
    z, x = _mixed(Z, X, weight, pairs)
    found, straight = decode(z), ols_decoder(Z, X)(z)
    return InterpolationSplit(
        gap=_rms(found - x),
        departure=_rms(found - straight),
        linear=_rms(straight - x),
        bound=interpolation_bound(Z, X),
    )


def beta_vae_loss(
    X: Float[Tensor, "n d"],
    decoded: Float[Tensor, "n d"],
    mean: Float[Tensor, "n q"],
    log_variance: Float[Tensor, "n q"],
    beta: float = 1.0,
) -> Float[Tensor, " n"]:
    """``‖x − D(z)‖² + β KL(N(μ, diag σ²) ‖ N(0, I))`` per sample, ``KL = ½ Σ (μ² + σ² − 1 − log σ²)`` (appendix B.6).

    >>> x, m = torch.ones(1, 3), torch.zeros(1, 2)
    >>> beta_vae_loss(x, torch.zeros(1, 3), m, m, beta=4.0)
    tensor([3.])
    """
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1) / 2
    return (X - decoded).square().sum(1) + beta * divergence


def _mixed(Z: Tensor, X: Tensor, weight: float, pairs: Tensor | None) -> tuple[Tensor, Tensor]:
    if not 0 <= weight <= 1:
        raise ValueError(f"weight must lie in [0, 1], got {weight}")
    if pairs is None:
        rows = torch.arange(len(Z))
        pairs = torch.cartesian_prod(rows, rows).reshape(-1, 2)
    i, j = pairs.T
    return weight * Z[i] + (1 - weight) * Z[j], weight * X[i] + (1 - weight) * X[j]


def _rms(R: Tensor) -> float:
    return float(R.flatten(1).square().sum(1).mean().sqrt())
