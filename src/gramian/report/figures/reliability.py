"""Figure of the calibration of a classifier."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from gramian.report.style import BLUE, axes_or_new, finish
from gramian.rfm.uncertainty.reliability import Reliability


def plot_reliability(result: Reliability, ax: Axes | None = None) -> Axes:
    """Draw the share of correct predictions against their probability; a calibrated classifier is on the diagonal.

    The area of a dot is the share of rows in its bin, and the line through it is an interval for the share of correct
    predictions. Unlike scikit-learn's ``CalibrationDisplay`` it needs no new rows and takes more than two classes.

    Parameters
    ----------
    result : Reliability
        From ``classifier.reliability()``, or ``classifier.reliability(X, y)`` for new rows.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.

    Returns
    -------
    Axes

    >>> from sklearn.datasets import load_iris
    >>> from gramian import RFMClassifier
    >>> ax = plot_reliability(RFMClassifier(preset="fast", n_rounds=0).fit(*load_iris(return_X_y=True)).reliability())
    >>> ax.get_xlabel()
    'probability of the predicted class'
    """
    ax = axes_or_new(ax, 3.6, 3.4)
    ax.plot([0, 1], [0, 1], color="#808080", linewidth=0.9, linestyle="--")
    whiskers = np.stack([result.accuracy - result.low, result.high - result.accuracy])
    ax.errorbar(result.confidence, result.accuracy, yerr=whiskers, fmt="none", ecolor=BLUE, elinewidth=1.2, capsize=2)
    areas = 14 + 160 * result.count / result.count.sum()
    ax.scatter(result.confidence, result.accuracy, s=areas, color=BLUE, edgecolor="white", linewidth=0.6, zorder=3)
    low = max(0.0, min(result.confidence.min(), result.low.min()) - 0.04)
    ax.set(xlim=(low, 1.02), ylim=(low, 1.02), aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5))
        axis.set_major_formatter(PercentFormatter(xmax=1))
    ax.set_xlabel("probability of the predicted class")
    ax.set_ylabel("share that was right")
    ax.set_title(f"{result.source}: calibration error {result.error:.1%}", fontsize=9, loc="left")
    finish(ax, grid="both")
    return ax
