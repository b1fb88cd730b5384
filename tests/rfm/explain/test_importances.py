"""Importances with intervals: shares of the AGOP, resampled over rows, folded to the user's columns."""

from dataclasses import replace

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Gaussian, Laplace, Polynomial
from gramian.rfm.explain import feature_importances, importances, squared_gradients, top_columns
from gramian.rfm.model import Ensemble

QUICK = {"preset": "fast", "n_rounds": 1, "select_round": "last", "update": "agop", "ridge": 1e-2, "dtype": "float64"}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    return X, 2 * X[:, 1] + np.sin(2 * X[:, 3]), rng.integers(1, 4, size=90).astype(float)


@pytest.fixture(scope="module")
def model(data):
    X, y, weights = data
    return RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(X, y, sample_weight=weights)


def test_shares_are_the_diagonal_of_the_agop(data, model):
    X, y, _ = data
    three = RFMClassifier(kernel=Laplace(3.0), **QUICK).fit(X, np.digitize(y, [-1, 1]))
    many = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(X, np.stack([y, 100 * X[:, 0]], axis=1))
    for fitted in (model, three, many):
        np.testing.assert_allclose(fitted.importances().shares, fitted.feature_importances_, rtol=1e-9)


def test_an_ensemble_has_shares_of_its_own_agop(data):
    X, y, _ = data
    one, other = (RFMRegressor(kernel=kernel, **QUICK).fit(X, y).model_ for kernel in (Laplace(3.0), Gaussian(3.0)))
    average = replace(one, ensemble=Ensemble((one.machine, other.machine), (0.5, 0.5)))
    np.testing.assert_allclose(importances(average).shares, feature_importances(average), rtol=1e-9)


def test_intervals_equal_a_naive_bootstrap(model):
    found = model.importances(n_bootstrap=4000, level=0.8)
    squares = squared_gradients(model.model_)
    rng = np.random.default_rng(1)
    naive = []
    for _ in range(4000):
        total = squares[rng.integers(len(squares), size=len(squares))].sum(axis=0)
        naive.append(total / total.sum())
    low, high = np.quantile(naive, [0.1, 0.9], axis=0)
    width = (high - low).max()
    np.testing.assert_allclose(found.low, low, atol=0.06 * width)
    np.testing.assert_allclose(found.high, high, atol=0.06 * width)


def test_a_wider_level_contains_a_narrower_one_and_the_seed_fixes_both(model):
    narrow, wide = model.importances(level=0.5), model.importances(level=0.95)
    assert (wide.low <= narrow.low).all()
    assert (narrow.high <= wide.high).all()
    assert wide.shares.sum() == pytest.approx(1)
    np.testing.assert_array_equal(model.importances().low, model.importances().low)
    assert (model.importances(random_state=1).low != model.importances().low).any()


def test_a_constant_gradient_has_no_uncertainty(data):
    X, y, _ = data
    found = RFMRegressor(kernel=Polynomial(1), **QUICK | {"n_rounds": 0}).fit(X, y).importances()
    np.testing.assert_allclose(found.high - found.low, 0, atol=1e-12)


def test_columns_are_ordered_and_named(data):
    pd = pytest.importorskip("pandas")
    X, y, _ = data
    model = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(pd.DataFrame(X, columns=list("abcd")), y)
    found = model.importances()
    table = found.to_pandas()
    assert table.index.tolist()[:2] == ["b", "d"]
    assert table["share"].is_monotonic_decreasing
    assert (table["low"] <= table["high"]).all()
    text = str(found)
    assert text.index("\nb ") < text.index("\nd ")
    assert "share of sensitivity" in text


def test_a_constant_function_has_equal_shares(data):
    X, _, _ = data
    found = (
        RFMRegressor(preset="fast", kernel=Laplace(3.0), n_rounds=0, ridge=1.0).fit(X, np.ones(len(X))).importances()
    )
    np.testing.assert_allclose(found.shares, 0.25)
    assert "25.0%" in str(found)


def test_columns_below_the_feature_threshold_have_no_share(data):
    X, y, _ = data
    model = RFMRegressor(kernel=Laplace(3.0), feature_threshold=0.2, **QUICK).fit(X, y)
    assert 0 < model.support_.sum() < 4
    found = model.importances()
    assert not found.shares[~model.support_].any()
    assert not found.high[~model.support_].any()


@pytest.mark.parametrize(
    ("options", "words"),
    [({"n_bootstrap": 0}, "n_bootstrap must be a positive integer"), ({"level": 90}, "level must be between 0 and 1")],
)
def test_bad_arguments_are_named(model, options, words):
    with pytest.raises(ValueError, match=words):
        model.importances(**options)


class TestTopColumns:
    def test_they_are_in_the_order_of_the_table(self, model):
        assert [sorted(model.importances().order[:k]) for k in (1, 2, 3, 4)] == [
            top_columns(model.model_, k) for k in (1, 2, 3, 4)
        ]

    def test_a_refit_uses_the_most_important_columns(self, data, model):
        X, y, _ = data
        small = model.refit_on_top_columns(X, y, k=2)
        assert small.selected_columns_ == ("x1", "x3")
        expected = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(X[:, [1, 3]], y)
        np.testing.assert_array_equal(small.predict(X[:5, [1, 3]]), expected.predict(X[:5, [1, 3]]))

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames_keep_their_column_names(self, data, library):
        frames = pytest.importorskip(library)
        X, y, _ = data
        frame = frames.DataFrame({name: X[:, j] for j, name in enumerate("abcd")})
        small = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(frame, y).refit_on_top_columns(frame, y, k=2)
        assert small.selected_columns_ == ("b", "d")
        assert small.feature_names_in_.tolist() == ["b", "d"]

    def test_weights_reach_the_fit(self, data, model):
        X, y, weights = data
        weighted, plain = (
            model.refit_on_top_columns(X, y, 2, sample_weight=weights),
            model.refit_on_top_columns(X, y, 2),
        )
        assert weighted.machine_.weights is not None
        assert plain.machine_.weights is None

    def test_k_is_checked(self, data, model):
        X, y, _ = data
        for k in (0, 5):
            with pytest.raises(ValueError, match=f"k must be a number of columns, 1 to 4, got {k}"):
                model.refit_on_top_columns(X, y, k=k)
