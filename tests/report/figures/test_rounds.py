"""The figure of the rounds draws their recorded errors."""

from types import SimpleNamespace

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.report import plot_rounds
from gramian.report.style import SERIES
from report.pixels import has_colour, render


def test_line_is_the_holdout_score_and_the_selected_round_is_marked(model):
    ax = plot_rounds(model)
    line, mark = ax.lines
    np.testing.assert_allclose(line.get_ydata(), [r.score for r in model.rounds_])
    assert mark.get_xdata() == [model.best_round_]
    assert ax.texts[0].get_text() == f"selected: round {model.best_round_}"
    assert "held-out" in ax.get_ylabel()
    assert has_colour(render(ax), SERIES[1])


def test_without_holdout_rows_leave_one_out_errors_are_drawn_and_named():
    X = np.random.default_rng(0).normal(size=(40, 2))
    fitted = RFMRegressor(kernel="laplace", n_rounds=1, select_round="last", update="agop").fit(X, X[:, 0])
    ax = plot_rounds(fitted)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [r.loo for r in fitted.rounds_])
    assert "leave-one-out" in ax.get_ylabel()


def test_a_model_without_errors_is_refused():
    record = SimpleNamespace(index=0, score=float("nan"), loo=float("nan"))
    with pytest.raises(ValueError, match="no error"):
        plot_rounds(SimpleNamespace(rounds_=[record], best_round_=0))
