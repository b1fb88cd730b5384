"""Results draw themselves by the figure that is registered for their class."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gramian import RFMClassifier
from gramian.core.plugins import figure_of
from gramian.display import Plottable


@pytest.fixture(scope="module")
def results():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = RFMClassifier(preset="fast", n_rounds=1).fit(X, X[:, 0] + X[:, 1] > 0)
    return [
        model.importances(n_resamples=3),
        model.permutation_importances(n_repeats=3),
        model.explain(X[0]),
        model.directions(),
        model.interactions(),
        model.partial_dependence_along(grid=5, rows=10),
        model.reliability(),
    ]


def test_every_plottable_result_has_a_figure(results):
    made = {type(result) for result in results}
    assert made == {each for each in Plottable.__subclasses__() if each.__module__.startswith("gramian.")}
    for result in results:
        axes = Figure().add_subplot()
        assert result.plot(axes) is axes
        assert isinstance(result.plot(), Axes)
        assert result.plot().figure._repr_png_()[1:4] == b"PNG"


def test_options_are_those_of_the_figure(results):
    importances = results[0]
    assert len(importances.plot(top=1).get_yticklabels()) == 1
    assert figure_of("Importances").__name__ == "plot_importance_intervals"
