"""Predictions for held-out rows are those of models that were not fitted to these rows."""

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.rfm.uncertainty.holdout import leave_one_out

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
