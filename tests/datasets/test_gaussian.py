"""Targets on Gaussian inputs."""

import numpy as np
import pytest
import torch

from gramian.datasets import gated_product, hermite_index, staircase


def egop_by_autograd(f, X: np.ndarray) -> np.ndarray:
    """Mean outer product of the gradients of f (n, d) → (n,) at the rows of X."""
    x = torch.from_numpy(X).requires_grad_()
    (g,) = torch.autograd.grad(f(x).sum(), x)
    return (g.T @ g / len(x)).numpy()


def relative(A: np.ndarray, B: np.ndarray) -> float:
    return float(np.linalg.norm(A - B) / np.linalg.norm(B))


def test_egop_of_the_hermite_index():
    data = hermite_index(n=400_000, d=4, seed=5)
    u = torch.from_numpy(data.subspace[:, 0])

    def target(x):
        t = x @ u
        return t**2 - 1 + t**4 - 6 * t**2 + 3

    np.testing.assert_allclose(target(torch.from_numpy(data.X)).numpy(), data.y, rtol=1e-9, atol=1e-9)
    assert relative(egop_by_autograd(target, data.X), data.egop) < 0.05
    assert abs(data.y.mean()) < 0.1, "Hermite polynomials average to zero"


def test_gated_product_away_from_the_gate():
    data = gated_product(n=200_000, d=7, std=0.5, seed=7)
    M = egop_by_autograd(lambda x: x[:, 0] * x[:, 1] * (x[:, 5] > 0), data.X)
    expected = np.zeros((7, 7))
    expected[0, 0] = expected[1, 1] = 0.5 * 0.5**2
    assert relative(M, expected) < 0.02
    assert data.egop is None


def test_egop_of_the_staircase():
    data = staircase(n=200_000, d=5, degree=4, seed=1)

    def target(x):
        a, b, c, d = x[:, :4].T
        return a * b * c * d + a * b * c + a * b + a

    np.testing.assert_allclose(target(torch.from_numpy(data.X)).numpy(), data.y, rtol=1e-9, atol=1e-12)
    assert relative(egop_by_autograd(target, data.X), data.egop) < 0.05
    with pytest.raises(ValueError, match="degree must be at most d = 3, got 4"):
        staircase(d=3)
