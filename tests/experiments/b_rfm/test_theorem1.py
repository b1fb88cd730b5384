"""The gradient outer product of deep networks against automatic differentiation."""

import torch

from gramian.experiments.b_rfm.propositions import distance
from gramian.experiments.b_rfm.theorem1 import deep_gop
from gramian.theory import relu_expected_gop


def test_the_jacobian_product_equals_autograd():
    """The same draws of the upper layers, and the expectation over a as a sum over unit vectors."""
    rng = torch.Generator().manual_seed(0)
    W = torch.randn(4, 3, generator=rng, dtype=torch.float64)
    X = torch.randn(2, 3, generator=rng, dtype=torch.float64)
    found = deep_gop(X, W, 3, 6, torch.Generator().manual_seed(5))
    draws = torch.Generator().manual_seed(5)
    upper = [torch.randn(6, k, generator=draws, dtype=torch.float64) for k in (4, 6)]

    def hidden(x):
        for V in (W, *upper):
            x = (2 / len(V)) ** 0.5 * (V @ x).relu()
        return x

    expected = torch.zeros(3, 3, dtype=torch.float64)
    for x in torch.cat([X, -X]):
        J = torch.autograd.functional.jacobian(hidden, x)
        expected += J.mT @ J / 4
    torch.testing.assert_close(found, expected)


def test_one_hidden_layer_is_exact_with_one_pair_of_inputs():
    rng = torch.Generator().manual_seed(1)
    W = torch.randn(7, 3, generator=rng, dtype=torch.float64)
    X = torch.randn(1, 3, generator=rng, dtype=torch.float64)
    assert distance(deep_gop(X, W, 1, 1, rng), relu_expected_gop(W)) < 1e-12
