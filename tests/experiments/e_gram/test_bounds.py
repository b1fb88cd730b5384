"""Kantorovich's ratio, Lemma 2, and features at the same norm."""

import pytest
import torch

from gramian.experiments.e_gram import bounds


def test_kantorovich_against_eigenvalues(rng):
    values, y = torch.tensor([0.5, 2.0, 5.0], dtype=torch.float64), torch.randn(3, generator=rng, dtype=torch.float64)
    Q = torch.linalg.qr(torch.randn(3, 3, generator=rng, dtype=torch.float64))[0]
    c = (Q.mT @ y).square()
    expected = (c * values).sum() * (c / values).sum() / (5.5**2 / 10 * c.sum() ** 2)
    A = Q @ torch.diag(values) @ Q.mT
    assert bounds.kantorovich(A, y) == pytest.approx(float(expected), rel=1e-12)
    expected = (c * values).sum() * (c / values**2).sum() / (5.5**2 / 5 * c.sum() ** 2)
    assert bounds.lemma_2(A, y) == pytest.approx(float(expected), rel=1e-12)


def test_lemma_2_on_random_matrices_and_near_its_equality(rng):
    """Never above 1; at equal weights on the extreme eigenvectors it is as near to 1 as a/b is to 0."""
    for _ in range(50):
        B = torch.randn(5, 5, generator=rng, dtype=torch.float64)
        A = B @ B.mT + 0.01 * torch.eye(5, dtype=torch.float64)
        y = torch.randn(5, generator=rng, dtype=torch.float64)
        assert bounds.lemma_2(A, y) <= bounds.kantorovich(A, y) + 1e-12 <= 1 + 2e-12
    A = torch.diag(torch.tensor([1e-6, 0.3, 1.0], dtype=torch.float64))
    y = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64)
    assert bounds.lemma_2(A, y) == pytest.approx(1, abs=2e-6)


def test_larger_weights_do_not_count_as_learning(rng):
    H = torch.randn(6, 4, generator=rng, dtype=torch.float64)
    torch.testing.assert_close(bounds.at_the_same_norm(8 * H, H), H)


def test_states_before_training_belong_to_the_weights_before_training():
    states, weights, _ = bounds.features_of_digits(bounds.DigitsTraining(60, 8, 3), seed=0)
    for (H, after), W in zip((part[:2] for part in states), (part[0] for part in weights), strict=True):
        assert H.shape[1] == W.shape[1]
        assert after.shape[1] == W.shape[0]
    assert float((weights[1][0] - weights[0][0]).abs().max()) > 1e-3
    torch.testing.assert_close(states[0][0], states[1][0])  # the pixels
