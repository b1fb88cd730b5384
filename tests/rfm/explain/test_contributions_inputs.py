"""Rows to explain in every form, and contributions to the columns of the user's table."""

from dataclasses import replace

import numpy as np
import pytest
from jaxtyping import config
from sklearn.exceptions import NotFittedError

from gramian import RFMRegressor
from gramian.kernels import Laplace
from gramian.rfm.explain import explain
from gramian.tables import ColumnRecord, TableEncoder
from gramian.tables.preprocessing import Preprocessing
from rfm.explain.models import QUICK, quick


class TestInputs:
    def test_one_row_may_be_a_frame_or_a_series(self, data):
        pd = pytest.importorskip("pandas")
        X, y, new = data
        frame = pd.DataFrame(X, columns=list("abcde"))
        model = quick(Laplace(3.0)).fit(frame, y)
        rows = pd.DataFrame(new, columns=list("abcde"))
        forms = [rows.iloc[[0]], rows.iloc[0], rows[:1]]
        found = [model.explain(form) for form in forms]
        for explanation in found:
            assert explanation.columns == tuple("abcde")
            np.testing.assert_array_equal(explanation.contributions, found[0].contributions)
            np.testing.assert_array_equal(explanation.values, new[0])
        table = found[0].to_pandas()
        assert table.index.tolist() == list("abcde")
        assert table["contribution"].sum() + found[0].gap == pytest.approx(
            found[0].score - found[0].reference_score, rel=1e-9
        )

    def test_rows_may_be_lists_or_arrays(self, data, model):
        new = data[2]
        one, other, many = model.explain(new[0].tolist()), model.explain(new[:1]), model.explain(new[:2])
        np.testing.assert_array_equal(one.contributions, other.contributions)
        assert len(many) == 2
        np.testing.assert_array_equal(many[0].contributions, one.contributions)
        assert one.columns == ("x0", "x1", "x2", "x3", "x4")

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"method": "shap"}, 'method must be "path" or "gradient"'),
            ({"n_influential": -1}, "n_influential must be a non-negative integer"),
            ({"output": 1}, "output must be the number of a target, 0 to 0"),
            ({"reference": np.zeros((2, 5))}, "reference must be one row, got 2"),
        ],
    )
    def test_bad_arguments_are_named(self, data, model, options, words, monkeypatch):
        monkeypatch.setattr(config, "jaxtyping_disable", True)  # wrong types reach our own check, as outside the tests
        with pytest.raises(ValueError, match=words):
            model.explain(data[2][0], **options)

    def test_an_unfitted_model_raises(self):
        with pytest.raises(NotFittedError):
            RFMRegressor().explain([[0.0]])


class ThreeColours(TableEncoder):
    """Encodes the number age, and the colour as three columns, without a fit."""

    columns_ = ("colour", "age", "empty")
    kinds_ = ("category", "number", "constant")
    groups_ = np.array([0, 0, 0, 1, 1])
    records_ = tuple(ColumnRecord(name, "", (), "", None, ()) for name in columns_)

    def get_feature_names_out(self, input_features=None):
        return np.array(["colour=b", "colour=g", "colour=r", "age", "age__missing"], dtype=object)

    def transform(self, X):
        colour = np.array([[row[0] == level for level in "bgr"] for row in X], dtype=float)
        age = np.array([[2.0, 1.0] if row[1] is None else [row[1], 0.0] for row in X])
        return np.hstack([colour, age])


@pytest.fixture(scope="module")
def encoded():
    """A model of encoded columns, and the same model that takes raw rows."""
    rng = np.random.default_rng(0)
    ages = rng.uniform(0, 4, size=80)
    rows = [("bgr"[rng.integers(3)], None if i % 9 == 0 else age, 1) for i, age in enumerate(ages)]
    encoder = ThreeColours()
    X = encoder.transform(rows)
    plain = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(X, 3 * X[:, 2] + X[:, 3]).model_
    reader = replace(plain.preprocessing.reader, n_features=3, encoder=encoder)
    raw = Preprocessing(reader, plain.preprocessing.scaler, plain.preprocessing.column_means)
    return replace(plain, preprocessing=raw), plain, encoder


class TestFolding:
    def test_contributions_are_those_of_the_encoded_columns_summed(self, encoded):
        model, plain, encoder = encoded
        row = [["r", 1.5, 1]]
        explanation, apart = explain(model, row), explain(plain, encoder.transform(row))
        assert explanation.columns == ("colour", "age", "empty")
        assert explanation.values == ("r", 1.5, 1)
        expected = [apart.contributions[:3].sum(), apart.contributions[3:].sum(), 0]
        np.testing.assert_allclose(explanation.contributions, expected, rtol=1e-9, atol=1e-12)
        assert explanation.contributions[0] > 1

    def test_only_numbers_have_a_sensitivity(self, encoded):
        model, plain, encoder = encoded
        row = [["r", 1.5, 1]]
        apart = explain(plain, encoder.transform(row))
        np.testing.assert_allclose(explain(model, row).sensitivity, [np.nan, apart.sensitivity[3], np.nan])
        assert np.isnan(explain(model, [["r", None, 1]]).sensitivity).all()


def test_a_raw_frame_is_explained_in_its_own_columns():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.uniform(1, 9, 150), "colour": rng.choice(["red", "blue", "green"], 150)})
    y = np.exp(frame["size"] / 3 + 2 * (frame["colour"] == "red") + 0.05 * rng.normal(size=150))
    frame.loc[::10, "size"] = np.nan
    model = RFMRegressor(**QUICK, target_transform="log").fit(frame, y)
    explanation = model.explain(frame.iloc[1])
    assert explanation.columns == ("size", "colour")
    assert explanation.values == tuple(frame.iloc[1])
    assert explanation.prediction == pytest.approx(model.predict(frame.iloc[[1]])[0], rel=1e-9)
    assert explanation.score == pytest.approx(np.log(explanation.prediction), rel=1e-9)
    found = explanation.influence
    np.testing.assert_allclose(np.log(found.without), explanation.score + found.change, rtol=1e-9)
    assert explanation.contributions.sum() + explanation.gap == pytest.approx(
        explanation.score - explanation.reference_score, abs=1e-9
    )
    assert np.isfinite(explanation.sensitivity).tolist() == [True, False]
    assert np.isnan(model.explain(frame.iloc[0]).sensitivity).all()
    assert "prediction on the log scale" in str(explanation)
    np.testing.assert_allclose(model.importances().shares, model.feature_importances_, rtol=1e-9)
    assert model.refit_on_top_columns(frame, y, k=1).n_features_in_ == 1
