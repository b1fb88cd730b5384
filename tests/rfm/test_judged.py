"""Probabilities, intervals and sets rest on rows the model that predicts had not seen, counted as they come."""

import numpy as np
import pytest
from gramian.rfm.calibration import fit_temperature
from gramian.rfm.conformal import conformal_quantile
from gramian.rfm.judged import leave_one_out
from gramian.rfm.targets import TargetTransform, choose_transform

from gramian import RFMClassifier, RFMRegressor
from gramian.tables import TableEncoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = X[:, 0] + 0.5 * RNG.normal(size=400)
LABELS = (Y > 0).astype(int)


def test_intervals_of_a_thresholded_machine_are_its_own():
    model = RFMRegressor(kernel="laplace", update="agop", n_rounds=1, threshold=0.3).fit(X[:80], Y[:80])
    assert model._judged().how == "leave-one-out"
    low, high = model.predict_interval(X[80:], coverage=0.9).T
    assert 0.8 < np.mean((low <= Y[80:]) & (Y[80:] <= high)) < 0.98


def test_a_threshold_works_where_no_features_were_learned():
    model = RFMRegressor(kernel="laplace", n_rounds=0, threshold=0.3).fit(X[:80], Y[:80])
    assert model.support_.tolist() == [True, False, False, False]


def test_left_out_outputs_are_those_of_a_fit_without_the_row():
    options = {"kernel": "laplace", "n_rounds": 0, "ridge": 0.1, "standardize": False, "fit_intercept": False}
    model = RFMRegressor(**options).set_params(kernel__bandwidth=2.0).fit(X[:30], Y[:30])
    judged = leave_one_out(model.machine_, model.ridge_, model._target_scaler)
    brute = {}
    for i in range(30):
        keep = np.arange(30) != i
        fitted = RFMRegressor(**options).set_params(kernel__bandwidth=2.0).fit(X[:30][keep], Y[:30][keep])
        brute[round(Y[i], 9)] = float(fitted.predict(X[i : i + 1])[0])
    for target, output in zip(judged.targets[:, 0], judged.outputs[:, 0], strict=True):
        assert output == pytest.approx(brute[round(target, 9)], abs=1e-8)


def test_the_unit_of_weights_does_not_matter():
    plain = RFMClassifier(preset="fast").fit(X[:100], LABELS[:100])
    small = RFMClassifier(preset="fast").fit(X[:100], LABELS[:100], sample_weight=np.full(100, 0.01))
    assert small.temperature_ == pytest.approx(plain.temperature_, rel=0.05)
    scores, labels = RNG.normal(size=(50, 1)), RNG.integers(0, 2, 50)
    assert fit_temperature(scores, labels, np.full(50, 7.0)) == fit_temperature(scores, labels, np.ones(50))


def test_class_weights_do_not_change_what_a_set_covers():
    model = RFMClassifier(preset="fast", class_weight={0: 1, 1: 50}).fit(X[:200], LABELS[:200])
    sets = model.predict_set(X[200:], coverage=0.8)
    assert 0.7 < sets[np.arange(200), LABELS[200:]].mean() <= 0.95


def test_the_conformal_quantile_counts_the_new_row():
    scores = RNG.normal(size=99)
    assert conformal_quantile(scores, np.ones(99), 0.9) == np.sort(scores)[89]
    assert conformal_quantile(np.repeat(scores, 2), np.ones(198), 0.9) == pytest.approx(
        conformal_quantile(scores, np.full(99, 2.0), 0.9), abs=0.2
    )


@pytest.mark.parametrize("name", ["log", "shifted-log"])
def test_transforms_invert_and_do_not_run_away(name):
    y = np.exp(2 * RNG.normal(size=200))
    to = TargetTransform.learn(name, y)
    np.testing.assert_allclose(to.undo(to.apply(y)), y, rtol=1e-10)
    assert to.undo(np.array([1e9]))[0] == y.max() + 0.5 * np.ptp(y)
    assert np.isinf(to.undo(np.array([np.inf]), clip=False)[0])
    order = np.argsort(y)
    assert (np.diff(to.apply(y)[order]) >= 0).all()


def test_the_automatic_transform_does_not_mind_offset_unit_or_direction():
    y = np.exp(2 * X[:, 0])
    weights = np.ones(400)
    reference = choose_transform(X, y, weights, seed=0)
    assert reference.name == "shifted-log"
    for other, back in ((y + 1e6, lambda t: t - 1e6), (1e-3 * y, lambda t: 1e3 * t), (-y, lambda t: -t)):
        to = choose_transform(X, other, weights, seed=0)
        assert to.name == reference.name
        np.testing.assert_allclose(back(to.undo(to.apply(other))), y, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(choose_transform(X, -y, weights, 0).apply(-y), -reference.apply(y), atol=1e-9)


def test_targets_that_cannot_be_transformed_are_refused_in_words():
    two = np.column_stack([np.exp(Y), np.exp(-Y)])
    with pytest.raises(ValueError, match="takes a single target"):
        RFMRegressor(target_transform="shifted-log").fit(X, two)
    made = RFMRegressor(target_transform="log", preset="fast").fit(X[:60], two[:60])
    assert (made.predict(X[:5]) > 0).all()
    with pytest.raises(ValueError, match="fitted as a logarithm"):
        RFMRegressor(target_transform="log").fit(X[:60], two[:60, 0], eval_set=(X[60:70], -two[60:70, 0]))


def test_a_failed_fit_leaves_the_classes_as_they_were():
    model = RFMClassifier(preset="fast").fit(X[:60], LABELS[:60])
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X[:60], np.zeros(60))
    assert len(model.predict(X[60:65])) == 5


def test_options_of_an_encoder_can_be_set():
    model = RFMRegressor(encoder=TableEncoder()).set_params(encoder__max_categories=5)
    assert model.encoder.max_categories == 5
    assert model.set_params(**model.get_params()).encoder.max_categories == 5


def test_a_chosen_ridge_is_the_one_that_was_added(monkeypatch):
    monkeypatch.setattr("gramian.rfm.selection._SCOUT_ROWS", 40)
    options = {"kernel": "laplace", "update": "agop", "n_rounds": 1, "ridge": 0.01, "ridge_scaling": "n"}
    model = RFMRegressor(**options).fit(X[:120], Y[:120])
    machine = model.machine_
    left = model._target_scaler.apply(Y[model.row_index_][:, None]) - machine.operator.matmul(machine.coef).numpy()
    np.testing.assert_allclose(left, model.ridge_ * machine.coef.numpy(), atol=1e-8)
    assert model.ridge_ == pytest.approx(1.2)
