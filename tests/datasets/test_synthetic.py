"""The synthetic tasks: formulas, true feature matrices against autograd, seeds, bad arguments."""

import numpy as np
import pytest
import torch

from gramian.datasets import gated_product, hermite_index, low_rank_product, modular_arithmetic, sparse_parity

TASKS = {
    "low_rank_product": lambda seed: low_rank_product(n=40, seed=seed),
    "hermite_index": lambda seed: hermite_index(n=40, seed=seed),
    "gated_product": lambda seed: gated_product(n=40, seed=seed),
    "sparse_parity": lambda seed: sparse_parity(n=40, seed=seed),
    "modular_arithmetic": lambda seed: modular_arithmetic(p=7, seed=seed),
}


@pytest.mark.parametrize("make", TASKS.values(), ids=TASKS)
class TestEveryTask:
    def test_shapes_and_types(self, make):
        data = make(0)
        n, d = data.X.shape
        assert data.X.dtype == np.float64
        assert data.y.shape == (n,)
        assert data.y.dtype in (np.float64, np.int64)
        assert len(data.feature_names) == len(set(data.feature_names)) == d
        assert np.isfinite(data.X).all()

    def test_same_seed_same_data_other_seed_other_data(self, make):
        first, again, other = make(1), make(1), make(2)
        np.testing.assert_array_equal(first.X, again.X)
        np.testing.assert_array_equal(first.y, again.y)
        parts = [np.concatenate([d.X.ravel(), *(s.train for s in d.splits)]) for d in (first, other)]
        assert not np.array_equal(*parts)

    def test_a_generator_stands_for_its_seed(self, make):
        np.testing.assert_array_equal(make(torch.Generator().manual_seed(5)).X, make(5).X)

    def test_subspace_is_orthonormal_and_carries_the_egop(self, make):
        data = make(0)
        if data.subspace is None:
            return
        U = data.subspace
        np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-12)
        if data.egop is not None:
            np.testing.assert_allclose(U @ (U.T @ data.egop), data.egop, atol=1e-10)


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


def test_egop_of_the_hermite_index():
    data = hermite_index(n=400_000, d=4, seed=5)
    u = torch.from_numpy(data.subspace[:, 0])

    def target(x):
        t = x @ u
        return t**2 - 1 + t**4 - 6 * t**2 + 3

    np.testing.assert_allclose(target(torch.from_numpy(data.X)).numpy(), data.y, rtol=1e-9, atol=1e-9)
    assert relative(egop_by_autograd(target, data.X), data.egop) < 0.05
    assert abs(data.y.mean()) < 0.1, "Hermite polynomials average to zero"


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


def test_gated_product_away_from_the_gate():
    data = gated_product(n=200_000, d=7, std=0.5, seed=7)
    M = egop_by_autograd(lambda x: x[:, 0] * x[:, 1] * (x[:, 5] > 0), data.X)
    expected = np.zeros((7, 7))
    expected[0, 0] = expected[1, 1] = 0.5 * 0.5**2
    assert relative(M, expected) < 0.02
    assert data.egop is None


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


OPERATIONS = {
    "+": lambda a, b, c, p: (a + b - c) % p == 0,
    "-": lambda a, b, c, p: (a - b - c) % p == 0,
    "*": lambda a, b, c, p: (a * b - c) % p == 0,
    "/": lambda a, b, c, p: (b * c - a) % p == 0,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_modular_table(operation):
    p = 11
    data = modular_arithmetic(p, operation, fraction=0.3, seed=2)
    rows = p * (p - 1) if operation == "/" else p * p
    assert data.X.shape == (rows, 2 * p)
    np.testing.assert_array_equal(data.X.sum(axis=1), 2)
    a, b = data.X[:, :p].argmax(axis=1), data.X[:, p:].argmax(axis=1)
    assert len({*zip(a.tolist(), b.tolist(), strict=True)}) == rows
    assert OPERATIONS[operation](a, b, data.y, p).all()
    assert ((data.y >= 0) & (data.y < p)).all()
    (split,) = data.splits
    assert len(split.train) == round(0.3 * rows)
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(rows))


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: low_rank_product(n=0), "n must"),
        (lambda: low_rank_product(d=1), "d must"),
        (lambda: low_rank_product(noise=-1.0), "noise must"),
        (lambda: low_rank_product(noise=float("nan")), "noise must"),
        (lambda: gated_product(d=5), "d must"),
        (lambda: gated_product(std=float("inf")), "std must"),
        (lambda: hermite_index(d=0), "d must"),
        (lambda: sparse_parity(d=3, k=4), "k must"),
        (lambda: sparse_parity(d=3, support=(1, 1)), "support must"),
        (lambda: sparse_parity(d=3, support=(3,)), "support must"),
        (lambda: modular_arithmetic(p=1), "p must"),
        (lambda: modular_arithmetic(operation="^"), "operation must"),
        (lambda: modular_arithmetic(p=9, operation="/"), "p must be a prime"),
        (lambda: modular_arithmetic(p=5, fraction=1.0), "fraction must"),
    ],
)
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(ValueError, match=argument):
        call()
