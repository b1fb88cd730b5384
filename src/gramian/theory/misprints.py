"""Every misprint found in the papers: the printed, the corrected and the measured number side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gramian.core import cosine, haar
from gramian.features import agop, nfm
from gramian.theory import printed
from gramian.theory.balanced import balanced_scale
from gramian.theory.closed_forms import train_two_layer_linear, two_step_features
from gramian.theory.counterexamples import relu_pair
from gramian.theory.early import (
    early_agop,
    early_alignment,
    expected_early_agop,
    label_moment,
    sample_quadratic,
)
from gramian.theory.free_probability import (
    data_moments,
    numerator,
    predicted_alignment,
    second_denominator,
    weight_moments,
)
from gramian.theory.quadratic_network import minimum_norm_cost, minimum_norm_network
from gramian.theory.separation import Separation, separation_by_decay

_TABLE_3 = (
    (80.67, 77.09, 80.67), (88.16, 84.95, 88.55), (88.62, 87.95, 89.02), (61.14, 56.89, 65.54), (98.33, 94.27, 98.47),
    (79.73, 79.09, 80.44), (86.50, 84.70, 86.50), (87.78, 87.50, 88.83), (70.73, 68.86, 71.42), (93.93, 92.65, 93.93),
    (90.29, 86.00, 90.29), (85.95, 78.89, 85.95), (77.66, 75.99, 77.66), (82.93, 80.86, 86.83), (78.28, 74.57, 78.28),
    (80.68, 76.45, 80.68), (72.44, 71.15, 73.13), (94.97, 93.53, 94.97), (94.10, 87.43, 94.10),
)  # fmt: skip
"""Paper B, Table 3, by data set: accuracy of RFM, and the lowest and highest of the eight methods."""
_FIG_5C = 0.810
"""The average distance to the minimum of RFM over these sets, as paper B's Fig. 5c gives it."""


@dataclass(frozen=True)
class Erratum:
    """One misprint: where it is, the quantity evaluated, and its three values.

    ``printed`` follows the paper, ``corrected`` this library, ``measured`` neither: it is sampled, trained or
    differentiated.

    >>> Erratum("A", "(10)", "x", 2.0, 1.0, 1.0).printed
    2.0
    """

    paper: str
    where: str
    quantity: str
    printed: float
    corrected: float
    measured: float


def errata(rng: torch.Generator) -> tuple[Erratum, ...]:
    """Evaluate every misprint; a few seconds. All randomness comes from ``rng``.

    >>> rows = errata(torch.Generator().manual_seed(0))
    >>> all(abs(e.corrected - e.measured) < abs(e.printed - e.measured) for e in rows)
    True
    """
    parts: tuple[Callable[[torch.Generator], list[Erratum]], ...] = (
        _free_probability,
        _expected_agop,
        _balanced_scale,
        _indicator,
        _quadratic_networks,
        _linear_training,
        _distance_to_minimum,
        _relative_errors,
    )
    return tuple(row for part in parts for row in part(rng))


def _free_probability(rng: torch.Generator) -> list[Erratum]:
    d, rotations = 300, 12
    X = _normal(rng, d, d) / d**0.5
    y = _normal(rng, d)
    R = sample_quadratic(d, d, rng).weight_kernel()
    D, w = data_moments(X, y), weight_moments(R)
    S, B = label_moment(X, y), X.mT @ X
    A = S @ S
    # R keeps its law, and exactly its moments, when rotated; the average over rotations is the expectation
    # that freeness is about, with less noise than one network has.
    third = fourth = observed = 0.0
    for _ in range(rotations):
        U = haar(d, rng)
        turned = U @ R @ U.mT
        AR, BR = A @ turned, B @ turned
        third += _trace(AR @ AR @ BR) / (d * rotations)
        fourth += _trace(AR @ BR @ AR @ BR) / (d * rotations)
        observed += early_alignment(X, y, turned) / rotations
    alignment = predicted_alignment(D, w)
    return [
        Erratum("A", "(19)", "tr(ARARBR)", printed.numerator(D, w), numerator(D, w), third),
        Erratum("A", "(28)", "tr(ARBRARBR)", printed.second_denominator(D, w), second_denominator(D, w), fourth),
        Erratum("A", "(28)", "early alignment", printed.alignment(D, w), alignment, observed),
        Erratum("A", "(10)", "early alignment", printed.alignment_exponents(D, w), alignment, observed),
    ]


def _expected_agop(rng: torch.Generator) -> list[Erratum]:
    n, d, width, draws = 12, 4, 6, 2000
    X, y = _normal(rng, n, d), _normal(rng, n)
    total = X.new_zeros(d, d)
    for _ in range(draws):
        total += early_agop(X, y, sample_quadratic(d, width, rng).weight_kernel())
    wrong, right = printed.expected_early_agop(X, y), expected_early_agop(X, y, width)
    return [Erratum("A", "Prop. 10", "tr E[ẆᵀKẆ], k = 6", *(_trace(M) for M in (wrong, right, total / draws)))]


def _balanced_scale(rng: torch.Generator) -> list[Erratum]:
    d1, d2, d3 = 20, 64, 64
    norms = []
    for rows, columns in ((d2, d1), (d3, d2)):
        W = (2 * torch.rand(50, rows, columns, generator=rng, dtype=torch.float64) - 1) / columns**0.5
        norms.append(float((W.mT @ W).square().sum((1, 2)).mean()))
    measured = (norms[1] / norms[0]) ** 0.25
    wrong, right = printed.balanced_scale(d1, d2, d3), balanced_scale(d1, d2, d3)
    return [Erratum("C", "(B.2)", "scale of W₁, widths 20, 64, 64", wrong, right, measured)]


def _indicator(rng: torch.Generator) -> list[Erratum]:
    X = (2 * torch.rand(20000, 2, generator=rng, dtype=torch.float64) - 1).requires_grad_()
    (G,) = torch.autograd.grad(relu_pair()(X).sum(), X)
    measured = float(agop(G[:, None])[0, 0])
    wrong = float((X > 1).double().mean())
    return [Erratum("C", "Example 1", "E[(∂f/∂x₁)²] on [−1, 1]²", wrong, 0.5, measured)]


def _quadratic_networks(rng: torch.Generator) -> list[Erratum]:
    task = Separation()
    Q = task.target_form()
    cost = sum(_cheapest_neuron(abs(float(v))) for v in torch.linalg.eigvalsh(Q))
    wrong_cost = printed.minimum_norm_cost(Q)
    a, W = printed.separation_weights(task.tau)
    ones = torch.ones(1, 4, dtype=torch.float64)
    value = float((ones @ torch.tensor(W, dtype=torch.float64).mT).square() @ torch.tensor(a).double())
    as_printed, smaller = separation_by_decay([1e-5, 1e-6], rng, starts=1)
    # A network of one neuron has WᵀW and AGOP both proportional to wwᵀ: that is the corrected value at the printed λ.
    # As λ → 0 the minimiser becomes the smallest network of the target: the corrected value at ours.
    M = task.feature_matrices(*minimum_norm_network(Q))
    limit = cosine(M["agop"], M["nfm"])
    return [
        Erratum("D", "Lemma D.2", "least ‖a‖² + ‖W‖²", wrong_cost, minimum_norm_cost(Q), cost),
        Erratum("D", "Thm 3.4, step 1", "f(1,1,1,1)", value, task.tau + 1, float(ones @ Q @ ones.mT)),
        Erratum("D", "Fig. 4", "ρ(AGOP, WᵀW) at λ = 1e-5", 0.068, 1.0, as_printed.agop),
        Erratum("D", "Fig. 4", "ρ(AGOP, WᵀW) at λ = 1e-6", 0.068, limit, smaller.agop),
    ]


def _linear_training(rng: torch.Generator) -> list[Erratum]:
    n, d, width, step = 10, 3, 20000, 0.05
    X, y = _normal(rng, n, d), _normal(rng, n)
    nets = [train_two_layer_linear(X, y, _normal(rng, width), step=step, steps=2, train_outer=True) for _ in range(8)]
    measured = sum(_trace(nfm(net.B)) for net in nets) / len(nets)
    wrong, right = printed.two_step_features(X, y, step), two_step_features(X, y, step)
    x = _normal(rng, d)
    spread = torch.stack([net.gradient() @ x for net in nets]).var()
    return [
        Erratum("B", "Prop. 5", "tr B⁽²⁾ᵀB⁽²⁾", _trace(wrong), _trace(right), measured),
        Erratum("B", "Prop. 4, proof", "variance of Zx, k → ∞", 1.0, 0.0, float(spread)),
    ]


def _distance_to_minimum(rng: torch.Generator) -> list[Erratum]:
    score, low, high = torch.tensor(_TABLE_3, dtype=torch.float64).unbind(1)
    wrong = printed.distance_to_minimum(score, low, high)
    right = float(((score - low) / (high - low)).mean())
    return [Erratum("B", "appendix E", "ADTM of RFM over Table 3", wrong, right, _FIG_5C)]


def _relative_errors(rng: torch.Generator) -> list[Erratum]:
    """Fig. 14's "mean squared error" 0.712 of the Laplace kernel, read as a share of the variance of ``y = x₁x₂``."""
    n, d, std, stated = 1000, 40, 0.5, 0.712
    X = std * _normal(rng, 2 * n, d)
    y = X[:, 0] * X[:, 1]
    K = torch.exp(-torch.cdist(X, X[:n]) / 10)
    error = K[n:] @ torch.linalg.solve(K[:n], y[:n]) - y[n:]
    measured = float(error.square().mean())
    return [Erratum("B", "Fig. 14", "test MSE, Laplace kernel", stated, stated * std**4, measured)]


def _cheapest_neuron(eigenvalue: float) -> float:
    """``min a² + w²`` over ``a w² = λ``, by brute force on a fine grid of a."""
    if eigenvalue == 0:
        return 0.0
    a = torch.logspace(-4, 2, 200001, dtype=torch.float64)
    return float((a.square() + eigenvalue / a).min())


def _trace(M: Tensor) -> float:
    return float(M.trace())


def _normal(rng: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=rng, dtype=torch.float64)
