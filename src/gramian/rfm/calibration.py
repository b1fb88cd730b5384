"""Probabilities from scores: one temperature, fitted on rows the machine has not seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax

Array = NDArray[np.float64]


def log_probabilities(scores: Array, inverse_temperature: float) -> Array:
    """``log softmax(t · scores)``; one column of scores means two classes with scores ``(−f/2, f/2)``.

    >>> np.exp(log_probabilities(np.array([[0.0]]), 1.0))
    array([[0.5, 0.5]])
    """
    if scores.shape[1] == 1:
        logit = inverse_temperature * scores[:, 0]
        return np.column_stack([log_expit(-logit), log_expit(logit)])
    return log_softmax(inverse_temperature * scores, axis=1)


def fit_temperature(scores: Array, labels: NDArray[np.intp], weights: Array) -> float:
    """The inverse temperature t that minimises the log loss of held-out scores.

    The loss is convex in t; it is found by golden section over ``0.01 ≤ t ≤ 100`` on a logarithmic scale.

    >>> scores = np.array([[1.0], [-1.0], [1.0], [-1.0], [-1.0]])
    >>> t = fit_temperature(scores, np.array([1, 0, 1, 0, 1]), np.ones(5))
    >>> round(float(1 / (1 + np.exp(-t))), 2)  # four of five were right
    0.8
    """

    def loss(log_t: float) -> float:
        log_p = log_probabilities(scores, float(np.exp(log_t)))
        return -float(np.average(log_p[np.arange(len(labels)), labels], weights=weights))

    low, high = np.log(0.01), np.log(100.0)
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(60):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if loss(a) <= loss(b):
            high = b
        else:
            low = a
    return float(np.exp((low + high) / 2))
