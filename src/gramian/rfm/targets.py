"""Skewed targets: fitted on another scale where that predicts better on the user's own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from gramian.kernels import Identity, KernelOperator, Laplace
from gramian.rfm.choice import RIDGES, base_kernel
from gramian.rfm.data import Array
from gramian.solvers import Direct

NAMES = ("none", "log", "shifted-log")
_ROWS = 500
_FACTORS = (1.0, 4.0, 16.0)
_SKEWED = 1.0
_ROOM = 0.5
"""How far past the training targets a prediction may go, in units of their range: an exponential must not run away."""


@dataclass(frozen=True)
class TargetTransform:
    """An increasing map of the target to the scale that is fitted.

    ``"log"`` is ``log y``. ``"shifted-log"`` is ``log(1 + u)`` with ``u = (y − min y)/(median y − min y)``, so neither
    an offset nor the unit of y matters; for a tail to the left the same of ``−y``.

    >>> to = TargetTransform.learn("log", np.array([1.0, 10.0, 100.0]))
    >>> to.undo(to.apply(np.array([5.0]))).round(6)
    array([5.])
    """

    name: str
    sign: float = 1.0
    shift: float = 0.0
    scale: float = 1.0
    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def learn(cls, name: str, y: Array) -> TargetTransform:
        """Its numbers from training targets (n,); of several targets (n, c) only a plain logarithm can be taken."""
        if name not in NAMES:
            raise ValueError(f"target_transform must be 'auto', None or one of {NAMES}, got {name!r}")
        if name == "none":
            return cls(name)
        if name == "log" and not (y > 0).all():
            raise ValueError(f'target_transform="log" needs a positive target, and the smallest is {y.min():g}')
        if y.ndim > 1:
            if name == "log":
                return cls(name)
            raise ValueError(f'target_transform="{name}" takes a single target, and y has {y.shape[1]}')
        room = _ROOM * float(np.ptp(y))
        low, high = float(y.min()) - room, float(y.max()) + room
        if name == "log":
            return cls(name, low=low, high=high)
        sign = 1.0 if _skewness(y) >= 0 else -1.0
        least, middle = float((sign * y).min()), float(np.median(sign * y))
        scale = middle - least or float(np.ptp(y)) or 1.0
        return cls(name, sign, least, scale, low, high)

    def apply(self, y: Array) -> Array:
        """From the user's scale to the one that is fitted."""
        if self.name == "none":
            return y
        if self.name == "log":
            if not (y > 0).all():
                raise ValueError(f"the target was fitted as a logarithm, and {y.min():g} has none")
            return np.log(y)
        # Targets of an evaluation set may lie below all training ones; half the way to the pole they are kept.
        return self.sign * np.log1p(np.maximum((self.sign * y - self.shift) / self.scale, -0.5))

    def undo(self, z: Array, *, clip: bool = True) -> Array:
        """Back to the user's scale; by default no further past the training targets than half their range."""
        if self.name == "none":
            return z
        with np.errstate(over="ignore"):
            y = np.exp(z) if self.name == "log" else self.sign * (self.shift + self.scale * np.expm1(self.sign * z))
        if self.name == "shifted-log":
            y = np.where(np.isinf(z), z, y)
        return np.clip(y, self.low, self.high) if clip else y


def choose_transform(X: Array, y: Array, weights: Array, seed: int) -> TargetTransform:
    """A shifted logarithm where kernel ridge regression then predicts left-out rows better *on the user's scale*.

    Tried only for a skewed target, on at most 500 rows, by exact leave-one-out. It must have the smaller mean and the
    smaller median of squared errors: under a heavy tail either alone says little.

    Parameters
    ----------
    X : array (n, d)
        Standardised rows.
    y : array (n,)
    weights : array (n,)
    seed : int
    """
    none = TargetTransform("none")
    if len(y) < 30 or not abs(_skewness(y)) > _SKEWED:
        return none
    rows = np.random.default_rng(seed).permutation(len(y))[:_ROWS]
    Z = torch.from_numpy(X[rows])
    base = base_kernel(Laplace(bandwidth="median"), Identity(X.shape[1]), Z, seed)
    operators = [KernelOperator(base.times(factor), Z) for factor in _FACTORS]
    share = weights[rows] / weights[rows].sum()
    other = TargetTransform.learn("shifted-log", y)
    plain, bent = (_left_out_errors(operators, transform, y[rows], share) for transform in (none, other))
    better = float(bent @ share) < float(plain @ share) and float(np.median(bent)) < float(np.median(plain))
    return other if better else none


def _skewness(y: Array) -> float:
    """Third standardised moment; 0 where the target is constant up to rounding."""
    centered = y - y.mean()
    spread = float(np.sqrt(np.mean(centered**2)))
    if spread <= 1e-12 * float(np.abs(y).max(initial=0.0)) or spread == 0:
        return 0.0
    return float(np.mean((centered / spread) ** 3))


def _left_out_errors(operators: list[KernelOperator], transform: TargetTransform, y: Array, share: Array) -> Array:
    """Squared errors on the user's scale at the bandwidth and ridge that make their mean smallest."""
    z = transform.apply(y)
    center, scale = float(z.mean()), float(z.std()) or 1.0
    Y = torch.from_numpy((z - center) / scale)[:, None]
    points = [point for operator in operators for point in Direct().path(operator, Y, list(RIDGES[2::2]))]
    found = [(transform.undo((Y - point.loo).numpy()[:, 0] * scale + center) - y) ** 2 for point in points]
    return min(found, key=lambda errors: float(errors @ share))
