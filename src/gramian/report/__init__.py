"""Figures of models and networks, and self-contained HTML pages about them.

A figure is a function ``plot_x(result, ax=None, ...) -> ax`` of :mod:`gramian.report.figures` that draws recorded
numbers and computes none. A page is one HTML file: :func:`write_report` is about one model or network,
:func:`write_comparison` about two; both are made of the parts in :mod:`gramian.report.web`.

May import all packages below. No function uses pyplot, a global figure or a global style.

>>> import numpy as np
>>> from gramian.report import plot_feature_matrix
>>> ax = plot_feature_matrix(np.eye(3), names=["age", "bmi", "bp"])
>>> [label.get_text() for label in ax.get_yticklabels()]
['age', 'bmi', 'bp']
"""

from gramian.report.figures import (
    plot_alignment,
    plot_directions,
    plot_explanation,
    plot_feature_matrix,
    plot_geometry,
    plot_history,
    plot_image_features,
    plot_importance_intervals,
    plot_importances,
    plot_interactions,
    plot_layer,
    plot_layer_directions,
    plot_layer_matrix,
    plot_partial_dependence,
    plot_permutation_importances,
    plot_ranks,
    plot_reliability,
    plot_report,
    plot_rounds,
    plot_spectra,
    plot_trajectory,
)
from gramian.report.pages import write_comparison, write_report

__all__ = [
    "plot_alignment",
    "plot_directions",
    "plot_explanation",
    "plot_feature_matrix",
    "plot_geometry",
    "plot_history",
    "plot_image_features",
    "plot_importance_intervals",
    "plot_importances",
    "plot_interactions",
    "plot_layer",
    "plot_layer_directions",
    "plot_layer_matrix",
    "plot_partial_dependence",
    "plot_permutation_importances",
    "plot_ranks",
    "plot_reliability",
    "plot_report",
    "plot_rounds",
    "plot_spectra",
    "plot_trajectory",
    "write_comparison",
    "write_report",
]
