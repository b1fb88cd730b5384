"""Predictions for held-out rows are those of models that were not fitted to these rows."""

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Gaussian
from gramian.rfm.uncertainty.holdout import leave_one_out
from gramian.tables.scaling import Scaler
from small_training import exact_machine, make_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = X[:, 0] + 0.5 * RNG.normal(size=400)


def test_intervals_of_a_thresholded_machine_are_its_own():
    options = {"kernel": "laplace", "update": "agop", "n_rounds": 1}
    model = RFMRegressor(feature_threshold=0.3, **options).fit(X[:80], Y[:80])
    assert model.model_.holdout.source == "leave-one-out"
    low, high = model.predict_interval(X[80:], coverage=0.9).T
    assert 0.8 < np.mean((low <= Y[80:]) & (Y[80:] <= high)) < 0.98


def test_a_threshold_works_where_no_features_were_learned():
    model = RFMRegressor(kernel="laplace", n_rounds=0, feature_threshold=0.3).fit(X[:80], Y[:80])
    assert model.support_.tolist() == [True, False, False, False]


def test_left_out_outputs_are_those_of_a_fit_without_the_row():
    options = {"kernel": "laplace", "n_rounds": 0, "ridge": 0.1, "standardize": False, "fit_intercept": False}
    model = RFMRegressor(**options).set_params(kernel__bandwidth=2.0).fit(X[:30], Y[:30])
    held_out = leave_one_out(model.machine_, model.ridge_, model.model_.target_scaler)
    brute = {}
    for i in range(30):
        keep = np.arange(30) != i
        fitted = RFMRegressor(**options).set_params(kernel__bandwidth=2.0).fit(X[:30][keep], Y[:30][keep])
        brute[round(Y[i], 9)] = float(fitted.predict(X[i : i + 1])[0])
    for target, output in zip(held_out.targets[:, 0], held_out.outputs[:, 0], strict=True):
        assert output == pytest.approx(brute[round(target, 9)], abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_of_a_machine_is_a_machine_without_the_row(weighted):
    data = make_rows(25, weighted=weighted)
    machine, _ = exact_machine(data, Gaussian(1.5), 0.1)
    found = leave_one_out(machine, 0.1, Scaler(np.zeros(1), np.ones(1)))
    assert found.source == "leave-one-out"
    for target, output, weight in zip(found.targets[:, 0], found.outputs[:, 0], found.weights, strict=True):
        at = int((data.Y[:, 0] - target).abs().argmin())
        rest = torch.arange(25) != at
        alone, _ = exact_machine(data[rest], Gaussian(1.5), 0.1)
        assert output == pytest.approx(float(alone.predict(data.X[at : at + 1])), abs=1e-8)
        assert weight == pytest.approx(1.0 if data.weights is None else float(data.weights[at]))


def test_leave_one_out_of_many_rows_uses_a_part_that_fits_into_memory(monkeypatch):
    monkeypatch.setattr("gramian.rfm.uncertainty.holdout._LEFT_OUT_ROWS", 10)
    monkeypatch.setattr("gramian.rfm.uncertainty.holdout._SYSTEM_ROWS", 40)
    data = make_rows(60)
    machine, _ = exact_machine(data, Gaussian(1.5), 0.1)
    found = leave_one_out(machine, 0.1, Scaler(np.zeros(1), np.ones(1)))
    assert len(found.outputs) == 10
    assert set(np.round(found.targets[:, 0], 8)) <= set(np.round(data.Y[:, 0].numpy(), 8))


@pytest.mark.parametrize(("n_rounds", "source"), [(1, "folds"), (0, "leave-one-out")])
def test_the_weights_are_those_of_rows_as_they_occur(n_rounds, source):
    """Class weights change the fit, and not the rows that coverage and losses refer to."""
    options = {"kernel": Gaussian(2.0), "update": "agop", "ridge": 0.1, "n_rounds": n_rounds}
    model = RFMClassifier(class_weight={0: 1.0, 1: 50.0}, **options).fit(X[:60], (Y[:60] > 0).astype(int)).model_
    assert model.holdout.source == source
    np.testing.assert_allclose(model.holdout.weights, np.ones(60))
