"""The model class: an error without AutoGluon, and real fits through AutoGluon where it is installed."""

import importlib.util
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import train_test_split

from gramian.integrations.autogluon import GramianModel, model

FAST = {"preset": "fast"}


def needs_autogluon():
    pytest.importorskip("autogluon.tabular", reason="AutoGluon is not installed: pip install 'gramian[autogluon]'")


def test_without_autogluon_the_class_exists_and_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "autogluon", None)
    monkeypatch.setitem(sys.modules, "autogluon.core.models", None)
    monkeypatch.setitem(sys.modules, "autogluon.common.utils.resource_utils", None)
    spec = importlib.util.spec_from_file_location("model_without_autogluon", model.__file__)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    with pytest.raises(
        ImportError, match=r'GramianModel needs the package autogluon: pip install "gramian\[autogluon\]"'
    ):
        found.GramianModel(name="g")


def test_rare_classes_that_a_fold_lacks_have_probability_zero(monkeypatch):
    class Fitted:
        classes_ = np.array([0, 2])

        def predict_proba(self, X):
            return np.array([[0.25, 0.75]])

    one = object.__new__(GramianModel)
    one.problem_type, one.num_classes, one.model = "multiclass", 3, Fitted()
    monkeypatch.setattr(one, "preprocess", lambda X, **kwargs: X, raising=False)
    np.testing.assert_array_equal(one._predict_proba(None), [[0.25, 0, 0.75]])


@pytest.mark.slow
class TestWithAutoGluon:
    @pytest.fixture(autouse=True)
    def installed(self, tmp_path, monkeypatch):
        needs_autogluon()
        monkeypatch.chdir(tmp_path)

    @pytest.mark.parametrize(
        ("load", "kind", "least"),
        [(load_breast_cancer, "binary", 0.94), (load_wine, "multiclass", 0.94), (load_diabetes, "regression", -62)],
    )
    def test_fit_predict_score_save_and_load(self, load, kind, least):
        X, y = load(return_X_y=True, as_frame=True)
        X, X_test, y, y_test = train_test_split(X, y, random_state=0)
        X, X_val, y, y_val = train_test_split(X, y, random_state=0)
        fitted = GramianModel(path="models", name="g", problem_type=kind)
        fitted.fit(X=X, y=y, X_val=X_val, y_val=y_val, time_limit=60, num_cpus=1, num_gpus=0)
        inner = fitted.model
        assert inner.plan_.validation == "evaluation set"
        assert (inner.n_threads, inner.random_state, inner.device) == (1, 0, "cpu")
        assert 50 < inner.time_limit < 54
        assert fitted.score(X_test, y_test) > least
        predicted = fitted.predict_proba(X_test)
        own = inner.predict(X_test) if kind == "regression" else inner.predict_proba(X_test)
        np.testing.assert_allclose(predicted, own[:, 1] if kind == "binary" else own)
        again = GramianModel.load(fitted.save())
        np.testing.assert_array_equal(again.predict_proba(X_test), predicted)

    def test_the_memory_estimate_is_the_forecast_of_the_plan(self):
        X, y = load_wine(return_X_y=True, as_frame=True)
        found = GramianModel.estimate_memory_usage_static(X=X, y=y, hyperparameters=FAST, num_cpus=1)
        fitted = GramianModel(path="models", name="g", problem_type="multiclass", hyperparameters=FAST)
        fitted.fit(X=X, y=y, num_cpus=1, num_gpus=0)
        grown = fitted.model.plan_.memory.process
        assert grown < found < grown + 700 * 10**6

    def test_a_fit_is_skipped_where_memory_is_short(self, monkeypatch):
        from autogluon.core.utils.exceptions import NotEnoughMemoryError

        monkeypatch.setattr(model.ResourceManager, "get_available_virtual_mem", lambda *args: 5 * 10**8)
        X, y = load_wine(return_X_y=True, as_frame=True)
        one = GramianModel(path="models", name="g", problem_type="multiclass", hyperparameters=FAST)
        with pytest.raises(NotEnoughMemoryError):
            one.fit(X=X, y=y, num_cpus=1, num_gpus=0)

    def test_raw_columns_in_a_predictor(self):
        from autogluon.tabular import TabularPredictor

        rng, n = np.random.default_rng(0), 400
        X = pd.DataFrame({"number": rng.normal(size=n), "flag": rng.random(n) < 0.5})
        X["gaps"] = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
        X["kind"] = rng.choice(["a", "b", "c", None], n)
        X["day"] = pd.date_range("2020-01-01", periods=n)
        frame = X.assign(y=X["number"] * (X["kind"] == "a") + X["gaps"].fillna(0) + X["flag"])
        predictor = TabularPredictor("y", path="predictor").fit(
            frame[:300], hyperparameters={GramianModel: FAST, "DUMMY": {}}, ag_args_fit={"num_cpus": 1}
        )
        scores = predictor.leaderboard(frame[300:]).set_index("model")["score_test"]
        assert scores["Gramian"] > 0.5 * scores["Dummy"]

    def test_autogluons_own_verification_of_a_model(self):
        """Fit, bag, refit, predict, save and load for all problem types; torch's global state stays as it is."""
        from autogluon.tabular.testing import FitHelper

        FitHelper.verify_model(model_cls=GramianModel, model_hyperparameters=FAST)
