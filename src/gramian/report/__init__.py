"""Figures of what was learned, and pages to send on.

Figures are functions ``(result, ax) → ax`` that draw recorded numbers and compute nothing new. Pages are single HTML
files, :func:`write_report` for one thing and :func:`write_comparison` for two, made of the parts in
:mod:`gramian.report.web`.

May import ``core``, ``rfm`` and ``nets``; figures ask models for their attributes only, so that anything with the same
ones can be drawn. Matplotlib's objects are used directly: no global figure, no window, no style that leaks.

>>> import numpy as np
>>> from gramian.report import plot_feature_matrix
>>> ax = plot_feature_matrix(np.eye(3), names=["age", "bmi", "bp"])
>>> [label.get_text() for label in ax.get_yticklabels()]
['age', 'bmi', 'bp']
"""

from gramian.report.explained import plot_along, plot_explanation, plot_importance_intervals
from gramian.report.figures import (
    plot_directions,
    plot_feature_matrix,
    plot_image_features,
    plot_importances,
    plot_rounds,
)
from gramian.report.pages import write_comparison, write_report

__all__ = [
    "plot_along",
    "plot_directions",
    "plot_explanation",
    "plot_feature_matrix",
    "plot_image_features",
    "plot_importance_intervals",
    "plot_importances",
    "plot_rounds",
    "write_comparison",
    "write_report",
]
