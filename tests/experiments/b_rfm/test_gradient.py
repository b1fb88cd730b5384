"""The printed gradient of the Laplace kernel."""

import torch

from gramian.experiments.b_rfm import gradient as g


def test_the_gradient_is_that_of_autograd_and_zero_at_equal_inputs():
    rng = torch.Generator().manual_seed(0)
    X = torch.randn(3, 4, generator=rng, dtype=torch.float64)
    F = torch.randn(4, 2, generator=rng, dtype=torch.float64)
    z = torch.randn(4, generator=rng, dtype=torch.float64)
    leaf = z.clone().requires_grad_()
    (expected,) = torch.autograd.grad(g.laplace(X[:1], leaf, F @ F.mT, 2.0).sum(), leaf)
    torch.testing.assert_close(g.printed_gradient(X[:1], z, F @ F.mT, 2.0)[0], expected)
    assert not g.printed_gradient(X, X[1], F @ F.mT, 2.0)[1].any()
