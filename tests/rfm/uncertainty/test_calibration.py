"""One temperature for all scores."""

import numpy as np

from gramian.rfm.uncertainty.calibration import fit_temperature


def test_the_unit_of_weights_does_not_matter():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(50, 1)), rng.integers(0, 2, 50)
    assert fit_temperature(scores, labels, np.full(50, 7.0)) == fit_temperature(scores, labels, np.ones(50))
