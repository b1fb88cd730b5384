"""The figure of the calibration of a classifier draws its bins."""

import numpy as np

from gramian.report import plot_reliability
from report.plot_cases import classifier


def test_dots_are_bins_with_their_intervals():
    result = classifier().reliability(bins=5)
    ax = plot_reliability(result)
    dots = ax.collections[-1]
    np.testing.assert_allclose(dots.get_offsets(), np.column_stack([result.confidence, result.accuracy]))
    whiskers = ax.collections[0].get_segments()
    np.testing.assert_allclose([line[:, 1] for line in whiskers], np.column_stack([result.low, result.high]))
    assert f"calibration error {result.error:.1%}" in ax.get_title(loc="left")
