"""Tiles cover everything once, and results do not depend on batches or threads."""

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given

from gramian.core import (
    threads,
)
from gramian.core.tiles import each_block, rowwise_matmul, spans, upper_tiles
from gramian.kernels import KernelOperator, Laplace


@given(st.integers(1, 40), st.integers(1, 12))
def test_tiles_cover_everything_once(n, size):
    assert [i for s in spans(n, size) for i in range(s.start, s.stop)] == list(range(n))
    seen = np.zeros((n, n), dtype=int)
    for rows, cols in upper_tiles(n, size):
        seen[rows, cols] += 1
        if rows != cols:
            seen[cols, rows] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("inner", [1, 7, 20, 31, 255, 1023])
@pytest.mark.parametrize("k", [0, 1, 3, 4, 5, 17, 40])
def test_rowwise_products_do_not_depend_on_the_batch(dtype, inner, k, rng):
    X, A = torch.randn(300, inner, generator=rng, dtype=dtype), torch.randn(inner, k, generator=rng, dtype=dtype)
    whole = rowwise_matmul(X, A)
    torch.testing.assert_close(whole, X @ A, rtol=1e-4, atol=1e-4)
    for rows in (slice(0, 1), slice(5, 9), slice(127, 129), slice(128, 300), *(slice(i, i + 1) for i in range(77, 90))):
        assert torch.equal(rowwise_matmul(X[rows], A), whole[rows])


def test_blocks_in_several_threads_give_the_same_bits():
    rng = torch.Generator().manual_seed(0)
    X, new = torch.randn(500, 5, generator=rng), torch.randn(700, 5, generator=rng)
    coef = torch.randn(500, 2, generator=rng, dtype=torch.float64)
    outcomes = []
    for count in (1, 3):
        with threads(count):
            operator = KernelOperator(Laplace(2.0), X)
            outcomes.append((operator.predict(new, coef), operator.gradient(new, coef)))
            assert torch.get_num_threads() == count
    assert torch.equal(outcomes[0][0], outcomes[1][0])
    assert torch.equal(outcomes[0][1], outcomes[1][1])


def test_an_error_in_a_block_reaches_the_caller_and_threads_are_restored():
    with threads(2):
        with pytest.raises(RuntimeError, match="boom"):
            each_block(torch.ones(1000, 1), lambda rows, block: (_ for _ in ()).throw(RuntimeError("boom")))
        assert torch.get_num_threads() == 2


@pytest.mark.parametrize("columns", [16, 32, 5])
@pytest.mark.parametrize("inner", [5, 131])
def test_a_transposed_factor_rounds_the_same_in_every_row(inner, columns, rng):
    """Coefficients may lie in memory column by column; a BLAS then treats odd rows differently."""
    X = torch.randn(200, inner, generator=rng, dtype=torch.float64)
    A = torch.randn(columns, inner, generator=rng, dtype=torch.float64).mT
    whole = rowwise_matmul(X, A)
    for row in range(0, 200, 7):
        assert torch.equal(rowwise_matmul(X[row : row + 1], A)[0], whole[row])
    torch.testing.assert_close(whole, X @ A)
