"""Formulas as the papers print them, where the print is wrong.

Nothing else in the library calls these. They exist so that an erratum can be shown with both numbers beside
the measured one (:mod:`gramian.theory.misprints`); each docstring names the function that is right.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from gramian.theory import free_probability as free
from gramian.theory.early import label_moment
from gramian.theory.quadratic_network import minimum_norm_cost as _corrected_cost


def numerator(data: free.DataMoments, weights: free.WeightMoments) -> float:
    """Paper A, (19): ``tr(R)³`` in its last term. Right: ``tr(R³)``, :func:`free_probability.numerator`.

    >>> numerator(free.DataMoments(1, 1, 0, 0, 0, 0, 0, 0), free.limiting_weight_moments(1.0))
    1.0
    """
    return free.numerator(data, weights) + data.a**2 * data.b * (weights.r1**3 - weights.r3)


def second_denominator(data: free.DataMoments, weights: free.WeightMoments) -> float:
    """Paper A, (28): the last term reads ``tr[Ā]² tr[B²] tr[R²]²``, which is zero because ``tr[Ā]`` is.

    Can be negative. Right: :func:`free_probability.second_denominator`.

    >>> second_denominator(free.DataMoments(1, 1, 9, 0, 0, 0, 0, 0), free.limiting_weight_moments(0.0))
    1.0
    """
    return free.second_denominator_without_last(data, weights)


def alignment(data: free.DataMoments, weights: free.WeightMoments) -> float:
    """The predicted alignment with (28) as printed; NaN where that is negative, and it may exceed 1.

    >>> alignment(free.DataMoments(1, 1, 0, 0, 0, 0, 0, 0), free.limiting_weight_moments(0.0))
    1.0
    """
    product = free.first_denominator(data, weights) * second_denominator(data, weights)
    return free.numerator(data, weights) / product**0.5 if product > 0 else float("nan")


def alignment_exponents(data: free.DataMoments, weights: free.WeightMoments) -> float:
    """Paper A, (10): exponents −½ *below* the bar, so the denominators multiply; not a cosine at all.

    >>> alignment_exponents(free.DataMoments(2, 1, 0, 0, 0, 0, 0, 0), free.limiting_weight_moments(0.0))
    16.0
    """
    product = free.first_denominator(data, weights) * free.second_denominator(data, weights)
    return free.numerator(data, weights) * product**0.5


def expected_early_agop(X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> Float[Tensor, "d d"]:
    """Paper A, Proposition 10: ``3 tr(B) S² + 6 S B S``. Right: :func:`early.expected_early_agop`.

    >>> import torch
    >>> expected_early_agop(torch.eye(2), torch.ones(2)).diag()
    tensor([12., 12.])
    """
    S, B = label_moment(X, y), X.mT @ X
    return 3 * B.trace() * S @ S + 6 * S @ B @ S


def balanced_scale(d1: int, d2: int, d3: int) -> float:
    """Paper C, (B.2), with its square root. Right: the fourth root, :func:`balanced.balanced_scale`.

    >>> balanced_scale(7, 7, 7)
    1.0
    """
    return float((d1 * d3 * (5 * d2 + 5 * d3 - 1) / (d2**2 * (5 * d1 + 5 * d2 - 1))) ** 0.5)


def minimum_norm_cost(Q: Float[Tensor, "d d"]) -> float:
    """Paper D, Lemma D.2: ``2 Σ |λᵢ|^{2/3}``. Right: :func:`quadratic_network.minimum_norm_cost`.

    >>> import torch
    >>> round(minimum_norm_cost(torch.diag(torch.tensor([8.0, -1.0]))), 4)
    10.0
    """
    return _corrected_cost(Q) * 2 / (3 * 2 ** (-2 / 3))


def two_step_features(X: Float[Tensor, "n d"], y: Float[Tensor, " n"], step: float) -> Float[Tensor, "d d"]:
    """Paper B, end of Proposition 5: ``4η²M + η²CMC``. Right: :func:`closed_forms.two_step_features`.

    >>> import torch
    >>> two_step_features(torch.eye(1), torch.ones(1), step=1.0)
    tensor([[5.]])
    """
    C, g = X.mT @ X, step * X.mT @ y
    M = g[:, None] * g
    return 4 * step**2 * M + step**2 * C @ M @ C


def distance_to_minimum(
    score: Float[Tensor, " sets"], low: Float[Tensor, " sets"], high: Float[Tensor, " sets"]
) -> float:
    """Paper B, appendix E: the mean of ``(x − min)/max``. Right: ``(x − min)/(max − min)``, which is 1 for the best.

    >>> import torch
    >>> distance_to_minimum(torch.tensor([1.0]), torch.tensor([0.5]), torch.tensor([1.0]))
    0.5
    """
    return float(((score - low) / high).mean())


def separation_weights(tau: float) -> tuple[list[float], list[list[float]]]:
    """Paper D, proof of Theorem 3.4, step 1: ``(ā, W̄)`` that is claimed to represent ``τx₁x₂ + x₃x₄``.

    Neurons 2, 3, 5, 6 need half the printed output weight: ``(u + v)²/2 − u²/2 − v²/2 = uv``.

    >>> separation_weights(1.0)[0]
    [0.5, -1.0, -1.0, 0.5, -1, -1]
    """
    a = [tau / 2, -tau, -tau, 1 / 2, -1, -1]
    W = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1]]
    return a, [[float(w) for w in row] for row in W]
