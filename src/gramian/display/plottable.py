"""The base class of results that draw themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gramian.core.plugins import figure_of
from gramian.display.renderable import Renderable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Plottable(Renderable):
    """A result with a figure; the function that draws it is registered in ``gramian/__init__.py``.

    Results are below the figures, which may import them; a result finds its figure by the name of its class.
    """

    def plot(self, ax: Axes | None = None, **options: object) -> Axes:
        """Draw the result on given axes, or on those of a new figure.

        Parameters
        ----------
        ax : Axes, optional
        options
            Arguments of the function in :mod:`gramian.report` that draws this result.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
        >>> ax = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 2]).directions(1).plot(k=1)
        >>> ax.get_xlabel()
        'loading'
        """
        drawn: Axes = figure_of(type(self).__name__)(self, ax, **options)
        return drawn
