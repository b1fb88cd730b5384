"""Kantorovich's ratio."""

import pytest
import torch

from gramian.experiments.e_gram import bounds


def test_kantorovich_against_eigenvalues(rng):
    values, y = torch.tensor([0.5, 2.0, 5.0], dtype=torch.float64), torch.randn(3, generator=rng, dtype=torch.float64)
    Q = torch.linalg.qr(torch.randn(3, 3, generator=rng, dtype=torch.float64))[0]
    c = (Q.mT @ y).square()
    expected = (c * values).sum() * (c / values).sum() / (5.5**2 / 10 * c.sum() ** 2)
    assert bounds.kantorovich(Q @ torch.diag(values) @ Q.mT, y) == pytest.approx(float(expected), rel=1e-12)


def test_states_before_training_belong_to_the_weights_before_training():
    states, weights, _ = bounds.features_of_digits(bounds.DigitsTraining(60, 8, 3), seed=0)
    for (H, after), W in zip((part[:2] for part in states), (part[0] for part in weights), strict=True):
        assert H.shape[1] == W.shape[1]
        assert after.shape[1] == W.shape[0]
    assert float((weights[1][0] - weights[0][0]).abs().max()) > 1e-3
    torch.testing.assert_close(states[0][0], states[1][0])  # the pixels
