"""Balanced initialisation of deep linear networks and its ansatz (paper C)."""

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
    nfa_exponent,
    printed,
    uniform_gram_norm,
)
from theory.draws import F64, generator, regression, unbalanced


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


def test_other_exponents_fail_on_the_same_network():
    X, Y = regression(4, 5)
    weights = gradient_flow(balanced_init((4, 8, 8, 5), generator()), X, Y, time=3.0, steps=600)
    gram, A = nfm(weights[0]), linear_agop(weights)
    for power in (1 / 2, 1 / 4):
        assert (gram - psd_power(A, power)).norm() > 0.05 * gram.norm()
    assert nfa_exponent(3) == 1 / 3


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
