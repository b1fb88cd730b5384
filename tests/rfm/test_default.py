"""What somebody with a table relies on: the default is indifferent to units, containers and seeds."""

import numpy as np
import pandas as pd
import pytest
from gramian.rfm.presets import BY_NAME
from sklearn.datasets import load_breast_cancer, load_diabetes

from gramian import RFMClassifier, RFMRegressor
from gramian.features import Agop
from gramian.tables import TableEncoder

N = 160


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(N, 2))
    frame = pd.DataFrame({"size": numbers[:, 0], "weight": numbers[:, 1]})
    frame["shop"] = rng.choice(["east", "north", "west"], N)
    frame["rating"] = np.where(rng.random(N) < 0.2, np.nan, rng.integers(1, 6, N))
    frame["open"] = rng.random(N) < 0.5
    y = 2 * frame["size"] + (frame["shop"] == "west") + 0.1 * rng.normal(size=N)
    return frame, y.to_numpy()


def test_offset_of_the_target_and_scale_of_a_column_change_nothing(frame):
    X, y = frame
    plain = RFMRegressor(preset="fast").fit(X[:120], y[:120]).predict(X[120:])
    far = RFMRegressor(preset="fast").fit(X[:120], y[:120] + 1e6).predict(X[120:])
    np.testing.assert_allclose(far - 1e6, plain, atol=1e-6)
    wide = X.assign(weight=X["weight"] * 1e6)
    np.testing.assert_allclose(
        RFMRegressor(preset="fast").fit(wide[:120], y[:120]).predict(wide[120:]), plain, atol=1e-8
    )


@pytest.mark.parametrize("task", ["numbers", "labels"])
def test_pandas_polars_and_numpy_give_the_same_predictions(frame, task):
    polars = pytest.importorskip("polars")
    X, y = frame
    model = RFMRegressor(preset="fast") if task == "numbers" else RFMClassifier(preset="fast")
    if task == "labels":
        y = np.where(y > 0, "high", "low")
    expected = model.fit(X[:120], y[:120]).predict(X[120:])
    other = polars.DataFrame({name: X[name].tolist() for name in X}, nan_to_null=True)
    assert (model.fit(other[:120], polars.Series(y[:120].tolist())).predict(other[120:]) == expected).all()
    objects = X.astype(object).to_numpy()
    assert (model.fit(objects[:120], y[:120]).predict(objects[120:]) == expected).all()


def test_seeds_spread_little():
    X, y = load_diabetes(return_X_y=True)
    scores = [RFMRegressor(random_state=seed).fit(X[:150], y[:150]).score(X[150:], y[150:]) for seed in range(10)]
    assert np.ptp(scores) < 0.06
    assert np.mean(scores) > 0.4


def test_several_kinds_of_machines_may_predict_together_and_shares_add_up():
    X, y = load_breast_cancer(return_X_y=True)
    model = RFMClassifier().fit(X[:200], y[:200])
    assert sum(model.blend_.shares) == pytest.approx(1)
    assert len(model.blend_.machines) <= BY_NAME["default"].max_machines
    assert model.machine_ is model.blend_.machines[0]
    parts = model._row_parts_at(model._scaled(X[200:205]))
    outputs = parts.sum(axis=1) + model._target_scaler.center
    np.testing.assert_allclose(outputs[:, 0], model.decision_function(X[200:205]), atol=1e-8)


def test_jobs_change_nothing(frame):
    X, y = frame
    one = RFMRegressor(preset="fast").fit(X, y)
    two = RFMRegressor(preset="fast", n_jobs=2).fit(X, y)
    assert (one.predict(X) == two.predict(X)).all()


def test_bagging_lets_the_machines_of_the_folds_predict_too(frame):
    X, y = frame
    model = RFMRegressor(preset="fast", kernel="laplace", update="agop", bagging=True).fit(X[:120], y[:120])
    assert len(model.blend_.machines) == 6
    assert model.score(X[120:], y[120:]) > 0.9
    alone = model.blend_.machines[1]
    assert int((alone.coef == 0).all(dim=1).sum()) == 24, "a fifth of the rows was not seen"


def test_a_time_limit_ends_the_fit_with_what_is_finished(frame):
    X, y = frame
    with pytest.warns(UserWarning, match=r"time_limit=1e-09: 1 of 5 kinds of machines, 1 rounds of the last"):
        model = RFMRegressor(time_limit=1e-9).fit(X, y)
    assert len(model.rounds_) == 1
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="time_limit must be a positive number"):
        RFMRegressor(time_limit=0).fit(X, y)


def test_names_of_presets_are_listed(frame):
    with pytest.raises(ValueError, match="'fast', 'default', 'best'"):
        RFMRegressor(preset="quick").fit(*frame)


def test_skewed_targets_are_fitted_on_another_scale_only_where_it_helps():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = np.exp(2 * X[:, 0] + 0.3 * rng.normal(size=300))
    model = RFMRegressor(preset="fast").fit(X[:200], y[:200])
    plain = RFMRegressor(preset="fast", target_transform=None).fit(X[:200], y[:200])
    assert model.target_transform_.name == "shifted-log"
    assert plain.target_transform_.name == "none"

    def miss(fitted):
        return np.median(np.abs(np.log(np.maximum(fitted.predict(X[200:]), 1e-3) / y[200:])))

    assert miss(model) < miss(plain)
    low, high = model.predict_interval(X[200:], coverage=0.9).T
    assert 0.8 < np.mean((low <= y[200:]) & (y[200:] <= high)) <= 1
    assert RFMRegressor(preset="fast").fit(X[:200], X[:200, 0]).target_transform_.name == "none"
    with pytest.raises(ValueError, match="needs a positive target"):
        RFMRegressor(target_transform="log").fit(X, X[:, 0])


def test_balanced_weights_raise_the_rare_class():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 1.8).astype(int)
    plain = RFMClassifier(preset="fast").fit(X, y)
    balanced = RFMClassifier(preset="fast", class_weight="balanced").fit(X, y)
    assert balanced.predict(X).mean() > plain.predict(X).mean()
    with pytest.raises(ValueError, match="class_weight must be"):
        RFMClassifier(class_weight="fair").fit(X, y)


def test_prediction_sets_cover_and_shrink_with_less_coverage():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 2))
    y = rng.binomial(1, 1 / (1 + np.exp(-2 * X[:, 0])))
    model = RFMClassifier(preset="fast").fit(X[:250], y[:250])
    wide, narrow = (model.predict_set(X[250:], coverage) for coverage in (0.95, 0.7))
    assert (narrow <= wide).all()
    assert wide[np.arange(250), y[250:]].mean() > 0.9
    assert 0.6 < narrow[np.arange(250), y[250:]].mean() < 0.8
    losses = model.held_out_losses_
    assert losses["log_loss"] < np.log(2)
    assert losses["calibration_error"] < 0.15
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        model.predict_set(X, 95)


def test_an_encoder_of_ones_own_is_used(frame):
    X, y = frame
    model = RFMRegressor(preset="fast", encoder=TableEncoder(rank_gauss=True)).fit(X[["size", "weight"]], y)
    assert len(model.encoder_.get_feature_names_out()) == 4
    assert len(model.feature_importances_) == 2
    with pytest.raises(ValueError, match='encoder must be "auto" or a TableEncoder'):
        RFMRegressor(encoder="one-hot").fit(X, y)


def test_shrinking_keeps_the_trace_and_fills_the_rest(frame):
    X, y = frame
    options = {"kernel": "laplace", "n_rounds": 1, "select_round": "last", "ridge": 1e-2}
    sharp = RFMRegressor(update=Agop(scale="trace"), **options).fit(X, y).feature_matrix_
    soft = RFMRegressor(update=Agop(scale="trace", shrink=0.5), **options).fit(X, y).feature_matrix_
    np.testing.assert_allclose(soft, 0.5 * sharp + 0.5 * np.eye(len(sharp)) / len(sharp), atol=1e-12)
