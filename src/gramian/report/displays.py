"""Figures as objects, in the manner of scikit-learn: made ``from_estimator``, drawn by ``plot``, shown by a notebook.

A display asks the model for a result, keeps it, and lets the function of the same subject draw it: there is one drawing
of each thing. ``ax_`` and ``figure_`` say where it was drawn last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any, ClassVar, TypeVar

from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from gramian.report import explained, figures
from gramian.report.style import NOTEBOOK_DPI

D = TypeVar("D", bound="Display")


class Display:
    """A result and how it is drawn; subclasses say by which function, and where the result comes from.

    Parameters
    ----------
    result : object
        What the function takes as its first argument.
    **options
        Passed to the function.

    Attributes
    ----------
    ax_ : Axes, figure_ : Figure
        Where it was drawn last.
    """

    _draw: ClassVar[Callable[..., Axes]]

    def __init__(self, result: Any, **options: Any) -> None:
        self.result = result
        self.options = options

    def plot(self: D, ax: Axes | None = None, **options: Any) -> D:
        """Draw on the given axes, or on a new figure; options take the place of those given before."""
        self.ax_ = type(self)._draw(self.result, ax, **{**self.options, **options})
        self.figure_ = self.ax_.figure
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self.result).__name__})"

    def _repr_png_(self) -> bytes:
        if not hasattr(self, "figure_"):
            self.plot()
        stream = BytesIO()
        self.figure_.canvas.figure.savefig(stream, format="png", dpi=NOTEBOOK_DPI)  # of a subfigure: the whole
        return stream.getvalue()


class FeatureMatrixDisplay(Display):
    """The learned matrix M (d, d) of a model: :func:`plot_feature_matrix`.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> FeatureMatrixDisplay.from_estimator(RFMRegressor(preset="fast").fit(X, X[:, 0])).result.shape
    (3, 3)
    """

    _draw = staticmethod(figures.plot_feature_matrix)

    @classmethod
    def from_estimator(cls: type[D], estimator: Any, *, ax: Axes | None = None, **options: Any) -> D:
        """``estimator.feature_matrix_``, with the names of the (encoded) columns where the model has any."""
        check_is_fitted(estimator)
        M = estimator.feature_matrix_
        options.setdefault("names", figures.names_of(estimator, len(M)))
        return cls(M, **options).plot(ax)


class ImportancesDisplay(Display):
    """Shares of sensitivity with bootstrap intervals: :func:`plot_importance_intervals`.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> shown = ImportancesDisplay.from_estimator(RFMRegressor(preset="fast").fit(X, X[:, 0]), n_bootstrap=20)
    >>> shown.result.n_bootstrap, shown.ax_.get_yticklabels()[0].get_text()
    (20, 'x0')
    """

    _draw = staticmethod(explained.plot_importance_intervals)

    @classmethod
    def from_estimator(
        cls: type[D],
        estimator: Any,
        *,
        n_bootstrap: int = 100,
        level: float = 0.9,
        random_state: int = 0,
        ax: Axes | None = None,
        **options: Any,
    ) -> D:
        """``estimator.importances(n_bootstrap, level, random_state)``."""
        return cls(estimator.importances(n_bootstrap, level, random_state), **options).plot(ax)


class DirectionsDisplay(Display):
    """Loadings of the strongest learned directions on named columns: :func:`plot_directions`.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> shown = DirectionsDisplay.from_estimator(RFMRegressor(preset="fast").fit(X, X[:, 0]), k=2)
    >>> len(shown.ax_.get_legend().get_texts())
    2
    """

    _draw = staticmethod(figures.plot_directions)

    @classmethod
    def from_estimator(cls: type[D], estimator: Any, *, k: int = 3, ax: Axes | None = None, **options: Any) -> D:
        """``estimator.directions(k)``."""
        return cls(estimator.directions(k), k=k, **options).plot(ax)


class RoundsDisplay(Display):
    """The error after each round and the round that was kept: :func:`plot_rounds`.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> shown = RoundsDisplay.from_estimator(RFMRegressor(preset="fast", n_rounds=2).fit(X, X[:, 0] * X[:, 1]))
    >>> shown.ax_.lines[0].get_xdata().tolist()
    [0, 1, 2]
    """

    _draw = staticmethod(figures.plot_rounds)

    @classmethod
    def from_estimator(cls: type[D], estimator: Any, *, ax: Axes | None = None, **options: Any) -> D:
        """``estimator.rounds_`` and ``estimator.best_round_``."""
        check_is_fitted(estimator)
        return cls(estimator, **options).plot(ax)


class ExplanationDisplay(Display):
    """What each column adds to one prediction: :func:`plot_explanation`.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> shown = ExplanationDisplay.from_estimator(RFMRegressor(preset="fast").fit(X, X[:, 0]), [2.0, 0.0, 0.0])
    >>> shown.ax_.get_yticklabels()[0].get_text()
    'x0 = 2'
    """

    _draw = staticmethod(explained.plot_explanation)

    @classmethod
    def from_estimator(
        cls: type[D], estimator: Any, row: Any, *, output: Any = None, ax: Axes | None = None, **options: Any
    ) -> D:
        """``estimator.explain(row, output)`` for one row."""
        found = estimator.explain(row, output)
        if isinstance(found, list):
            raise ValueError(f"row must be one row, got {len(found)}: draw them one by one")
        return cls(found, **options).plot(ax)


class AlongDisplay(Display):
    """Average prediction along a learned direction: :func:`plot_along`.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> len(AlongDisplay.from_estimator(RFMRegressor(preset="fast").fit(X, X[:, 0]), grid=7).result.mean)
    7
    """

    _draw = staticmethod(explained.plot_along)

    @classmethod
    def from_estimator(
        cls: type[D],
        estimator: Any,
        direction: int = 0,
        *,
        grid: int = 50,
        output: Any = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> D:
        """``estimator.partial_dependence_along(direction)``."""
        return cls(estimator.partial_dependence_along(direction, grid, output=output), **options).plot(ax)


class ReliabilityDisplay(Display):
    """Whether probabilities mean what they say, for any number of classes: :func:`plot_reliability`.

    Unlike scikit-learn's ``CalibrationDisplay`` it needs no new rows (a model knows its predictions for rows it was
    not fitted to), takes more than two classes, and draws intervals.

    >>> from sklearn.datasets import load_iris
    >>> from gramian import RFMClassifier
    >>> model = RFMClassifier(preset="fast", n_rounds=0).fit(*load_iris(return_X_y=True))
    >>> ReliabilityDisplay.from_estimator(model, bins=5).result.source
    'leave-one-out'
    """

    _draw = staticmethod(explained.plot_reliability)

    @classmethod
    def from_estimator(
        cls: type[D],
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        bins: int = 10,
        ax: Axes | None = None,
        **options: Any,
    ) -> D:
        """``estimator.reliability(X, y, bins)``."""
        return cls(estimator.reliability(X, y, bins), **options).plot(ax)


class ImageFeaturesDisplay(Display):
    """The learned matrix of a model over pixels as a picture: :func:`plot_image_features`.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> model = RFMRegressor(preset="fast").fit(X, X[:, 0])
    >>> ImageFeaturesDisplay.from_estimator(model, (2, 2)).ax_.images[0].get_array().shape
    (2, 2)
    """

    @staticmethod
    def _draw(result: Any, ax: Axes | None = None, *, shape: Sequence[int], **options: Any) -> Axes:
        return figures.plot_image_features(result, tuple(shape), ax, **options)

    @classmethod
    def from_estimator(
        cls: type[D], estimator: Any, shape: Sequence[int], *, ax: Axes | None = None, **options: Any
    ) -> D:
        """``estimator.feature_matrix_`` over images of a shape."""
        check_is_fitted(estimator)
        return cls(estimator.feature_matrix_, shape=shape, **options).plot(ax)
