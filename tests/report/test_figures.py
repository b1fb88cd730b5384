"""All figures have one signature, draw on given axes, and use no global state of matplotlib."""

import inspect
import subprocess
import sys

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from gramian import report
from gramian.report.style import Picture
from report.plot_cases import CASES, WHOLE, regressor

FIGURES = [name for name in report.__all__ if name.startswith("plot_")]


def test_every_public_figure_has_a_case():
    assert {name.removeprefix("plot_") for name in FIGURES} == {*CASES, *WHOLE}


@pytest.mark.parametrize("name", CASES)
def test_the_result_and_the_axes_come_first_and_options_are_named(name):
    _, axes, *options = inspect.signature(getattr(report, f"plot_{name}")).parameters.values()
    assert (axes.name, axes.default) == ("ax", None)
    assert all(option.kind is option.KEYWORD_ONLY for option in options)


@pytest.mark.parametrize("name", CASES)
def test_given_axes_are_drawn_on_and_returned(name):
    ax = Figure().add_subplot()
    assert CASES[name](ax) is ax
    assert ax.has_data()


@pytest.mark.parametrize("name", CASES)
def test_without_axes_a_figure_is_made_that_a_notebook_shows(name):
    ax = CASES[name](None)
    assert isinstance(ax, Axes)
    assert isinstance(ax.figure, Picture)


def test_a_notebook_shows_a_figure_as_png():
    assert report.plot_importances(regressor()).figure._repr_png_().startswith(b"\x89PNG")


class NotFitted(BaseEstimator):
    """An estimator whose class has every attribute that figures ask for, as properties of ours are."""

    feature_importances_ = feature_matrix_ = components_ = eigenvalues_ = rounds_ = best_round_ = None

    def fit(self, X, y):
        raise NotImplementedError


@pytest.mark.parametrize("name", ["importances", "feature_matrix", "rounds", "directions"])
def test_a_model_that_was_not_fitted_is_refused(name):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(report, f"plot_{name}")(NotFitted())


def test_pyplot_is_not_imported():
    code = (
        "import sys, numpy as np; from gramian.report import plot_feature_matrix; "
        "plot_feature_matrix(np.eye(2)).figure.savefig(sys.stdout.buffer); "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.startswith(b"\x89PNG")
