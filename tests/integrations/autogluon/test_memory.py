"""The memory of a fit before it starts: the forecast plan is the plan of the fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gramian.integrations.autogluon import fit_bytes, forecast_plan, make_estimator
from gramian.integrations.autogluon.memory import PROCESS_BYTES
from gramian.rfm.options import TreePartition

GIGABYTE = 10**9


def frame(n, d=3, seed=0):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, d)), columns=[f"c{j}" for j in range(d)])


def mixed(n=200):
    X = frame(n)
    X["town"] = np.random.default_rng(1).choice(["Bonn", "Rome", "Oslo"], n)
    X.loc[::5, "c0"] = np.nan
    return X


@pytest.mark.parametrize("make", [frame, mixed])
@pytest.mark.parametrize("classes", [1, 2, 4])
@pytest.mark.parametrize("evaluated", [False, True])
def test_the_forecast_plan_is_the_plan_of_the_fit(make, classes, evaluated):
    X = make(200)
    y = X["c1"].to_numpy() if classes == 1 else np.arange(200) % classes
    kind = {1: "regression", 2: "binary"}.get(classes, "multiclass")
    params = {"kernel": "laplace", "n_rounds": 1}
    model = make_estimator(kind, params, n_threads=2, free_bytes=GIGABYTE)
    eval_set = (make(50), y[:50]) if evaluated else None
    forecast = forecast_plan(model, X, classes if classes > 2 else 1, evaluated)
    plan = model.fit(X, y, eval_set=eval_set).plan_
    assert replace(forecast, robust=plan.robust) == plan


@pytest.mark.parametrize("preset", ["fast", "best"])
def test_a_fit_that_compares_nothing_has_no_folds_in_the_forecast(preset):
    X, params = frame(200), {"kernel": "laplace", "update": "agop", "select_round": "last", "preset": preset}
    model = make_estimator("regression", params, n_threads=2, free_bytes=GIGABYTE)
    forecast = forecast_plan(model, X, 1)
    assert forecast == model.fit(X, X["c0"]).plan_
    assert forecast.validation == "none"


def test_all_candidates_of_the_default_are_counted():
    """Without long tails the kernel of normal scores drops out, so that the fit needs no more than the forecast."""
    X = frame(300)
    model = make_estimator("regression", n_threads=2, free_bytes=GIGABYTE)
    forecast = forecast_plan(model, X, 1)
    assert forecast.memory.process >= model.fit(X, X["c0"]).plan_.memory.process


def test_bytes_are_process_frame_and_plan():
    X, model = mixed(), make_estimator("binary", n_threads=1, free_bytes=GIGABYTE)
    plan = forecast_plan(model, X, 1)
    assert fit_bytes(model, X, 1) == PROCESS_BYTES + X.memory_usage(deep=True).sum() + plan.memory.process


def test_more_rows_columns_and_classes_need_more():
    model = make_estimator("multiclass", n_threads=1, free_bytes=8 * GIGABYTE)
    sizes = [fit_bytes(model, frame(n, d), c) for n, d, c in ((500, 5, 1), (5000, 5, 1), (5000, 50, 1), (5000, 50, 9))]
    assert sizes == sorted(set(sizes))


def test_the_forecast_keeps_to_the_free_memory_where_a_plan_can():
    X = frame(40_000)
    tight, ample = (make_estimator("regression", n_threads=1, free_bytes=b * GIGABYTE) for b in (1, 64))
    assert isinstance(forecast_plan(tight, X, 1).solver, TreePartition)
    assert forecast_plan(tight, X, 1).memory.peak <= 0.8 * GIGABYTE < forecast_plan(ample, X, 1).memory.peak


def test_where_no_plan_fits_the_forecast_is_above_the_free_memory():
    """AutoGluon then skips the model with a message about memory."""
    model = make_estimator("regression", n_threads=1, free_bytes=10**6)
    assert fit_bytes(model, frame(5000), 1) - PROCESS_BYTES > 10**6


def test_a_wrong_hyperparameter_is_an_error_and_no_forecast():
    model = make_estimator("regression", {"n_rounds": -1})
    with pytest.raises(ValueError, match="n_rounds must be a non-negative integer"):
        forecast_plan(model, frame(50), 1)
