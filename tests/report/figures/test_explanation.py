"""The figure of an explanation draws its contributions."""

import numpy as np
import pytest

from gramian import RFMClassifier
from gramian.report import plot_explanation
from gramian.report.style import BLUE, ORANGE
from report.pixels import bar_colours, bar_lengths, render


def test_bars_are_contributions_largest_first_and_the_sum_of_the_rest(additive_data, additive_model):
    result = additive_model.explain(additive_data[0][0])
    ax = plot_explanation(result, top=4)
    order = np.argsort(-np.abs(result.contributions))
    expected = [*result.contributions[order[:4]], result.contributions[order[4:]].sum()]
    np.testing.assert_allclose(bar_lengths(ax), expected)
    assert ax.get_yticklabels()[0].get_text().startswith(f"x{order[0]} = ")
    assert ax.get_yticklabels()[-1].get_text() == "2 more columns"
    colours = [ORANGE if value > 0 else BLUE for value in expected]
    assert bar_colours(ax) == [colour.lower() for colour in colours]
    render(ax)


def test_the_predicted_class_is_in_the_title(additive_data):
    X, y = additive_data
    result = RFMClassifier(preset="fast", n_rounds=0).fit(X, np.where(y > 0, "up", "down")).explain(X[0])
    assert plot_explanation(result).get_title(loc="left").startswith(f"class {result.prediction}")


def test_explanations_of_several_rows_are_refused(additive_data, additive_model):
    with pytest.raises(ValueError, match="one row, got 2"):
        plot_explanation(additive_model.explain(additive_data[0][:2]))


def test_top_is_checked(additive_data, additive_model):
    with pytest.raises(ValueError, match="top must be at least 1"):
        plot_explanation(additive_model.explain(additive_data[0][0]), top=0)
