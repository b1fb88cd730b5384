"""The predictions of the command are those of the estimators, from one evaluation of the model."""

import numpy as np
import pytest

import gramian
import gramian.cli.predict_rows as module
from gramian.cli.predict_rows import join_columns, note_bare_percent, predict_rows
from gramian.rfm.model import FittedRFM
from quick_models import QUICK, houses

pd = pytest.importorskip("pandas")
COLUMNS = ["area", "rooms", "noise"]


def fitted(target):
    made = gramian.RFMClassifier if target in ("sold", "rooms") else gramian.RFMRegressor
    X = houses()[[name for name in COLUMNS if name != target]]
    y = houses()[["price", "area"]] if target == "both" else houses()[target]
    return made(**QUICK).fit(X, y.to_numpy()), X


@pytest.fixture
def evaluations(monkeypatch):
    """The numbers of rows with which the model was evaluated; small batches."""
    counted = []
    real = FittedRFM.outputs_at

    def outputs_at(self, Z):
        counted.append(len(Z))
        return real(self, Z)

    monkeypatch.setattr(FittedRFM, "outputs_at", outputs_at)
    monkeypatch.setattr(module, "_BATCH", 50)
    return counted


@pytest.mark.parametrize("target", ["sold", "rooms"])
def test_classes(target, evaluations):
    model, X = fitted(target)
    labels, shares, sets = model.predict(X), model.predict_proba(X), model.predict_set(X, 0.8)
    evaluations.clear()
    found = predict_rows(model, X, proba=True, interval=0.8, show=True)
    assert evaluations == [50, 50, 20], "each row once"
    assert found["prediction"].tolist() == labels.tolist()
    np.testing.assert_array_equal(found[[f"probability_{label}" for label in model.classes_]], shares)
    assert found["set"].tolist() == ["|".join(map(str, model.classes_[row])) for row in sets]


def test_numbers(evaluations):
    model, X = fitted("price")
    expected, ends = model.predict(X), model.predict_interval(X, 0.8)
    evaluations.clear()
    found = predict_rows(model, X, proba=False, interval=0.8, show=False)
    assert evaluations == [50, 50, 20]
    np.testing.assert_array_equal(found["prediction"], expected)
    np.testing.assert_array_equal(found[["lower", "upper"]], ends)


def test_two_targets():
    model, X = fitted("both")
    found = predict_rows(model, X, proba=False, interval=0.8, show=False)
    np.testing.assert_array_equal(found[["prediction_0", "prediction_1"]], model.predict(X))
    np.testing.assert_array_equal(found[["lower_1", "upper_1"]], model.predict_interval(X, 0.8)[:, 1])


def test_kept_columns_keep_their_order_whatever_their_index():
    kept = pd.DataFrame({"id": [7, 8]}, index=[5, 3])
    joined = join_columns(kept, pd.DataFrame({"prediction": [0.1, 0.2]}))
    assert joined.to_dict("list") == {"id": [7, 8], "prediction": [0.1, 0.2]}


@pytest.mark.parametrize(("entries", "noted"), [(["0.2", "0.31"], True), (["20%", "31%"], False), (["0", "0"], False)])
def test_percent_without_its_sign_is_noted(capsys, entries, noted):
    pd = pytest.importorskip("pandas")
    fitted = pd.DataFrame({"share": [f"{i}%" for i in range(30)]})
    model = gramian.RFMRegressor(preset="fast", n_rounds=0).fit(fitted, range(30))
    note_bare_percent(model, pd.DataFrame({"share": entries}))
    said = capsys.readouterr().err
    assert said == ("Note: 'share' was fitted to percent, and has no % here: 0.2 is read as 0.2%\n" if noted else "")
