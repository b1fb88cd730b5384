"""Contract of every synthetic task: shapes, seeds, subspaces, names of bad arguments."""

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
