"""Products and parities of signs."""

import numpy as np
import pytest
import torch

from gramian.datasets import gated_product, low_rank_product, sparse_parity


def egop_by_autograd(f, X: np.ndarray) -> np.ndarray:
    """Mean outer product of the gradients of f (n, d) → (n,) at the rows of X."""
    x = torch.from_numpy(X).requires_grad_()
    (g,) = torch.autograd.grad(f(x).sum(), x)
    return (g.T @ g / len(x)).numpy()


def relative(A: np.ndarray, B: np.ndarray) -> float:
    return float(np.linalg.norm(A - B) / np.linalg.norm(B))


def test_egop_of_the_product():
    data = low_rank_product(n=200_000, d=6, noise=0.5, seed=3)
    assert relative(egop_by_autograd(lambda x: x[:, 0] * x[:, 1], data.X), data.egop) < 0.02


def test_egop_of_the_best_predictor_of_the_product_is_proportional():
    noise = 0.7
    data = low_rank_product(n=200_000, d=6, noise=noise, seed=4)
    M = egop_by_autograd(lambda x: torch.tanh(x[:, 0] / noise**2) * torch.tanh(x[:, 1] / noise**2), data.X)
    assert relative(M / np.trace(M), data.egop / np.trace(data.egop)) < 0.02


@pytest.mark.parametrize("k", [1, 2, 3])
def test_egop_of_the_parity(k):
    d = 8
    data = sparse_parity(n=100_000, d=d, k=k, seed=6)
    support = np.flatnonzero(data.subspace.sum(axis=1)).tolist()
    assert len(support) == k

    def target(x):
        return (1 + (d**0.5 * x[:, support]).prod(dim=1)) / 2

    np.testing.assert_allclose(target(torch.from_numpy(data.X)).numpy(), data.y, atol=1e-12)
    assert relative(egop_by_autograd(target, data.X), data.egop) < 0.03


def test_inputs_are_as_the_papers_say():
    assert set(np.abs(sparse_parity(n=20, d=50).X).ravel()) == {1 / 50**0.5}
    z = low_rank_product(n=50, noise=0.0)
    assert set(np.unique(z.X)) == {-1.0, 1.0}
    np.testing.assert_array_equal(z.y, z.X[:, 0] * z.X[:, 1])
    assert abs(gated_product(n=5000, std=0.5).X.std() - 0.5) < 0.01


def test_named_support_does_not_change_the_rows():
    free, named = sparse_parity(n=30, d=9, k=2, seed=1), sparse_parity(n=30, d=9, seed=1, support=(2, 8, 5))
    np.testing.assert_array_equal(free.X, named.X)
    np.testing.assert_array_equal(named.y, (named.X[:, [2, 5, 8]].prod(axis=1) > 0).astype(int))
