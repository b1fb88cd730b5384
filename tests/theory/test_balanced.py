"""Deep linear networks: what gradient flow conserves (paper C)."""

import math
from itertools import pairwise

import pytest
import torch
from torch.testing import assert_close

from gramian.core import psd_power
from gramian.features import agop, nfm
from gramian.theory import (
    balanced_init,
    balanced_scale,
    end_to_end,
    gradient_flow,
    haar,
    imbalance,
    linear_agop,
    linear_gradients,
    nfa_exponent,
    nfa_gap,
    printed,
    uniform_gram_norm,
)

F64 = torch.float64


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def regression(d, c, n=30, seed=1):
    rng = generator(seed)
    X = torch.randn(n, d, generator=rng, dtype=F64)
    return X, X @ torch.randn(d, c, generator=rng, dtype=F64)


def unbalanced(widths, seed=2):
    rng = generator(seed)
    return tuple(torch.randn(m, k, generator=rng, dtype=F64) / (2 * k) ** 0.5 for k, m in pairwise(widths))


def loss(weights, X, Y):
    return float((X @ end_to_end(weights).mT - Y).square().sum() / (2 * len(X)))


@pytest.mark.parametrize("widths", [(3, 5, 4), (3, 6, 6, 5), (4, 4, 4, 4, 4), (6, 3, 5, 4)])
def test_initialisation_is_balanced_and_has_exponent_one_over_depth(widths):
    weights = balanced_init(widths, generator())
    assert [tuple(W.shape) for W in weights] == [(m, k) for k, m in pairwise(widths)]
    for C in imbalance(weights):
        assert_close(C, torch.zeros_like(C), atol=1e-13, rtol=0)
    L = len(weights)
    # Compared as L-th powers: the root of a singular AGOP would turn rounding of 1e-16 into 1e-16^(1/L).
    assert_close(nfm(weights[0]).matrix_power(L), linear_agop(weights), atol=1e-12, rtol=0)


def test_agop_is_that_of_the_network():
    weights = unbalanced((3, 5, 2))
    X = torch.randn(6, 3, generator=generator(3), dtype=F64).requires_grad_()
    out = X @ end_to_end(weights).mT
    G = torch.stack([torch.autograd.grad(out[:, c].sum(), X, retain_graph=True)[0] for c in range(2)], dim=1)
    assert_close(agop(G), linear_agop(weights))


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_gradients_equal_autograd(weight_decay):
    X, Y = regression(3, 2)
    weights = tuple(W.requires_grad_() for W in unbalanced((3, 5, 4, 2)))
    value = (X @ end_to_end(weights).mT - Y).square().sum() / (2 * len(X))
    value = value + weight_decay / 2 * sum(W.square().sum() for W in weights)
    expected = torch.autograd.grad(value, weights)
    for ours, theirs in zip(linear_gradients(weights, X, Y, weight_decay), expected, strict=True):
        assert_close(ours.detach(), theirs)


def test_integrator_has_order_four():
    X, Y = regression(3, 4)
    weights = balanced_init((3, 5, 5, 4), generator())
    exact = gradient_flow(weights, X, Y, time=0.5, steps=400)[0]
    errors = [(gradient_flow(weights, X, Y, time=0.5, steps=n)[0] - exact).norm() for n in (10, 20)]
    assert 10 < errors[0] / errors[1] < 25


def test_balanced_network_keeps_the_ansatz_along_gradient_flow():
    """Theorem 3.1: three layers, ``W₁ᵀW₁ = AGOP^{1/3}`` to numerical accuracy all along the flow."""
    X, Y = regression(4, 5)
    weights = balanced_init((4, 8, 8, 5), generator())
    first = loss(weights, X, Y)
    for _ in range(10):
        weights = gradient_flow(weights, X, Y, time=1.0, steps=250)
        assert nfa_gap(weights) < 1e-8
        assert all(C.abs().max() < 1e-8 for C in imbalance(weights))
    assert loss(weights, X, Y) < first / 10, "the network was really trained"


def test_other_exponents_fail_on_the_same_network():
    X, Y = regression(4, 5)
    weights = gradient_flow(balanced_init((4, 8, 8, 5), generator()), X, Y, time=3.0, steps=600)
    gram, A = nfm(weights[0]), linear_agop(weights)
    for power in (1 / 2, 1 / 4):
        assert (gram - psd_power(A, power)).norm() > 0.05 * gram.norm()
    assert nfa_exponent(3) == 1 / 3


def test_imbalance_is_conserved_without_weight_decay():
    """Lemma 3.1."""
    X, Y = regression(4, 3)
    weights = unbalanced((4, 6, 5, 3))
    before = imbalance(weights)
    after = imbalance(gradient_flow(weights, X, Y, time=2.0, steps=800))
    for C0, C1 in zip(before, after, strict=True):
        assert_close(C1, C0, atol=1e-8, rtol=0)
        assert C0.norm() > 0.1


@pytest.mark.parametrize("weight_decay", [0.1, 0.5])
def test_imbalance_decays_as_exp_minus_two_lambda_t(weight_decay):
    """Lemma 3.2: not only the norm, every entry of C_l is multiplied by ``e^{−2λt}``."""
    X, Y = regression(4, 3)
    weights = unbalanced((4, 6, 5, 3))
    before = imbalance(weights)
    t = 2.0
    after = imbalance(gradient_flow(weights, X, Y, time=t, steps=800, weight_decay=weight_decay))
    for C0, C1 in zip(before, after, strict=True):
        assert_close(C1, math.exp(-2 * weight_decay * t) * C0, atol=1e-8, rtol=0)


def test_ansatz_gap_decays_at_the_rate_of_theorem_32():
    """``‖AGOP − (W₁ᵀW₁)^L‖ = O(e^{−2λt})`` from an unbalanced start: the late rate is 2λ."""
    weight_decay, L = 0.15, 3
    X, Y = regression(4, 4)
    weights = gradient_flow(unbalanced((4, 6, 6, 4)), X, Y, time=10.0, steps=1000, weight_decay=weight_decay)
    gaps = []
    for _ in range(2):
        gaps.append((linear_agop(weights) - nfm(weights[0]).matrix_power(L)).norm())
        weights = gradient_flow(weights, X, Y, time=5.0, steps=500, weight_decay=weight_decay)
    rate = math.log(gaps[0] / gaps[1]) / 5.0
    assert rate == pytest.approx(2 * weight_decay, rel=0.05)
    assert end_to_end(weights).norm() > 1, "the network did not collapse to zero instead"


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (8, 2), (6, 6)])
def test_lemma_b1_by_sampling(rows, columns):
    rng = generator(4)
    W = (2 * torch.rand(20_000, rows, columns, generator=rng, dtype=F64) - 1) / columns**0.5
    norms = (W.mT @ W).square().sum((1, 2))
    expected = uniform_gram_norm(rows, columns)
    assert abs(norms.mean() - expected) < 5 * norms.std() / 20_000**0.5


@pytest.mark.parametrize("widths", [(20, 64, 64), (5, 12, 7), (9, 9, 9)])
def test_corrected_scale_equalises_the_expected_gram_norms(widths):
    d1, d2, d3 = widths
    target = uniform_gram_norm(d3, d2)
    assert balanced_scale(*widths) ** 4 * uniform_gram_norm(d2, d1) == pytest.approx(target, rel=1e-12)
    if d1 != d2:
        ratio = printed.balanced_scale(*widths) ** 4 * uniform_gram_norm(d2, d1) / target
        assert abs(ratio - 1) > 0.3, "as printed the norms stay unequal"
    else:
        assert balanced_scale(*widths) == pytest.approx(1.0)


def test_initialisation_does_not_prefer_a_basis():
    """Upper layers are U Σ U'ᵀ with Haar U: their singular values are the first layer's."""
    weights = balanced_init((3, 6, 7, 5), generator(5))
    sigma = torch.linalg.svdvals(weights[0])
    for W in weights[1:]:
        assert_close(torch.linalg.svdvals(W)[:3], sigma)
    assert haar(3, generator(5)).shape == (3, 3)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="three widths"):
        balanced_init((3, 4), generator())
    with pytest.raises(ValueError, match="at least 4 outputs"):
        balanced_init((4, 8, 2), generator())
    with pytest.raises(ValueError, match="depth"):
        nfa_exponent(0)
    with pytest.raises(ValueError, match="steps"):
        gradient_flow(unbalanced((2, 2, 2)), *regression(2, 2), time=1.0, steps=0)
