"""The scale and the loss of a single target: a logarithm for a skewed one, Huber's loss for one with heavy tails.

Both are tried only where the target asks for it, on at most 500 rows, by exact leave-one-out of kernel ridge
regression, and are used where they predict left-out rows better on the user's own scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from gramian.core.statistics import weighted_median, within_standard_error
from gramian.kernels import Identity, KernelOperator, Laplace
from gramian.rfm.training.tuning import RIDGES, with_median_bandwidth
from gramian.solvers import RidgePath
from gramian.tables.scaling import Array
from gramian.tables.targets import TargetTransform, kurtosis, skewness

_ROWS = 500
_PULL_ROWS = 1500
"""Rows, at most, whose fit pulls the targets of all rows in; it costs the cube of them."""
_BANDWIDTH_SCALES = (1.0, 4.0, 16.0)
_MIN_ROWS = 30
_SKEWED = 1.0
_HEAVY = 6.0
"""Fourth standardised moment of a target whose tails may be heavy: 3 for the normal distribution, 6 for Laplace's."""
_BOUND = 1.345
"""Standard deviations beyond which Huber's loss is linear: 95 % as efficient as least squares for normal errors."""
_GAIN, _GAIN_ERRORS = 0.95, 3.0
"""Mean absolute error, as a multiple of that of the squared loss, from which Huber's is used; standard errors of it.

Targets with predictable peaks, such as those of the data set sulfur, are nearer to the bound than any with Cauchy's or
Student's noise of two degrees of freedom.
"""
_CLOSE = 1.02
_STEPS = 20

LossName = Literal["auto", "squared", "huber"]


@dataclass(frozen=True, eq=False)
class FittedScale:
    """The scale on which a target is fitted and, under Huber's loss, its bound δ and the pulled targets ``(n,)``."""

    transform: TargetTransform
    bound: float | None = None
    pulled: Array | None = None


def choose_scale(
    X: Array,
    y: Array,
    weights: Array,
    seed: int,
    *,
    copies: Array | None = None,
    transform: str = "auto",
    loss: LossName = "auto",
) -> FittedScale:
    """Choose the scale and the loss of a target by leave-one-out errors on the user's scale.

    A shifted logarithm must have the smaller mean and the smaller median of squared errors: under a heavy tail either
    alone is unreliable. Huber's loss must have a mean absolute error that is smaller by 5 % and by three standard
    errors, and a mean squared error that is not larger by more than one standard error or 2 %.

    Parameters
    ----------
    X : array (n, d)
        Standardised rows.
    y : array (n,)
    weights : array (n,)
    seed : int
    copies : array (n,), optional
        How often each row is in the table; once each by default.
    transform : "auto" or the name of a :class:`TargetTransform`
    loss : "auto", "squared" or "huber"

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> choose_scale(X, X[:, 0], np.ones(200), seed=0).transform.name  # neither skewed nor heavy-tailed
    'none'
    >>> choose_scale(X, X[:, 0] + 0.1 * rng.standard_cauchy(200), np.ones(200), seed=0).bound < 1
    True
    """
    fixed = TargetTransform.fit("none" if transform == "auto" else transform, y, weights)
    few = len(y) < _MIN_ROWS
    bends = transform == "auto" and not few and abs(skewness(y, weights)) > _SKEWED
    heavy = loss == "huber" or (loss == "auto" and not few and kurtosis(fixed.transform(y), weights) > _HEAVY)
    if not (bends or heavy):
        return FittedScale(fixed)
    rows = np.random.default_rng(seed).permutation(len(y))[:_ROWS]
    counts = np.ones(len(y)) if copies is None else copies
    left_out = _LeftOut(X[rows], weights[rows], counts[rows], seed)
    own, w = y[rows], weights[rows]
    scales = [fixed, TargetTransform.fit("shifted-log", y, weights)] if bends else [fixed]
    z = [scale.transform(own) for scale in scales]
    columns = np.stack([*z, _clipped(z[0], w)] if heavy else z, axis=1)
    outputs = left_out.outputs(columns)  # (t, m, columns)
    plain = [_best((scale.inverse_transform(outputs[:, :, i]) - own) ** 2, w) for i, scale in enumerate(scales)]
    chosen, errors = scales[0], plain[0]
    if bends and plain[1] @ w < plain[0] @ w and weighted_median(plain[1], w) < weighted_median(plain[0], w):
        chosen, errors = scales[1], plain[1]
    if not heavy:
        return FittedScale(chosen)
    at = int((np.abs(outputs[:, :, -1] - z[0]) @ w).argmin())  # the setting that predicts the clipped target best
    robust, bound = left_out.pull(at, z[0])
    found = (fixed.inverse_transform(robust) - own) ** 2
    if loss == "auto" and not _is_better(found, errors, w):
        return FittedScale(chosen)
    if len(y) > len(rows):
        more = np.random.default_rng(seed).permutation(len(y))[:_PULL_ROWS]
        codes = fixed.transform(y)
        whole = _LeftOut(X[more], weights[more], counts[more], seed, at)
        inside, bound = whole.pull(0, codes[more])
        outputs = whole.predict(X, inside + np.clip(codes[more] - inside, -bound, bound))
        outputs[more] = inside
    else:
        outputs, codes = np.empty(len(y)), fixed.transform(y)
        outputs[rows] = robust
    return FittedScale(fixed, bound, outputs + np.clip(codes - outputs, -bound, bound))


class _LeftOut:
    """Leave-one-out predictions of rows by kernel ridge regression, for a few bandwidths and ridges.

    ``at`` is the number of a single setting, for rows on which no other is to be tried.
    """

    def __init__(self, X: Array, weights: Array, copies: Array, seed: int, at: int | None = None) -> None:
        Z = torch.from_numpy(X)
        base = with_median_bandwidth(Laplace(bandwidth="median"), Identity(X.shape[1]), Z, seed)
        ridges = [ridge * float(weights.mean()) for ridge in RIDGES[2::2]]  # row i gets λ/wᵢ
        self.settings = [(base.times(scale), ridge) for scale in _BANDWIDTH_SCALES for ridge in ridges]
        if at is not None:
            self.settings = [self.settings[at]]
        self.Z, self.ridges, self.w = Z, ridges, weights
        self.weights = torch.from_numpy(weights) if np.ptp(weights) > 0 or weights[0] != 1 else None
        self.copies = copies

    def outputs(self, columns: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "t m k"]:
        """Return the predictions of each column of targets at each setting."""
        center = np.average(columns, axis=0, weights=self.w)
        Y = torch.from_numpy(columns - center)
        found = []
        for start in range(0, len(self.settings), len(self.ridges)):
            operator = KernelOperator(self.settings[start][0], self.Z)
            points = RidgePath(operator, Y, weights=self.weights, copies=torch.from_numpy(self.copies)).at(self.ridges)
            known = {point.ridge: (Y - point.loo).numpy() + center for point in points}
            found += [known.get(ridge, np.full_like(columns, np.inf)) for ridge in self.ridges]
        return np.stack(found)

    def pull(self, at: int, z: Array) -> tuple[Array, float]:
        """Iterate targets that are pulled to within δ of their own leave-one-out predictions; return these and δ.

        A fixed point minimises Huber's loss, since the pulled residual is its derivative. δ follows from the median
        absolute residual.
        """
        kernel, ridge = self.settings[at]
        K = KernelOperator(kernel, self.Z).dense()
        inverse = torch.linalg.inv(K + torch.diag(torch.from_numpy(ridge / self.w))).numpy()
        leverage = 1 - ridge / self.w * inverse.diagonal()
        pulled, center, outputs, bound = _clipped(z, self.w), 0.0, z, 0.0
        for _ in range(_STEPS):
            center = float(np.average(pulled, weights=self.w))
            residuals = ridge / self.w * (inverse @ (pulled - center)) / (1 - leverage / self.copies)
            outputs = pulled - residuals
            bound = _bound(z - outputs, self.w)
            before, pulled = pulled, outputs + np.clip(z - outputs, -bound, bound)
            if np.abs(pulled - before).max() <= 1e-3 * bound:
                break
        self.solved, self.center, self.kernel = inverse, center, kernel
        return outputs, bound

    def predict(self, X: Array, pulled: Array) -> Array:
        """Predict other rows from the targets of these, at the setting of :meth:`pull`."""
        coef = torch.from_numpy(self.solved @ (pulled - self.center))[:, None]
        found = KernelOperator(self.kernel, self.Z).predict(torch.from_numpy(X), coef, batch_invariant=False)
        outputs: Array = found.numpy()[:, 0] + self.center
        return outputs


def _clipped(z: Array, weights: Array) -> Array:
    middle = weighted_median(z, weights)
    bound = _bound(z - middle, weights)
    clipped: Array = np.clip(z, middle - bound, middle + bound)
    return clipped


def _bound(residuals: Array, weights: Array) -> float:
    """Return δ: 1.345 standard deviations, which follow from the median absolute residual of a normal distribution."""
    return _BOUND * weighted_median(np.abs(residuals), weights) / 0.6745


def _best(errors: Float[np.ndarray, "t m"], weights: Array) -> Array:
    """Return the errors of the setting with the smallest mean."""
    best: Array = errors[int((errors @ weights).argmin())]
    return best


def _is_better(robust: Array, plain: Array, weights: Array) -> bool:
    """Compare squared errors of two losses as :func:`choose_scale` says."""
    share = torch.from_numpy(weights / weights.sum())
    squares = torch.from_numpy(robust), torch.from_numpy(plain)
    one, other = (errors.sqrt() for errors in squares)
    smaller = float(one @ share) < _GAIN * float(other @ share)
    clearly = not within_standard_error(other, one, share, _GAIN_ERRORS)
    close = float(squares[0] @ share) <= _CLOSE * float(squares[1] @ share)  # where one row is the whole sum
    return smaller and clearly and (close or within_standard_error(*squares, share))
