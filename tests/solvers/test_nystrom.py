"""Nyström regression: normal equations, blocks, tolerance, repeated centres."""

import warnings
from dataclasses import replace

import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from gramian.core.rows import MemoryRows, Rows, SelectedRows
from gramian.kernels import Diagonal, Gaussian, Identity, KernelOperator, Laplace
from gramian.solvers import Nystrom, RidgeSystem, StreamedSystem

N, D = 700, 4


@pytest.fixture
def rows(rng):
    X = torch.randn(N, D, generator=rng, dtype=torch.float64)
    Y = torch.stack([X[:, 0].sin(), X[:, 1] * X[:, 2]], dim=1)
    return Rows(X, Y, 0.5 + torch.rand(N, generator=rng, dtype=torch.float64))


def normal_equations(kernel, metric, rows, centers, ridge):
    """The minimiser of Σ w‖y − C a‖² + ridge aᵀ K a, as a mathematician would type it."""
    C, K = kernel(rows.X, centers, metric), kernel(centers, centers, metric)
    return torch.linalg.solve(C.mT @ (rows.weights[:, None] * C) + ridge * K, C.mT @ (rows.weights[:, None] * rows.Y))


@pytest.mark.parametrize("choice", ["leverage", "uniform"])
@pytest.mark.parametrize("sketch", [2, 50])
def test_coefficients_on_centres_solve_the_normal_equations(rows, choice, sketch, rng):
    kernel, metric = Laplace(2.0), Diagonal(torch.tensor([1.0, 0.5, 0.5, 0.1], dtype=torch.float64))
    solver = Nystrom(centers=80, choice=choice, tol=1e-8, sketch=sketch)
    solution = solver.solve(StreamedSystem(kernel, metric, MemoryRows(rows, 111), 0.1))
    assert torch.equal(solution.operator.X, rows.X[solution.rows])
    expected = normal_equations(kernel, metric, rows, solution.operator.X, 0.1)
    new = torch.randn(50, D, generator=rng, dtype=torch.float64)
    K = kernel(new, solution.operator.X, metric)
    torch.testing.assert_close(K @ solution.coef, K @ expected, rtol=1e-6, atol=1e-7)


def test_blocks_of_any_size_give_the_same_solution(rows):
    found = [
        Nystrom(centers=60).solve(StreamedSystem(Gaussian(1.5), Identity(D), MemoryRows(rows, b), 0.1)) for b in (7, N)
    ]
    torch.testing.assert_close(found[0].coef, found[1].coef, rtol=1e-6, atol=1e-6 * float(found[1].coef.abs().max()))


def test_rows_that_are_not_selected_have_no_influence(rows):
    index = torch.arange(0, N, 2)
    kept = Nystrom(centers=60, tol=1e-8).solve(
        StreamedSystem(Laplace(2.0), Identity(D), SelectedRows(MemoryRows(rows, 64), index), 0.1)
    )
    alone = Nystrom(centers=60, tol=1e-8).solve(StreamedSystem(Laplace(2.0), Identity(D), MemoryRows(rows[index]), 0.1))
    torch.testing.assert_close(kept.coef, alone.coef, rtol=1e-6, atol=1e-6)
    assert torch.equal(kept.rows, alone.rows)  # indices among the rows that stay


def test_float32_blocks_reach_the_tolerance(rows, rng):
    narrow = Rows(rows.X.float(), rows.Y, rows.weights)
    solver = Nystrom(centers=150, tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick = solver.solve(StreamedSystem(Laplace(2.0), Identity(D), MemoryRows(narrow), 1e-2))
    exact = replace(solver, tol=1e-10).solve(StreamedSystem(Laplace(2.0), Identity(D), MemoryRows(rows), 1e-2))
    new = torch.randn(100, D, generator=rng, dtype=torch.float64)
    a, b = quick.operator.predict(new.float(), quick.coef), exact.operator.predict(new, exact.coef)
    assert float((a - b).norm() / b.norm()) < 1e-3
    assert "150 centers for 700 rows, converged in" in quick.info.status


def test_repeated_centres_do_not_change_predictions(rows):
    twice = Rows(rows.X[:50].repeat(4, 1), rows.Y[:50].repeat(4, 1))
    solution = Nystrom(centers=200).solve(StreamedSystem(Gaussian(1.5), Identity(D), MemoryRows(twice), 0.1))
    assert solution.info.jitter > 0
    exact = torch.linalg.solve(Gaussian(1.5)(twice.X) + 0.1 * torch.eye(200, dtype=torch.float64), twice.Y)
    K = Gaussian(1.5)(rows.X, twice.X)
    torch.testing.assert_close(K @ solution.coef, K @ exact, rtol=1e-4, atol=1e-5)


def test_too_few_steps_are_reported(rows):
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps at a relative error of"):
        info = (
            Nystrom(centers=150, sketch=1, tol=1e-8, max_steps=1)
            .solve(RidgeSystem(KernelOperator(Laplace(2.0), rows.X), rows.Y, 1e-4))
            .info
        )
    assert info.residual > 1e-8
    assert "stopped in 1 steps" in info.status


@pytest.mark.parametrize("options", [{"centers": 0}, {"choice": "best"}])
def test_invalid_options_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Nystrom(**options)
