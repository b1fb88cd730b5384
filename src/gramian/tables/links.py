"""Links: from the scores of classes to probabilities, by one or two numbers that are fitted on held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax, softmax

from gramian.core.statistics import effective_rows
from gramian.tables.scaling import Array

_OFFSETS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_INVERSE_TEMPERATURES = (0.01, 100.0)
_EXPONENTS = (0.2, 20.0)
_PRECISION = 1e-6


class Link(ABC):
    """A map from scores ``(m, c)`` to log probabilities ``(m, classes)`` that keeps their order in each row."""

    @abstractmethod
    def log_probabilities(self, scores: Array) -> Array:
        """Return ``log p``; one column of scores means two classes with scores ``(−f/2, f/2)``."""

    @abstractmethod
    def description(self) -> str:
        """Return the link with its numbers as a formula."""


@dataclass(frozen=True)
class SoftmaxLink(Link):
    """``p ∝ exp(f / T)`` with a temperature T.

    >>> np.exp(SoftmaxLink(1.0).log_probabilities(np.array([[0.0]])))
    array([[0.5, 0.5]])
    """

    temperature: float

    def log_probabilities(self, scores: Array) -> Array:
        """See :meth:`Link.log_probabilities`."""
        if scores.shape[1] == 1:
            logit = scores[:, 0] / self.temperature
            return np.column_stack([log_expit(-logit), log_expit(logit)])
        out: Array = log_softmax(scores / self.temperature, axis=1)
        return out

    def description(self) -> str:
        """See :meth:`Link.description`."""
        return f"exp(f / {self.temperature:.3g})"


@dataclass(frozen=True)
class PowerLink(Link):
    """``p ∝ (max(q, 0) + ε)^a``, for scores of least squares, which estimate the probabilities of classes.

    Of several classes ``q = f``; of two classes with codes −1 and 1 it is ``q = ((1 − f)/2, (1 + f)/2)``.

    >>> np.exp(PowerLink(1.0, 0.1).log_probabilities(np.array([[0.7, 0.2, -0.2]]))).round(3)
    array([[0.667, 0.25 , 0.083]])
    >>> np.exp(PowerLink(1.0, 0.0).log_probabilities(np.array([[-0.8]]))).round(3)
    array([[0.9, 0.1]])
    """

    exponent: float
    offset: float

    def log_probabilities(self, scores: Array) -> Array:
        """See :meth:`Link.log_probabilities`."""
        out: Array = log_softmax(self.exponent * _log_estimates(scores, self.offset), axis=1)
        return out

    def description(self) -> str:
        """See :meth:`Link.description`."""
        return f"(max(q, 0) + {self.offset:.3g})^{self.exponent:.3g} with estimates q by least squares"


def fit_link(scores: Array, labels: NDArray[np.intp], weights: Array, copies: Array | None = None) -> Link:
    """Fit the link that minimises the log loss of held-out scores: a temperature, or a power of the scores.

    With N rows and C classes the target of a row is ``(N + 1)/(N + C)`` for its class and ``1/(N + C)`` for each other:
    a dozen correct rows are no reason for certainty. ``copies (m,)`` are the numbers of rows that each row stands for.

    >>> scores = np.array([[1.0], [-1.0], [1.0], [-1.0], [-1.0]])
    >>> link = fit_link(scores, np.array([1, 0, 1, 0, 1]), np.ones(5))
    >>> np.exp(link.log_probabilities(scores))[0, 1].round(2)  # four of five are right, one more of each is assumed
    np.float64(0.71)
    """
    classes = max(2, scores.shape[1])
    total = effective_rows(weights, copies)  # whatever the unit of weights
    targets = np.full((len(labels), classes), 1 / (total + classes))
    targets[np.arange(len(labels)), labels] = (total + 1) / (total + classes)
    factor, least = _best_factor(_estimates(scores), targets, weights, _INVERSE_TEMPERATURES)
    best: Link = SoftmaxLink(1 / factor)
    for offset in _OFFSETS:
        exponent, loss = _best_factor(_log_estimates(scores, offset), targets, weights, _EXPONENTS)
        if loss < least:
            best, least = PowerLink(exponent, offset), loss
    return best


def _estimates(scores: Array) -> Array:
    """Return the estimates q ``(m, classes)`` of probabilities: (1 ∓ f)/2 where there is one column, with codes ±1."""
    return np.hstack([1 - scores, 1 + scores]) / 2 if scores.shape[1] == 1 else scores


def _log_estimates(scores: Array, offset: float) -> Array:
    """Return ``log(max(q, 0) + ε)``."""
    return np.log(np.maximum(_estimates(scores), 0) + offset)


def _best_factor(G: Array, targets: Array, weights: Array, bounds: tuple[float, float]) -> tuple[float, float]:
    """Find the factor a between two bounds at which ``p ∝ exp(a G)`` has the smallest log loss, and return both.

    The loss is convex in a. Newton's steps find the root of its slope ``Σ w (p − t)·G``, whose slope is the variance of
    G under p; a step that leaves the interval between factors of known sign is replaced by the middle of its logarithm.
    """
    w = weights / weights.sum()
    low, high = bounds
    a = float(np.sqrt(low * high))
    for _ in range(100):
        p = softmax(a * G, axis=1)
        mean = (p * G).sum(axis=1)
        slope = float(w @ (mean - (targets * G).sum(axis=1)))
        curvature = float(w @ ((p * G * G).sum(axis=1) - mean**2))
        low, high = (low, a) if slope > 0 else (a, high)
        following = a - slope / curvature if curvature > 0 else low
        if not low < following < high:
            following = float(np.sqrt(low * high))
        step, a = abs(following - a), following
        if step <= _PRECISION * a:
            break
    return a, -float(w @ (targets * log_softmax(a * G, axis=1)).sum(axis=1))
