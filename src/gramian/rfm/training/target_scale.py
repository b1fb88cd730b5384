"""The scale on which a skewed target is fitted: another one where that predicts better on the user's own scale."""

from __future__ import annotations

import numpy as np
import torch

from gramian.core.statistics import weighted_median
from gramian.kernels import Identity, KernelOperator, Laplace
from gramian.rfm.training.tuning import RIDGES, with_median_bandwidth
from gramian.solvers import Direct
from gramian.tables.merging import counts_rows
from gramian.tables.scaling import Array
from gramian.tables.targets import TargetTransform, skewness

_ROWS = 500
_BANDWIDTH_SCALES = (1.0, 4.0, 16.0)
_MIN_ROWS = 30
_SKEWED = 1.0


def choose_transform(X: Array, y: Array, weights: Array, seed: int) -> TargetTransform:
    """Choose a shifted logarithm where kernel ridge regression then predicts left-out rows better on the user's scale.

    It is tried only for a skewed target, on at most 500 rows, by exact leave-one-out. It must have the smaller mean and
    the smaller median of squared errors: under a heavy tail either alone is unreliable.

    Parameters
    ----------
    X : array (n, d)
        Standardised rows.
    y : array (n,)
    weights : array (n,)
    seed : int

    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> choose_transform(X, X[:, 0], np.ones(100), seed=0).name  # not skewed
    'none'
    """
    none = TargetTransform("none")
    if len(y) < _MIN_ROWS or not abs(skewness(y, weights)) > _SKEWED:
        return none
    rows = np.random.default_rng(seed).permutation(len(y))[:_ROWS]
    Z = torch.from_numpy(X[rows])
    base = with_median_bandwidth(Laplace(bandwidth="median"), Identity(X.shape[1]), Z, seed)
    operators = [KernelOperator(base.times(scale), Z) for scale in _BANDWIDTH_SCALES]
    w = weights[rows]
    other = TargetTransform.fit("shifted-log", y, weights)
    plain, bent = (_left_out_errors(operators, transform, y[rows], w) for transform in (none, other))
    better = float(bent @ w) < float(plain @ w) and weighted_median(bent, w) < weighted_median(plain, w)
    return other if better else none


def _left_out_errors(operators: list[KernelOperator], transform: TargetTransform, y: Array, weights: Array) -> Array:
    """Return squared errors on the user's scale at the bandwidth and ridge that make their mean smallest."""
    z = transform.transform(y)
    center = float(np.average(z, weights=weights))
    scale = float(np.sqrt(np.average((z - center) ** 2, weights=weights))) or 1.0
    Y, w = torch.from_numpy((z - center) / scale)[:, None], None
    if np.ptp(weights) > 0 or weights[0] != 1:
        w = torch.from_numpy(weights)
    ridges = [ridge * float(weights.mean()) for ridge in RIDGES[2::2]]  # row i gets λ/wᵢ
    copies = w if counts_rows(weights) else None
    paths = [Direct().path(operator, Y, ridges, weights=w, copies=copies) for operator in operators]
    points = [point for path in paths for point in path]
    found = [(transform.inverse_transform((Y - point.loo).numpy()[:, 0] * scale + center) - y) ** 2 for point in points]
    return min(found, key=lambda errors: float(errors @ weights))
