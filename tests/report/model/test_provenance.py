"""Sections on data and warnings."""

import numpy as np
import pandas as pd
import pytest

from gramian import RFMRegressor
from report.model_pages import read, rows

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.mark.parametrize("fitted", [pd.DataFrame, np.asarray])
@pytest.mark.parametrize("given", [pd.DataFrame, np.asarray])
def test_columns_without_names_are_found_by_position(tmp_path, fitted, given):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=0).fit(fitted(X), y)
    _, checked = read(model, tmp_path, X=given(X[:25]), y=y[:25])
    assert model.explain(given(X[:1])).values == pytest.approx(X[0])
    assert "distinct in X" in checked.text


def test_missing_integers_of_pandas_are_counted(tmp_path):
    X, y = rows(120)
    frame = pd.DataFrame({"whole": pd.array(np.arange(120) % 11, dtype="Int64"), "number": X[:, 0]})
    frame.loc[frame.index % 4 == 1, "whole"] = pd.NA
    model = RFMRegressor(preset="fast", n_rounds=0).fit(frame, y)
    text, checked = read(model, tmp_path, X=frame[:40], y=y[:40])
    assert "25.0% 11" in checked.text
    assert 'data-value="11"' in text  # sorted as a number


def test_compression_and_threshold_are_warnings(tmp_path):
    X, y = rows()
    model = RFMRegressor(kernel="gaussian", update="agop", n_rounds=1).fit(X, y)
    small = model.compressed(30)
    _, checked = read(small, tmp_path)
    assert "Compressed from 90 to 30 rows" in checked.text
    cut = RFMRegressor(kernel="laplace", update="agop", n_rounds=1, feature_threshold=0.3, select_round="last").fit(
        X, y
    )
    _, checked = read(cut, tmp_path)
    assert "columns were removed by the threshold" in checked.text
