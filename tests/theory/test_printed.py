"""Printed formulas are wrong in the way that the errata state."""

import math

import pytest
import torch
from torch.testing import assert_close

from gramian.theory import (
    Separation,
    data_moments,
    limiting_weight_moments,
    minimum_norm_network,
    moments_of,
    numerator,
    printed,
    quadratic_form,
    second_denominator,
    weight_moments,
)
from theory.draws import F64, free_pair, generator, randn, tr


def test_printed_traces_are_off_by_far_more():
    rng = generator(1)
    A, B, spectrum = free_pair(200, rng)
    D, w = moments_of(A, B), weight_moments(torch.diag(spectrum))
    assert abs(printed.numerator(D, w) / numerator(D, w) - 1) > 0.1
    assert abs(printed.second_denominator(D, w) / second_denominator(D, w) - 1) > 0.1


def test_printed_last_term_of_28_is_zero():
    """The printed term has tr[Ā]² as a factor, and a centred matrix has no trace."""
    A, B, spectrum = free_pair(30, generator())
    D, w = moments_of(A, B), weight_moments(torch.diag(spectrum))
    Abar = A - tr(A) * torch.eye(30, dtype=F64)
    term = tr(Abar) ** 2 * tr(B @ B) * w.r2**2
    kept = second_denominator(D, w) - D.aa * D.b**2 * w.r2**2
    assert printed.second_denominator(D, w) == pytest.approx(kept + term, rel=1e-12)


def test_printed_alignment_is_nan_where_its_denominator_is_negative():
    D = data_moments(torch.eye(2, dtype=F64), torch.tensor([1.0, 0.0], dtype=F64))
    negative = type(D)(a=1, b=1, aa=1, bb=0, ab=-5, aab=0, abb=0, abab=0)
    assert math.isnan(printed.alignment(negative, limiting_weight_moments(1.0)))


def test_printed_exponents_do_not_give_a_cosine():
    rng = generator(10)
    D = data_moments(3 * randn(20, 10, rng=rng), randn(20, rng=rng))
    assert printed.alignment_exponents(D, limiting_weight_moments(1.0)) > 1


def form(d=4, seed=0):
    Q = torch.randn(d, d, generator=torch.Generator().manual_seed(seed), dtype=F64)
    return Q + Q.mT


def cost(a, W):
    return float(a.square().sum() + W.square().sum())


def test_the_printed_cost_is_not_the_minimum():
    """Lemma D.2 prints 2Σ|λ|^{2/3}; the network above has the same form for 5.5 % less."""
    Q = form(seed=3)
    a, W = minimum_norm_network(Q)
    assert cost(a, W) < 0.95 * printed.minimum_norm_cost(Q)


def test_proof_weights_as_printed_are_another_function():
    """Theorem 3.4, step 1: with half the printed weights on neurons 2, 3, 5, 6 the target is met exactly."""
    task = Separation(tau=0.3)
    a, W = (torch.tensor(part, dtype=F64) for part in printed.separation_weights(0.3))
    assert (quadratic_form(a, W) - task.target_form()).norm() > 0.1
    halved = a * torch.tensor([1, 0.5, 0.5, 1, 0.5, 0.5], dtype=F64)
    assert_close(quadratic_form(halved, W), task.target_form())


def test_the_printed_distance_to_the_minimum_is_not_one_for_the_best():
    best, low = torch.tensor([0.9, 0.8], dtype=F64), torch.tensor([0.6, 0.4], dtype=F64)
    assert printed.distance_to_minimum(best, low, best) == pytest.approx((1 / 3 + 1 / 2) / 2)
