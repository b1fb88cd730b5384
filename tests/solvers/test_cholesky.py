"""Cholesky factors, in place by panels and by one call of LAPACK: one contract for both."""

import pytest
import torch

from gramian.solvers.cholesky import SMALL_ROWS, CholeskyFactor, SmallCholeskyFactor, factor_of

FACTORS = [CholeskyFactor, SmallCholeskyFactor]


@pytest.mark.parametrize("factor_class", FACTORS)
@pytest.mark.parametrize("n", [1, 255, 256, 257, 700])
def test_cholesky_keeps_the_matrix_and_can_be_repeated(factor_class, n, rng):
    B = torch.randn(n, n, generator=rng, dtype=torch.float64)
    A = B @ B.T / n
    factor = factor_class(A.clone())
    V = torch.randn(n, 3, generator=rng, dtype=torch.float64)
    for shift in (1.0, 0.1, 5.0):
        assert factor.factorize(shift)
        shifted = A + shift * torch.eye(n, dtype=torch.float64)
        torch.testing.assert_close(factor.matmul(V), shifted @ V)
        torch.testing.assert_close(factor.solve(V), torch.linalg.solve(shifted, V))
        rows = torch.randperm(n, generator=rng)[: max(1, n // 3)]
        inverse = torch.linalg.inv(shifted).diagonal()
        torch.testing.assert_close(factor.inverse_diagonal(rows), inverse[rows])
        torch.testing.assert_close(factor.inverse_diagonal(), inverse)


@pytest.mark.parametrize("factor_class", FACTORS)
def test_a_matrix_that_is_not_positive_definite_is_reported(factor_class):
    factor = factor_class(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))
    assert not factor.factorize(0.0)
    assert factor.factorize(2.0)
    torch.testing.assert_close(factor.solve(torch.ones(2, 1)), torch.full((2, 1), 1 / 5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_factors_have_the_same_answers_and_the_same_products(dtype, rng):
    n = 300
    B = torch.randn(n, n, generator=rng, dtype=torch.float64)
    A = (B @ B.T / n).to(dtype)
    V = torch.randn(n, 2, generator=rng, dtype=torch.float64)
    one, other = (factor_class(A.clone()) for factor_class in FACTORS)
    assert one.factorize(1e-1)
    assert other.factorize(1e-1)
    assert (one.n, one.shift) == (other.n, other.shift) == (n, 1e-1)
    assert torch.equal(one.diagonal, other.diagonal)
    assert other.solve(V).dtype == dtype
    assert other.matmul(V).dtype == torch.float64, "products are accumulated in the wide format"
    torch.testing.assert_close(other.matmul(V), one.matmul(V), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(other.solve(V), one.solve(V), rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(other.inverse_diagonal(), one.inverse_diagonal(), rtol=1e-4, atol=1e-6)


def test_numbers_that_are_not_finite_are_no_factor():
    assert not SmallCholeskyFactor(torch.full((2, 2), torch.nan)).factorize(1.0)


def test_the_factor_is_chosen_by_the_number_of_rows():
    assert isinstance(factor_of(torch.eye(3)), SmallCholeskyFactor)
    assert isinstance(factor_of(torch.empty(SMALL_ROWS, SMALL_ROWS)), SmallCholeskyFactor)
    assert isinstance(factor_of(torch.empty(SMALL_ROWS + 1, SMALL_ROWS + 1)), CholeskyFactor)
