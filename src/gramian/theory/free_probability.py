"""Free-probability prediction of the early alignment of NFM and AGOP (paper A, appendix E).

The data enters through ``A = S²`` and ``B = XᵀX``, the weights through ``R = Wᵀdiag(a²)W``, asymptotically
free of each other. ``tr`` is the normalised trace ``(1/d) Σᵢ Mᵢᵢ`` and a bar subtracts it:
``Ā = A − tr[A] I``. The predicted alignment is ``tr(ARARBR) / (tr(ARAR) tr(ARBRARBR))^½``, each trace
factored into data × weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.theory.early import label_moment, sample_quadratic


@dataclass(frozen=True)
class DataMoments:
    """Normalised traces of the data matrices; ``aab`` is ``tr[Ā²B̄]``, and so on.

    >>> X = torch.eye(2, dtype=torch.float64)
    >>> data_moments(X, torch.tensor([1.0, 2.0], dtype=torch.float64)).a
    2.5
    """

    a: float
    b: float
    aa: float
    bb: float
    ab: float
    aab: float
    abb: float
    abab: float


@dataclass(frozen=True)
class WeightMoments:
    """``tr[R], tr[R²], tr[R³], tr[R⁴]`` of the weight matrix R.

    >>> limiting_weight_moments(1.0)
    WeightMoments(r1=1.0, r2=4.0, r3=25.0, r4=202.0)
    """

    r1: float
    r2: float
    r3: float
    r4: float


def data_moments(X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> DataMoments:
    """The traces of ``A = (XᵀYX)²`` and ``B = XᵀX`` that the prediction needs.

    >>> data_moments(torch.eye(3).double(), torch.ones(3).double()).aab
    0.0
    """
    S = label_moment(X, y)
    return moments_of(S @ S, X.mT @ X)


def moments_of(A: Float[Tensor, "d d"], B: Float[Tensor, "d d"]) -> DataMoments:
    """The same traces for any pair of symmetric matrices.

    >>> moments_of(torch.diag(torch.tensor([1.0, 3.0])), torch.eye(2)).aa
    1.0
    """
    eye = torch.eye(A.shape[0], dtype=A.dtype, device=A.device)
    a, b = _tr(A), _tr(B)
    A, B = A - a * eye, B - b * eye
    AB = A @ B
    return DataMoments(
        a=a,
        b=b,
        aa=_tr(A @ A),
        bb=_tr(B @ B),
        ab=_tr(AB),
        aab=_tr(A @ AB),
        abb=_tr(AB @ B),
        abab=_tr(AB @ AB),
    )


def weight_moments(R: Float[Tensor, "d d"]) -> WeightMoments:
    """Moments of one matrix R.

    >>> weight_moments(2 * torch.eye(3))
    WeightMoments(r1=2.0, r2=4.0, r3=8.0, r4=16.0)
    """
    R2 = R @ R
    return WeightMoments(_tr(R), _tr(R2), _tr(R2 @ R), _tr(R2 @ R2))


def sampled_weight_moments(d: int, width: int, rng: torch.Generator, draws: int = 30) -> WeightMoments:
    """Moments averaged over random networks; paper A averages over 30 seeds.

    >>> moments = sampled_weight_moments(20, 40, torch.Generator().manual_seed(0), draws=3)
    >>> moments.r2 > moments.r1**2
    True
    """
    rows = [weight_moments(sample_quadratic(d, width, rng).weight_kernel()) for _ in range(draws)]
    mean = [sum(getattr(row, name) for row in rows) / draws for name in ("r1", "r2", "r3", "r4")]
    return WeightMoments(*mean)


def limiting_weight_moments(ratio: float) -> WeightMoments:
    """Moments of R in the limit ``d, k → ∞`` at fixed ``ratio = d/k``: no sampling needed.

    R is a free compound Poisson element: its free cumulants are ``κ_p = ratio^{p−1} E[a^{2p}]``, that is
    ``1, 3c, 15c², 105c³``, and the moments follow by summing over non-crossing partitions.

    >>> limiting_weight_moments(0.0)
    WeightMoments(r1=1.0, r2=1.0, r3=1.0, r4=1.0)
    """
    if ratio < 0:
        raise ValueError(f"ratio d/k must not be negative, got {ratio}")
    k1, k2, k3, k4 = 1.0, 3 * ratio, 15 * ratio**2, 105 * ratio**3
    return WeightMoments(
        r1=k1,
        r2=k2 + k1**2,
        r3=k3 + 3 * k2 * k1 + k1**3,
        r4=k4 + 4 * k3 * k1 + 2 * k2**2 + 6 * k2 * k1**2 + k1**4,
    )


def numerator(data: DataMoments, weights: WeightMoments) -> float:
    """``tr(ARARBR)`` (paper A, (20)).

    ``= a²b r₃ + 2a r₁r₂ tr[ĀB̄] + b r₁r₂ tr[Ā²] + r₁³ tr[Ā²B̄]``

    >>> numerator(moments_of(torch.eye(2), torch.eye(2)), weight_moments(2 * torch.eye(2)))
    8.0
    """
    D, w = data, weights
    return D.a**2 * D.b * w.r3 + 2 * D.a * w.r1 * w.r2 * D.ab + D.b * w.r1 * w.r2 * D.aa + w.r1**3 * D.aab


def first_denominator(data: DataMoments, weights: WeightMoments) -> float:
    """``tr(ARAR) = tr[A²] r₁² + a² (r₂ − r₁²)`` (paper A, (22)).

    >>> first_denominator(moments_of(torch.eye(2), torch.eye(2)), weight_moments(2 * torch.eye(2)))
    4.0
    """
    D, w = data, weights
    return (D.aa + D.a**2) * w.r1**2 + D.a**2 * (w.r2 - w.r1**2)


def second_denominator(data: DataMoments, weights: WeightMoments) -> float:
    """``tr(ARBRARBR)``, corrected from paper A, (28): its last term is ``tr[Ā²] b² r₂²``.

    ``= r₁⁴ tr[(ĀB̄)²] + 2r₁²(r₂ − r₁²) tr[ĀB̄]² + 2r₁²r₂ (b tr[Ā²B̄] + a tr[ĀB̄²]) + 4ab r₁r₃ tr[ĀB̄]``
    ``+ a²b² r₄ + a² tr[B̄²] r₂² + b² tr[Ā²] r₂²``

    >>> second_denominator(moments_of(torch.eye(2), torch.eye(2)), weight_moments(2 * torch.eye(2)))
    16.0
    """
    return second_denominator_without_last(data, weights) + data.aa * data.b**2 * weights.r2**2


def second_denominator_without_last(data: DataMoments, weights: WeightMoments) -> float:
    """The terms of ``tr(ARBRARBR)`` that are right in print: all but the last.

    >>> second_denominator_without_last(moments_of(torch.eye(2), torch.eye(2)), limiting_weight_moments(0.0))
    1.0
    """
    D, w = data, weights
    return (
        w.r1**4 * D.abab
        + 2 * w.r1**2 * (w.r2 - w.r1**2) * D.ab**2
        + 2 * w.r1**2 * w.r2 * (D.b * D.aab + D.a * D.abb)
        + 4 * D.a * D.b * w.r3 * w.r1 * D.ab
        + D.a**2 * D.b**2 * w.r4
        + D.a**2 * D.bb * w.r2**2
    )


def predicted_alignment(data: DataMoments, weights: WeightMoments) -> float:
    """Predicted ``ρ(ẆᵀẆ, ẆᵀKẆ)``: numerator over the root of the two denominators (paper A, (4)).

    >>> predicted_alignment(moments_of(torch.eye(2), torch.eye(2)), limiting_weight_moments(0.0))
    1.0
    """
    product = first_denominator(data, weights) * second_denominator(data, weights)
    return numerator(data, weights) / product**0.5


def _tr(M: Tensor) -> float:
    return float(M.trace()) / M.shape[0]
