"""Estimators in AutoGluon's terms: each argument reaches the estimator, and a fit is the estimator's own fit."""

import numpy as np
import pandas as pd
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.features import Agop
from gramian.integrations.autogluon import fit_estimator, make_estimator
from gramian.integrations.autogluon.fitting import METRICS, PROBLEM_TYPES
from gramian.kernels import Lp

FAST = {"preset": "fast", "n_rounds": 1}


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    X["kind"] = pd.Categorical(rng.choice(["u", "v", "w"], n))
    X.loc[::7, "a"] = np.nan
    return X, X["b"] + (X["kind"] == "u")


def test_settings_reach_the_estimator():
    model = make_estimator("regression", metric="mean_absolute_error", time_limit=100, n_threads=3, free_bytes=10**9)
    assert isinstance(model, RFMRegressor)
    found = (model.metric, model.time_limit, model.n_threads, model.max_memory, model.device)
    assert found == ("mae", 90, 3, 8 * 10**8, "cpu")


def test_what_is_not_given_is_the_estimators_own_default():
    own = RFMClassifier(device="cpu")
    assert repr(make_estimator("multiclass").get_params(deep=False)) == repr(own.get_params(deep=False))


def test_hyperparameters_overrule_settings():
    params = {"metric": "brier", "time_limit": 5.0, "n_threads": 1, "max_memory": "2GB", "random_state": 7}
    model = make_estimator("binary", params, metric="log_loss", time_limit=100, n_threads=3, free_bytes=10**9)
    assert {name: getattr(model, name) for name in params} == params


def test_options_of_kernel_and_update_are_names_and_numbers():
    params = {"kernel": "lp", "kernel__p": 1.5, "update": "agop", "update__power": 0.5, "update__diagonal": True}
    model = make_estimator("binary", params)
    assert (model.kernel, model.update) == (Lp(p=1.5), Agop(power=0.5, diagonal=True))


def test_a_wrong_name_is_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'learning_rate'"):
        make_estimator("binary", {"learning_rate": 0.1})
    with pytest.raises(ValueError, match="problem_type must be one of 'binary', 'multiclass', 'regression'"):
        make_estimator("quantile")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_can_select_rounds(name):
    kind = "regression" if "error" in name else "binary"
    X, y = table()
    target = y if kind == "regression" else (y > 0).astype(int)
    model = fit_estimator(kind, X, target, params=FAST, metric=name, n_threads=1)
    assert model.metric == METRICS[name] != "auto"
    assert model.rounds_.sections()


def test_accuracy_selects_by_the_default():
    assert make_estimator("binary", metric="accuracy").metric == "auto"


@pytest.mark.parametrize("kind", PROBLEM_TYPES)
def test_a_fit_is_the_fit_of_the_estimator(kind):
    X, y = table()
    new, target = table(20, seed=1)
    if kind != "regression":
        edges = [0.0] if kind == "binary" else [-0.5, 0.5]
        y, target = np.digitize(y, edges), np.digitize(target, edges)
    weights = np.linspace(1, 2, len(X))
    model = fit_estimator(kind, X, y, eval_set=(new, target), sample_weight=weights, params=FAST, n_threads=1)
    own = PROBLEM_TYPES[kind](**FAST, n_threads=1).fit(X, y, weights, (new, target))
    predict = "predict" if kind == "regression" else "predict_proba"
    np.testing.assert_array_equal(getattr(model, predict)(new), getattr(own, predict)(new))
    assert model.plan_.validation == "evaluation set"


def test_without_validation_rows_the_estimator_makes_folds():
    assert fit_estimator("regression", *table(), params=FAST, n_threads=1).plan_.validation == "folds"
