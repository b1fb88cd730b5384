"""Interrupted training: Ctrl-C and the time limit end a stage early, and the model is made of what is finished."""

import importlib

import numpy as np
import pytest
import torch

from gramian.core.clock import Clock, TimeLimitReached
from gramian.features import Agop
from gramian.rfm.training import validation
from gramian.rfm.training.context import FitContext
from gramian.solvers import Nystrom
from small_training import Stops, make_plan, make_rows, make_task, train_on

ROUNDS = importlib.import_module("gramian.rfm.training.rounds")
TWO = {"updates": (Agop(), Agop(diagonal=True))}


@pytest.mark.parametrize("at", [2, 3])
def test_ctrl_c_in_the_screening_selects_the_last_finished_round(at, monkeypatch):
    data, task = make_rows(60), make_task(n_rounds=3)
    Stops(monkeypatch, ROUNDS, "next_metric", at)
    context = FitContext()
    with pytest.warns(UserWarning, match=f"no validation scores yet, so round {at - 2} of the first") as caught:
        trained = train_on(data, task, context=context)
    assert any(f"interrupted after {at - 1} of 4 rounds" in str(warning.message) for warning in caught)
    assert trained.best_round == at - 2 == len(trained.records) - 1
    assert context.interrupted


def test_ctrl_c_before_round_0_is_an_interrupt(monkeypatch):
    Stops(monkeypatch, ROUNDS, "next_metric", 1)
    with pytest.raises(KeyboardInterrupt):
        train_on(make_rows(60), make_task())


def test_ctrl_c_in_the_folds_selects_on_the_finished_ones(monkeypatch):
    Stops(monkeypatch, validation, "run_fold", 3)
    with pytest.warns(UserWarning, match="interrupted: the round is selected on 2 of 5 folds"):
        trained = train_on(make_rows(60), make_task())
    assert np.isfinite([record.score for record in trained.records]).all()
    assert len(trained.holdout[0]) == 24


def test_a_time_limit_gives_a_model_from_round_0():
    match = "time_limit=1e-09: 1 of 2 candidates were screened, the last one up to round 0"
    with pytest.warns(UserWarning, match=match):
        trained = train_on(make_rows(60), make_task(**TWO), context=FitContext(Clock(1e-9)))
    assert len(trained.records) == 1


def test_candidates_are_compared_after_the_time_for_screening_is_over():
    """The screening has a share of the time limit; what is left is there to compare what is finished."""

    class ScreeningOver(Clock):
        def check(self, share=1.0):
            if share < 0.5:
                raise TimeLimitReached

    context = FitContext(ScreeningOver(100.0))
    with pytest.warns(UserWarning, match="time_limit=100: 1 of 2 candidates were screened"):
        trained = train_on(make_rows(60), make_task(**TWO), context=context)
    assert np.isfinite(trained.records[0].score)
    assert len(trained.holdout[0]) == 60


def test_a_time_limit_gives_a_model_from_a_large_fit_too():
    data, task = make_rows(200), make_task()
    plan = make_plan(data, task, solver=Nystrom(centers=40))
    with pytest.warns(UserWarning, match="time_limit=1e-09"):
        trained = train_on(data, task, plan, FitContext(Clock(1e-9)))
    assert float((trained.ensemble.predict(data.X) - data.Y).square().mean()) < 0.8


def test_ctrl_c_in_the_last_solve_of_a_large_fit_falls_back_to_the_screened_model(monkeypatch):
    data, task = make_rows(200), make_task(select_last=True)
    plan = make_plan(data, task, solver=Nystrom(centers=40), screen_rows=60)
    Stops(monkeypatch, importlib.import_module("gramian.solvers.nystrom").Nystrom, "solve", 1)
    with pytest.warns(UserWarning, match="interrupted: the model is fitted to 60 of 200 rows"):
        trained = train_on(data, task, plan)
    assert trained.ensemble.best.n == len(trained.rows) == 60
    torch.testing.assert_close(trained.ensemble.best.X, data.X[trained.rows])
