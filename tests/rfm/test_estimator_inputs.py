"""Tables that both estimators accept, and errors that name the problem of those they refuse."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Laplace
from gramian.tables import TableEncoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] - 2 * X[:, 1]
LABELS = np.where(Y > 0, "yes", "no")
QUICK = {"kernel": "laplace", "update": "agop", "n_rounds": 1, "select_round": "last"}
BOTH = pytest.mark.parametrize(("model", "y"), [(RFMRegressor(**QUICK), Y), (RFMClassifier(**QUICK), LABELS)])


@BOTH
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_named_by_column(model, y, bad):
    holes = X.copy()
    holes[5, 2] = bad
    with pytest.raises(ValueError, match=r"infinity in column 2 \(1 entries\)"):
        model.fit(holes, y)
    with pytest.raises(ValueError, match="infinity in column 'c'"):
        model.fit(pd.DataFrame(holes, columns=list("abc")), y)
    fitted = model.fit(X, y)
    with pytest.raises(ValueError, match="infinity in column 2"):
        fitted.predict(holes)


@BOTH
def test_missing_entries_are_filled_and_marked(model, y):
    holes = X.copy()
    holes[::7, 2] = np.nan
    model.fit(holes, y)
    assert model.encoder_.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x2__missing"]
    assert len(model.feature_importances_) == 3
    known = model.predict(holes)
    assert (model.predict(pd.DataFrame(holes).to_numpy(dtype=object, na_value=None)) == known).all()


@BOTH
def test_column_means_replace_entries_missing_at_prediction_alone_with_a_warning(model, y):
    fitted = model.fit(pd.DataFrame(X, columns=list("abc")), y)
    holes = pd.DataFrame(X.copy(), columns=list("abc"))
    holes.loc[3, "b"] = np.nan
    filled = holes.fillna({"b": X[:, 1].mean()})
    with pytest.warns(UserWarning, match="1 entries of X are missing in column 'b'"):
        got = fitted.predict(holes)
    if got.dtype.kind == "f":
        np.testing.assert_allclose(got, fitted.predict(filled), rtol=1e-12)  # two ways to sum have two roundings
    else:
        assert (got == fitted.predict(filled)).all()


@BOTH
def test_text_and_dates_are_accepted(model, y):
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    frame = frame.assign(city=np.where(X[:, 0] > 0, "Rome", "Oslo"), day=pd.date_range("2026-01-01", periods=60))
    model.fit(frame, y)
    assert len(model.feature_importances_) == 5
    frame.loc[0, "city"] = "Bern"  # not in the training table
    assert len(model.predict(frame)) == 60
    with pytest.raises(ValueError, match="no column varies"):
        model.fit(np.full((60, 2), "a"), y)


@BOTH
def test_frames_with_every_type_of_number_are_accepted(model, y):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["flag"] = X[:, 0] > 0
    frame["count"] = np.arange(60)
    reference = model.fit(frame, y).predict(frame)
    nullable = frame.convert_dtypes()
    assert (model.fit(nullable, y).predict(nullable) == reference).all()
    assert list(model.feature_names_in_) == ["a", "b", "c", "flag", "count"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))


@BOTH
def test_wrong_shapes_are_refused(model, y):
    with pytest.raises(ValueError, match="1 sample"):
        model.fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="2D array"):
        model.fit(X[:, 0], y)
    with pytest.raises(ValueError, match="3 features"):
        model.fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="negative"):
        model.fit(X, y, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="zero for every row"):
        model.fit(X, y, sample_weight=np.zeros(60))
    with pytest.raises(ValueError, match="pair"):
        model.fit(X, y, eval_set=5)


def test_constant_columns_have_no_importance():
    constant = np.column_stack([X, np.full(60, 1e9), np.full(60, 0.1)])
    options = {"preset": "fast", "update": "agop", "select_round": "last"}
    model = RFMRegressor(**options).fit(constant, Y)
    assert (model.feature_importances_[3:] == 0).all()
    plain = RFMRegressor(**options).fit(X, Y)
    np.testing.assert_allclose(model.predict(constant), plain.predict(X), rtol=1e-6, atol=1e-8)
    moved = constant.copy()
    moved[:, 3] += 1  # outside the training range, in a direction on which the fitted function does not depend
    assert np.isfinite(model.predict(moved)).all()


def test_all_columns_constant():
    model = RFMRegressor(preset="fast").fit(np.ones((30, 2)), np.arange(30.0))
    np.testing.assert_allclose(model.predict(np.ones((2, 2))), 14.5, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-20, 1e20, 1e-150, 1e150])
@BOTH
def test_extreme_scales_change_nothing(model, y, scale):
    reference = model.fit(X, y).predict(X)
    predicted = model.fit(X * scale, y).predict(X * scale)
    if y is Y:
        np.testing.assert_allclose(predicted, reference, rtol=1e-6)
        np.testing.assert_allclose(model.fit(X, y * scale).predict(X), reference * scale, rtol=1e-6)
    else:
        assert (predicted == reference).all()


@pytest.mark.parametrize(("offset", "scale"), [(1e6, 1.0), (1e8, 1.0), (0.0, 1e20), (0.0, 1e-25)])
def test_extremes_without_standardising(offset, scale):
    """Where float32 is the default, the digits are kept, or float64 is used."""
    rng = np.random.default_rng(1)
    rows = np.round(rng.normal(size=(1100, 3)), 3)
    target = rows[:, 0] - 2 * rows[:, 1]
    model = RFMRegressor(kernel=Laplace("median"), ridge=1e-3, n_rounds=0, standardize=False)
    reference = model.fit(rows, target).predict(rows[:50])
    moved = offset + scale * rows
    np.testing.assert_allclose(model.fit(moved, target).predict(moved[:50]), reference, rtol=1e-3, atol=1e-3)
    if scale != 1:
        with pytest.raises(ValueError, match="out of range for float32"):
            model.set_params(dtype="float32").fit(moved, target)


def test_repeated_rows():
    """Equal rows are one row of higher weight; rows that disagree are averaged."""
    repeated, targets = np.repeat(X[:20], 5, axis=0), np.repeat(Y[:20], 5)
    model = RFMRegressor(kernel=Laplace(1.0), ridge=0.0, n_rounds=0).fit(repeated, targets)
    np.testing.assert_allclose(model.predict(X[:20]), Y[:20], rtol=1e-6)
    noisy = targets + np.tile([-1, -0.5, 0, 0.5, 1], 20)
    with pytest.warns(ConvergenceWarning, match="numerically singular"):
        model = RFMRegressor(kernel=Laplace(1.0), ridge=0.0, n_rounds=0).fit(repeated, noisy)
    np.testing.assert_allclose(model.predict(X[:20]), Y[:20], atol=0.05)


def test_tiny_tables():
    for n in (2, 3, 5, 9):
        model = RFMRegressor(preset="fast").fit(X[:n], Y[:n])
        assert np.isfinite(model.predict(X)).all()
        assert model.best_round_ == 0
        labels = np.arange(n) % 2
        assert set(RFMClassifier(preset="fast").fit(X[:n], labels).predict(X)) <= {0, 1}


def test_more_columns_than_rows():
    wide = RNG.normal(size=(30, 200))
    model = RFMRegressor(preset="fast").fit(wide, wide[:, 0])
    assert model.feature_matrix_.shape == (200, 200)
    assert np.isfinite(model.predict(wide)).all()


def test_an_encoder_of_the_user_is_used():
    model = RFMRegressor(encoder=TableEncoder(rank_gauss=True), **QUICK).fit(X[:, :2], Y)
    assert len(model.encoder_.get_feature_names_out()) == 4
    assert len(model.feature_importances_) == 2
    with pytest.raises(ValueError, match='encoder must be "auto" or a TableEncoder'):
        RFMRegressor(encoder="one-hot").fit(X, Y)
