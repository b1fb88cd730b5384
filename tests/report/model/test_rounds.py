"""The section on the rounds of a fit."""

from dataclasses import replace

import pytest

from gramian import RFMRegressor
from report.model_pages import read, rows

pytestmark = pytest.mark.usefixtures("without_curves")


def test_the_page_of_a_model_without_matrices_of_rounds_says_so(tmp_path):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
    history = replace(model.model_.history, evolution=None)
    model.model_ = replace(model.model_, history=history)
    assert "saved without M of each round" in read(model, tmp_path)[1].text
