"""The factor in strips against dense linear algebra."""

import pytest
import torch

from gramian.kernels import Gaussian, KernelOperator, Laplace
from gramian.solvers.base import Workspace
from gramian.solvers.packed_factor import PackedFactor

F64 = torch.float64


def system(n=40, weighted=True, max_bytes=None):
    rng = torch.Generator().manual_seed(0)
    X = torch.randn(n, 3, generator=rng, dtype=F64)
    weights = torch.rand(n, generator=rng, dtype=F64) + 0.5 if weighted else None
    operator = KernelOperator(Laplace(2.0), X, max_bytes=max_bytes)
    root = torch.ones(n, dtype=F64) if weights is None else weights.sqrt()
    return operator, weights, root[:, None] * operator.dense() * root


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 40, 700])
def test_solutions_products_and_inverse_are_those_of_the_dense_matrix(n, weighted):
    operator, weights, A = system(n, weighted)
    factor = PackedFactor(operator, weights, Workspace())
    B = torch.randn(n, 2, dtype=F64, generator=torch.Generator().manual_seed(1))
    for shift in (0.3, 0.01):  # another shift begins with the matrix again
        assert factor.factorize(shift)
        shifted = A + shift * torch.eye(n, dtype=F64)
        torch.testing.assert_close(factor.matmul(B), shifted @ B)
        torch.testing.assert_close(factor.solve(B), torch.linalg.solve(shifted, B), rtol=1e-9, atol=1e-9)
        inverse = torch.linalg.inv(shifted).diagonal()
        torch.testing.assert_close(factor.inverse_diagonal(), inverse)
        rows = torch.randperm(n, generator=torch.Generator().manual_seed(2))[: max(1, n // 3)]
        torch.testing.assert_close(factor.inverse_diagonal(rows), inverse[rows])


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    operator, _, A = system(weighted=False)
    least = float(torch.linalg.eigvalsh(A)[0])
    factor = PackedFactor(operator, None, Workspace())
    assert not factor.factorize(-2 * least)
    assert factor.factorize(-0.5 * least)


def test_strips_need_half_of_the_matrix():
    n = 20_000
    assert 0.5 * n * n * 8 < PackedFactor.bytes_needed(n, F64) < 0.6 * n * n * 8
    workspace = Workspace()
    operator = KernelOperator(
        Gaussian(1.0), torch.randn(1200, 2, dtype=F64, generator=torch.Generator().manual_seed(0))
    )
    assert PackedFactor(operator, None, workspace).factorize(1.0)
    assert workspace._buffer.nbytes <= PackedFactor.bytes_needed(1200, F64)
