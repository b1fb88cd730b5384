"""Figures show the model's own numbers; each is rendered, and nothing global is touched."""

import io
import itertools
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from gramian import RFMClassifier, RFMRegressor
from gramian.report import plot_directions, plot_feature_matrix, plot_image_features, plot_importances, plot_rounds
from gramian.report.style import SERIES
from gramian.report.web import figure


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(120, 6))
    return RFMRegressor(kernel="laplace", n_rounds=2, update="agop").fit(X, X[:, 1] * X[:, 4])


def render(ax) -> np.ndarray:
    """The figure as pixels, after a round trip through PNG bytes."""
    stream = io.BytesIO()
    ax.figure.savefig(stream, format="png", dpi=60)
    assert stream.getvalue().startswith(b"\x89PNG")
    stream.seek(0)
    return np.asarray(Image.open(stream).convert("RGB")).astype(int)


def has_colour(pixels: np.ndarray, colour: str, tolerance: int = 12) -> bool:
    target = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return bool((np.abs(pixels - target).max(axis=2) <= tolerance).any())


def bars(ax) -> list[float]:
    return [patch.get_width() for patch in ax.patches]


class TestImportances:
    def test_bars_are_the_importances_largest_first(self, model):
        ax = plot_importances(model, top=4)
        expected = np.sort(model.feature_importances_)[::-1][:4]
        np.testing.assert_allclose(bars(ax), expected)
        assert [t.get_text() for t in ax.get_yticklabels()][:2] == [
            f"x{i}" for i in np.argsort(-model.feature_importances_)[:2]
        ]
        assert "2 more columns" in ax.get_xlabel()
        low, high = ax.get_ylim()
        assert low > high, "the first bar stands on top"

    def test_names_come_from_the_frame(self):
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["age", "bmi", "bp"])
        fitted = RFMRegressor(n_rounds=0).fit(X, X["bmi"])
        assert plot_importances(fitted).get_yticklabels()[0].get_text() == "bmi"

    def test_drawn(self, model):
        assert has_colour(render(plot_importances(model)), SERIES[0])


class TestFeatureMatrix:
    def test_image_is_the_matrix(self, model):
        ax = plot_feature_matrix(model)
        np.testing.assert_array_equal(ax.images[0].get_array(), model.feature_matrix_)
        low, high = ax.images[0].get_clim()
        assert -low == high == np.abs(model.feature_matrix_).max(), "0 is white"

    def test_colours_follow_signs(self):
        ax = plot_feature_matrix(np.array([[1.0, -1.0], [-1.0, 1.0]]), scale_bar=False)
        pixels = render(ax)
        inside = ax.get_window_extent()  # in pixels of the last drawing
        scale = pixels.shape[1] / ax.figure.bbox.width
        x0, x1 = inside.x0 * scale, inside.x1 * scale
        y0, y1 = pixels.shape[0] - inside.y1 * scale, pixels.shape[0] - inside.y0 * scale

        def at(fx, fy):
            return pixels[int(y0 + fy * (y1 - y0)), int(x0 + fx * (x1 - x0))]

        red, blue = at(0.25, 0.25), at(0.75, 0.25)
        assert red[0] > red[2]
        assert blue[2] > blue[0]

    def test_a_zero_matrix_can_be_drawn(self):
        render(plot_feature_matrix(np.zeros((3, 3))))

    def test_names_are_written_where_they_can_be_read(self):
        names = [f"column {i}" for i in range(30)]
        ax = plot_feature_matrix(np.eye(30), names=names)
        ax.figure.draw_without_rendering()
        assert [t.get_text() for t in ax.get_yticklabels()] == names
        boxes = [t.get_window_extent() for t in ax.get_yticklabels()]
        assert all(above.y0 > below.y1 - 2 for above, below in itertools.pairwise(boxes)), "they overlap"

    def test_too_many_columns_are_numbered(self):
        ax = plot_feature_matrix(np.eye(300), names=[f"name{i}" for i in range(300)])
        ax.figure.draw_without_rendering()
        assert len(ax.get_xticks()) < 12


class TestEncodedColumns:
    """A raw table has fewer columns than the matrix: each picture takes the names that fit it."""

    @pytest.fixture
    def fitted(self):
        pandas = pytest.importorskip("pandas")
        rng = np.random.default_rng(0)
        X = pandas.DataFrame({"size": rng.normal(size=60), "town": rng.choice(["Bonn", "Rome", "Oslo"], 60)})
        return RFMRegressor(preset="fast", n_rounds=1, update="agop").fit(X, X["size"] + (X["town"] == "Rome"))

    def test_the_matrix_has_encoded_names(self, fitted):
        names = [t.get_text() for t in plot_feature_matrix(fitted).get_yticklabels()]
        assert names == list(fitted.encoder_.get_feature_names_out())
        assert len(names) > 2

    def test_importances_have_the_users(self, fitted):
        assert {t.get_text() for t in plot_importances(fitted).get_yticklabels()} == {"size", "town"}

    def test_directions_have_encoded_names(self, fitted):
        names = {t.get_text() for t in plot_directions(fitted.directions(), top=20).get_yticklabels()}
        assert names <= set(fitted.encoder_.get_feature_names_out())


class TestRounds:
    def test_line_is_the_held_out_score_and_the_kept_round_is_marked(self, model):
        ax = plot_rounds(model)
        line, mark = ax.lines
        np.testing.assert_allclose(line.get_ydata(), [r.score for r in model.rounds_])
        assert mark.get_xdata() == [model.best_round_]
        assert ax.texts[0].get_text() == f"kept: round {model.best_round_}"
        assert "held-out" in ax.get_ylabel()
        assert has_colour(render(ax), SERIES[1])

    def test_without_held_out_rows_leave_one_out_is_named(self):
        X = np.random.default_rng(0).normal(size=(40, 2))
        fitted = RFMRegressor(kernel="laplace", n_rounds=1, select_round="last", update="agop").fit(X, X[:, 0])
        ax = plot_rounds(fitted)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), [r.loo for r in fitted.rounds_])
        assert "leave-one-out" in ax.get_ylabel()

    def test_no_error_at_all_is_an_error(self):
        record = SimpleNamespace(index=0, score=float("nan"), loo=float("nan"))
        with pytest.raises(ValueError, match="no error"):
            plot_rounds(SimpleNamespace(rounds_=[record], best_round_=0))


class TestDirections:
    def test_bars_are_the_loadings(self, model):
        ax = plot_directions(model, k=2, top=3)
        columns = [int(t.get_text()[1:]) for t in ax.get_yticklabels()]
        np.testing.assert_allclose(bars(ax), model.components_[:2][:, columns].ravel())
        assert {1, 4} <= set(columns)
        share = model.explained_ / model.explained_.sum()
        labels = [t.get_text() for t in ax.get_legend().get_texts()]
        assert labels == [f"{i + 1} ({share[i]:.0%})" for i in range(2)]
        pixels = render(ax)
        assert has_colour(pixels, SERIES[0])
        assert has_colour(pixels, SERIES[1])

    def test_asks_for_no_more_directions_than_there_are(self):
        one = SimpleNamespace(explained_=np.array([2.0]), components_=np.array([[0.6, -0.8]]))
        assert len(plot_directions(one, k=5).patches) == 2

    def test_those_of_a_result_where_the_model_has_none_of_its_own(self):
        X = np.random.default_rng(0).normal(size=(60, 3))
        fitted = RFMRegressor(kernel="gaussian", n_rounds=0).fit(X, X[:, 2])
        assert np.array_equal(fitted.feature_matrix_, np.eye(3)), "round 0: M says nothing"
        found = fitted.directions(1)
        ax = plot_directions(found, k=1)
        assert ax.get_yticklabels()[0].get_text() == "x2"
        columns = [int(t.get_text()[1:]) for t in ax.get_yticklabels()]
        np.testing.assert_allclose(bars(ax), found.loadings[0, columns])


class TestImageFeatures:
    def test_diagonal(self):
        diagonal = np.arange(12.0)
        ax = plot_image_features(np.diag(diagonal), (3, 4))
        np.testing.assert_array_equal(ax.images[0].get_array(), diagonal.reshape(3, 4))
        render(ax)

    def test_colours_are_added_up(self):
        ax = plot_image_features(np.diag(np.arange(12.0)), (2, 2, 3))
        np.testing.assert_array_equal(ax.images[0].get_array(), np.arange(12.0).reshape(2, 2, 3).sum(axis=2))

    def test_top_eigenvector(self):
        v = np.array([0.0, 0.6, -0.8, 0.0])
        ax = plot_image_features(np.outer(v, v) + 0.1 * np.eye(4), (2, 2), what="eigenvector")
        np.testing.assert_allclose(ax.images[0].get_array(), -v.reshape(2, 2), atol=1e-12)

    def test_top_eigenvector_in_colour_is_an_rgb_picture(self):
        v = np.zeros(12)
        v[[0, 4]] = 0.8, -0.6
        shown = plot_image_features(np.outer(v, v), (2, 2, 3), what="eigenvector").images[0].get_array()
        assert shown.shape == (2, 2, 3)
        np.testing.assert_allclose(shown[0, 0], [1.0, 0.5, 0.5])
        np.testing.assert_allclose(shown[0, 1], [0.5, 0.125, 0.5])

    def test_a_model(self):
        X = np.random.default_rng(0).normal(size=(80, 4))
        fitted = RFMClassifier(n_rounds=1, update="agop").fit(X, X[:, 0] > 0)
        ax = plot_image_features(fitted, (2, 2))
        np.testing.assert_array_equal(ax.images[0].get_array().ravel(), np.diag(fitted.feature_matrix_))


def test_given_axes_are_drawn_on_and_returned(model):
    figure = Figure()
    draws = (plot_importances, plot_feature_matrix, plot_rounds, plot_directions)
    for ax, draw in zip(figure.subplots(1, 4), draws, strict=True):
        assert draw(model, ax) is ax
    render(ax)


def test_pyplot_is_not_needed():
    code = (
        "import sys, numpy as np; from gramian.report import plot_feature_matrix; "
        "plot_feature_matrix(np.eye(2)).figure.savefig(sys.stdout.buffer); "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("draw", "argument"),
    [
        (lambda m: plot_importances(m, top=0), "top must"),
        (lambda m: plot_importances(m, names=["one"]), "names must hold 6"),
        (lambda m: plot_directions(m, k=0), "k must"),
        (lambda m: plot_feature_matrix(np.zeros((2, 3))), "M must be a square"),
        (lambda m: plot_feature_matrix(np.full((2, 2), np.nan)), "NaN"),
        (lambda m: plot_feature_matrix(np.eye(2), quantile=0.0), "quantile must"),
        (lambda m: plot_image_features(m, (2, 2)), "shape must"),
        (lambda m: plot_image_features(m, (2, 3), what="row"), "what must"),
    ],
)
def test_bad_arguments_are_named(model, draw, argument):
    with pytest.raises(ValueError, match=argument):
        draw(model)


def test_dollar_signs_in_names_are_no_formulas():
    names = ["$x_1$ in $", "costs 5$ or $6"]
    model = SimpleNamespace(feature_importances_=np.array([0.7, 0.3]), feature_names_in_=names)
    for ax in (plot_importances(model), plot_feature_matrix(np.eye(2), names=names)):
        html = figure(ax, "x")
        assert all(f">{name}<" in html for name in names)
