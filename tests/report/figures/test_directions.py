"""Figures of directions draw the numbers of the result."""

from types import SimpleNamespace

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.report import plot_directions, plot_interactions, plot_partial_dependence
from gramian.report.style import BLUE, ORANGE, SERIES
from report.pixels import bar_colours, bar_lengths, has_colour, render


class TestPlotDirections:
    def test_bars_are_the_loadings(self, model):
        ax = plot_directions(model, k=2, top=3)
        columns = [int(t.get_text()[1:]) for t in ax.get_yticklabels()]
        np.testing.assert_allclose(bar_lengths(ax), model.components_[:2][:, columns].ravel())
        assert {1, 4} <= set(columns)
        share = model.eigenvalues_ / model.eigenvalues_.sum()
        labels = [t.get_text() for t in ax.get_legend().get_texts()]
        assert labels == [f"{i + 1} ({share[i]:.0%})" for i in range(2)]
        pixels = render(ax)
        assert has_colour(pixels, SERIES[0])
        assert has_colour(pixels, SERIES[1])

    def test_no_more_directions_are_drawn_than_were_learned(self):
        one = SimpleNamespace(eigenvalues_=np.array([2.0]), components_=np.array([[0.6, -0.8]]))
        assert len(plot_directions(one, k=5).patches) == 2

    def test_directions_of_a_result_are_informative_if_round_0_was_selected(self):
        X = np.random.default_rng(0).normal(size=(60, 3))
        fitted = RFMRegressor(kernel="gaussian", n_rounds=0).fit(X, X[:, 2])
        assert np.array_equal(fitted.feature_matrix_, np.eye(3)), "round 0: M is the identity"
        found = fitted.directions(1)
        ax = plot_directions(found, k=1)
        assert ax.get_yticklabels()[0].get_text() == "x2"
        columns = [int(t.get_text()[1:]) for t in ax.get_yticklabels()]
        np.testing.assert_allclose(bar_lengths(ax), found.loadings[0, columns])

    def test_directions_of_encoded_columns_have_their_names(self, encoded_model):
        names = {t.get_text() for t in plot_directions(encoded_model.directions(), top=20).get_yticklabels()}
        assert names <= set(encoded_model.encoder_.get_feature_names_out())

    def test_bad_arguments_are_named(self, model):
        with pytest.raises(ValueError, match="k must"):
            plot_directions(model, k=0)


def test_the_band_of_the_partial_dependence_contains_the_mean(additive_model):
    result = additive_model.partial_dependence_along(grid=9, rows=30)
    ax = plot_partial_dependence(result)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), result.mean)
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(result.low.min())
    assert heights.max() == pytest.approx(result.high.max())
    render(ax)


class TestPlotInteractions:
    def test_bars_are_strengths_and_colours_are_signs(self):
        X = np.random.default_rng(0).normal(size=(100, 3))
        y = (X[:, 0] + X[:, 2]) ** 2 + 0.5 * (X[:, 1] - X[:, 2]) ** 2
        result = RFMRegressor(preset="fast", n_rounds=1).fit(X, y).interactions()
        ax = plot_interactions(result, top=2)
        np.testing.assert_allclose(bar_lengths(ax), result.strength[:2])
        expected = [ORANGE if each > 0 else BLUE for each in result.correlation[:2]]
        assert bar_colours(ax) == [colour.lower() for colour in expected]
        assert [label.get_text() for label in ax.get_yticklabels()] == [f"{a} × {b}" for a, b in result.pairs[:2]]
        render(ax)

    def test_top_is_checked(self, model):
        with pytest.raises(ValueError, match="top must be at least 1"):
            plot_interactions(model.interactions(), top=0)
