"""Paths of ridges: leave-one-out residuals of rows, of one copy of a row, and of groups equal refits."""

import pytest
import torch

from gramian.kernels import KernelOperator, Laplace
from gramian.solvers import SPECTRAL_ROWS, Direct, RidgePath, RidgeSystem


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
    points = RidgePath(operator, Y, weights=weights).at(ridges)
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
    for point in RidgePath(operator, Y, weights=copies, copies=copies).at(ridges):
        rtol, atol = tolerances(n, point.ridge)
        for i in [int(counts.argmin()), int(counts.argmax()), n - 1]:
            expected = left_out_copy(operator, Y, counts, point.ridge, i)
            torch.testing.assert_close(point.loo[i], expected, rtol=rtol, atol=atol)


def test_one_copy_of_each_row_is_plain_leave_one_out(rng):
    operator, Y = problem(40, rng)
    ones = torch.ones(40, dtype=torch.float64)
    (plain,) = RidgePath(operator, Y).at([0.1])
    (counted,) = RidgePath(operator, Y, weights=ones, copies=ones).at([0.1])
    torch.testing.assert_close(counted.loo, plain.loo)
    torch.testing.assert_close(counted.coef, plain.coef)


@pytest.mark.parametrize("n", [40, 300])
def test_without_a_ridge_other_copies_predict_a_row_exactly(n, rng):
    operator, Y = problem(n, rng)
    copies = torch.ones(n, dtype=torch.float64)
    copies[::3] = 2.0
    (point,) = RidgePath(operator, Y, weights=copies, copies=copies).at([0.0])
    (plain,) = RidgePath(operator, Y).at([0.0])
    single = copies == 1
    torch.testing.assert_close(point.loo[single], plain.loo[single], rtol=1e-7, atol=1e-9)
    assert point.loo[~single].abs().max() == 0


def test_of_many_copies_one_more_makes_no_difference(rng):
    """Without one of a million copies the fit is as before: the residual is that of the fit."""
    operator, Y = problem(30, rng)
    weights = torch.ones(30, dtype=torch.float64)
    copies = weights.clone()
    copies[3] = 1e6
    (point,) = RidgePath(operator, Y, weights=weights, copies=copies).at([0.1])
    fitted = Y - operator.dense() @ point.coef
    torch.testing.assert_close(point.loo[3], fitted[3], rtol=1e-5, atol=1e-7)
    assert not torch.allclose(point.loo[4], fitted[4], rtol=1e-2)


@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_without_a_group_equal_refits_without_it(rng, weighted):
    X, Y = (torch.randn(18, width, generator=rng, dtype=torch.float64) for width in (2, 3))
    weights = torch.rand(18, generator=rng, dtype=torch.float64) + 0.5 if weighted else None
    groups = torch.tensor([0, 1, 2] * 5 + [3, 4, 4])
    operator = KernelOperator(Laplace(1.5), X)
    points = RidgePath(operator, Y, weights=weights, groups=groups).at([0.1, 2.0])
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
    (plain,), (grouped,) = (RidgePath(operator, Y, groups=g).at([3e-4]) for g in (None, torch.arange(15)))
    torch.testing.assert_close(grouped.loo, plain.loo)


@pytest.mark.parametrize("n", [40, 300], ids=["spectral", "cholesky"])
def test_a_path_gives_the_same_numbers_in_any_order_of_its_ridges(n, rng):
    """The matrix is overwritten by its factors, and must be the same for the next ridges."""
    operator, Y = problem(n, rng)
    ridges = [1e-4, 1e-2, 1e-1, 1.0]
    once = RidgePath(operator, Y).at(ridges)
    path = RidgePath(operator, Y)
    for ridge in reversed(ridges):
        (alone,) = path.at([ridge])
        expected = once[ridges.index(ridge)]
        torch.testing.assert_close(alone.loo, expected.loo, rtol=1e-4, atol=1e-4)
    again = path.at(ridges)
    for point, expected in zip(again, once, strict=True):
        torch.testing.assert_close(point.coef, expected.coef, rtol=1e-4, atol=1e-4)


def test_ridges_too_small_for_a_positive_matrix_are_left_out(rng):
    X = torch.zeros(300, 2, dtype=torch.float64)
    path = RidgePath(KernelOperator(Laplace(1.0), X), torch.randn(300, 1, generator=rng, dtype=torch.float64))
    assert [point.ridge for point in path.at([0.0, 1.0])] == [1.0]
    with pytest.raises(ValueError, match="ridge must be a non-negative number"):
        path.at([-1.0])
