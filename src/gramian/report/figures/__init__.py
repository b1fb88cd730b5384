"""Figures of models, networks and training: one function for each, ``plot_x(result, ax=None, ...) -> ax``.

A figure draws numbers of the result and computes none. Without ``ax`` it makes a figure of its own, which a notebook
shows: ``plot_rounds(model).figure``. ``plot_report``, ``plot_layer`` and ``plot_history`` return a whole figure.

>>> import numpy as np
>>> from gramian.report.figures import plot_feature_matrix
>>> plot_feature_matrix(np.eye(3)).images[0].get_array().shape
(3, 3)
"""

from gramian.report.figures.across_layers import plot_alignment, plot_geometry, plot_ranks, plot_report, plot_spectra
from gramian.report.figures.directions import plot_directions, plot_interactions, plot_partial_dependence
from gramian.report.figures.explanation import plot_explanation
from gramian.report.figures.importances import (
    plot_importance_intervals,
    plot_importances,
    plot_permutation_importances,
)
from gramian.report.figures.matrices import plot_feature_matrix, plot_image_features
from gramian.report.figures.one_layer import plot_layer, plot_layer_directions, plot_layer_matrix
from gramian.report.figures.reliability import plot_reliability
from gramian.report.figures.rounds import plot_rounds
from gramian.report.figures.training import plot_history, plot_trajectory

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
]
