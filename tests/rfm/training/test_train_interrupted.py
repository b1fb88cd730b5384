"""Interrupted training: Ctrl-C and the time limit end a stage early, and the model is made of what is finished."""

import importlib

import numpy as np
import pytest
import torch

from gramian.core import selection
from gramian.core.clock import Clock, TimeLimitReached
from gramian.features import Agop
from gramian.kernels import Laplace
from gramian.rfm.training import refit, validation
from gramian.rfm.training.context import FitContext
from gramian.solvers import Nystrom
from small_training import Stops, make_plan, make_rows, make_task, train_on

ROUNDS = importlib.import_module("gramian.rfm.training.rounds")
TWO = {"updates": (Agop(), Agop(diagonal=True))}


@pytest.mark.parametrize("at", [2, 3])
def test_ctrl_c_in_the_screening_selects_among_the_finished_rounds(at, monkeypatch):
    data, task = make_rows(60), make_task(n_rounds=3, select_last=True, **TWO)
    Stops(monkeypatch, ROUNDS, "solve_round", at)
    context = FitContext()
    with pytest.warns(UserWarning, match=f"interrupted: {at} of 8 rounds of 2 candidates were screened"):
        trained = train_on(data, task, context=context)
    assert len(trained.records) in (1, at - 1)
    assert np.isfinite([record.score for record in trained.records]).all()
    assert torch.isfinite(trained.ensemble.predict(data.X)).all()
    assert context.interrupted


def test_ctrl_c_before_round_0_is_an_interrupt(monkeypatch):
    Stops(monkeypatch, ROUNDS, "solve_round", 1)
    with pytest.raises(KeyboardInterrupt):
        train_on(make_rows(60), make_task())


@pytest.mark.parametrize(("at", "finished"), [(1, 1), (3, 3)])
def test_ctrl_c_in_the_splits_selects_on_the_finished_ones(at, finished, monkeypatch):
    Stops(monkeypatch, validation, "run_split", at)
    with pytest.warns(UserWarning, match=f"interrupted: candidates are compared on {finished} of 5 splits"):
        trained = train_on(make_rows(60), make_task())
    assert np.isfinite([record.score for record in trained.records]).all()
    assert len(trained.holdout[0]) == 12 * finished


@pytest.mark.parametrize("bagging", [False, True])
def test_ctrl_c_in_the_splits_leaves_all_candidates_in_the_comparison(bagging, monkeypatch):
    """A candidate that lost the race on the first split may still be a member, if no other split is finished."""
    monkeypatch.setattr(selection, "_RACE_ERRORS", -100.0)
    monkeypatch.setattr(selection, "_NEAR_SHARE", 0.0)
    monkeypatch.setattr(selection, "_BLEND_ERRORS", 100.0)
    Stops(monkeypatch, validation, "run_split", 1)
    data, task = make_rows(60), make_task(kernels=(Laplace(2.0), Laplace(1.0)), max_members=2, bagging=bagging)
    with pytest.warns(UserWarning, match="interrupted: candidates are compared on 1 of 5 splits"):
        trained = train_on(data, task)
    assert torch.isfinite(trained.ensemble.predict(data.X)).all()
    assert sum(trained.ensemble.shares) == pytest.approx(1)


def test_ctrl_c_in_the_refit_falls_back_to_the_models_of_the_first_split(monkeypatch):
    Stops(monkeypatch, refit, "rounds", 1)
    with pytest.warns(UserWarning, match="interrupted: the model uses 48 of 60 rows"):
        trained = train_on(make_rows(60), make_task())
    assert int((trained.ensemble.best.coef == 0).all(dim=1).sum()) == 12


def test_the_ridge_per_row_of_a_refit_that_ended_is_the_one_that_was_added(monkeypatch):
    """The targets are recovered from coefficients and ridge, so that another ridge gives other targets."""
    Stops(monkeypatch, refit, "rounds", 1)
    data = make_rows(60)
    with pytest.warns(UserWarning, match="interrupted: the model uses 48 of 60 rows"):
        trained = train_on(data, make_task(ridge=1e-2, ridge_per_row=True))
    assert trained.ridge == pytest.approx(1e-2 * 48)
    machine, at = trained.ensemble.best, trained.solved
    left = (data.Y - machine.operator.matmul(machine.coef))[at]
    torch.testing.assert_close(left, trained.ridge * machine.coef[at], rtol=1e-6, atol=1e-8)
    (member,) = trained.ensemble.members
    assert member.path[-1].ridge == pytest.approx(1e-2 * 48)
    assert member.weight == 48


def test_a_time_limit_gives_a_model_from_round_0():
    with pytest.warns(
        UserWarning, match="time limit of 1e-09 s was too short: 1 of 4 rounds of 2 candidates were screened"
    ):
        trained = train_on(make_rows(60), make_task(**TWO), context=FitContext(Clock(1e-9)))
    assert len(trained.records) == 1


class PassedFrom(Clock):
    """A clock on which shares of the limit below a bound are used up."""

    def __init__(self, bound):
        super().__init__(100.0)
        self.bound = bound

    def check(self, share=1.0):
        if share < self.bound:
            raise TimeLimitReached


def test_candidates_are_compared_and_refitted_after_the_time_for_screening_is_over():
    """The screening has a share of the time limit; what is left is there to compare what is finished."""
    data, context = make_rows(60), FitContext(PassedFrom(0.4))
    with pytest.warns(
        UserWarning, match="time limit of 100 s was too short: 1 of 4 rounds of 2 candidates were screened"
    ):
        trained = train_on(data, make_task(**TWO), context=context)
    assert np.isfinite(trained.records[0].score)
    assert len(trained.holdout[0]) == 60
    assert not bool((trained.ensemble.best.coef == 0).all(dim=1).any()), "fitted to all rows"


def test_the_selected_candidates_are_refitted_after_the_time_for_splits_is_over():
    class SplitsOver(PassedFrom):
        def check(self, share=1.0):
            if 0.4 < share < 1:
                raise TimeLimitReached

    data, context = make_rows(60), FitContext(SplitsOver(1.0))
    with pytest.warns(UserWarning, match="time limit of 100 s was too short: candidates are compared on 1 of 5 splits"):
        trained = train_on(data, make_task(**TWO), context=context)
    assert len(trained.records) == 2
    assert not bool((trained.ensemble.best.coef == 0).all(dim=1).any()), "fitted to all rows"


def test_a_time_limit_gives_a_model_from_a_large_fit_too():
    data, task = make_rows(200), make_task()
    plan = make_plan(data, task, solver=Nystrom(centers=40))
    with pytest.warns(UserWarning, match="time limit of 1e-09 s was too short"):
        trained = train_on(data, task, plan, FitContext(Clock(1e-9)))
    assert float((trained.ensemble.predict(data.X) - data.Y).square().mean()) < 0.8


def test_ctrl_c_in_the_last_solve_of_a_large_fit_falls_back_to_the_screened_model(monkeypatch):
    data, task = make_rows(200), make_task(select_last=True)
    plan = make_plan(data, task, solver=Nystrom(centers=40), screen_rows=60)
    Stops(monkeypatch, importlib.import_module("gramian.solvers.nystrom").Nystrom, "solve", 1)
    with pytest.warns(UserWarning, match="interrupted: the model uses 60 of 200 rows"):
        trained = train_on(data, task, plan)
    assert trained.ensemble.best.n == len(trained.rows) == 60
    torch.testing.assert_close(trained.ensemble.best.X, data.X[trained.rows])
