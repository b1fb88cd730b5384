"""Fitted attributes and parameters of an estimator have one writer, and refused changes leave no trace."""

import warnings

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.rfm.training import context, plan
from gramian.tables import TableEncoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2]
QUICK = {"kernel": "laplace", "update": "agop", "n_rounds": 1, "select_round": "last"}


@pytest.fixture(scope="module")
def model():
    return RFMRegressor(**QUICK).fit(X, Y)


def test_coefficients_are_copies_of_those_of_the_model(model):
    before = model.predict(X)
    model.dual_coef_[:] = 0
    model.X_fit_[:] = 0
    assert np.array_equal(model.predict(X), before)
    K = model.kernel_(model.machine_.X, metric=model.machine_.metric).numpy()
    scaler = model.model_.target_scaler
    rebuilt = K @ model.dual_coef_ * scaler.scale[0] + scaler.center[0]
    assert np.allclose(rebuilt, model.predict(X)[model.row_index_])


def test_fitted_attributes_cannot_be_set(model):
    with pytest.raises(AttributeError, match="model_"):
        model.ridge_ = 5.0
    assert model.ridge_ == model.model_.history.ridge


def test_refused_options_leave_all_parameters_as_they_were():
    estimator = RFMRegressor()
    with pytest.raises(ValueError, match="no option 'foo'"):
        estimator.set_params(ridge=3.0, kernel__foo=1)
    assert estimator.ridge == "auto"
    assert estimator.kernel == "auto"


def test_options_of_an_automatic_encoder_are_those_of_a_table_encoder():
    estimator = RFMRegressor().set_params(encoder__rank_gauss=True)
    assert isinstance(estimator.encoder, TableEncoder)
    assert estimator.encoder.rank_gauss
    own = TableEncoder()
    assert RFMRegressor(encoder=own).set_params(encoder__rank_gauss=True).encoder is not own
    assert not own.rank_gauss


def test_a_refit_on_few_columns_takes_an_evaluation_set_of_all_columns(model):
    small = model.refit_on_top_columns(X, Y, 2, eval_set=(X[:20], Y[:20]))
    assert small.model_.holdout.source == "evaluation set"
    assert small.n_features_in_ == 2
    with pytest.raises(ValueError, match="the 4 columns of the training table"):
        model.refit_on_top_columns(X[:, :2], Y, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"standardize": "no"}, "standardize must be True or False"),
        ({"fit_intercept": 2}, "fit_intercept must be True or False"),
        ({"n_rounds": True}, "n_rounds must be"),
        ({"n_jobs": 1.5}, "n_jobs must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"checkpoint": ""}, "checkpoint must be the path of a folder"),
    ],
)
def test_values_of_the_wrong_type_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        RFMRegressor(**options).fit(X, Y)


def test_errors_of_an_evaluation_set_name_it_and_labels_are_plain():
    with pytest.raises(ValueError, match="eval_set: X has 2 features"):
        RFMRegressor(**QUICK).fit(X, Y, eval_set=(X[:5, :2], Y[:5]))
    with pytest.raises(ValueError, match=r"one class only \(True\)"):
        RFMClassifier(**QUICK).fit(X, np.ones(60, dtype=bool))


class Killed(Exception):
    """Ends a fit as a crash would."""


def killed_after(monkeypatch, stores):
    """Let a fit end after ``stores`` files of its checkpoint."""
    original, count = context.write, []

    def write(*args):
        original(*args)
        count.append(1)
        if len(count) == stores:
            raise Killed

    monkeypatch.setattr(context, "write", write)


def test_a_checkpoint_of_another_plan_is_not_used(tmp_path, monkeypatch):
    """Another plan draws other rows, and coefficients must not be put on them."""
    options = {**QUICK, "select_round": "best", "checkpoint": tmp_path}
    fresh = RFMRegressor(**{**options, "checkpoint": None}).fit(X, Y)
    with monkeypatch.context() as patched:
        patched.setattr(plan, "SCREEN_ROWS", 40)
        killed_after(patched, 2)
        with pytest.raises(Killed):
            RFMRegressor(**options).fit(X, Y)
    resumed = RFMRegressor(**options).fit(X, Y)
    assert [record.score for record in resumed.rounds_] == [record.score for record in fresh.rounds_]
    assert np.array_equal(resumed.predict(X), fresh.predict(X))


def test_splits_of_a_screening_that_a_callback_ended_are_not_stored(tmp_path, monkeypatch):
    options = {"preset": "fast", "n_rounds": 1, "checkpoint": tmp_path}
    fresh = RFMRegressor(**{**options, "checkpoint": None}).fit(X, Y)
    with monkeypatch.context() as patched:
        patched.setattr(context.FitObserver, "after_round", lambda self, candidate, steps: len(steps) == 2)
        patched.setattr(context.Checkpoint, "close", lambda self: None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            RFMRegressor(**options).fit(X, Y)
    assert not list(tmp_path.rglob("split-*"))
    assert np.array_equal(RFMRegressor(**options).fit(X, Y).predict(X), fresh.predict(X))
