"""Skewed targets: fitted on another scale where that predicts better on the user's own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import yeojohnson, yeojohnson_normmax

from gramian.kernels import Identity, KernelOperator, Laplace
from gramian.rfm.choice import RIDGES, base_kernel
from gramian.solvers import Direct

Array = NDArray[np.float64]
NAMES = ("none", "log", "yeo-johnson")
_ROWS = 500
_FACTORS = (1.0, 4.0, 16.0)
_SKEWED = 1.0
_ROOM = 0.5
"""How far past the training targets a prediction may go, in units of their range: an exponential must not run away."""


@dataclass(frozen=True)
class TargetTransform:
    """An increasing map of the target: ``log y``, or Yeo and Johnson's power for targets of any sign.

    >>> to = TargetTransform.learn("log", np.array([1.0, 10.0, 100.0]))
    >>> to.undo(to.apply(np.array([5.0]))).round(6)
    array([5.])
    """

    name: str
    power: float = 1.0
    center: float = 0.0
    scale: float = 1.0
    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def learn(cls, name: str, y: Array) -> TargetTransform:
        """Its numbers from training targets (n,)."""
        if name == "none":
            return cls(name)
        if name == "log":
            if not (y > 0).all():
                raise ValueError(f'target_transform="log" needs a positive target, and the smallest is {y.min():g}')
            made = cls(name)
        elif name == "yeo-johnson":
            center, scale = float(np.median(y)), float(np.std(y)) or 1.0
            made = cls(name, float(yeojohnson_normmax((y - center) / scale)), center, scale)
        else:
            raise ValueError(f"target_transform must be 'auto', None or one of {NAMES}, got {name!r}")
        z = made.apply(y)
        room = _ROOM * float(np.ptp(z))
        return cls(made.name, made.power, made.center, made.scale, float(z.min() - room), float(z.max() + room))

    def apply(self, y: Array) -> Array:
        """From the user's scale to the one that is fitted."""
        if self.name == "none":
            return y
        if self.name == "log":
            return np.log(y)
        return np.asarray(yeojohnson((y - self.center) / self.scale, self.power), dtype=np.float64)

    def undo(self, z: Array) -> Array:
        """Back to the user's scale."""
        if self.name == "none":
            return z
        z = np.clip(z, self.low, self.high)
        if self.name == "log":
            return np.exp(z)
        return self.center + self.scale * _inverse_yeojohnson(z, self.power)


def choose_transform(X: Array, y: Array, weights: Array, seed: int) -> TargetTransform:
    """The transform under which kernel ridge regression predicts left-out rows best *on the user's scale*.

    Tried only for a skewed target, on at most 500 rows, by exact leave-one-out. Another scale than the user's must
    have the smaller mean and the smaller median of squared errors: under a heavy tail either alone says little.

    Parameters
    ----------
    X : array (n, d)
        Standardised rows.
    y : array (n,)
    weights : array (n,)
    seed : int
    """
    if len(y) < 30 or not abs(_skewness(y)) > _SKEWED:
        return TargetTransform("none")
    rows = np.random.default_rng(seed).permutation(len(y))[:_ROWS]
    X, y, weights = X[rows], y[rows], weights[rows]
    Z = torch.from_numpy(X)
    base = base_kernel(Laplace(bandwidth="median"), Identity(X.shape[1]), Z, seed)
    operators = [KernelOperator(base.times(factor), Z) for factor in _FACTORS]
    share = weights / weights.sum()
    best = TargetTransform("none")
    errors = _left_out_errors(operators, best, y, share)
    mean, median = float(errors @ share), float(np.median(errors))
    for name in NAMES[1:]:
        if name == "log" and not (y > 0).all():
            continue
        transform = TargetTransform.learn(name, y)
        errors = _left_out_errors(operators, transform, y, share)
        if float(errors @ share) < mean and float(np.median(errors)) < median:
            best, mean, median = transform, float(errors @ share), float(np.median(errors))
    return best


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


def _inverse_yeojohnson(z: Array, power: float) -> Array:
    out = np.empty_like(z)
    up = z >= 0
    tiny = 1e-9
    if abs(power) < tiny:
        out[up] = np.expm1(z[up])
    else:
        out[up] = np.maximum(power * z[up] + 1, tiny) ** (1 / power) - 1
    if abs(power - 2) < tiny:
        out[~up] = -np.expm1(-z[~up])
    else:
        out[~up] = 1 - np.maximum(1 - (2 - power) * z[~up], tiny) ** (1 / (2 - power))
    return out
