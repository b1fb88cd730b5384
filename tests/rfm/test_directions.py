"""Directions, joint sensitivity and the view along a direction, by equality with naive formulas."""

import numpy as np
import pytest
from sklearn.inspection import partial_dependence

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Laplace, Lp
from gramian.rfm.columns import Columns
from gramian.rfm.importance import training_rows

QUICK = {"preset": "fast", "n_rounds": 1, "select_round": "last", "update": "agop", "ridge": 1e-2, "dtype": "float64"}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(120, 4))
    return X, (X[:, 0] + X[:, 2]) ** 2 + 0.3 * X[:, 3]


@pytest.fixture(scope="module")
def model(data):
    return RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(*data)


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

    def test_where_nothing_was_learned_into_the_kernel_the_agop_speaks(self, data):
        X, y = data
        plain = RFMRegressor(preset="fast", kernel=Laplace(3.0), n_rounds=0).fit(X, y)
        thresholded = RFMRegressor(kernel=Laplace(3.0), threshold=0.2, **QUICK).fit(X, y)
        assert 0 < thresholded.support_.sum() < 4
        for fitted in (plain, thresholded):
            found = fitted.directions(1)
            assert found.source == "agop_"
            values, vectors = np.linalg.eigh(fitted.agop_)
            assert abs(found.loadings[0] @ vectors[:, -1]) == pytest.approx(1)
            assert found.shares[0] == pytest.approx(values[-1] / values.sum())
        assert not thresholded.directions(2).loadings[:, ~thresholded.support_].any()
        assert "agop_" in str(thresholded.directions(2))

    def test_named_loadings(self, model):
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

    def test_a_diagonal_matrix_has_none_so_the_agop_speaks(self, data):
        X, y = data
        model = RFMRegressor(kernel=Lp(6.0), **QUICK | {"update": "agop-diagonal"}).fit(X, y)
        found = model.interactions(1)
        assert found.source == "agop_"
        assert found.pairs == (("x0", "x2"),)
        assert model.directions(1).source == "feature_matrix_"

    def test_the_caveat_is_true_and_told(self):
        X = np.random.default_rng(0).normal(size=(400, 2))
        total, product = (
            RFMRegressor(preset="fast", n_rounds=0).fit(X, y).interactions() for y in (X.sum(1), X.prod(1))
        )
        assert total.correlation[0] > 0.9
        assert abs(product.correlation[0]) < 0.3
        assert "a sum of two columns has joint sensitivity too" in str(total)

    def test_folding_is_bounded_and_equals_a_naive_norm(self, model, monkeypatch):
        columns = Columns(("a", "b"), ("a=0", "a=1", "b=0", "b=1"), np.array([0, 0, 1, 1]), (False, False))
        monkeypatch.setattr(Columns, "of", classmethod(lambda cls, model: columns))
        M, found = model.feature_matrix_, model.interactions()
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

    def test_frame(self, model):
        pytest.importorskip("pandas")
        table = model.interactions(2).to_pandas()
        assert table.columns.tolist() == ["first", "second", "strength", "correlation"]
        assert len(table) == 2


class TestAlong:
    def test_along_one_column_it_is_the_usual_partial_dependence(self, data):
        X, y = data
        model = RFMRegressor(kernel=Laplace(3.0), **QUICK | {"update": "agop-diagonal"}).fit(X, y)
        column = int(model.directions(1).loadings[0].argmax())
        along = model.partial_dependence_along(0, grid=7, rows=500)
        values = along.grid * model._scaler.scale[column] + model._scaler.center[column]
        usual = partial_dependence(model, X, [column], custom_values={column: values}, kind="average")
        np.testing.assert_allclose(along.mean, usual["average"][0], rtol=1e-8)

    def test_it_is_the_average_over_moved_rows(self, model):
        along = model.partial_dependence_along(1, grid=3, rows=20, level=0.5)
        v, (Z, _) = model.directions(2).loadings[1], training_rows(model, 20)
        for position, mean, low, high in zip(along.grid, along.mean, along.low, along.high, strict=True):
            moved = np.array([z + (position - v @ z) * v for z in Z])
            np.testing.assert_allclose(moved @ v, position)
            outputs = model._outputs_at(moved)[:, 0]
            assert mean == pytest.approx(outputs.mean())
            np.testing.assert_allclose([low, high], np.quantile(outputs, [0.25, 0.75]))

    def test_classes_need_a_name_from_three_on(self, data):
        X, y = data
        model = RFMClassifier(kernel=Laplace(3.0), **QUICK).fit(X, np.array(list("abc"))[np.digitize(y, [1, 3])])
        with pytest.raises(ValueError, match="output must name one of the classes 'a', 'b', 'c'"):
            model.partial_dependence_along()
        along = model.partial_dependence_along(output="c", grid=4, rows=30)
        assert along.output.label == "c"
        assert "score of class c along direction 1" in str(along)

    def test_two_classes_are_mirror_images(self, data):
        X, y = data
        model = RFMClassifier(kernel=Laplace(3.0), **QUICK).fit(X, y > 1)
        one, other = (model.partial_dependence_along(output=label, grid=4, rows=30) for label in (True, False))
        np.testing.assert_allclose(one.mean, -other.mean)
        np.testing.assert_allclose(one.low, -other.high)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"direction": 9}, "direction must be below 4"),
            ({"direction": -1}, "direction must be the number of a learned direction"),
            ({"grid": 0}, "grid must be a positive integer"),
            ({"rows": 0}, "rows must be a positive integer"),
            ({"level": 2.0}, "level must be between 0 and 1"),
        ],
    )
    def test_bad_arguments_are_named(self, model, options, words):
        with pytest.raises(ValueError, match=words):
            model.partial_dependence_along(**options)

    def test_frame(self, model):
        pytest.importorskip("pandas")
        assert len(model.partial_dependence_along(grid=6, rows=10).to_pandas()) == 6
