"""The direct solver: refinement, the wide format, jitter."""

import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from gramian.kernels import Gaussian, KernelOperator, Laplace
from gramian.solvers import Direct, RidgeSystem, SingularKernelError


def problem(n, rng, dtype=torch.float64, d=5):
    X = torch.randn(n, d, generator=rng, dtype=torch.float64).to(dtype)
    return KernelOperator(Laplace(3.0), X), torch.randn(n, 2, generator=rng, dtype=torch.float64)


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


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_leave_one_out_leaves_out_one_copy_of_a_row(ridge, rng):
    """Brute force: the table with all copies, without one of them."""
    operator, Y = problem(40, rng)
    counts = torch.randint(1, 5, (40,), generator=rng)
    rows = torch.tensor([int(counts.argmin()), int(counts.argmax()), 39])
    copies = counts.double()
    found = Direct(tol=1e-12).loo(operator, Y, ridge, rows, weights=copies, copies=copies)
    owner, K = torch.arange(40).repeat_interleave(counts), operator.dense()
    for i, residual in zip(rows, found, strict=True):
        rest = owner[torch.arange(len(owner)) != int((owner == i).nonzero()[0])]
        A = K[rest][:, rest] + ridge * torch.eye(len(rest), dtype=torch.float64)
        expected = Y[i] - K[i, rest] @ torch.linalg.solve(A, Y[rest])
        torch.testing.assert_close(residual, expected, rtol=1e-8, atol=1e-10)


def test_a_system_without_solution_fails_with_the_reason(rng):
    X = torch.randn(30, 2, generator=rng, dtype=torch.float64)
    operator = KernelOperator(Laplace(1.0), X)
    with pytest.raises(SingularKernelError, match="raise ridge"):
        Direct().solve(RidgeSystem(operator, torch.full((30, 1), float("nan"), dtype=torch.float64), 1.0))
