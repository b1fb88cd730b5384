"""Directions and joint sensitivity, by equality with naive formulas."""

from dataclasses import replace

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.kernels import Laplace, Lp
from gramian.rfm.explain import interactions
from gramian.tables import TableEncoder
from gramian.tables.preprocessing import Preprocessing

QUICK = {"preset": "fast", "n_rounds": 1, "select_round": "last", "update": "agop", "ridge": 1e-2, "dtype": "float64"}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(120, 4))
    return X, (X[:, 0] + X[:, 2]) ** 2 + 0.3 * X[:, 3]


@pytest.fixture(scope="module")
def model(data):
    return RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(*data)


class TwoCategories(TableEncoder):
    """The columns of an encoder of two categories with two levels each."""

    columns_ = ("a", "b")
    kinds_ = ("category", "category")
    groups_ = np.array([0, 0, 1, 1])

    def get_feature_names_out(self, input_features=None):
        return np.array(["a=0", "a=1", "b=0", "b=1"], dtype=object)


class TestDirections:
    def test_they_are_the_eigenvectors_of_the_feature_matrix(self, model):
        found = model.directions(3)
        assert found.source == "feature_matrix_"
        np.testing.assert_allclose(found.loadings, model.components_[:3], atol=1e-12)
        for loading, share in zip(found.loadings, found.shares, strict=True):
            size = share * np.trace(model.feature_matrix_)
            np.testing.assert_allclose(model.feature_matrix_ @ loading, size * loading, atol=1e-9)
            assert loading[np.abs(loading).argmax()] > 0
        assert model.directions(99).shares.sum() == pytest.approx(1)

    def test_those_of_the_agop_replace_a_matrix_without_information(self, data):
        X, y = data
        plain = RFMRegressor(preset="fast", kernel=Laplace(3.0), n_rounds=0).fit(X, y)
        thresholded = RFMRegressor(kernel=Laplace(3.0), feature_threshold=0.2, **QUICK).fit(X, y)
        assert 0 < thresholded.support_.sum() < 4
        for fitted in (plain, thresholded):
            found = fitted.directions(1)
            assert found.source == "agop_"
            values, vectors = np.linalg.eigh(fitted.agop_)
            assert abs(found.loadings[0] @ vectors[:, -1]) == pytest.approx(1)
            assert found.shares[0] == pytest.approx(values[-1] / values.sum())
        assert not thresholded.directions(2).loadings[:, ~thresholded.support_].any()
        assert "agop_" in str(thresholded.directions(2))

    def test_loadings_have_the_names_of_columns(self, model):
        pytest.importorskip("pandas")
        table = model.directions(2).to_pandas()
        assert table.index.tolist() == ["x0", "x1", "x2", "x3"]
        assert table.columns.tolist() == ["direction 1", "direction 2"]
        assert set(table["direction 1"].abs().nlargest(2).index) == {"x0", "x2"}
        np.testing.assert_allclose(model.directions(2).folded.sum(axis=1), 1)

    def test_k_is_checked(self, model):
        with pytest.raises(ValueError, match="k must be a positive integer, got 0"):
            model.directions(0)


class TestInteractions:
    def test_pairs_are_the_off_diagonal(self, model):
        M, found = model.feature_matrix_, model.interactions(99)
        assert found.source == "feature_matrix_"
        assert found.pairs[0] == ("x0", "x2")
        assert len(found.pairs) == 6
        for (a, b), strength, correlation in zip(found.pairs, found.strength, found.correlation, strict=True):
            i, j = int(a[1]), int(b[1])
            assert strength == pytest.approx(abs(M[i, j]) / np.trace(M))
            assert correlation == pytest.approx(M[i, j] / np.sqrt(M[i, i] * M[j, j]))
        assert (np.diff(found.strength) <= 0).all()

    def test_the_agop_replaces_a_diagonal_matrix(self, data):
        X, y = data
        model = RFMRegressor(kernel=Lp(6.0), **QUICK | {"update": "agop-diagonal"}).fit(X, y)
        found = model.interactions(1)
        assert found.source == "agop_"
        assert found.pairs == (("x0", "x2"),)
        assert model.directions(1).source == "feature_matrix_"

    def test_the_caveat_is_true_and_displayed(self):
        X = np.random.default_rng(0).normal(size=(400, 2))
        total, product = (
            RFMRegressor(preset="fast", n_rounds=0).fit(X, y).interactions() for y in (X.sum(1), X.prod(1))
        )
        assert total.correlation[0] > 0.9
        assert abs(product.correlation[0]) < 0.3
        assert "a sum of two columns has joint sensitivity too" in str(total)

    def test_folding_is_bounded_and_equals_a_naive_norm(self, model):
        before = model.model_.preprocessing
        reader = replace(before.reader, encoder=TwoCategories())
        folded = replace(model.model_, preprocessing=Preprocessing(reader, before.scaler, before.column_means))
        M, found = model.feature_matrix_, interactions(folded)
        norm = np.linalg.norm
        expected = norm(M[:2, 2:]) / np.sqrt(norm(M[:2, :2]) * norm(M[2:, 2:]))
        assert found.pairs == (("a", "b"),)
        assert found.correlation[0] == pytest.approx(expected)
        assert 0 <= expected <= 1

    def test_one_column_has_no_pairs(self):
        X = np.linspace(-1, 1, 30)[:, None]
        found = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).interactions()
        assert found.pairs == ()
        assert str(found)

    def test_a_frame_has_one_line_per_pair(self, model):
        pytest.importorskip("pandas")
        table = model.interactions(2).to_pandas()
        assert table.columns.tolist() == ["first", "second", "strength", "correlation"]
        assert len(table) == 2
