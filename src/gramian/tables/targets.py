"""Target codings: maps from targets to the numbers that a model is fitted to, and from its outputs to predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.core.statistics import weighted_median
from gramian.tables.labels import label_codes, read_target
from gramian.tables.scaling import Array
from gramian.tables.types import TargetLike

NAMES = ("none", "log", "shifted-log")
_MARGIN = 0.5
"""Predictions may exceed the range of the training targets by this share of it: far from all training rows an
exponential, or a wide kernel with a small ridge, has values without meaning."""


@dataclass(frozen=True)
class TargetTransform:
    """Increasing map of a target to the scale on which it is fitted.

    ``"log"`` is ``log y``. ``"shifted-log"`` is ``log(1 + u)`` with ``u = (y − min y)/(median y − min y)``, so that
    the result depends neither on an offset nor on the unit of y; if the tail is on the left, the same map is applied to
    ``−y``.

    >>> to = TargetTransform.fit("log", np.array([1.0, 10.0, 100.0]))
    >>> to.inverse_transform(to.transform(np.array([5.0]))).round(6)
    array([5.])
    """

    name: str
    sign: float = 1.0
    shift: float = 0.0
    scale: float = 1.0
    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def fit(cls, name: str, y: Array, weights: Array | None = None) -> TargetTransform:
        """Compute the constants from training targets ``(n,)``; for several targets ``(n, c)`` there are no bounds."""
        if name not in NAMES:
            raise ValueError(f"target_transform must be 'auto', None or one of {NAMES}, got {name!r}")
        if name == "log" and not (y > 0).all():
            raise ValueError(f'target_transform="log" needs a positive target, and the smallest is {y.min():g}')
        if name == "shifted-log" and y.ndim > 1:
            raise ValueError(f'target_transform="{name}" takes a single target, and y has {y.shape[1]}')
        if name != "shifted-log":
            return cls(name).with_range(float(y.min()), float(y.max())) if y.size == len(y) else cls(name)
        w = np.ones(len(y)) if weights is None else weights
        sign = 1.0 if skewness(y, w) >= 0 else -1.0
        least, middle = float((sign * y).min()), weighted_median(sign * y, w)
        scale = middle - least or float(np.ptp(y)) or 1.0
        return cls(name, sign, least, scale).with_range(float(y.min()), float(y.max()))

    def with_range(self, least: float, largest: float) -> TargetTransform:
        """Return the transform for training targets in this range; predictions are clipped to half of it beyond.

        >>> TargetTransform("none").with_range(0.0, 2.0).high
        3.0
        """
        margin = _MARGIN * (largest - least)
        return replace(self, low=least - margin, high=largest + margin)

    def transform(self, y: Array) -> Array:
        """Map targets from the user's scale to the fitted one."""
        if self.name == "none":
            return y
        if self.name == "log":
            if not (y > 0).all():
                raise ValueError(f"the target was fitted as a logarithm, and {y.min():g} has none")
            return np.log(y)
        # Targets of an evaluation set may lie below all training targets; they are clipped halfway to the pole.
        return self.sign * np.log1p(np.maximum((self.sign * y - self.shift) / self.scale, -0.5))

    def inverse_transform(self, z: Array, *, clip: bool = True) -> Array:
        """Map values back to the user's scale; by default at most half the training range beyond that range."""
        with np.errstate(over="ignore"):
            if self.name == "none":
                y = z
            elif self.name == "log":
                y = np.exp(z)
            else:
                y = np.where(np.isinf(z), z, self.sign * (self.shift + self.scale * np.expm1(self.sign * z)))
        return np.clip(y, self.low, self.high) if clip else y

    def bounded(self, z: Array) -> Array:
        """Move values on the fitted scale into the range to which predictions are clipped.

        >>> TargetTransform.fit("none", np.array([0.0, 2.0])).bounded(np.array([-9.0, 1.0, 9.0]))
        array([-1.,  1.,  3.])
        """
        y = self.inverse_transform(z, clip=False)
        for beyond, end in ((y < self.low, self.low), (y > self.high, self.high)):
            if beyond.any():
                z = np.where(beyond, self._code(end), z)
        return z

    def _code(self, y: float) -> float:
        """Map a value between two that the inverse reaches; :meth:`transform` clips what is far below all targets."""
        if self.name == "none":
            return y
        return math.log(y) if self.name == "log" else self.sign * math.log1p((self.sign * y - self.shift) / self.scale)


def kurtosis(y: Array, weights: Array | None = None) -> float:
    """Return the fourth standardised moment of rows with weights, 3 for a normal distribution; 0 if y is constant.

    >>> kurtosis(np.array([-1.0, 1.0])), kurtosis(np.ones(3))
    (1.0, 0.0)
    """
    return _moment(y, weights, 4)


def skewness(y: Array, weights: Array | None = None) -> float:
    """Return the third standardised moment of rows with weights; 0 if the target is constant up to rounding.

    >>> skewness(np.array([0.0, 0.0, 3.0])) > 0, skewness(np.array([0.0, 3.0]), np.array([2.0, 1.0])) > 0
    (True, True)
    """
    return _moment(y, weights, 3)


def _moment(y: Array, weights: Array | None, power: int) -> float:
    centered = y - np.average(y, weights=weights)
    spread = float(np.sqrt(np.average(centered**2, weights=weights)))
    if spread <= 1e-12 * float(np.abs(y).max(initial=0.0)) or spread == 0:
        return 0.0
    return float(np.average((centered / spread) ** power, weights=weights))


@dataclass(frozen=True, eq=False)
class NumericTarget:
    """Coding of the targets of a regression; ``flat`` is True for one target ``(n,)``, False for targets ``(n, c)``.

    Under Huber's loss ``bound`` is its δ, on the fitted scale: residuals up to δ are squared, larger ones count
    linearly. It is None under the squared loss.
    """

    transform: TargetTransform
    flat: bool
    bound: float | None = None

    def codes(self, y: TargetLike) -> Array:
        """Return targets ``(n, c)`` on the fitted scale, before they are centred and scaled."""
        return self.codes_at(read_target(y))

    def codes_at(self, values: Array) -> Array:
        """Return the codes ``(n, c)`` of targets that are numbers already."""
        return self.transform.transform(values).reshape(len(values), -1)

    def weights(self, y: TargetLike, weights: Any) -> Array | None:
        """Return the weights of rows with these targets."""
        return None if weights is None else np.asarray(weights, dtype=np.float64)

    def unweighted(self, weights: Array, codes: Array) -> Array:
        """Return the rows' weights; a regression has no class weights to divide out."""
        return weights

    def predictions(self, outputs: Array, clip: bool = True) -> Array:
        """Return outputs ``(n, c)`` in the units and shape of y; see :meth:`TargetTransform.inverse_transform`."""
        return self.transform.inverse_transform(outputs[:, 0] if self.flat else outputs, clip=clip)

    def targets(self, codes: Array) -> Array:
        """Return codes ``(n, c)`` of targets in the units and shape of y; unlike predictions they are not clipped."""
        return self.predictions(codes, clip=False)

    def bounded(self, outputs: Array) -> Array:
        """Return outputs ``(n, c)`` in the range of predictions, on the fitted scale."""
        return self.transform.bounded(outputs)

    def with_range(self, least: Array, largest: Array) -> NumericTarget:
        """Return the coding for training targets whose codes ``(c,)`` have these extremes; several have no bounds."""
        if len(least) > 1:
            return self
        ends = self.transform.inverse_transform(np.concatenate([least, largest]), clip=False)
        return replace(self, transform=self.transform.with_range(float(ends[0]), float(ends[1])))

    def interval(self, outputs: Array, reach: Array) -> tuple[Array, Array]:
        """Return both ends of ``f(x) ± reach`` in the units and shape of y; f is bounded as predictions are."""
        centre = self.bounded(outputs)
        return self.predictions(centre - reach, clip=False), self.predictions(centre + reach, clip=False)


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Coding of classes: ±1 for two classes, one-hot for more. ``factors`` are class weights, if there are any.

    >>> ClassTarget(np.array(["no", "yes"])).codes(["yes", "no"])
    array([[ 1.],
           [-1.]])
    """

    classes: NDArray[Any]
    factors: Array | None = None

    def codes(self, y: TargetLike) -> Array:
        """Return the codes ``(n, c)`` of labels."""
        return self.codes_at(label_codes(y, self.classes))

    def codes_at(self, values: NDArray[Any]) -> Array:
        """Return the codes ``(n, c)`` of class indices."""
        indices = values.astype(np.intp)
        if len(self.classes) == 2:
            return np.where(indices == 1, 1.0, -1.0)[:, None]
        return np.eye(len(self.classes))[indices]

    def weights(self, y: TargetLike, weights: Any) -> Array | None:
        """Return sample weights times the class weights of these labels."""
        own = None if weights is None else np.asarray(weights, dtype=np.float64)
        if self.factors is None:
            return own
        factors = self.factors[label_codes(y, self.classes)]
        return factors if own is None else own * factors

    def unweighted(self, weights: Array, codes: Array) -> Array:
        """Divide class weights out of the weights of rows with these codes."""
        return weights if self.factors is None else weights / self.factors[self.indices(codes)]

    @staticmethod
    def indices(scores: Array) -> NDArray[np.intp]:
        """Return the index of the class with the highest score in each row; for codes it is the class itself."""
        return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def targets(self, codes: Array) -> NDArray[Any]:
        """Return the labels of codes ``(n, c)``."""
        return self.predictions(codes)

    def with_range(self, least: Array, largest: Array) -> ClassTarget:
        """Return the same coding: classes have no range."""
        return self

    def predictions(self, outputs: Array) -> NDArray[Any]:
        """Return the label with the highest score in each row of outputs ``(n, c)``."""
        labels: NDArray[Any] = self.classes[self.indices(outputs)]
        return labels


Target = NumericTarget | ClassTarget
"""A fitted target coding."""
