"""Links: from the scores of classes to probabilities, by one or two numbers that are fitted on held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax

from gramian.core.statistics import effective_rows
from gramian.tables.scaling import Array

_OFFSETS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_TEMPERATURES = (0.01, 100.0)
_EXPONENTS = (0.2, 20.0)


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
    """``p ∝ (max(f, 0) + ε)^a``, for scores of several classes that estimate their probabilities by least squares.

    >>> np.exp(PowerLink(1.0, 0.1).log_probabilities(np.array([[0.7, 0.2, -0.2]]))).round(3)
    array([[0.667, 0.25 , 0.083]])
    """

    exponent: float
    offset: float

    def log_probabilities(self, scores: Array) -> Array:
        """See :meth:`Link.log_probabilities`."""
        out: Array = log_softmax(self.exponent * np.log(np.maximum(scores, 0) + self.offset), axis=1)
        return out

    def description(self) -> str:
        """See :meth:`Link.description`."""
        return f"(max(f, 0) + {self.offset:.3g})^{self.exponent:.3g}"


def fit_link(scores: Array, labels: NDArray[np.intp], weights: Array) -> Link:
    """Fit the link that minimises the log loss of held-out scores: a temperature, or a power for several classes.

    With N rows and C classes the target of a row is ``(N + 1)/(N + C)`` for its class and ``1/(N + C)`` for each other:
    a dozen correct rows are no reason for certainty.

    >>> scores = np.array([[1.0], [-1.0], [1.0], [-1.0], [-1.0]])
    >>> link = fit_link(scores, np.array([1, 0, 1, 0, 1]), np.ones(5))
    >>> np.exp(link.log_probabilities(scores))[0, 1].round(2)  # four of five are right, one more of each is assumed
    np.float64(0.71)
    """
    classes = max(2, scores.shape[1])
    total = effective_rows(weights)  # whatever the unit of weights
    targets = np.full((len(labels), classes), 1 / (total + classes))
    targets[np.arange(len(labels)), labels] = (total + 1) / (total + classes)

    def loss(link: Link) -> float:
        return -float(np.average((targets * link.log_probabilities(scores)).sum(axis=1), weights=weights))

    best = _best(SoftmaxLink, _TEMPERATURES, loss)
    if scores.shape[1] > 1:
        # The loss is convex in the exponent for each offset.
        powers = [_best(partial(_power_link, offset), _EXPONENTS, loss) for offset in _OFFSETS]
        best = min([best, *powers], key=loss)
    return best


def _power_link(offset: float, exponent: float) -> Link:
    return PowerLink(exponent, offset)


def _best(make: Callable[[float], Link], bounds: tuple[float, float], loss: Callable[[Link], float]) -> Link:
    """Find the number between two bounds with the smallest loss, by golden-section search of its logarithm."""
    low, high = np.log(bounds)
    ratio = (np.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = loss(make(float(np.exp(a)))), loss(make(float(np.exp(b))))
    for _ in range(30):  # to a relative precision of 1e-5
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = loss(make(float(np.exp(a))))
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = loss(make(float(np.exp(b))))
    return make(float(np.exp((low + high) / 2)))
