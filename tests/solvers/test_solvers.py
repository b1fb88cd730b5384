import warnings

import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from gramian.kernels import Gaussian, KernelOperator, Laplace
from gramian.solvers import ConjugateGradient, Direct, Partition, RidgeSystem, SingularKernelError, Workspace, choose
from gramian.solvers.cholesky import CholeskyFactor


def problem(n, rng, dtype=torch.float64, d=5):
    X = torch.randn(n, d, generator=rng, dtype=torch.float64).to(dtype)
    return KernelOperator(Laplace(3.0), X), torch.randn(n, 2, generator=rng, dtype=torch.float64)


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


def test_cholesky_says_when_it_cannot():
    factor = CholeskyFactor(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))
    assert not factor.factorize(0.0)
    assert factor.factorize(2.0)
    torch.testing.assert_close(factor.solve(torch.ones(2, 1)), torch.full((2, 1), 1 / 5))


@pytest.mark.parametrize("n", [40, 700], ids=["spectral", "cholesky"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_brute_force(n, weighted, rng):
    operator, Y = problem(n, rng)
    weights = 0.5 + torch.rand(n, generator=rng, dtype=torch.float64) if weighted else None
    ridges = [1e-3, 1e-2, 1e-1, 1.0]
    points = Direct().path(operator, Y, ridges, weights=weights)
    assert [p.ridge for p in points] == ridges
    K = operator.dense()
    noise = torch.ones(n, dtype=torch.float64) if weights is None else 1 / weights
    for point in points:
        for i in (0, n // 2, n - 1):
            rest = torch.tensor([j for j in range(n) if j != i])
            A = K[rest][:, rest] + point.ridge * torch.diag(noise[rest])
            left_out = Y[i] - K[i, rest] @ torch.linalg.solve(A, Y[rest])
            torch.testing.assert_close(point.loo[i], left_out, rtol=1e-7, atol=1e-9)
    rows = torch.tensor([n - 1, 0])
    torch.testing.assert_close(Direct().loo(operator, Y, 1e-2, rows, weights=weights), points[1].loo[rows])


def test_float32_is_refined_to_the_residual_of_float64(rng):
    operator, Y = problem(900, rng, torch.float32)
    solution = Direct(tol=1e-6).solve(RidgeSystem(operator, Y, 1e-4))
    assert solution.info.steps > 0
    assert solution.info.dtype == "float32"
    R = Y - (operator.dense().double() @ solution.coef + 1e-4 * solution.coef)
    assert float(R.norm() / Y.norm()) < 1e-6
    assert solution.info.residual == pytest.approx(float((R.norm(dim=0) / Y.norm(dim=0)).max()), rel=0.1)


def test_float32_gives_way_to_float64_when_it_must(rng):
    X = torch.randn(400, 3, generator=rng)
    operator = KernelOperator(Gaussian(3.0), X)
    Y = torch.randn(400, 1, generator=rng, dtype=torch.float64)
    solution = Direct().solve(RidgeSystem(operator, Y, 1e-8))
    assert solution.info.dtype == "float64"
    assert solution.operator.dtype == torch.float64
    assert solution.info.residual <= Direct().tol


def test_no_room_for_float64_is_said(rng):
    X = torch.randn(400, 3, generator=rng)
    operator = KernelOperator(Gaussian(3.0), X, max_bytes=Direct().bytes_needed(400, torch.float32))
    with pytest.warns(ConvergenceWarning) as record:
        Direct().solve(RidgeSystem(operator, torch.randn(400, 1, generator=rng, dtype=torch.float64), 1e-8))
    told = [str(warning.message) for warning in record]
    assert any("more than max_memory" in message for message in told)
    assert any("added to its diagonal" in message for message in told)  # and then it does what it can


def test_repeated_rows_with_no_ridge_survive_where_their_targets_agree(rng):
    X = torch.randn(50, 3, generator=rng, dtype=torch.float64)
    X[7] = X[3]
    operator, y = KernelOperator(Laplace(1.0), X), X[:, :1].clone()
    solution = Direct().solve(RidgeSystem(operator, y, 0.0))
    torch.testing.assert_close(operator.predict(X, solution.coef), y, rtol=1e-5, atol=1e-5)


def test_repeated_rows_that_disagree_get_their_mean_with_a_recorded_jitter(rng):
    X = torch.randn(50, 3, generator=rng, dtype=torch.float64)
    X[7] = X[3]
    operator, y = KernelOperator(Laplace(1.0), X), X[:, :1].clone()
    y[7] += 1
    with pytest.warns(ConvergenceWarning, match=r"repeated rows\?.*added to its diagonal"):
        solution = Direct().solve(RidgeSystem(operator, y, 0.0))
    assert solution.info.jitter > 0
    assert solution.info.ridge == solution.info.jitter
    expected = y.clone()
    expected[[3, 7]] = (y[3] + y[7]) / 2
    torch.testing.assert_close(operator.predict(X, solution.coef), expected, rtol=1e-2, atol=1e-2)


def test_a_hopeless_system_fails_with_the_reason(rng):
    X = torch.randn(30, 2, generator=rng, dtype=torch.float64)
    operator = KernelOperator(Laplace(1.0), X)
    with pytest.raises(SingularKernelError, match="raise ridge"):
        Direct().solve(RidgeSystem(operator, torch.full((30, 1), float("nan"), dtype=torch.float64), 1.0))


@pytest.mark.parametrize("solver", [Direct(), ConjugateGradient()])
@pytest.mark.parametrize(
    ("Y", "ridge", "weights", "word"),
    [
        (torch.ones(3, 1), 1.0, None, "10"),
        (torch.ones(10, 1), -1.0, None, "ridge"),
        (torch.ones(10, 1), 1.0, torch.zeros(10), "weights"),
    ],
)
def test_bad_systems_are_refused(solver, Y, ridge, weights, word, rng):
    with pytest.raises(ValueError, match=word):
        solver.solve(RidgeSystem(problem(10, rng)[0], Y, ridge, weights))


def test_warm_start_saves_steps(rng):
    operator, Y = problem(500, rng)
    solver = ConjugateGradient(tol=1e-8, preconditioner_rank=50)
    cold = solver.solve(RidgeSystem(operator, Y, 1e-2))
    warm = solver.solve(RidgeSystem(operator, Y, 1e-2), guess=cold.coef * (1 + 1e-6))
    assert warm.info.steps < cold.info.steps
    assert warm.info.residual <= 1e-8


def test_columns_stop_on_their_own(rng):
    """A column that is zero needs no step, and must not hold up or spoil the other."""
    operator, Y = problem(200, rng)
    Y[:, 0] = 0
    coef = ConjugateGradient(tol=1e-9, preconditioner_rank=20).solve(RidgeSystem(operator, Y, 1e-2)).coef
    assert torch.equal(coef[:, 0], torch.zeros(200, dtype=torch.float64))
    expected = Direct().solve(RidgeSystem(operator, Y, 1e-2)).coef
    torch.testing.assert_close(coef[:, 1], expected[:, 1], rtol=1e-5, atol=1e-6)


def test_a_stalled_iteration_hands_over_and_says_so(rng):
    operator, Y = problem(300, rng)
    with pytest.warns(ConvergenceWarning, match="solved directly instead"):
        solution = ConjugateGradient(tol=1e-10, max_steps=3, preconditioner_rank=0).solve(
            RidgeSystem(operator, Y, 1e-6)
        )
    assert "then solved in float64" in solution.info.status
    assert solution.info.residual < 1e-6


def test_a_stalled_iteration_without_room_says_what_it_has(rng):
    X = torch.randn(300, 5, generator=rng, dtype=torch.float64)
    operator = KernelOperator(Laplace(3.0), X, max_bytes=300_000)
    Y = torch.randn(300, 1, generator=rng, dtype=torch.float64)
    with pytest.warns(ConvergenceWarning, match="does not fit into max_memory"):
        solution = ConjugateGradient(tol=1e-10, max_steps=3, preconditioner_rank=0).solve(
            RidgeSystem(operator, Y, 1e-6)
        )
    assert solution.info.residual > 1e-10


def test_products_on_the_fly_equal_cached_ones(rng):
    X = torch.randn(300, 5, generator=rng, dtype=torch.float64)
    Y = torch.randn(300, 2, generator=rng, dtype=torch.float64)
    solver = ConjugateGradient(tol=1e-9, preconditioner_rank=20)
    cached = solver.solve(RidgeSystem(KernelOperator(Laplace(3.0), X), Y, 1e-2))
    streamed = solver.solve(RidgeSystem(KernelOperator(Laplace(3.0), X, max_bytes=200_000), Y, 1e-2))
    assert streamed.info.bytes < cached.info.bytes
    torch.testing.assert_close(streamed.coef, cached.coef, rtol=1e-6, atol=1e-7)


def test_the_workspace_is_used_again(rng):
    workspace = Workspace()
    operator, Y = problem(100, rng)
    first = Direct().solve(RidgeSystem(operator, Y, 1e-2), workspace=workspace)
    address = workspace.square(100, operator.X, torch.float64).data_ptr()
    second = Direct().solve(RidgeSystem(operator, Y, 1e-2), workspace=workspace)
    assert workspace.square(100, operator.X, torch.float64).data_ptr() == address
    assert torch.equal(first.coef, second.coef)


def test_choice_of_solver_gives_its_reason():
    assert isinstance(choose(1000, torch.float32, 10**9).solver, Direct)
    chosen = choose(25_000, torch.float32, 10**9)
    assert chosen.forced
    assert isinstance(chosen.solver, ConjugateGradient)
    assert "needs 2.7 GB" in chosen.why
    assert isinstance(choose(50_000, torch.float32, 10**9).solver, Partition)
    with pytest.raises(ValueError, match="raise max_memory"):
        choose(10_000_000, torch.float32, 10**6)


def test_a_clean_solve_is_silent(rng):
    operator, Y = problem(100, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Direct().solve(RidgeSystem(operator, Y, 1e-2))
        ConjugateGradient().solve(RidgeSystem(operator, Y, 1e-2))


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
