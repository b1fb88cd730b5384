"""First-order errors over pairs, one pair at a time."""

import pytest
import torch

from gramian.experiments.e_gram import pairs
from gramian.experiments.e_gram.small_nets import perceptron


def test_first_order_errors_one_pair_at_a_time(rng):
    f = perceptron((3, 6, 1), "relu", rng, bias=False, dtype=torch.float64)
    X = torch.randn(5, 3, generator=rng, dtype=torch.float64)
    errors, values = pairs.first_order_errors(f, X)
    for i in range(5):
        x = X[i].clone().requires_grad_()
        (gradient,) = torch.autograd.grad(f(x), x)
        for j in range(5):
            expected = float((f(X[j]) - f(X[i])).detach() - gradient @ (X[j] - X[i]))
            assert float(errors[i, j]) == pytest.approx(expected, abs=1e-12)
    torch.testing.assert_close(values, f(X)[:, 0].detach())
