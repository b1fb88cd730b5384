"""Rounds that only teach M are solved as well as M needs it; the round that is kept is solved to the end."""

import numpy as np
import pytest
import torch

from gramian import RFMRegressor
from gramian.core.clock import Clock
from gramian.core.rows import Rows
from gramian.features import Agop
from gramian.kernels import Laplace
from gramian.rfm import fitting
from gramian.rfm.choice import Fixed
from gramian.rfm.journal import Journal
from gramian.rfm.rounds import Problem, finished, rounds
from gramian.rfm.runs import Run, Stage
from gramian.rfm.selection import Member
from gramian.solvers import ConjugateGradient, Direct, Workspace, choose

SOLVER = ConjugateGradient(tol=1e-8, feature_tol=1e-2, centers=40)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 6))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=700)


def fit(table, solver, **more):
    X, y = table
    model = RFMRegressor(kernel=Laplace(5.0), update=Agop(), ridge=1e-2, solver=solver, dtype="float64", **more)
    return model.fit(X[:500], y[:500], eval_set=(X[500:], y[500:]))


def problem(solver, last):
    return Problem(Laplace(3.0), Agop(), solver, last, 10**9, 0)


def test_what_is_chosen_learns_features_with_less():
    solver = choose(10_000, torch.float32, 10**10).solver
    rough = solver.for_features()
    assert rough.tol > solver.tol
    assert rough.centers < solver.centers
    assert Direct().for_features() == Direct()
    own = ConjugateGradient(tol=1e-7)
    assert own.for_features() == own
    loose = ConjugateGradient(tol=1e-1, feature_tol=1e-2)
    assert loose.for_features() == loose


@pytest.mark.parametrize("n_rounds", [1, 4])
def test_the_kept_round_is_exact_and_the_others_rough(table, n_rounds):
    model, exact = fit(table, SOLVER, n_rounds=n_rounds), fit(table, "direct", n_rounds=n_rounds)
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
    plan = problem(SOLVER, 2)
    steps = list(rounds(plan, data, chooser, space))
    choice = chooser.choose(1, plan.kernel, steps[1][1].metric, data, space)
    record, machine = finished(plan, data, choice, steps[1], space)
    truth = Direct(tol=1e-10).solve(machine.operator, data.Y, 1e-2)
    torch.testing.assert_close(machine.coef, truth.coef, atol=1e-5, rtol=1e-5)
    assert record.index == 1
    assert record.seconds > steps[1][0].seconds


def test_a_rough_round_0_of_another_machine_is_not_kept(table):
    X, y = (torch.from_numpy(part) for part in table)
    data = Rows(X, y[:, None])
    plan, chooser = problem(SOLVER, 2), Fixed(1e-2, 0, False)
    steps = list(rounds(plan, data, chooser))
    path = tuple(chooser.choose(i, plan.kernel, m.metric, data, Workspace()) for i, (_, m) in enumerate(steps))
    run = Run(plan, path, *(tuple(part) for part in zip(*steps, strict=True)))
    stage = Stage(False, Clock(None), Workspace())
    machine = fitting._again(Member(0, 0, 1.0), run, torch.arange(300), data, stage, openings={plan.kernel: steps[0]})
    truth = Direct(tol=1e-10).solve(machine.operator, data.Y, 1e-2)
    torch.testing.assert_close(machine.coef, truth.coef, atol=1e-5, rtol=1e-5)


def test_the_last_round_is_exact_where_it_is_kept_for_sure(table):
    model = fit(table, SOLVER, n_rounds=3, select_round="last")
    assert [r.residual <= 1e-8 for r in model.rounds_] == [False, False, False, True]


def test_ctrl_c_while_the_kept_round_is_finished_keeps_it_as_it_is(table, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "finished", interrupted)
    with pytest.warns(UserWarning, match="interrupted: what is kept has a relative residual of 0.0"):
        model = fit(table, SOLVER, n_rounds=2)
    assert 1e-8 < model.rounds_[model.best_round_].residual <= 1e-2
    assert model.score(*table) > 0.9


def test_rough_rounds_of_a_longer_way_are_not_kept_after_a_crash(table, tmp_path):
    X, y = (torch.from_numpy(part) for part in table)
    data = Rows(X, y[:, None])
    plan, chooser = problem(SOLVER, 3), Fixed(1e-2, 0, False)
    steps = list(rounds(plan, data, chooser))
    path = tuple(chooser.choose(i, plan.kernel, m.metric, data, Workspace()) for i, (_, m) in enumerate(steps))
    run = Run(plan, path, *(tuple(part) for part in zip(*steps, strict=True)))
    stage = Stage(False, Clock(None), Workspace(), journal=Journal.open(tmp_path, "a fit"))
    part = torch.arange(300)
    for last in (3, 1):
        machine = fitting._again(Member(0, last, 1.0), run, part, data, stage, openings={})
        truth = Direct(tol=1e-10).solve(machine.operator, data.Y, 1e-2)
        torch.testing.assert_close(machine.coef, truth.coef, atol=1e-5, rtol=1e-5)
