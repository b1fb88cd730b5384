"""The contract every solver keeps: every solver × kernel × metric gives the answer of plain linear algebra."""

import pytest
import torch

import twins
from gramian.core.rows import MemoryRows, Rows
from gramian.kernels import NTK, KernelOperator, Laplace
from gramian.solvers import ConjugateGradient, Direct, EigenPro, Nystrom, RidgeSystem, StreamedSystem

SOLVERS = [
    Direct(),
    ConjugateGradient(tol=1e-10, preconditioner_rank=20),
    ConjugateGradient(tol=1e-10, preconditioner_rank=0),
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
    solution = solver.solve(RidgeSystem(operator, Y, RIDGE, weights))
    expected = torch.linalg.solve(A, Y)
    torch.testing.assert_close(solution.coef, expected, rtol=1e-6, atol=1e-6 * float(expected.abs().max()))
    assert solution.info.residual <= 1e-6
    assert solution.info.ridge == RIDGE
    assert solution.info.jitter == 0
    assert solution.weights is weights
    assert solution.rows is None


IN_THE_LIMIT = [
    Nystrom(centers=N, tol=1e-7),
    Nystrom(centers=N, tol=1e-7, sketch=1),
    EigenPro(tol=1e-8, epochs=2000, directions=N // 2),
]


# The neural tangent kernel takes seconds for thousands of small products: one solver is enough for it.
PAIRS_IN_THE_LIMIT = [
    (solver, *pair)
    for solver in IN_THE_LIMIT
    for pair in twins.PAIRS
    if not (isinstance(solver, EigenPro) and isinstance(pair[0], NTK))
]


@pytest.mark.parametrize(("solver", "kernel", "metric_name"), PAIRS_IN_THE_LIMIT, ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_solvers_for_many_rows_are_exact_in_the_limit(solver, kernel, metric_name, weighted, rng):
    """All rows as centres, or epochs without end: the same function as plain linear algebra gives.

    Not the same coefficients: where the matrix is singular, many of them are one function.
    """
    X = torch.randn(N, D, generator=rng, dtype=torch.float64) / 2
    Y = torch.randn(N, C, generator=rng, dtype=torch.float64)
    new = torch.randn(20, D, generator=rng, dtype=torch.float64)
    weights = 0.5 + torch.rand(N, generator=rng, dtype=torch.float64) if weighted else None
    operator = KernelOperator(kernel, X, twins.metric(metric_name, D, rng))
    A = operator.dense() + RIDGE * torch.diag(torch.ones(N, dtype=torch.float64) if weights is None else 1 / weights)
    expected = operator.predict(new, torch.linalg.solve(A, Y))
    solution = solver.solve(RidgeSystem(operator, Y, RIDGE, weights))
    found = solution.operator.predict(new, solution.coef)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5 * float(expected.abs().max()))
    assert solution.info.ridge == RIDGE
    assert solution.info.residual <= 1e-6


@pytest.mark.parametrize("solver", [*SOLVERS, Nystrom(centers=20), EigenPro()], ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_rows_in_blocks_give_the_solution_of_rows_in_memory(solver, weighted, rng):
    X = torch.randn(N, D, generator=rng, dtype=torch.float64) / 2
    Y = torch.randn(N, C, generator=rng, dtype=torch.float64)
    weights = 0.5 + torch.rand(N, generator=rng, dtype=torch.float64) if weighted else None
    operator = KernelOperator(Laplace(1.0), X)
    whole = solver.solve(RidgeSystem(operator, Y, RIDGE, weights))
    source = MemoryRows(Rows(X, Y, weights), block=N)
    streamed = solver.solve(StreamedSystem(operator.kernel, operator.metric, source, RIDGE))
    assert torch.equal(streamed.coef, whole.coef)
    assert torch.equal(streamed.operator.X, whole.operator.X)
    assert len(whole.coef) == whole.operator.n == min(N, solver.n_centers(N))
    assert whole.weights is None or len(whole.weights) == whole.operator.n
    if whole.rows is None:
        assert whole.weights is weights
    else:
        assert torch.equal(whole.operator.X, X[whole.rows])
