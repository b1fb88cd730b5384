"""Gradient flow of linear networks: gradients, order of the integrator, conservation laws."""

import math

import pytest
import torch
from torch.testing import assert_close

from gramian.features import nfm
from gramian.theory import (
    balanced_init,
    end_to_end,
    gradient_flow,
    imbalance,
    linear_agop,
    linear_gradients,
    nfa_gap,
)
from theory.draws import generator, regression, unbalanced


def loss(weights, X, Y):
    return float((X @ end_to_end(weights).mT - Y).square().sum() / (2 * len(X)))


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
