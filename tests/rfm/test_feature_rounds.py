"""Rounds that only teach M are solved as well as M needs it; the round that is kept is solved to the end."""

import numpy as np
import pytest
import torch
from gramian.rfm.choice import Fixed
from gramian.rfm.journal import Journal
from gramian.rfm.rounds import Problem, finished, rounds
from gramian.rfm.runs import Run, Stage
from gramian.rfm.selection import Member
from gramian.solvers.choose import Chosen

from gramian import RFMRegressor
from gramian.core.clock import Clock
from gramian.core.rows import Rows
from gramian.features import Agop
from gramian.kernels import Laplace
from gramian.rfm import base, fitting
from gramian.solvers import ConjugateGradient, Direct, RidgeSystem, Workspace, choose

SOLVER = ConjugateGradient(tol=1e-8, preconditioner_rank=40)
COARSE = ConjugateGradient(tol=1e-2, preconditioner_rank=20)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 6))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=700)


@pytest.fixture
def two_solvers(monkeypatch):
    """solver="auto" means SOLVER for the selected round and COARSE for the others."""
    monkeypatch.setattr(base, "choose", lambda *_: Chosen(SOLVER, "for this test", feature_solver=COARSE))


def fit(table, solver, **more):
    X, y = table
    model = RFMRegressor(kernel=Laplace(5.0), update=Agop(), ridge=1e-2, solver=solver, dtype="float64", **more)
    return model.fit(X[:500], y[:500], eval_set=(X[500:], y[500:]))


def problem(last):
    return Problem(Laplace(3.0), Agop(), SOLVER, last, 10**9, 0, COARSE)


def test_an_automatic_choice_has_a_coarser_solver_for_features():
    chosen = choose(10_000, torch.float32, 10**10)
    assert chosen.feature_solver.tol > chosen.solver.tol
    assert chosen.feature_solver.preconditioner_rank == chosen.solver.preconditioner_rank // 2
    assert choose(1000, torch.float32, 10**10).feature_solver is None


def test_a_solver_of_the_user_solves_all_rounds(table):
    model = fit(table, SOLVER, n_rounds=2)
    assert all(r.residual <= 1e-8 for r in model.rounds_)


@pytest.mark.usefixtures("two_solvers")
@pytest.mark.parametrize("n_rounds", [1, 4])
def test_the_kept_round_is_exact_and_the_others_rough(table, n_rounds):
    model, exact = fit(table, "auto", n_rounds=n_rounds), fit(table, "direct", n_rounds=n_rounds)
    kept = model.best_round_
    assert kept == exact.best_round_
    assert model.rounds_[kept].residual <= 1e-8
    assert all(1e-8 < r.residual <= 1e-2 for r in model.rounds_ if r.index != kept)
    np.testing.assert_allclose(model.predict(table[0]), exact.predict(table[0]), atol=0.02)
    assert model.rounds_[kept].score == pytest.approx(exact.rounds_[kept].score, rel=0.02)


def test_a_round_before_the_last_is_finished_from_where_it_stood(table):
    X, y = (torch.from_numpy(part) for part in table)
    data = Rows(X, y[:, None])
    chooser, space = Fixed(1e-2, 0, False), Workspace()
    plan = problem(2)
    steps = list(rounds(plan, data, chooser, space))
    choice = chooser.choose(1, plan.kernel, steps[1][1].metric, data, space)
    record, machine = finished(plan, data, choice, steps[1], space)
    truth = Direct(tol=1e-10).solve(RidgeSystem(machine.operator, data.Y, 1e-2))
    torch.testing.assert_close(machine.coef, truth.coef, atol=1e-5, rtol=1e-5)
    assert record.index == 1
    assert record.seconds > steps[1][0].seconds


def test_a_rough_round_0_of_another_machine_is_not_kept(table):
    X, y = (torch.from_numpy(part) for part in table)
    data = Rows(X, y[:, None])
    plan, chooser = problem(2), Fixed(1e-2, 0, False)
    steps = list(rounds(plan, data, chooser))
    path = tuple(chooser.choose(i, plan.kernel, m.metric, data, Workspace()) for i, (_, m) in enumerate(steps))
    run = Run(plan, path, *(tuple(part) for part in zip(*steps, strict=True)))
    stage = Stage(False, Clock(None), Workspace())
    machine = fitting._again(Member(0, 0, 1.0), run, torch.arange(300), data, stage, openings={plan.kernel: steps[0]})
    truth = Direct(tol=1e-10).solve(RidgeSystem(machine.operator, data.Y, 1e-2))
    torch.testing.assert_close(machine.coef, truth.coef, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("two_solvers")
def test_the_last_round_is_exact_where_it_is_kept_for_sure(table):
    model = fit(table, "auto", n_rounds=3, select_round="last")
    assert [r.residual <= 1e-8 for r in model.rounds_] == [False, False, False, True]


@pytest.mark.usefixtures("two_solvers")
def test_ctrl_c_while_the_kept_round_is_finished_keeps_it_as_it_is(table, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "finished", interrupted)
    with pytest.warns(UserWarning, match="interrupted: what is kept has a relative residual of 0.0"):
        model = fit(table, "auto", n_rounds=2)
    assert 1e-8 < model.rounds_[model.best_round_].residual <= 1e-2
    assert model.score(*table) > 0.9


def test_rough_rounds_of_a_longer_way_are_not_kept_after_a_crash(table, tmp_path):
    X, y = (torch.from_numpy(part) for part in table)
    data = Rows(X, y[:, None])
    plan, chooser = problem(3), Fixed(1e-2, 0, False)
    steps = list(rounds(plan, data, chooser))
    path = tuple(chooser.choose(i, plan.kernel, m.metric, data, Workspace()) for i, (_, m) in enumerate(steps))
    run = Run(plan, path, *(tuple(part) for part in zip(*steps, strict=True)))
    stage = Stage(False, Clock(None), Workspace(), journal=Journal.open(tmp_path, "a fit"))
    part = torch.arange(300)
    for last in (3, 1):
        machine = fitting._again(Member(0, last, 1.0), run, part, data, stage, openings={})
        truth = Direct(tol=1e-10).solve(RidgeSystem(machine.operator, data.Y, 1e-2))
        torch.testing.assert_close(machine.coef, truth.coef, atol=1e-5, rtol=1e-5)
