"""One temperature for all scores, and the losses of probabilities, against brute force."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import brier_score_loss, log_loss

from gramian.rfm.uncertainty.calibration import fit_temperature, log_probabilities, probability_losses

RNG = np.random.default_rng(0)


def smoothed_loss(scores, labels, weights, t):
    """The loss of the docstring, one row at a time: one more row of each class is assumed."""
    classes = max(2, scores.shape[1])
    n = weights.sum() ** 2 / (weights**2).sum()
    log_p = log_probabilities(scores, t)
    rows = [
        -sum((n * (c == label) + 1) / (n + classes) * row[c] for c in range(classes))
        for row, label in zip(log_p, labels, strict=True)
    ]
    return np.average(rows, weights=weights)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("size", [0.3, 1.0, 5.0])
def test_the_temperature_minimises_the_smoothed_log_loss(classes, size):
    scores = size * RNG.normal(size=(60, 1 if classes == 2 else classes))
    logits = np.column_stack([-scores, scores]) if classes == 2 else scores
    labels = np.array([RNG.choice(classes, p=p) for p in softmax(2 * logits / size, axis=1)])
    weights = RNG.uniform(0.5, 2, 60)
    t = fit_temperature(scores, labels, weights)
    best = smoothed_loss(scores, labels, weights, t)
    for other in t * np.array([0.9, 0.99, 1.01, 1.1]):
        assert smoothed_loss(scores, labels, weights, other) >= best - 1e-9


def test_the_unit_of_scores_is_divided_out():
    scores, labels = RNG.normal(size=(50, 1)), RNG.integers(0, 2, 50)
    one, ten = (fit_temperature(scale * scores, labels, np.ones(50)) for scale in (1.0, 10.0))
    assert one == pytest.approx(10 * ten, rel=1e-3)


def test_the_unit_of_weights_does_not_matter():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(50, 1)), rng.integers(0, 2, 50)
    assert fit_temperature(scores, labels, np.full(50, 7.0)) == fit_temperature(scores, labels, np.ones(50))


def test_two_classes_are_a_softmax_of_two_scores():
    score = RNG.normal(size=(8, 1))
    both = np.column_stack([-score[:, 0] / 2, score[:, 0] / 2])
    np.testing.assert_allclose(log_probabilities(score, 3.0), log_probabilities(both, 3.0))
    assert np.isfinite(log_probabilities(np.array([[1e4], [-1e4]]), 1.0)).all()


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
