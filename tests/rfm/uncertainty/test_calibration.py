"""Losses of probabilities, against scikit-learn's and by hand."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import brier_score_loss, log_loss

from gramian.rfm.uncertainty.calibration import probability_losses

RNG = np.random.default_rng(0)


def test_losses_are_those_of_scikit_learn():
    p = softmax(RNG.normal(size=(40, 3)), axis=1)
    labels, weights = RNG.integers(0, 3, 40), RNG.uniform(0.5, 2, 40)
    found = probability_losses(np.log(p), labels, weights)
    assert found["log_loss"] == pytest.approx(log_loss(labels, p, sample_weight=weights))
    assert found["error"] == pytest.approx(np.average(p.argmax(axis=1) != labels, weights=weights))
    two = p[:, :2] / p[:, :2].sum(axis=1, keepdims=True)
    binary = probability_losses(np.log(two), labels % 2, weights)
    assert binary["brier"] == pytest.approx(2 * brier_score_loss(labels % 2, two[:, 1], sample_weight=weights))


def test_the_calibration_error_is_0_where_confidence_is_the_share_of_hits():
    p = np.tile([0.75, 0.25], (4, 1))
    assert probability_losses(np.log(p), np.array([0, 0, 0, 1]), np.ones(4))["calibration_error"] == pytest.approx(0)
    assert probability_losses(np.log(p), np.array([1, 1, 1, 1]), np.ones(4))["calibration_error"] == pytest.approx(0.75)
