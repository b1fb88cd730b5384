"""The growth of the surrogate against its derivative."""

import pytest
import torch

from gramian.experiments.e_gram import growth
from gramian.experiments.e_gram.small_nets import linear_layers, perceptron


def test_the_exact_growth_is_the_derivative_and_the_theorem_is_exact_at_the_readout(rng):
    model = perceptron((4, 6, 1), "relu", rng, bias=False, dtype=torch.float64)
    X = torch.randn(12, 4, generator=rng, dtype=torch.float64)
    y = torch.sign(X[:, 0])
    for layer in range(2):
        W = linear_layers(model)[layer].weight
        (G,) = torch.autograd.grad((model(X)[:, 0] - y).square().mean(), W)
        H = (X if layer == 0 else torch.relu(X @ linear_layers(model)[0].weight.T)).detach()
        direction = H.mT @ y
        derivative = -2 * float((W.detach() @ direction) @ (G @ direction))
        found = growth.growth(model, X, y, layer, 1e-7)
        assert found.exact == pytest.approx(derivative, rel=1e-10)
        assert found.measured == pytest.approx(derivative, rel=1e-4, abs=1e-6)
    assert found.theorem == pytest.approx(found.exact, rel=1e-10)


def test_the_remainder_of_lemma_3_falls_with_the_distance(rng):
    X = torch.randn(12, 4, generator=rng, dtype=torch.float64)
    model = perceptron((4, 16, 1), "relu", rng, bias=False, dtype=torch.float64)
    assert growth._two_points(model, X) < 0.1
    y = model(X)[:, 0].detach()
    assert growth._correlation(model, X, -2 * y) == pytest.approx(-1.0)
