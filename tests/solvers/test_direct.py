"""The direct solver: leave-one-out, refinement, the wide format, jitter."""

import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from gramian.kernels import Gaussian, KernelOperator, Laplace
from gramian.solvers import Direct, RidgeSystem, SingularKernelError
from gramian.solvers.direct import SPECTRAL_ROWS


def problem(n, rng, dtype=torch.float64, d=5):
    X = torch.randn(n, d, generator=rng, dtype=torch.float64).to(dtype)
    return KernelOperator(Laplace(3.0), X), torch.randn(n, 2, generator=rng, dtype=torch.float64)


def tolerances(n, ridge):
    """Four digits where float32 is enough: a path of more than 250 rows, and a ridge from 0.001 on."""
    return (1e-4, 1e-4) if n > SPECTRAL_ROWS and ridge >= 1e-3 else (1e-7, 1e-9)


@pytest.mark.parametrize("n", [40, 700], ids=["spectral", "cholesky"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_brute_force(n, weighted, rng):
    operator, Y = problem(n, rng)
    weights = 0.5 + torch.rand(n, generator=rng, dtype=torch.float64) if weighted else None
    ridges = [1e-4, 1e-2, 1e-1, 1.0]
    points = Direct().path(operator, Y, ridges, weights=weights)
    assert [p.ridge for p in points] == ridges
    K = operator.dense()
    noise = torch.ones(n, dtype=torch.float64) if weights is None else 1 / weights
    for point in points:
        rtol, atol = tolerances(n, point.ridge)
        for i in (0, n // 2, n - 1):
            rest = torch.tensor([j for j in range(n) if j != i])
            A = K[rest][:, rest] + point.ridge * torch.diag(noise[rest])
            left_out = Y[i] - K[i, rest] @ torch.linalg.solve(A, Y[rest])
            torch.testing.assert_close(point.loo[i], left_out, rtol=rtol, atol=atol)
    rows = torch.tensor([n - 1, 0])
    torch.testing.assert_close(Direct().loo(operator, Y, 1e-4, rows, weights=weights), points[0].loo[rows])


def left_out_copy(operator, Y, counts, ridge, i):
    """The residual of row i by brute force: every copy is a row of the table, and one copy of row i is left out."""
    owner = torch.repeat_interleave(torch.arange(len(Y)), counts)
    first = int((owner == i).nonzero()[0])
    rest = owner[torch.arange(len(owner)) != first]
    K = operator.dense()
    A = K[rest][:, rest] + ridge * torch.eye(len(rest), dtype=torch.float64)
    return Y[i] - K[i, rest] @ torch.linalg.solve(A, Y[rest])


@pytest.mark.parametrize("n", [40, 300], ids=["spectral", "cholesky"])
def test_leave_one_out_leaves_out_one_copy_of_a_row(n, rng):
    operator, Y = problem(n, rng)
    counts = torch.randint(1, 5, (n,), generator=rng)
    copies = counts.double()
    ridges = [1e-4, 1e-2, 1e-1, 1.0]  # from four on an eigendecomposition costs less
    for point in Direct().path(operator, Y, ridges, weights=copies, copies=copies):
        rtol, atol = tolerances(n, point.ridge)
        for i in [int(counts.argmin()), int(counts.argmax()), n - 1]:
            expected = left_out_copy(operator, Y, counts, point.ridge, i)
            torch.testing.assert_close(point.loo[i], expected, rtol=rtol, atol=atol)


def test_one_copy_of_each_row_is_plain_leave_one_out(rng):
    operator, Y = problem(40, rng)
    ones = torch.ones(40, dtype=torch.float64)
    (plain,) = Direct().path(operator, Y, [0.1])
    (counted,) = Direct().path(operator, Y, [0.1], weights=ones, copies=ones)
    torch.testing.assert_close(counted.loo, plain.loo)
    torch.testing.assert_close(counted.coef, plain.coef)


def test_of_many_copies_one_more_makes_no_difference(rng):
    """Without one of a million copies the fit is as before: the residual is that of the fit."""
    operator, Y = problem(30, rng)
    weights = torch.ones(30, dtype=torch.float64)
    copies = weights.clone()
    copies[3] = 1e6
    (point,) = Direct().path(operator, Y, [0.1], weights=weights, copies=copies)
    fitted = Y - operator.dense() @ point.coef
    torch.testing.assert_close(point.loo[3], fitted[3], rtol=1e-5, atol=1e-7)
    assert not torch.allclose(point.loo[4], fitted[4], rtol=1e-2)


def test_float32_is_refined_to_the_residual_of_float64(rng):
    operator, Y = problem(900, rng, torch.float32)
    solution = Direct(tol=1e-6).solve(RidgeSystem(operator, Y, 1e-4))
    assert solution.info.steps > 0
    assert solution.info.dtype == "float32"
    R = Y - (operator.dense().double() @ solution.coef + 1e-4 * solution.coef)
    assert float(R.norm() / Y.norm()) < 1e-6
    assert solution.info.residual == pytest.approx(float((R.norm(dim=0) / Y.norm(dim=0)).max()), rel=0.1)


def test_float64_is_used_if_float32_does_not_reach_the_tolerance(rng):
    X = torch.randn(400, 3, generator=rng)
    operator = KernelOperator(Gaussian(3.0), X)
    Y = torch.randn(400, 1, generator=rng, dtype=torch.float64)
    solution = Direct().solve(RidgeSystem(operator, Y, 1e-8))
    assert solution.info.dtype == "float64"
    assert solution.operator.dtype == torch.float64
    assert solution.info.residual <= Direct().tol


def test_a_warning_says_that_float64_does_not_fit_into_memory(rng):
    X = torch.randn(400, 3, generator=rng)
    operator = KernelOperator(Gaussian(3.0), X, max_bytes=Direct().bytes_needed(400, torch.float32))
    with pytest.warns(ConvergenceWarning) as record:
        Direct().solve(RidgeSystem(operator, torch.randn(400, 1, generator=rng, dtype=torch.float64), 1e-8))
    told = [str(warning.message) for warning in record]
    assert any("more than max_memory" in message for message in told)
    assert any("added to its diagonal" in message for message in told)  # and then it does what it can


def test_repeated_rows_without_a_ridge_are_fitted_if_their_targets_agree(rng):
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


def test_a_system_without_solution_fails_with_the_reason(rng):
    X = torch.randn(30, 2, generator=rng, dtype=torch.float64)
    operator = KernelOperator(Laplace(1.0), X)
    with pytest.raises(SingularKernelError, match="raise ridge"):
        Direct().solve(RidgeSystem(operator, torch.full((30, 1), float("nan"), dtype=torch.float64), 1.0))


@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_without_a_group_equal_refits_without_it(rng, weighted):
    X, Y = (torch.randn(18, width, generator=rng, dtype=torch.float64) for width in (2, 3))
    weights = torch.rand(18, generator=rng, dtype=torch.float64) + 0.5 if weighted else None
    groups = torch.tensor([0, 1, 2] * 5 + [3, 4, 4])
    operator = KernelOperator(Laplace(1.5), X)
    points = Direct().path(operator, Y, [0.1, 2.0], weights=weights, groups=groups)
    for point in points:
        for group in groups.unique():
            rest = groups != group
            part = KernelOperator(Laplace(1.5), X[rest])
            system = RidgeSystem(part, Y[rest], point.ridge, None if weights is None else weights[rest])
            solution = Direct(tol=1e-12).solve(system)
            refit = solution.operator.predict(X[~rest], solution.coef)
            torch.testing.assert_close(point.loo[~rest], Y[~rest] - refit, rtol=1e-7, atol=1e-8)


def test_groups_of_one_row_are_rows(rng):
    X, Y = (torch.randn(15, width, generator=rng, dtype=torch.float64) for width in (2, 1))
    operator = KernelOperator(Laplace(1.5), X)
    (plain,), (grouped,) = (Direct().path(operator, Y, [3e-4], groups=g) for g in (None, torch.arange(15)))
    torch.testing.assert_close(grouped.loo, plain.loo)
