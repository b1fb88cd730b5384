"""The memory that solvers share, and warnings."""

import warnings

import torch

from gramian.kernels import KernelOperator, Laplace
from gramian.solvers import ConjugateGradient, Direct, RidgeSystem, Workspace


def problem(n, rng, dtype=torch.float64, d=5):
    X = torch.randn(n, d, generator=rng, dtype=torch.float64).to(dtype)
    return KernelOperator(Laplace(3.0), X), torch.randn(n, 2, generator=rng, dtype=torch.float64)


def test_the_workspace_is_reused(rng):
    workspace = Workspace()
    operator, Y = problem(100, rng)
    first = Direct().solve(RidgeSystem(operator, Y, 1e-2), workspace=workspace)
    address = workspace.square(100, operator.X, torch.float64).data_ptr()
    second = Direct().solve(RidgeSystem(operator, Y, 1e-2), workspace=workspace)
    assert workspace.square(100, operator.X, torch.float64).data_ptr() == address
    assert torch.equal(first.coef, second.coef)


def test_a_solve_without_problems_does_not_warn(rng):
    operator, Y = problem(100, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Direct().solve(RidgeSystem(operator, Y, 1e-2))
        ConjugateGradient().solve(RidgeSystem(operator, Y, 1e-2))
