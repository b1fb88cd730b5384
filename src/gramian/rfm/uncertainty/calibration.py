"""Probabilities from scores: one temperature, fitted on held-out rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax

from gramian.tables.scaling import Array


def log_probabilities(scores: Array, inverse_temperature: float) -> Array:
    """Return ``log softmax(t · scores)``; one column of scores means two classes with scores ``(−f/2, f/2)``.

    >>> np.exp(log_probabilities(np.array([[0.0]]), 1.0))
    array([[0.5, 0.5]])
    """
    if scores.shape[1] == 1:
        logit = inverse_temperature * scores[:, 0]
        return np.column_stack([log_expit(-logit), log_expit(logit)])
    out: Array = log_softmax(inverse_temperature * scores, axis=1)
    return out


def fit_temperature(scores: Array, labels: NDArray[np.intp], weights: Array) -> float:
    """Fit the inverse temperature t that minimises the log loss of held-out scores.

    With N rows and C classes the target of a row is ``(N + 1)/(N + C)`` for its class and ``1/(N + C)`` for each other:
    a dozen correct rows are no reason for certainty. The loss is convex in t; golden-section search finds its minimum
    over ``0.01 ≤ t ≤ 100`` on a logarithmic scale.

    >>> scores = np.array([[1.0], [-1.0], [1.0], [-1.0], [-1.0]])
    >>> t = fit_temperature(scores, np.array([1, 0, 1, 0, 1]), np.ones(5))
    >>> round(float(1 / (1 + np.exp(-t))), 2)  # four of five are right, and one more of each class is assumed
    0.71
    """
    classes = max(2, scores.shape[1])
    total = float(weights.sum() ** 2 / (weights**2).sum())  # effective number of rows, whatever the unit of weights
    targets = np.full((len(labels), classes), 1 / (total + classes))
    targets[np.arange(len(labels)), labels] = (total + 1) / (total + classes)

    def loss(log_t: float) -> float:
        log_p = log_probabilities(scores, float(np.exp(log_t)))
        return -float(np.average((targets * log_p).sum(axis=1), weights=weights))

    low, high = np.log(0.01), np.log(100.0)
    ratio = (np.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = loss(a), loss(b)
    for _ in range(30):  # to a relative precision of 1e-5
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = loss(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = loss(b)
    return float(np.exp((low + high) / 2))


def probability_losses(log_p: Array, labels: NDArray[np.intp], weights: Array, bins: int = 10) -> dict[str, float]:
    """Compute losses of probabilities ``(m, classes)`` on rows with known labels.

    Log loss ``−log p_y``; Brier score ``Σ_c (p_c − 1[c = y])²``; expected calibration error ``Σ_b w_b |accuracy_b −
    confidence_b|`` over ``bins`` equal bins of the highest probability; and the share of wrong classes. Smaller is
    better for each.

    >>> losses = probability_losses(np.log([[0.8, 0.2], [0.6, 0.4]]), np.array([0, 1]), np.ones(2))
    >>> {name: round(value, 3) for name, value in losses.items()}
    {'log_loss': 0.57, 'brier': 0.4, 'calibration_error': 0.4, 'error': 0.5}
    """
    share = weights / weights.sum()
    p = np.exp(log_p)
    rows = np.arange(len(labels))
    hit = (p.argmax(axis=1) == labels).astype(np.float64)
    confidence = p.max(axis=1)
    which = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.bincount(which, share * (hit - confidence), minlength=bins)
    return {
        "log_loss": float(-share @ log_p[rows, labels]),
        "brier": float(share @ ((p - np.eye(p.shape[1])[labels]) ** 2).sum(axis=1)),
        "calibration_error": float(np.abs(gaps).sum()),
        "error": float(1 - share @ hit),
    }
