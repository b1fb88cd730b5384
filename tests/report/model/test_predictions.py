"""Predictions of rows that the user gives, and of holdout rows."""

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.report.model.predictions import predictions_for
from gramian.solvers import Nystrom
from report.model_pages import read, rows

pytestmark = pytest.mark.usefixtures("without_curves")


def test_without_rows_the_scores_are_those_of_holdout_rows(tmp_path):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
    _, checked = read(model, tmp_path)
    assert "90 training rows, each predicted by a fit to other folds; kernels and rounds were selected" in checked.text
    assert "These are training rows" in checked.text
    assert "Training rows with the largest influence" in checked.text
    found = predictions_for(model.model_)
    assert found.y.shape == (90, 1)
    assert np.sort(found.y[:, 0]) == pytest.approx(np.sort(y))
    evaluated = RFMRegressor(preset="fast", n_rounds=1).fit(X[:60], y[:60], eval_set=(X[60:], y[60:]))
    assert "30 rows of the evaluation set of the fit; kernels and rounds" in read(evaluated, tmp_path)[1].text
    split = RFMRegressor(kernel="laplace", update="agop", n_rounds=1, solver=Nystrom(centers=30), ridge=1e-2).fit(X, y)
    assert "9 training rows that were held out of the fit; kernels and" in read(split, tmp_path)[1].text
    alone = RFMRegressor(kernel="laplace", update="agop", n_rounds=0).fit(X, y)
    assert "90 training rows, each predicted without itself; the matrix M" in read(alone, tmp_path)[1].text


def test_rows_of_several_splits_are_rows_of_the_final_fit(monkeypatch, tmp_path):
    monkeypatch.setattr("gramian.rfm.training.plan.FIVE_FOLD_ROWS", 80)
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
    assert model.plan_.validation == "splits"
    text = read(model, tmp_path)[1].text
    assert "84 training rows, predicted by fits to parts of the other rows; kernels and" in text
    assert "held out of the fit" not in text
    assert "R² on held-out rows (splits, which selected the round)" in str(model.summary())
