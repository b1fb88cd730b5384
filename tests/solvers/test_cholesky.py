"""Cholesky factorisation in place."""

import pytest
import torch

from gramian.solvers.cholesky import CholeskyFactor


@pytest.mark.parametrize("n", [1, 255, 256, 257, 700])
def test_cholesky_keeps_the_matrix_and_can_be_repeated(n, rng):
    B = torch.randn(n, n, generator=rng, dtype=torch.float64)
    A = B @ B.T / n
    factor = CholeskyFactor(A.clone())
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


def test_a_matrix_that_is_not_positive_definite_is_reported():
    factor = CholeskyFactor(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))
    assert not factor.factorize(0.0)
    assert factor.factorize(2.0)
    torch.testing.assert_close(factor.solve(torch.ones(2, 1)), torch.full((2, 1), 1 / 5))
