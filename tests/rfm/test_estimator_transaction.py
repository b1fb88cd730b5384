"""A fit is a transaction: after one that is refused or interrupted, the estimator is exactly as it was."""

import copy
import importlib
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gramian import RFMClassifier, RFMRegressor
from gramian.tables import TableEncoder

RNG = np.random.default_rng(0)
A = RNG.normal(size=(60, 3))
Y = A[:, 0] * A[:, 1] + A[:, 2]
OPTIONS = {"preset": "fast", "n_rounds": 1, "ridge": 1e-2}


def array(shift=0.0):
    return 5 * A + shift


def frame(shift=0.0):
    return pd.DataFrame(5 * A + shift, columns=["a", "b", "c"]).assign(city=np.where(A[:, 0] > 0, "Rome", "Oslo"))


@pytest.fixture(params=["regressor", "classifier"])
def estimator(request):
    return {"regressor": RFMRegressor, "classifier": RFMClassifier}[request.param]


@pytest.fixture(params=[array, frame], ids=["array", "frame"])
def table(request):
    return request.param


def target(estimator, y=Y):
    return np.where(y > 0, "up", "down") if estimator is RFMClassifier else y


class Before:
    """Everything that can be seen of a fitted estimator, to be compared with what is seen later."""

    def __init__(self, model, X):
        self.model, self.X = model, X
        self.attributes, self.params = dict(vars(model)), copy.copy(model.get_params(deep=False))
        self.seen = self.look()

    def look(self):
        model = self.model
        seen = [model.predict(self.X), model.transform(self.X), model.n_features_in_, model.best_round_, model.ridge_]
        seen.append(list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None)
        if hasattr(model, "predict_proba"):
            seen += [model.predict_proba(self.X), model.classes_.tolist()]
        return seen

    def check(self):
        assert vars(self.model).keys() == self.attributes.keys()
        for name, value in self.attributes.items():
            assert vars(self.model)[name] is value, name
        for now, then in zip(self.look(), self.seen, strict=True):
            np.testing.assert_array_equal(now, then)


@cache
def first_fit(estimator, table):
    return estimator(**OPTIONS).fit(table(), target(estimator))


def fitted(estimator, table):
    """A fitted estimator and its table; a copy that shares nothing but values with the other tests'."""
    return copy.copy(first_fit(estimator, table)), table()


def with_infinity(table):
    X = table(100.0)
    if isinstance(X, pd.DataFrame):
        X.loc[3, "b"] = np.inf
    else:
        X[3, 1] = np.inf
    return X


REFUSED = {
    "target with a gap": lambda e, t: {"y": np.where(np.arange(60) == 3, np.nan, Y) if e is RFMRegressor else Y + 0.5},
    "target of another length": lambda e, t: {"y": target(e)[:-1]},
    "infinity in X": lambda e, t: {"X": with_infinity(t)},
    "no row": lambda e, t: {"X": t()[:0], "y": target(e)[:0]},
    "weights of another shape": lambda e, t: {"sample_weight": np.ones(3)},
    "negative weights": lambda e, t: {"sample_weight": -np.ones(60)},
    "no weight at all": lambda e, t: {"sample_weight": np.zeros(60)},
    "evaluation set of another shape": lambda e, t: {"eval_set": (t()[["a"]] if t is frame else t()[:, :1], target(e))},
    "evaluation set of another length": lambda e, t: {"eval_set": (t(), target(e)[:5])},
    "target of the evaluation set": lambda e, t: {
        "eval_set": (t(), np.full(60, "sideways") if e is RFMClassifier else np.column_stack([Y, Y]))
    },
    "constant table": lambda e, t: {"X": np.full((60, 2), "a")},
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refused_fit_leaves_the_estimator_as_it_was(estimator, table, why):
    model, X = fitted(estimator, table)
    before = Before(model, X)
    arguments = {"X": table(100.0), "y": target(estimator, -Y)} | REFUSED[why](estimator, table)
    with pytest.raises(ValueError, match=r"."):
        model.fit(**arguments)
    before.check()


@pytest.mark.parametrize(
    "bad",
    [
        {"preset": "quick"},
        {"kernel": "cubic"},
        {"update": "magic"},
        {"solver": "qr"},
        {"ridge": -1.0},
        {"n_rounds": -1},
        {"feature_threshold": 2.0},
        {"encoder": "one-hot"},
        {"device": "abacus"},
        {"max_memory": 10},
        {"random_state": -1},
        {"checkpoint": 3},
    ],
    ids=str,
)
def test_a_bad_option_leaves_the_model_as_it_was(estimator, table, bad):
    model, X = fitted(estimator, table)
    model.set_params(**bad)
    before = Before(model, X)
    with pytest.raises(ValueError, match=next(iter(bad))):
        model.fit(table(100.0), target(estimator, -Y))
    before.check()


def test_one_class_only_leaves_the_classifier_as_it_was(table):
    model, X = fitted(RFMClassifier, table)
    before = Before(model, X)
    with pytest.raises(ValueError, match="one class only"):
        model.fit(table(100.0), np.zeros(60))
    with pytest.raises(ValueError, match="one class only"):
        model.fit(table(100.0), target(RFMClassifier), sample_weight=(Y > 0).astype(float))
    before.check()


def test_a_fit_without_the_encoder_it_needs_leaves_the_estimator_as_it_was(estimator):
    """Another table, which the encoder of the user cannot read."""
    model = estimator(encoder=TableEncoder(), **OPTIONS).fit(frame(), target(estimator))
    before = Before(model, frame())
    encoder = model.encoder
    for X in (np.full((60, 4), "a"), frame().assign(a=[[]] * 60)):
        with pytest.raises((ValueError, TypeError)):
            model.fit(X, target(estimator))
    before.check()
    assert model.encoder is encoder
    assert not hasattr(encoder, "columns_"), "the encoder of the user is cloned, not fitted"


STAGES = [
    ("gramian.tables.prepare", "merge_rows"),
    ("gramian.tables.prepare.Scaler", "fit"),
    ("gramian.rfm.training.fit", "make_task_and_plan"),
    ("gramian.rfm.training.fit", "train"),
    ("gramian.rfm.training.train", "draw_splits"),
    ("gramian.rfm.training.train", "screen"),
    ("gramian.rfm.training.train", "compare_on_splits"),
    ("gramian.rfm.training.validation", "race"),
    ("gramian.rfm.training.train", "refit_on_all_rows"),
    ("gramian.rfm.training.train", "select"),
    ("gramian.rfm.training.train.Ensemble", "__init__"),
    ("gramian.rfm.training.train.Evolution", "of"),
    ("gramian.rfm.training.rounds", "solve_round"),
    ("gramian.rfm.training.tuning.LeaveOneOutTuner", "tune"),
    ("gramian.rfm.training.fit.LearnedFeatures", "of"),
    ("gramian.rfm.training.fit.HoldoutPredictions", "__init__"),
]


def owner_of(path):
    """The module or class of a dotted path."""
    *modules, last = path.split(".")
    if last[0].isupper():
        return getattr(importlib.import_module(".".join(modules)), last)
    return importlib.import_module(path)


@pytest.mark.parametrize(("place", "name"), STAGES, ids=lambda part: part.rpartition(".")[2])
def test_an_interrupt_in_any_stage_leaves_the_estimator_as_it_was(estimator, place, name, monkeypatch):
    model, X = fitted(estimator, frame)
    before = Before(model, X)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(owner_of(place), name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(array(100.0), target(estimator, -Y))
    before.check()


@pytest.mark.parametrize(
    ("only", "table", "y", "place"),
    [
        (RFMRegressor, array, np.exp(Y), "gramian.rfm.regressor.choose_scale"),
        (RFMClassifier, frame, target(RFMClassifier, -Y), "gramian.rfm.model.fit_link"),
    ],
    ids=["choice of the target's scale", "calibration"],
)
def test_an_interrupt_in_a_stage_of_one_estimator_leaves_it_as_it_was(only, table, y, place, monkeypatch):
    model, X = fitted(only, table)
    before = Before(model, X)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(table(100.0), y)
    before.check()


def test_a_callback_that_fails_leaves_the_estimator_as_it_was(estimator):
    pytest.importorskip("sklearn.callback")

    class Failing:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("no more")

    model, X = fitted(estimator, array)
    seen = Before(model, X).seen
    model.set_callbacks(Failing())
    value = model.model_
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(array(100.0), target(estimator, -Y))
    assert model.model_ is value
    for now, then in zip(Before(model, X).seen, seen, strict=True):
        np.testing.assert_array_equal(now, then)


def test_a_first_fit_that_is_refused_leaves_nothing(estimator):
    model = estimator(**OPTIONS)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(with_infinity(array), target(estimator))
    assert vars(model) == vars(clone(model))


def test_the_new_model_replaces_the_old_one_completely(estimator):
    model, _ = fitted(estimator, frame)
    old = model.model_
    model.fit(array(), target(estimator, -Y))
    fresh = estimator(**OPTIONS).fit(array(), target(estimator, -Y))
    assert model.model_ is not old
    assert vars(model).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(model.predict(array()), fresh.predict(array()))
    assert model.n_features_in_ == fresh.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")


def test_a_refit_on_top_columns_leaves_the_model_it_comes_from_as_it_was(estimator):
    model, X = fitted(estimator, frame)
    before = Before(model, X)
    small = model.refit_on_top_columns(X, target(estimator), k=2)
    before.check()
    assert small.n_features_in_ == len(small.selected_columns_) == 2
    assert not hasattr(small.fit(X, target(estimator)), "selected_columns_")
