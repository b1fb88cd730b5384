"""Figures of importances draw the numbers of the model or result."""

from types import SimpleNamespace

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.report import plot_importance_intervals, plot_importances, plot_permutation_importances
from gramian.report.style import SERIES
from gramian.report.web import figure
from report.pixels import bar_lengths, has_colour, render


class TestPlotImportances:
    def test_bars_are_the_importances_largest_first(self, model):
        ax = plot_importances(model, top=4)
        expected = np.sort(model.feature_importances_)[::-1][:4]
        np.testing.assert_allclose(bar_lengths(ax), expected)
        assert [t.get_text() for t in ax.get_yticklabels()][:2] == [
            f"x{i}" for i in np.argsort(-model.feature_importances_)[:2]
        ]
        assert "2 more columns" in ax.get_xlabel()
        low, high = ax.get_ylim()
        assert low > high, "the first bar is on top"

    def test_names_come_from_the_frame(self):
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["age", "bmi", "bp"])
        fitted = RFMRegressor(n_rounds=0).fit(X, X["bmi"])
        assert plot_importances(fitted).get_yticklabels()[0].get_text() == "bmi"

    def test_bars_of_encoded_columns_have_the_users_names(self, encoded_model):
        assert {t.get_text() for t in plot_importances(encoded_model).get_yticklabels()} == {"size", "town"}

    def test_bars_are_rendered_in_the_first_colour(self, model):
        assert has_colour(render(plot_importances(model)), SERIES[0])

    def test_dollar_signs_in_names_are_no_formulas(self):
        names = ["$x_1$ in $", "costs 5$ or $6"]
        model = SimpleNamespace(feature_importances_=np.array([0.7, 0.3]), feature_names_in_=names)
        html = figure(plot_importances(model), "x")
        assert all(f">{name}<" in html for name in names)

    @pytest.mark.parametrize(
        ("options", "message"), [({"top": 0}, "top must"), ({"names": ["one"]}, "names must hold 6")]
    )
    def test_bad_arguments_are_named(self, model, options, message):
        with pytest.raises(ValueError, match=message):
            plot_importances(model, **options)


class TestPlotImportanceIntervals:
    def test_whiskers_are_intervals_around_the_shares(self, additive_model):
        result = additive_model.importances()
        ax = plot_importance_intervals(result, top=3)
        order = result.order[:3]
        np.testing.assert_allclose(bar_lengths(ax), result.shares[order])
        lines = ax.collections[0].get_segments()
        np.testing.assert_allclose([line[:, 0] for line in lines], np.stack([result.low, result.high], axis=1)[order])
        assert "3 more columns" in ax.get_xlabel()
        assert "90% of refits" in ax.get_xlabel()
        assert (
            "90% given this fit" in plot_importance_intervals(additive_model.importances("given this fit")).get_xlabel()
        )
        render(ax)

    def test_top_is_checked(self, additive_model):
        with pytest.raises(ValueError, match="top must be at least 1"):
            plot_importance_intervals(additive_model.importances(), top=0)


class TestPlotPermutationImportances:
    def test_bars_are_losses_largest_first(self, additive_model):
        result = additive_model.permutation_importances(n_repeats=3)
        ax = plot_permutation_importances(result, top=3)
        np.testing.assert_allclose(bar_lengths(ax), result.drop[result.order[:3]])
        lines = ax.collections[0].get_segments()
        ends = np.stack([result.low, result.high], axis=1)[result.order[:3]]
        np.testing.assert_allclose([line[:, 0] for line in lines], ends)
        assert "R² lost if shuffled" in ax.get_xlabel()
        render(ax)

    def test_top_is_checked(self, additive_model):
        with pytest.raises(ValueError, match="top must be at least 1"):
            plot_permutation_importances(additive_model.permutation_importances(n_repeats=2), top=0)
