"""EigenPro: epochs converge, and an epoch that increases the residual is undone."""

import sys

import pytest
import torch

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.rows import MemoryRows, Rows
from gramian.kernels import Gaussian, Identity, KernelOperator, Laplace
from gramian.solvers import Direct, EigenPro, Nystrom, RidgeSystem, StreamedSystem
from small_training import FakeTime

N, D = 700, 4


@pytest.fixture
def rows(rng):
    X = torch.randn(N, D, generator=rng, dtype=torch.float64)
    Y = torch.stack([X[:, 0].sin(), X[:, 1] * X[:, 2]], dim=1)
    return Rows(X, Y, 0.5 + torch.rand(N, generator=rng, dtype=torch.float64))


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_epochs_converge_to_the_exact_solution(rows, weighted, rng):
    operator = KernelOperator(Laplace(2.0), rows.X.float())
    weights = rows.weights if weighted else None
    new = torch.randn(100, D, generator=rng)
    exact = Direct().solve(RidgeSystem(operator, rows.Y, 0.05, weights))
    f = operator.predict(new, exact.coef)

    def error(epochs):
        solution = EigenPro(epochs=epochs, tol=0, subsample=300).solve(RidgeSystem(operator, rows.Y, 0.05, weights))
        return float((operator.predict(new, solution.coef) - f).norm() / f.norm())

    errors = [error(epochs) for epochs in (1, 4, 16)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[2] < 0.03


def test_epochs_continue_from_a_guess(rows):
    operator = KernelOperator(Laplace(2.0), rows.X)
    first = EigenPro(epochs=4, tol=0).solve(RidgeSystem(operator, rows.Y, 0.05))
    more = EigenPro(epochs=1, tol=0).solve(RidgeSystem(operator, rows.Y, 0.05), guess=first.coef)
    assert more.info.residual < first.info.residual


def test_an_epoch_that_increases_the_residual_is_undone(rows):
    """A subsample of two rows says nothing of the largest eigenvalue: steps are halved until the residual falls."""
    operator = KernelOperator(Gaussian(4.0), rows.X)
    info = EigenPro(epochs=40, subsample=2).solve(RidgeSystem(operator, rows.Y, 0.05)).info
    assert info.residual < 1


@pytest.mark.parametrize("solver", [Nystrom(centers=100), EigenPro()], ids=str)
@pytest.mark.filterwarnings("ignore:EigenPro had no time for one epoch")
def test_time_that_ends_in_the_first_pass_still_gives_a_function(rows, solver, monkeypatch):
    """Without any time there is none: a caller has something to fall back to."""
    system, time = StreamedSystem(Laplace(2.0), Identity(D), MemoryRows(rows), 1e-3), FakeTime()
    with pytest.raises(TimeLimitReached):
        solver.solve(system, clock=Clock(0.0, time))
    module = sys.modules[type(solver).__module__]
    name = "_epoch" if isinstance(solver, EigenPro) else "_iterate"
    monkeypatch.setattr(module, name, time.advancing(getattr(module, name), 100.0))
    solution = solver.solve(system, clock=Clock(60.0, time))
    assert "time limit" in solution.info.status
    R = rows.Y - solution.operator.predict(rows.X, solution.coef)
    assert float(R.norm() / rows.Y.norm()) < 0.9
