"""Partial dependence along a learned direction, by equality with naive averages."""

import numpy as np
import pytest
from sklearn.inspection import partial_dependence

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Laplace
from gramian.rfm.explain import along, directions

QUICK = {"preset": "fast", "n_rounds": 1, "select_round": "last", "update": "agop", "ridge": 1e-2, "dtype": "float64"}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(120, 4))
    return X, (X[:, 0] + X[:, 2]) ** 2 + 0.3 * X[:, 3]


@pytest.fixture(scope="module")
def model(data):
    return RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(*data)


def test_along_one_column_it_is_the_usual_partial_dependence(data):
    X, y = data
    model = RFMRegressor(kernel=Laplace(3.0), **QUICK | {"update": "agop-diagonal"}).fit(X, y)
    column = int(model.directions(1).loadings[0].argmax())
    found = model.partial_dependence_along(0, grid=7, rows=500)
    scaler = model.model_.preprocessing.scaler
    values = found.grid * scaler.scale[column] + scaler.center[column]
    usual = partial_dependence(model, X, [column], custom_values={column: values}, kind="average")
    np.testing.assert_allclose(found.mean, usual["average"][0], rtol=1e-8)


def test_it_is_the_average_over_moved_rows(model):
    found = model.partial_dependence_along(1, grid=3, rows=20, level=0.5)
    v, (Z, _) = model.directions(2).loadings[1], model.model_.center_rows(20)
    for position, mean, low, high in zip(found.grid, found.mean, found.low, found.high, strict=True):
        moved = np.array([z + (position - v @ z) * v for z in Z])
        np.testing.assert_allclose(moved @ v, position)
        outputs = model.model_.outputs_at(moved)[:, 0]
        assert mean == pytest.approx(outputs.mean())
        np.testing.assert_allclose([low, high], np.quantile(outputs, [0.25, 0.75]))


def test_one_of_several_classes_must_be_named(data):
    X, y = data
    model = RFMClassifier(kernel=Laplace(3.0), **QUICK).fit(X, np.array(list("abc"))[np.digitize(y, [1, 3])])
    with pytest.raises(ValueError, match="output must name one of the classes 'a', 'b', 'c'"):
        model.partial_dependence_along()
    found = model.partial_dependence_along(output="c", grid=4, rows=30)
    assert found.output.label == "c"
    assert "score of class c along direction 1" in str(found)


def test_two_classes_have_opposite_scores(data):
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
def test_bad_arguments_are_named(model, options, words):
    with pytest.raises(ValueError, match=words):
        model.partial_dependence_along(**options)


def test_a_frame_has_one_line_per_position(model):
    pytest.importorskip("pandas")
    assert len(model.partial_dependence_along(grid=6, rows=10).to_pandas()) == 6


def test_directions_that_were_computed_before_give_the_same(model):
    given = along(model.model_, directions(model.model_, 3), 1, grid=5, rows=20)
    found = model.partial_dependence_along(1, grid=5, rows=20)
    np.testing.assert_array_equal(given.mean, found.mean)
    assert given.name == found.name == "direction 2"
