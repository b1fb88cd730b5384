"""Figures of what was learned, and pages to send on.

Figures are functions ``(result, ax) → ax`` that draw recorded numbers and compute nothing new. Each has a display
beside it in the manner of scikit-learn (``ImportancesDisplay.from_estimator(model)``,
``AlignmentDisplay.from_report(report)``), which asks for the result, lets the function draw it, and shows itself in a
notebook. Pages are single HTML files, :func:`write_report` for one thing and :func:`write_comparison` for two, made of
the parts in :mod:`gramian.report.web`.

May import everything below; figures ask models for their attributes only, so that anything with the same ones can be
drawn. Matplotlib's objects are used directly: no global figure, no window, no style that leaks.

>>> import numpy as np
>>> from gramian.report import plot_feature_matrix
>>> ax = plot_feature_matrix(np.eye(3), names=["age", "bmi", "bp"])
>>> [label.get_text() for label in ax.get_yticklabels()]
['age', 'bmi', 'bp']
"""

from gramian.report.displays import (
    AlongDisplay,
    DirectionsDisplay,
    ExplanationDisplay,
    FeatureMatrixDisplay,
    ImageFeaturesDisplay,
    ImportancesDisplay,
    ReliabilityDisplay,
    RoundsDisplay,
)
from gramian.report.explained import plot_along, plot_explanation, plot_importance_intervals, plot_reliability
from gramian.report.figures import (
    plot_directions,
    plot_feature_matrix,
    plot_image_features,
    plot_importances,
    plot_rounds,
)
from gramian.report.layer_figures import plot_layer_directions, plot_layer_matrix
from gramian.report.network_displays import (
    AlignmentDisplay,
    GeometryDisplay,
    LayerDirectionsDisplay,
    LayerMatrixDisplay,
    RanksDisplay,
    SpectraDisplay,
    TrajectoryDisplay,
)
from gramian.report.network_figures import (
    plot_alignment,
    plot_geometry,
    plot_ranks,
    plot_spectra,
    plot_trajectory,
)
from gramian.report.overview import plot_history, plot_layer, plot_report
from gramian.report.pages import write_comparison, write_report

__all__ = [
    "AlignmentDisplay",
    "AlongDisplay",
    "DirectionsDisplay",
    "ExplanationDisplay",
    "FeatureMatrixDisplay",
    "GeometryDisplay",
    "ImageFeaturesDisplay",
    "ImportancesDisplay",
    "LayerDirectionsDisplay",
    "LayerMatrixDisplay",
    "RanksDisplay",
    "ReliabilityDisplay",
    "RoundsDisplay",
    "SpectraDisplay",
    "TrajectoryDisplay",
    "plot_alignment",
    "plot_along",
    "plot_directions",
    "plot_explanation",
    "plot_feature_matrix",
    "plot_geometry",
    "plot_history",
    "plot_image_features",
    "plot_importance_intervals",
    "plot_importances",
    "plot_layer",
    "plot_layer_directions",
    "plot_layer_matrix",
    "plot_ranks",
    "plot_reliability",
    "plot_report",
    "plot_rounds",
    "plot_spectra",
    "plot_trajectory",
    "write_comparison",
    "write_report",
]
