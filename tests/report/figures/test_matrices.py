"""Figures of feature matrices draw the entries of the matrix."""

import itertools

import numpy as np
import pytest

from gramian import RFMClassifier
from gramian.report import plot_feature_matrix, plot_image_features
from gramian.report.web import figure
from report.pixels import render


class TestPlotFeatureMatrix:
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

    def test_names_are_written_if_they_can_be_read(self):
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

    def test_a_matrix_of_encoded_columns_has_their_names(self, encoded_model):
        names = [t.get_text() for t in plot_feature_matrix(encoded_model).get_yticklabels()]
        assert names == list(encoded_model.encoder_.get_feature_names_out())
        assert len(names) > 2

    def test_dollar_signs_in_names_are_no_formulas(self):
        names = ["$x_1$ in $", "costs 5$ or $6"]
        html = figure(plot_feature_matrix(np.eye(2), names=names), "x")
        assert all(f">{name}<" in html for name in names)

    @pytest.mark.parametrize(
        ("M", "options", "message"),
        [
            (np.zeros((2, 3)), {}, "M must be a square"),
            (np.full((2, 2), np.nan), {}, "NaN"),
            (np.eye(2), {"quantile": 0.0}, "quantile must"),
        ],
    )
    def test_bad_arguments_are_named(self, M, options, message):
        with pytest.raises(ValueError, match=message):
            plot_feature_matrix(M, **options)


class TestPlotImageFeatures:
    def test_the_diagonal_is_reshaped_to_an_image(self):
        diagonal = np.arange(12.0)
        ax = plot_image_features(np.diag(diagonal), shape=(3, 4))
        np.testing.assert_array_equal(ax.images[0].get_array(), diagonal.reshape(3, 4))
        render(ax)

    def test_colours_are_summed(self):
        ax = plot_image_features(np.diag(np.arange(12.0)), shape=(2, 2, 3))
        np.testing.assert_array_equal(ax.images[0].get_array(), np.arange(12.0).reshape(2, 2, 3).sum(axis=2))

    def test_the_first_eigenvector_is_reshaped_to_an_image(self):
        v = np.array([0.0, 0.6, -0.8, 0.0])
        ax = plot_image_features(np.outer(v, v) + 0.1 * np.eye(4), shape=(2, 2), what="eigenvector")
        np.testing.assert_allclose(ax.images[0].get_array(), -v.reshape(2, 2), atol=1e-12)

    def test_the_first_eigenvector_over_colours_is_an_rgb_picture(self):
        v = np.zeros(12)
        v[[0, 4]] = 0.8, -0.6
        shown = plot_image_features(np.outer(v, v), shape=(2, 2, 3), what="eigenvector").images[0].get_array()
        assert shown.shape == (2, 2, 3)
        np.testing.assert_allclose(shown[0, 0], [1.0, 0.5, 0.5])
        np.testing.assert_allclose(shown[0, 1], [0.5, 0.125, 0.5])

    def test_of_a_model_its_learned_matrix_is_drawn(self):
        X = np.random.default_rng(0).normal(size=(80, 4))
        fitted = RFMClassifier(n_rounds=1, update="agop").fit(X, X[:, 0] > 0)
        ax = plot_image_features(fitted, shape=(2, 2))
        np.testing.assert_array_equal(ax.images[0].get_array().ravel(), np.diag(fitted.feature_matrix_))

    @pytest.mark.parametrize(
        ("options", "message"),
        [({"shape": (2, 2)}, "shape must"), ({"shape": (2, 3), "what": "row"}, "what must")],
    )
    def test_bad_arguments_are_named(self, model, options, message):
        with pytest.raises(ValueError, match=message):
            plot_image_features(model, **options)
