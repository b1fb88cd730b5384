"""Refits on parts of the training rows."""

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor
from gramian.core.rows import Rows
from gramian.kernels import Laplace
from gramian.rfm.explain.refits import refit_on_parts, shares, why_no_refits
from gramian.rfm.explain.training_rows import SolvedRows

FIXED = {
    "preset": "fast",
    "kernel": Laplace(3.0),
    "update": "agop",
    "n_rounds": 1,
    "ridge": 0.1,
    "select_round": "last",
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    return X, X[:, 0] + X[:, 1] ** 2


def test_a_refit_on_all_rows_would_be_the_fit(data, monkeypatch):
    """With every row in each refit, shares are those of the model: the rounds are repeated as they were."""
    from gramian.rfm.explain import refits

    X, y = data
    model = RFMRegressor(**FIXED, dtype="float64").fit(X, y).model_
    solved = SolvedRows.of(model)
    rows = Rows(model.machine.X[solved.at], solved.Y, solved.weights)
    machine = refits._refit(model.ensemble.members[0], rows, model)
    torch.testing.assert_close(machine.coef, model.machine.coef, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(machine.metric.matrix(), model.machine.metric.matrix(), rtol=1e-6, atol=1e-8)


def test_a_ridge_per_row_is_that_of_the_rows_of_the_refit(data):
    """``K + mλI`` on m rows: half of them are refitted as an estimator of the same ridge fits them."""
    from gramian.rfm.explain import refits

    X, y = data
    options = {**FIXED, "ridge": 1e-3, "n_rounds": 0, "dtype": "float64"}
    model = RFMRegressor(**options, ridge_scaling="n").fit(X, y).model_
    solved = SolvedRows.of(model)
    rows = Rows(model.machine.X[solved.at], solved.Y, solved.weights)[torch.arange(50)]
    machine = refits._refit(model.ensemble.members[0], rows, model)
    left = rows.Y - machine.operator.matmul(machine.coef)
    torch.testing.assert_close(left, 1e-3 * 50 * machine.coef, rtol=1e-6, atol=1e-8)


def test_weights_are_those_of_the_fit(data):
    X, y = data
    weights = np.random.default_rng(1).uniform(0.5, 2, size=100)
    model = RFMRegressor(**FIXED).fit(X, y, sample_weight=weights).model_
    found = refit_on_parts(model, 3, [0, 1, 2], (), seed=0)
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)
    assert found.fitted_rows == 80
    assert found.held_out_rows == 20
    assert found.widening == pytest.approx(2 * 80 / 20)


def test_members_are_drawn_by_their_shares(data):
    X, y = data
    model = RFMClassifier(random_state=0).fit(X, y > 1).model_
    found = refit_on_parts(model, 12, [], (), seed=0)
    assert found.member_shares.shape == (len(model.ensemble.members), 3)
    assert set(found.members.tolist()) <= set(range(len(model.ensemble.members)))
    assert found.weights.sum() == pytest.approx(1)
    assert np.isnan(found.drops).all()


def test_a_bagged_member_has_the_shares_of_the_average(data):
    X, y = data
    model = RFMRegressor(kernel=Laplace(3.0), n_rounds=1, bagging=True, ridge=0.1).fit(X, y).model_
    assert len(model.ensemble.machines) > len(model.ensemble.members)
    found = refit_on_parts(model, 2, [], (), seed=0)
    np.testing.assert_allclose(found.member_shares, np.tile(found.member_shares[0], (len(found.weights), 1)))


def test_a_saved_model_is_refitted_alike(data, tmp_path):
    import gramian

    X, y = data
    model = RFMRegressor(**FIXED).fit(X, y)
    model.save(tmp_path / "m.gramian")
    loaded = gramian.load(tmp_path / "m.gramian")
    np.testing.assert_array_equal(loaded.importances().high, model.importances().high)


class TestReasons:
    def test_columns_removed_by_a_threshold(self, data):
        X, y = data
        model = RFMRegressor(**FIXED, feature_threshold=0.2).fit(X, y).model_
        assert why_no_refits(model) == "it holds no record of how its rounds are repeated"

    def test_approximate_solvers(self, data):
        X, y = data
        model = RFMRegressor(**FIXED, solver="nystrom").fit(X, y).model_
        assert "Nystrom" in why_no_refits(model)

    def test_many_columns(self):
        X = np.random.default_rng(0).normal(size=(30, 301))
        model = RFMRegressor(**FIXED | {"n_rounds": 0}).fit(X, X[:, 0]).model_
        assert why_no_refits(model) == "it has more than 300 encoded columns, and refits would take long"


def test_shares_of_nothing_are_equal():
    np.testing.assert_array_equal(shares(np.zeros((2, 4))), np.full((2, 4), 0.25))
