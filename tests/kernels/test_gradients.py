"""Moments of gradients at some of the training rows."""

import torch

from gramian.kernels import KernelOperator, Laplace
from gramian.kernels.gradients import gradient_moments


def rows_of(n, rng, d=5):
    return torch.randn(n, d, generator=rng)


def test_moments_at_some_rows_do_not_depend_on_their_order(rng):
    X = rows_of(700, rng)
    operator, coef = KernelOperator(Laplace(3.0), X), torch.randn(700, 2, generator=rng, dtype=torch.float64)
    some = torch.randperm(700, generator=rng)[:300]
    moments = gradient_moments(operator, coef, some)
    G = KernelOperator(Laplace(3.0), X.double()).gradient(X[some].double(), coef)
    torch.testing.assert_close(moments.second, torch.einsum("ncd,nce->de", G, G), rtol=1e-4, atol=1e-3)
    assert torch.equal(moments.second, gradient_moments(operator, coef, some.flip(0)).second)
