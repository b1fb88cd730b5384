"""What is known of rows a model has not seen: the ground of probabilities, intervals and sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from gramian.rfm.calibration import log_probabilities
from gramian.rfm.data import Array, Scaler
from gramian.rfm.machine import KernelMachine
from gramian.solvers import Direct

_LEFT_OUT_ROWS = 1000
_MOST_ROWS = 4000


@dataclass(frozen=True, eq=False)
class Judged:
    """Outputs for unseen rows beside their targets, both ``(m, c)`` in the units of Y, and the rows' weights.

    ``how`` says where they come from: ``"folds"`` or one ``"split"`` of the training rows, ``"evaluation set"``, or
    ``"leave-one-out"``. By the first three kernel and round were chosen; the last is exact given M, and M has seen the
    labels: all are a little too good.
    """

    outputs: Array
    targets: Array
    weights: Array
    how: str


def leave_one_out(machine: KernelMachine, ridge: float, scaler: Scaler) -> Judged:
    """Exact leave-one-out outputs at up to 1,000 rows, given M; within 4,000 random rows where there are more."""
    device = machine.X.device
    most = min(machine.n, _MOST_ROWS)
    while machine.max_bytes is not None and Direct().bytes_needed(most, machine.X.dtype) > machine.max_bytes:
        most //= 2
    order = torch.randperm(machine.n, generator=torch.Generator().manual_seed(0)).to(device)
    part = order[:most] if most < machine.n else order.sort().values
    weights = None if machine.weights is None else machine.weights[part]
    coef = machine.coef.to(machine.operator.wide)
    noise = ridge * coef if machine.weights is None else ridge * coef / machine.weights[:, None]
    Y = (machine.operator.matmul(coef) + noise)[part]  # the targets: what the coefficients solve for
    operator = replace(machine.operator, X=machine.X[part])
    rows = torch.randperm(most, generator=torch.Generator().manual_seed(1))[:_LEFT_OUT_ROWS].to(device)
    residuals = Direct().loo(operator, Y, ridge, rows, weights=weights)

    def units(values: torch.Tensor) -> Array:
        return scaler.undo(values.cpu().numpy().astype(np.float64))

    chosen = np.ones(len(rows)) if weights is None else weights[rows].cpu().numpy().astype(np.float64)
    return Judged(units(Y[rows] - residuals), units(Y[rows]), chosen, "leave-one-out")


@dataclass(frozen=True, eq=False)
class Unseen:
    """Rows a model has not seen, in the user's terms: targets or labels ``y``, what was predicted, and from where.

    ``probabilities (m, classes)`` are a classifier's. ``how`` is that of :class:`Judged`.
    """

    y: NDArray[Any]
    predicted: NDArray[Any]
    probabilities: Float[np.ndarray, "m k"] | None
    weights: Float[np.ndarray, " m"]
    how: str


def unseen(model: Any) -> Unseen:
    """What a fitted model predicted for rows its fit had held out; left out one by one where none were.

    >>> from gramian import RFMRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> found = unseen(RFMRegressor(n_rounds=1).fit(X, X[:, 0] ** 2))
    >>> len(found.y), found.how, bool(np.abs(found.y - found.predicted).mean() < 0.1)
    (60, 'folds', True)
    """
    judged = model._judged()
    if not hasattr(model, "classes_"):
        y, predicted = (model._on_y_scale(values) for values in (judged.targets, judged.outputs))
        return Unseen(y, predicted, None, judged.weights, judged.how)
    probabilities = np.exp(log_probabilities(judged.outputs, 1 / model.temperature_))
    y, predicted = (model.classes_[model._labels(values)] for values in (judged.targets, judged.outputs))
    return Unseen(y, predicted, probabilities, judged.weights, judged.how)
