"""Fits to raw tables with money, dates, bounds, free text and gaps: every column that matters is used."""

import warnings

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor, load
from raw_tables import RAW

pd = pytest.importorskip("pandas")


def fit(frame, target):
    half = len(frame) // 2
    X, y = frame.drop(columns=target), frame[target].to_numpy()
    model = RFMClassifier if y.dtype == object or y.dtype.kind in "US" else RFMRegressor
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="column 'code' is not used")
        fitted = model(preset="fast", n_rounds=1).fit(X[:half], y[:half])
    return fitted, fitted.score(X[half:], y[half:])


@pytest.mark.parametrize("name", RAW)
def test_a_raw_column_that_matters_is_used(name):
    """The score on other rows is lower without each of the columns, and best with all of them."""
    frame, target, matter = RAW[name](n=800)
    model, score = fit(frame, target)
    shares = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    for column in matter:
        assert shares[column] > 0.02
        less = fit(frame.drop(columns=column), target)[1]
        assert less < score - 0.015, (column, less, score)


@pytest.mark.parametrize("name", RAW)
def test_a_file_that_pandas_reads_and_its_texts_have_the_same_predictions(name, tmp_path):
    frame, target, _ = RAW[name](n=200)
    path = tmp_path / "raw.csv"
    frame.to_csv(path, index=False)
    notebook, texts = pd.read_csv(path), pd.read_csv(path, dtype=str, keep_default_na=False)
    texts[target] = notebook[target]
    (one, score), (other, same) = fit(notebook, target), fit(texts, target)
    assert score == same
    X = notebook.drop(columns=target)[:20], texts.drop(columns=target)[:20]
    assert np.array_equal(one.predict(X[0]), other.predict(X[1]))
    assert np.array_equal(one.predict(X[1]), other.predict(X[0]))


@pytest.mark.parametrize("name", RAW)
def test_a_saved_model_predicts_the_same_bits(name, tmp_path):
    frame, target, _ = RAW[name](n=120)
    model, _ = fit(frame, target)
    model.save(tmp_path / "m.gramian")
    again = load(tmp_path / "m.gramian")
    X = frame.drop(columns=target)
    assert np.array_equal(model.predict(X), again.predict(X))
    assert again.encoder_.notes_ == model.encoder_.notes_
    assert [record.missing for record in again.encoder_.records_] == [r.missing for r in model.encoder_.records_]


def test_a_dropped_column_is_named_by_one_warning():
    frame, target, _ = RAW["adverts"](n=80)
    X, y = frame.drop(columns=target), frame[target]
    with pytest.warns(UserWarning, match="column 'code' is not used, because its values are codes") as caught:
        model = RFMRegressor(preset="fast", n_rounds=0).fit(X, y)
    assert len(caught) == 1
    assert model.encoder_.kinds_[0] == "identifier"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RFMRegressor(preset="fast", n_rounds=0).fit(X.drop(columns="code"), y)
