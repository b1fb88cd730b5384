"""Weights are rows, for raw frames of any kind: 2 is the row twice, 0 is no row, and a common factor says nothing."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gramian import RFMClassifier, RFMRegressor
from gramian.tables import TableEncoder

LAWS = settings(max_examples=4, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
LEVELS = ["red", "blue", "green", "rare"]


@st.composite
def frames(draw, rows=40):
    """Frames with gaps, categories, many text levels, ordered categories, dates and booleans, each perhaps absent."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frame = pd.DataFrame({"size": rng.normal(size=rows), "tail": np.exp(2 * rng.normal(size=rows))})
    frame.loc[rng.random(rows) < 0.2, "size"] = np.nan
    more = {
        "colour": rng.choice(LEVELS, size=rows, p=[0.5, 0.3, 0.15, 0.05]),
        "city": [f"c{k}" for k in rng.integers(0, 36, size=rows)],
        "grade": pd.Categorical(rng.choice(["low", "mid", "high"], size=rows), ["low", "mid", "high"], ordered=True),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, size=rows), unit="D"),
        "flag": rng.random(rows) < 0.3,
    }
    for name, column in more.items():
        if draw(st.booleans()):
            frame[name] = pd.Series(column).where(rng.random(rows) > draw(st.sampled_from([0.0, 0.15])))
    y = frame["tail"].clip(upper=3).to_numpy() + frame["size"].fillna(0).to_numpy() + 0.3 * rng.normal(size=rows)
    return frame, y, rng


def estimator(kind, y, preset="fast"):
    if kind == "regression":
        return RFMRegressor(preset=preset, max_memory="1GB"), y
    if y.dtype.kind == "f":
        y = np.array(["a", "b", "c"], dtype=object)[np.digitize(y, np.quantile(y, [0.4, 0.7]))]
    return RFMClassifier(preset=preset, max_memory="1GB"), y


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


def agree(one, other, X):
    assert one.plan_.facts() == other.plan_.facts()
    if hasattr(one, "classes_"):
        assert one.classes_.tolist() == other.classes_.tolist()
        assert np.array_equal(one.predict_set(X), other.predict_set(X))
    else:
        np.testing.assert_allclose(one.predict_interval(X), other.predict_interval(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(outputs(one, X), outputs(other, X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["regression", "classification"])
@LAWS
@given(frames())
def test_whole_weights_are_repeated_and_absent_rows(kind, made):
    frame, y, rng = made
    model, y = estimator(kind, y)
    counts = rng.integers(0, 4, size=len(frame))
    rows = np.repeat(np.arange(len(frame)), counts)
    if kind == "classification":
        y = np.where(counts == 0, np.where(rng.random(len(y)) < 0.3, "only without weight", y), y)
    weighted = estimator(kind, y)[0].fit(frame, y, sample_weight=counts)
    agree(weighted, model.fit(frame.iloc[rows], y[rows]), frame)


@pytest.mark.parametrize("kind", ["regression", "classification"])
@settings(LAWS, max_examples=1)
@given(frames(rows=60))
def test_the_default_sees_weights_as_rows(kind, made):
    frame, y, rng = made
    model, y = estimator(kind, y, "default")
    counts = rng.integers(0, 4, size=len(frame))
    rows = rng.permutation(np.repeat(np.arange(len(frame)), counts))
    weighted = estimator(kind, y, "default")[0].fit(frame, y, sample_weight=counts)
    agree(weighted, model.fit(frame.iloc[rows], y[rows]), frame)


@pytest.mark.parametrize("kind", ["regression", "classification"])
@settings(LAWS, max_examples=2)
@given(frames(), st.sampled_from([1e-9, 0.37, 1e7]))
def test_the_unit_of_importances_has_no_effect(kind, made, unit):
    frame, y, rng = made
    model, y = estimator(kind, y)
    weights = rng.random(len(frame)) + 0.1
    scaled = estimator(kind, y)[0].fit(frame, y, sample_weight=unit * weights)
    model.fit(frame, y, sample_weight=weights)
    np.testing.assert_allclose(outputs(model, frame), outputs(scaled, frame), rtol=1e-5, atol=1e-6)


@LAWS
@given(frames(), st.sampled_from([False, True, "only"]))
def test_the_encoder_sees_weights_as_rows(made, rank_gauss):
    frame, _, rng = made
    counts = rng.integers(0, 4, size=len(frame))
    repeated = frame.iloc[np.repeat(np.arange(len(frame)), counts)]
    options = {"rank_gauss": rank_gauss, "max_categories": 8}
    one, other = TableEncoder(**options).fit(frame, sample_weight=counts), TableEncoder(**options).fit(repeated)
    assert [record.done for record in one.records_] == [record.done for record in other.records_]
    assert one.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    assert np.array_equal(one.transform(repeated), other.transform(repeated))
    np.testing.assert_array_equal(one.centers_, other.centers_)
    np.testing.assert_array_equal(one.scales_, other.scales_)
    np.testing.assert_array_equal(
        TableEncoder(**options).fit_transform(frame, sample_weight=counts), one.transform(frame)
    )


@pytest.mark.parametrize(
    "container", [pd.DataFrame.to_numpy, lambda X: X.to_numpy().tolist(), lambda X: X], ids=["array", "lists", "frame"]
)
def test_a_row_of_weight_0_may_hold_anything(container):
    """It does not count for the kind of a column, nor for the classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"]).astype(object)
    y = np.where(X["a"].astype(float) > 0, "up", "down").astype(object)
    X.iloc[4, 0], X.iloc[5, 1], y[6] = "text", None, "never"
    weights = np.ones(30)
    weights[4:7] = 0
    model = RFMClassifier(preset="fast").fit(container(X), y.tolist(), sample_weight=weights)
    there = weights > 0
    without = RFMClassifier(preset="fast").fit(X[there].astype(float).to_numpy(), y[there])
    assert model.encoder_ is None
    assert model.classes_.tolist() == ["down", "up"]
    new = X[there].astype(float)
    table = new if hasattr(container(X), "columns") else new.to_numpy()
    np.testing.assert_allclose(model.predict_proba(table), without.predict_proba(new.to_numpy()), rtol=1e-10)
    assert set(model.row_index_) == set(np.flatnonzero(there))


def test_balanced_class_weights_count_weights():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0.8).astype(int)
    counts = rng.integers(1, 4, size=40)
    options = {"preset": "fast", "class_weight": "balanced"}
    one = RFMClassifier(**options).fit(X, y, sample_weight=counts)
    other = RFMClassifier(**options).fit(X.repeat(counts, axis=0), y.repeat(counts))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9)


def test_groups_of_absent_rows_are_absent():
    rng = np.random.default_rng(2)
    X, groups = rng.normal(size=(40, 2)), np.repeat(np.arange(8), 5)
    y, weights = X[:, 0] ** 2, (groups != 3).astype(float)
    there = weights > 0
    one = RFMRegressor(preset="fast").fit(X, y, weights, groups=groups)
    other = RFMRegressor(preset="fast").fit(X[there], y[there], groups=groups[there])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-10)
