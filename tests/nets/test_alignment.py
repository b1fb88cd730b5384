"""Alignments of weights and tangent kernel by their definitions."""

import math

import pytest
import torch

from gramian.core import cosine, psd_power
from gramian.nets.alignment import (
    best_power,
    centered_nfa,
    congruence,
    corrupted_ptk,
    power_alignment,
    ptk_centered_nfa,
    uncentered_nfa,
)


@pytest.fixture
def layer(rng):
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    J = draw(40, 6)
    return draw(6, 4), draw(6, 4), J.T @ J / 40


def test_alignments_are_cosines_of_their_definitions(layer):
    W, W0, K = layer
    assert uncentered_nfa(W, K) == pytest.approx(cosine(W.T @ W, W.T @ K @ W))
    change = W - W0
    assert centered_nfa(W, W0, K) == pytest.approx(cosine(change.T @ change, change.T @ K @ change))
    assert ptk_centered_nfa(W0, K) == pytest.approx(cosine(W0.T @ W0, W0.T @ K @ W0))


def test_corruption_preserves_the_spectrum(layer, rng):
    _, _, K = layer
    Q = corrupted_ptk(K, rng)
    torch.testing.assert_close(torch.linalg.eigvalsh(Q), torch.linalg.eigvalsh(K))
    assert not torch.allclose(Q, K)


def test_the_best_power_beats_a_grid_and_power_alignment_is_the_cosine(layer):
    W, _, K = layer
    A, B = W.T @ W, congruence(W, K)
    values, V = torch.linalg.eigh(B)
    quadratic = (W @ V).square().sum(0)
    powers = torch.linspace(0.1, 2.5, 25, dtype=torch.float64)
    found = power_alignment(values, quadratic, float(A.norm()), powers)
    expected = [cosine(A, psd_power(B, float(s))) for s in powers]
    assert found.tolist() == pytest.approx(expected)
    s, rho = best_power(values, quadratic, float(A.norm()))
    assert rho >= max(expected) - 1e-12
    assert rho == pytest.approx(cosine(A, psd_power(B, s)))


def test_the_best_power_of_equal_eigenvalues_is_not_defined():
    s, rho = best_power(torch.ones(3), torch.ones(3), 3**0.5)
    assert math.isnan(s)
    assert rho == pytest.approx(1)
