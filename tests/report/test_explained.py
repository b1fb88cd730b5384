"""Figures of explanations draw the results' own numbers."""

import io

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.report import plot_along, plot_explanation, plot_importance_intervals
from gramian.report.style import BLUE, ORANGE


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(80, 6))
    return X, X[:, 1] - 2 * X[:, 4]


@pytest.fixture(scope="module")
def model(data):
    return RFMRegressor(preset="fast", n_rounds=1, update="agop", ridge=1e-2).fit(*data)


def renders(ax) -> bool:
    stream = io.BytesIO()
    ax.figure.savefig(stream, format="png", dpi=50)
    return stream.getvalue().startswith(b"\x89PNG")


def test_bars_are_contributions_largest_first_and_the_rest_together(data, model):
    result = model.explain(data[0][0])
    ax = plot_explanation(result, top=4)
    order = np.argsort(-np.abs(result.contributions))
    expected = [*result.contributions[order[:4]], result.contributions[order[4:]].sum()]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], expected)
    assert ax.get_yticklabels()[0].get_text().startswith(f"x{order[0]} = ")
    assert ax.get_yticklabels()[-1].get_text() == "2 more columns"
    colours = [ORANGE if value > 0 else BLUE for value in expected]
    assert [to_hex(bar) for bar in ax.patches] == [colour.lower() for colour in colours]
    assert renders(ax)


def to_hex(bar) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in bar.get_facecolor()[:3])


def test_a_class_is_in_the_title(data):
    X, y = data
    result = RFMClassifier(preset="fast", n_rounds=0).fit(X, np.where(y > 0, "up", "down")).explain(X[0])
    assert plot_explanation(result).get_title(loc="left").startswith(f"class {result.prediction}")


def test_intervals_are_whiskers_around_shares(model):
    result = model.importances()
    ax = plot_importance_intervals(result, top=3)
    order = result.order[:3]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], result.shares[order])
    lines = ax.collections[0].get_segments()
    np.testing.assert_allclose([line[:, 0] for line in lines], np.stack([result.low, result.high], axis=1)[order])
    assert "3 more columns" in ax.get_xlabel()
    assert renders(ax)


def test_the_band_lies_around_the_mean(model):
    result = model.partial_dependence_along(grid=9, rows=30)
    ax = plot_along(result)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), result.mean)
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(result.low.min())
    assert heights.max() == pytest.approx(result.high.max())
    assert renders(ax)


def test_top_is_checked(data, model):
    for draw, result in (
        (plot_explanation, model.explain(data[0][0])),
        (plot_importance_intervals, model.importances()),
    ):
        with pytest.raises(ValueError, match="top must be at least 1"):
            draw(result, top=0)
