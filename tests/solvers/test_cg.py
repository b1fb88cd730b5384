"""Conjugate gradients: the same solutions as the direct solver, and a warning whenever they are not reached."""

import warnings

import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from gramian.kernels import Gaussian, KernelOperator, Laplace, Matern
from gramian.solvers import ConjugateGradient, Direct, RidgeSystem, Workspace


def problem(n, rng, dtype=torch.float64, d=5):
    X = torch.randn(n, d, generator=rng, dtype=torch.float64).to(dtype)
    return KernelOperator(Laplace(3.0), X), torch.randn(n, 2, generator=rng, dtype=torch.float64)


def test_a_guess_saves_steps(rng):
    operator, Y = problem(500, rng)
    solver = ConjugateGradient(tol=1e-8, preconditioner_rank=50)
    cold = solver.solve(RidgeSystem(operator, Y, 1e-2))
    warm = solver.solve(RidgeSystem(operator, Y, 1e-2), guess=cold.coef * (1 + 1e-6))
    assert warm.info.steps < cold.info.steps
    assert warm.info.residual <= 1e-8


def test_columns_stop_separately(rng):
    """A column that is zero needs no step, and must not hold up or spoil the other."""
    operator, Y = problem(200, rng)
    Y[:, 0] = 0
    coef = ConjugateGradient(tol=1e-9, preconditioner_rank=20).solve(RidgeSystem(operator, Y, 1e-2)).coef
    assert torch.equal(coef[:, 0], torch.zeros(200, dtype=torch.float64))
    expected = Direct().solve(RidgeSystem(operator, Y, 1e-2)).coef
    torch.testing.assert_close(coef[:, 1], expected[:, 1], rtol=1e-5, atol=1e-6)


def test_a_stalled_iteration_is_solved_directly_with_a_warning(rng):
    operator, Y = problem(300, rng)
    with pytest.warns(ConvergenceWarning, match="solved directly instead"):
        solution = ConjugateGradient(tol=1e-10, max_steps=3, preconditioner_rank=0).solve(
            RidgeSystem(operator, Y, 1e-6)
        )
    assert "then solved in float64" in solution.info.status
    assert solution.info.residual < 1e-6


def test_a_stalled_iteration_without_memory_for_a_direct_solve_warns(rng):
    X = torch.randn(300, 5, generator=rng, dtype=torch.float64)
    operator = KernelOperator(Laplace(3.0), X, max_bytes=300_000)
    Y = torch.randn(300, 1, generator=rng, dtype=torch.float64)
    with pytest.warns(ConvergenceWarning, match="does not fit into max_memory"):
        solution = ConjugateGradient(tol=1e-10, max_steps=3, preconditioner_rank=0).solve(
            RidgeSystem(operator, Y, 1e-6)
        )
    assert solution.info.residual > 1e-10


def test_products_without_a_stored_matrix_give_the_same_solution(rng):
    X = torch.randn(300, 5, generator=rng, dtype=torch.float64)
    Y = torch.randn(300, 2, generator=rng, dtype=torch.float64)
    solver = ConjugateGradient(tol=1e-9, preconditioner_rank=20)
    cached = solver.solve(RidgeSystem(KernelOperator(Laplace(3.0), X), Y, 1e-2))
    streamed = solver.solve(RidgeSystem(KernelOperator(Laplace(3.0), X, max_bytes=200_000), Y, 1e-2))
    assert streamed.info.bytes < cached.info.bytes
    torch.testing.assert_close(streamed.coef, cached.coef, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("ridge", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("kernel", [Laplace(3.0), Laplace(30.0)], ids=str)
@pytest.mark.parametrize("centers", [0, 100])
def test_small_ridges_without_a_direct_solver_to_fall_back_on(kernel, ridge, centers, rng):
    """Where conjugate gradients are the only choice they must converge: float32 rows, no room for the matrix."""
    X = torch.randn(800, 5, generator=rng)
    y = torch.sin(X[:, :1].double())
    operator = KernelOperator(kernel, X, max_bytes=2_000_000)
    assert Direct().bytes_needed(800, torch.float32) > operator.max_bytes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = ConjugateGradient(preconditioner_rank=centers, tol=1e-5, max_steps=1500).solve(
            RidgeSystem(operator, y, ridge)
        )
    assert solution.info.residual <= 1e-5


def rows_of(n, rng, d=5):
    return torch.randn(n, d, generator=rng)


@pytest.mark.parametrize("kernel", [Laplace(3.0), Gaussian(3.0), Matern(3.0)], ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_float32_iterations_reach_the_residual_of_wide_ones(kernel, weighted, rng):
    """The recorded residual is the true one, and new rows are predicted as after a direct solve in float64."""
    X, new = rows_of(900, rng), rows_of(200, rng)
    Y = torch.stack([X[:, 0].sin(), X[:, 1] * X[:, 2]], dim=1).double()
    weights = 0.5 + torch.rand(900, generator=rng, dtype=torch.float64) if weighted else None
    operator = KernelOperator(kernel, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = ConjugateGradient(tol=1e-6, preconditioner_rank=200).solve(RidgeSystem(operator, Y, 1e-3, weights))
    info = solution.info
    assert info.solver == "conjugate gradients"
    ridges = 1e-3 * (torch.ones(900) if weights is None else 1 / weights)[:, None]
    R = Y - (operator.dense().double() @ solution.coef + ridges * solution.coef)
    if weights is None:
        assert info.residual == pytest.approx(float((R.norm(dim=0) / Y.norm(dim=0)).max()), rel=0.05)
    assert info.residual <= 1e-6
    exact = Direct(tol=1e-10).solve(RidgeSystem(operator.widened(), Y, 1e-3, weights))
    expected = exact.operator.predict(new.double(), exact.coef)
    assert float((operator.predict(new, solution.coef) - expected).norm() / expected.norm()) < 1e-4


def test_more_columns_never_take_more_steps(rng):
    X = rows_of(1500, rng, d=3)
    operator, y = KernelOperator(Laplace(10.0), X), X[:, :1].sin().double()
    steps = [
        ConjugateGradient(preconditioner_rank=m).solve(RidgeSystem(operator, y, 1e-4)).info.steps
        for m in (50, 200, 800)
    ]
    assert steps[0] > steps[1] > steps[2]


@pytest.mark.parametrize("ridge", [1e-3, 1e-6])
def test_a_small_ridge_takes_no_more_steps(ridge, rng):
    """With the ridge alone as shift, 1e-6 took 33 steps where 1e-3 took 21."""
    X = rows_of(1500, rng, d=50) @ torch.diag(torch.tensor([1.0] * 5 + [0.01] * 45))
    operator, y = KernelOperator(Laplace(10.0), X), (X[:, :1].sin() + X[:, 1:2] * X[:, 2:3]).double()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = ConjugateGradient(tol=1e-5, preconditioner_rank=700, max_steps=26).solve(
            RidgeSystem(operator, y, ridge)
        )
    assert solution.info.residual <= 1e-5
    assert solution.info.steps <= 26
    assert solution.info.dtype == "float32"


def test_a_slow_iteration_gets_more_columns_first(rng):
    X = rows_of(1200, rng, d=3)
    operator, y = KernelOperator(Laplace(30.0), X), X[:, :1].sin().double()
    few = ConjugateGradient(tol=1e-6, preconditioner_rank=150, max_steps=500).solve(RidgeSystem(operator, y, 1e-6)).info
    more = (
        ConjugateGradient(tol=1e-6, preconditioner_rank=300, max_steps=500).solve(RidgeSystem(operator, y, 1e-6)).info
    )
    assert more.steps <= few.steps
    between = more.steps - 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        info = (
            ConjugateGradient(tol=1e-6, preconditioner_rank=150, max_steps=between)
            .solve(RidgeSystem(operator, y, 1e-6))
            .info
        )
    assert info.residual <= 1e-6
    assert "stopped" in info.status or "stalled" in info.status
    assert "with preconditioner_rank=300" in info.status


def test_an_iteration_that_cannot_converge_is_stopped_early_and_solved_directly(rng):
    X = rows_of(700, rng, d=2).double()
    operator = KernelOperator(Gaussian(0.3), X)
    y = torch.randn(700, 1, generator=rng, dtype=torch.float64)
    with pytest.warns(ConvergenceWarning, match="solved directly instead"):
        solution = ConjugateGradient(tol=1e-9, preconditioner_rank=0, max_steps=2000).solve(
            RidgeSystem(operator, y, 1e-7)
        )
    assert solution.info.solver == "direct"
    assert solution.info.steps < 1000
    assert solution.info.residual <= 1e-7


@pytest.mark.parametrize("factor", [-3.0, 1e3])
def test_a_guess_of_the_wrong_size_costs_no_steps(factor, rng):
    X = rows_of(600, rng)
    operator, y = KernelOperator(Laplace(3.0), X), X[:, :1].sin().double()
    solver = ConjugateGradient(tol=1e-6, preconditioner_rank=60)
    cold = solver.solve(RidgeSystem(operator, y, 1e-2))
    warm = solver.solve(RidgeSystem(operator, y, 1e-2), guess=factor * cold.coef)
    assert warm.info.steps <= 2
    assert warm.info.residual <= 1e-6


def test_every_solve_uses_the_same_memory(rng):
    X, workspace = rows_of(700, rng), Workspace()
    operator, y = KernelOperator(Laplace(3.0), X), X[:, :1].sin().double()
    first = ConjugateGradient().solve(RidgeSystem(operator, y, 1e-2), workspace=workspace)
    address = workspace.flat(1, X, torch.float32).data_ptr()
    second = ConjugateGradient().solve(RidgeSystem(operator, y, 1e-2), workspace=workspace)
    assert workspace.flat(1, X, torch.float32).data_ptr() == address
    assert torch.equal(first.coef, second.coef)
