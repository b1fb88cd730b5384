"""The contract every solver keeps: every solver × kernel × metric gives the answer of plain linear algebra."""

import pytest
import torch

import twins
from gramian.kernels import KernelOperator
from gramian.solvers import ConjugateGradient, Direct

SOLVERS = [
    Direct(),
    ConjugateGradient(tol=1e-10, centers=20),
    ConjugateGradient(tol=1e-10, centers=0),
]
N, D, C, RIDGE = 60, 4, 3, 0.05


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize(("kernel", "metric_name"), twins.PAIRS, ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_solves_the_system(solver, kernel, metric_name, weighted, rng):
    X = torch.randn(N, D, generator=rng, dtype=torch.float64) / 2
    Y = torch.randn(N, C, generator=rng, dtype=torch.float64)
    weights = 0.5 + torch.rand(N, generator=rng, dtype=torch.float64) if weighted else None
    operator = KernelOperator(kernel, X, twins.metric(metric_name, D, rng))
    A = operator.dense() + RIDGE * torch.diag(torch.ones(N, dtype=torch.float64) if weights is None else 1 / weights)
    solution = solver.solve(operator, Y, RIDGE, weights=weights)
    expected = torch.linalg.solve(A, Y)
    torch.testing.assert_close(solution.coef, expected, rtol=1e-6, atol=1e-6 * float(expected.abs().max()))
    assert solution.info.residual <= 1e-6
    assert solution.info.ridge == RIDGE
    assert solution.info.jitter == 0
