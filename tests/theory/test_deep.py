"""The first-order prediction for deep networks."""

from itertools import pairwise

import pytest
import torch
from torch.testing import assert_close

from gramian.theory import (
    alignment_from_dual_ptk,
    chain_monomial,
    decaying_gaussian,
    expected_dual_ptk,
    sample_dual_ptk,
    sample_quadratic,
    sum_of_squares,
)
from gramian.theory.deep import _gaussian_means
from gramian.theory.early import early_alignment
from theory.draws import F64, generator

ACTIVATIONS = {"quadratic": torch.square, "relu": torch.relu}


@pytest.mark.parametrize("hidden_layers", [1, 2, 3])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_sampled_kernel_equals_its_autograd_twin(activation, hidden_layers):
    X = torch.randn(5, 4, generator=generator(), dtype=F64)
    K = sample_dual_ptk(X, 7, generator(1), hidden_layers, activation)
    rng = generator(1)
    sizes = [4] + [7] * hidden_layers
    weights = [torch.randn(m, k, generator=rng, dtype=F64) / k**0.5 for k, m in pairwise(sizes)]
    a = torch.randn(7, generator=rng, dtype=F64) / 7**0.5
    rows = []
    for x in X:
        first = (weights[0] @ x).requires_grad_()
        h = ACTIVATIONS[activation](first)
        for W in weights[1:]:
            h = ACTIVATIONS[activation](W @ h)
        rows.append(torch.autograd.grad(a @ h, first)[0])
    J = torch.stack(rows)
    assert_close(K, J @ J.mT, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gaussian_means_against_sampling(activation):
    """``E[φ(u)φ(v)]`` and ``E[φ'(u)φ'(v)]`` over 200,000 draws, to five standard errors."""
    rng = generator(6)
    L = torch.randn(3, 3, generator=rng, dtype=F64)
    U = (torch.randn(200_000, 3, generator=rng, dtype=F64) @ L.mT).requires_grad_()
    values = ACTIVATIONS[activation](U)
    (slopes,) = torch.autograd.grad(values.sum(), U)
    for closed, sample in zip(_gaussian_means(L @ L.mT, activation), (values.detach(), slopes), strict=True):
        products = sample[:, :, None] * sample[:, None, :]
        error = products.std(0) / len(products) ** 0.5
        assert bool(((products.mean(0) - closed).abs() < 5 * error).all())


@pytest.mark.parametrize("hidden_layers", [1, 2])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_expectation_against_wide_networks(activation, hidden_layers):
    """Mean over 400 networks of width 200: five standard errors, plus O(1/width) for a second layer.

    The excess of φ = z² is the largest: a few E[h⁴]-type terms over the width, below 10 % here.
    """
    X = torch.randn(4, 6, generator=generator(2), dtype=F64)
    rng = generator(3)
    K = torch.stack([sample_dual_ptk(X, 200, rng, hidden_layers, activation) for _ in range(400)])
    expected = expected_dual_ptk(X, hidden_layers, activation)
    allowed = 5 * K.std(0) / 400**0.5
    if hidden_layers > 1:
        allowed = allowed + 0.1 * expected.diagonal().max()
    assert bool(((K.mean(0) - expected).abs() < allowed).all())


def test_one_hidden_quadratic_layer_is_the_case_of_the_exact_theory():
    """There 𝒦 ∝ X R Xᵀ, so the deep formula and the one-layer formula are the same number."""
    rng = generator(4)
    X, y = torch.randn(12, 5, generator=rng, dtype=F64), torch.randn(12, generator=rng, dtype=F64)
    R = sample_quadratic(5, 8, rng).weight_kernel()
    assert alignment_from_dual_ptk(X, y, X @ R @ X.mT) == pytest.approx(early_alignment(X, y, R), rel=1e-10)


def test_a_projector_aligns_perfectly():
    rng = generator(5)
    X, y = torch.randn(10, 4, generator=rng, dtype=F64), torch.randn(10, generator=rng, dtype=F64)
    Q, _ = torch.linalg.qr(torch.randn(10, 3, generator=rng, dtype=F64))
    assert alignment_from_dual_ptk(X, y, 2.5 * Q @ Q.mT) == pytest.approx(1.0, abs=1e-12)


def alignments(alpha, activation, widths, seed, task="low rank", n=64):
    rng = generator(seed)
    X, _ = decaying_gaussian(n, n, alpha, rng)
    Q = torch.randn(n, n, generator=rng, dtype=F64)
    y = chain_monomial(X, 5) if task == "low rank" else sum_of_squares(X, Q)
    predicted = alignment_from_dual_ptk(X, y, expected_dual_ptk(X, 2, activation))
    observed = [alignment_from_dual_ptk(X, y, sample_dual_ptk(X, width, rng, 2, activation)) for width in widths]
    return predicted, observed


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_prediction_improves_with_width(activation):
    """Paper A, Fig. 6: the wider network is nearer the first-order value, on average over data and decays."""
    narrow, wide = [], []
    for seed in range(6):
        for alpha in (0.5, 1.0, 1.5):
            predicted, observed = alignments(alpha, activation, (64, 1024), seed)
            narrow.append(abs(observed[0] - predicted))
            wide.append(abs(observed[1] - predicted))
    assert sum(wide) < 0.7 * sum(narrow)
    assert sum(wide) / len(wide) < 0.03


def test_alignment_dips_between_the_two_projectors():
    """Fig. 6: as α → 0 or ∞ the covariance is a projector up to scale; in between the alignment is lower.

    Means over 12 data sets: 0.87, 0.78 and 1.00, each to about 0.02.
    """
    means = [sum(alignments(a, "relu", (), seed, "high rank")[0] for seed in range(12)) / 12 for a in (0.0, 1.0, 8.0)]
    assert means[1] < means[0]
    assert means[1] < means[2]
    assert means[2] > 0.999


def test_zero_inputs_are_harmless():
    K = expected_dual_ptk(torch.zeros(2, 3, dtype=F64), 2, "relu")
    assert bool(torch.isfinite(K).all())


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="hidden layer"):
        expected_dual_ptk(torch.eye(2), hidden_layers=0)
    with pytest.raises((ValueError, TypeError), match="quadratic"):
        expected_dual_ptk(torch.eye(2), activation="tanh")
