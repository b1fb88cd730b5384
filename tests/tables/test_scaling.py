"""The scaler equals scikit-learn's, and constant and extreme columns are safe."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from gramian.tables import scaling
from gramian.tables.scaling import Scaler


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 3)) * [1, 1e6, 1e-6] + [0, 3e6, -1], rng.uniform(0.1, 3, 50)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_the_scaler_is_that_of_scikit_learn(table, weighted, center, scale):
    X, weights = table
    weights = weights if weighted else np.ones(len(X))
    ours = Scaler.fit(X, weights, center=center, scale=scale).transform(X)
    theirs = StandardScaler(with_mean=center, with_std=scale).fit(X, sample_weight=weights).transform(X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_the_inverse_returns_the_users_units(table):
    X, weights = table
    scaler = Scaler.fit(X, weights)
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(X)), X, rtol=1e-12)


def test_a_weight_of_two_is_a_repeated_row(table):
    X, _ = table
    twice = Scaler.fit(X, np.where(np.arange(50) < 10, 2.0, 1.0))
    repeated = Scaler.fit(np.vstack([X, X[:10]]), np.ones(60))
    np.testing.assert_allclose(twice.center, repeated.center, rtol=1e-12)
    np.testing.assert_allclose(twice.scale, repeated.scale, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, -1e300])
def test_a_constant_column_becomes_exactly_zero(value):
    X = np.full((10, 1), value)
    Z = Scaler.fit(X, np.random.default_rng(0).uniform(size=10)).transform(X)
    assert (Z == 0).all()


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_columns_of_any_magnitude_have_variance_one(size):
    X = size * np.array([[1.0], [2.0], [4.0]])
    Z = Scaler.fit(X, np.ones(3)).transform(X)
    assert Z.mean() == pytest.approx(0, abs=1e-12)
    assert Z.std() == pytest.approx(1)


def test_blocks_of_rows_give_the_same_scaler(table, monkeypatch):
    X, weights = table
    whole = Scaler.fit(X, weights)
    monkeypatch.setattr(scaling, "_BLOCK_ROWS", 7)
    parts = Scaler.fit(X, weights)
    np.testing.assert_allclose(parts.center, whole.center, rtol=1e-12)
    np.testing.assert_allclose(parts.scale, whole.scale, rtol=1e-12)


def test_the_table_is_not_changed(table):
    X, weights = table
    before = X.copy()
    Scaler.fit(X, weights).transform(X)
    assert (before == X).all()
