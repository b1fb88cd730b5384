"""The summary: its numbers are those of the page, and it says what to beware of."""

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error

from gramian import RFMClassifier, RFMRegressor
from report.model_pages import read, rows

pytestmark = pytest.mark.usefixtures("without_curves")


def summary(checked):
    return checked.text.split("What it predicts.")[1].split("Scores On ")[0]


def test_a_regression(tmp_path):
    X, y = rows(300)
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X[:150], y[:150])
    said = summary(read(model, tmp_path, X=X[150:], y=y[150:], target="rent")[1])
    assert "It predicts rent (a number) from 4 columns. The model was fitted to all 150 rows." in said
    error, constant = (mean_absolute_error(y[150:], p) for p in (model.predict(X[150:]), np.full(150, y[150:].mean())))
    assert f"On 150 rows that it was not fitted to, the mean absolute error is {error:.3f}" in said
    assert f"always predicting their mean would give {constant:.3f}" in said
    assert f"R² {model.score(X[150:], y[150:]):.3f}" in said
    assert "The predictions are most sensitive to x" in said
    assert "need not be a cause of the target" in said
    assert "so they are uncertain" not in said


def test_a_classification(tmp_path):
    X, y = rows(300)
    model = RFMClassifier(preset="fast", n_rounds=1).fit(X[:150], np.where(y > 0, "up", "down")[:150])
    truth = np.where(y > 0, "up", "down")[150:]
    said = summary(read(model, tmp_path, X=X[150:], y=truth)[1])
    assert "It predicts the target (2 classes: down, up)" in said
    share = max(np.mean(truth == "up"), np.mean(truth == "down"))
    most = "up" if np.mean(truth == "up") > 0.5 else "down"
    assert f"Of 150 rows that it was not fitted to, {model.score(X[150:], truth):.1%} are classified correctly" in said
    assert f"always answering {most}, the most frequent class, would be right for {share:.1%}" in said


@pytest.mark.parametrize("noise", [True, False])
def test_a_model_that_is_no_better_than_none_is_called_so(tmp_path, noise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = rng.normal(size=120) if noise else X[:, 0]
    model = RFMRegressor(preset="fast", n_rounds=0).fit(X[:60], y[:60])
    said = summary(read(model, tmp_path, X=X[60:], y=y[60:])[1])
    assert ("do not show that the model is better than none" in said) == noise
    assert "The scores are from 60 rows only, so they are uncertain." in said


def test_holdout_rows_of_the_fit_are_named(tmp_path):
    X, y = rows()
    said = summary(read(RFMRegressor(preset="fast", n_rounds=1).fit(X, y), tmp_path)[1])
    assert "On 90 training rows that were held out within the fit" in said
    assert "slightly optimistic" in said


def test_equal_rows_count_as_often_as_they_are_in_the_table(tmp_path):
    X, y = rows(120)
    X, y = np.r_[X, X[:20]], np.r_[y, y[:20]]
    options = {"preset": "fast", "n_rounds": 0}
    scored = RFMRegressor(**options).fit(np.r_[X[:60], X[:20]], np.r_[y[:60], y[:20]])
    model = RFMRegressor(**options).fit(X, y)
    said = summary(read(model, tmp_path, X=X[60:90], y=y[60:90], scored_by=scored)[1])
    assert "with the same settings to 80 other rows" in said
