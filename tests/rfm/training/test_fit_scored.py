"""Columns with long tails: the kernel of normal scores competes by default, and only there."""

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor, load
from gramian.core.rows import MemoryRows, Rows
from gramian.kernels import ScoredLp
from gramian.rfm.options import preset
from gramian.rfm.training.fit import fit_kernels
from gramian.solvers import Nystrom


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = np.exp(2 * rng.normal(size=(n, 3)))
    return X, np.log(X[:, 0]) + np.sin(np.log(X[:, 1]))


@pytest.fixture(scope="module")
def fitted():
    return RFMRegressor(preset="default", n_rounds=1).fit(*table(150, 0))


def kernels(model):
    return [type(machine.kernel) for machine in model.model_.ensemble.machines]


def test_the_default_selects_scores_for_long_tails(fitted):
    assert ScoredLp in kernels(fitted)
    X, y = table(100, 1)
    plain = RFMRegressor(kernel="laplace", n_rounds=1).fit(*table(150, 0))
    assert 1 - fitted.score(X, y) < 0.5 * (1 - plain.score(X, y))


def test_a_table_without_long_tails_has_the_other_candidates_only():
    X = torch.randn(200, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    others = preset("default").kernels[:3]
    found = {
        name: fit_kernels(preset("default").kernels, MemoryRows(Rows(rows, X)), 0)
        for name, rows in (("even", X), ("long", X.exp()))
    }
    assert found["even"] == others
    assert [type(kernel) for kernel in found["long"]] == [*map(type, others), ScoredLp]


def test_a_saved_model_predicts_and_explains_the_same(fitted, tmp_path):
    X, _ = table(20, 2)
    fitted.save(tmp_path / "model.gramian")
    again = load(tmp_path / "model.gramian")
    assert np.array_equal(again.predict(X), fitted.predict(X))
    explanation = again.explain(X[:1])
    assert abs(explanation.gap) < 0.01 * abs(explanation.contributions).max()


def test_scores_of_some_rows_do_not_depend_on_the_unit(fitted):
    X, y = table(150, 0)
    other = RFMRegressor(preset="default", n_rounds=1).fit(X * np.array([1e3, 1e-3, 7.0]), y)
    new, _ = table(30, 3)
    np.testing.assert_allclose(other.predict(new * np.array([1e3, 1e-3, 7.0])), fitted.predict(new), rtol=1e-5)


def test_the_kernel_can_be_asked_for_by_name():
    X, y = table(80, 0)
    model = RFMClassifier(kernel="scored-lp", n_rounds=1).fit(X, y > 0)
    assert kernels(model) == [ScoredLp]
    assert model.score(X, y > 0) > 0.9


def test_importances_and_the_agop_are_those_of_the_logarithm(fitted):
    """At training rows, where all values are knots of the scores."""
    X, y = table(150, 0)
    expected = RFMRegressor(kernel="lp", n_rounds=1).fit(np.log(X), y).feature_importances_
    shares = fitted.feature_importances_
    np.testing.assert_allclose(shares, expected, atol=0.1)
    assert shares[2] < 0.05
    np.testing.assert_allclose(fitted.summary().shares[0], shares.max(), rtol=1e-6)
    assert np.abs(fitted.gradients(X)).min(axis=0).max() > 0


def test_learned_coordinates_are_of_scores(fitted):
    X, _ = table(150, 0)
    Z = fitted.transform(X)
    M, coordinates = fitted.feature_matrix_, fitted.model_.metric_coordinates(X)
    gap = coordinates[0] - coordinates[1]
    np.testing.assert_allclose(((Z[0] - Z[1]) ** 2).sum(), gap @ M @ gap, rtol=1e-6)
    assert np.abs(coordinates).max() < 4  # normal scores, not standard deviations


@pytest.mark.parametrize("solver", ["auto", Nystrom(centers=60)])
def test_columns_that_a_threshold_selects_keep_their_own_scores(solver):
    X, y = table(150, 0)
    X = np.column_stack([np.random.default_rng(1).normal(size=150), X])
    model = RFMRegressor(kernel="scored-lp", n_rounds=1, feature_threshold=0.05, solver=solver).fit(X, y)
    assert not model.support_[0]
    new, truth = table(100, 1)
    new = np.column_stack([np.random.default_rng(2).normal(size=100), new])
    assert model.score(new, truth) > 0.8


def test_a_crowded_column_is_held_in_float64():
    X, y = table(600, 0)
    X[3, 0] = 1e10
    model = RFMRegressor(kernel="scored-lp", n_rounds=0).fit(X, y)
    assert model.machine_.X.dtype == torch.float64
    assert model.score(*table(200, 1)) > 0.8
