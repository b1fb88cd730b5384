"""Systems check their arguments."""

import pytest
import torch

from gramian.kernels import KernelOperator, Laplace
from gramian.solvers import ConjugateGradient, Direct, RidgeSystem


def problem(n, rng, dtype=torch.float64, d=5):
    X = torch.randn(n, d, generator=rng, dtype=torch.float64).to(dtype)
    return KernelOperator(Laplace(3.0), X), torch.randn(n, 2, generator=rng, dtype=torch.float64)


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
