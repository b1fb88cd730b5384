"""Predictions for held-out rows, from which probabilities, intervals and sets are derived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from gramian.kernels import KernelOperator
from gramian.rfm.machine import KernelMachine
from gramian.solvers import Direct
from gramian.tables.scaling import Array, Scaler
from gramian.tables.types import Labels

_LEFT_OUT_ROWS = 1000
_SYSTEM_ROWS = 4000

Source = Literal["folds", "splits", "split", "evaluation set", "leave-one-out"]


@dataclass(frozen=True, eq=False)
class HoldoutPredictions:
    """Outputs for held-out rows beside their targets, both ``(m, c)`` in the units of the target codes, and weights.

    ``source`` names the rows: ``"folds"``, several ``"splits"`` or one ``"split"`` of the training rows, the
    ``"evaluation set"``, or ``"leave-one-out"``. Rows of a fold, or of one of several splits, are predicted by the
    kernels and rounds that the others select; one split and the evaluation set selected them themselves; the last is
    exact given M, and M has seen the labels: these three are slightly optimistic. The model of one split is not fitted
    to its held-out rows; after folds and splits the final model is fitted to all rows. Weights are those of rows as
    they occur, without class weights. ``copies (m,)`` counts the rows of the table that each row stands for; None for
    one each.
    """

    outputs: Array
    targets: Array
    weights: Array
    source: Source
    copies: Array | None = None


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with known targets or labels ``y`` beside what a model predicts for them, in the user's terms.

    ``probabilities (m, classes)`` are a classifier's. ``source`` is that of :class:`HoldoutPredictions`, or says which
    other rows they are.
    """

    y: Labels
    predicted: Labels
    probabilities: Float[np.ndarray, "m k"] | None
    weights: Float[np.ndarray, " m"]
    source: str


def leave_one_out(
    machine: KernelMachine,
    ridge: float,
    scaler: Scaler,
    codes: Array | None = None,
    copies: Array | None = None,
) -> HoldoutPredictions:
    """Compute exact leave-one-out outputs at up to 1,000 rows, given M; within 4,000 random rows where there are more.

    ``codes (n, c)`` are the rows' targets in the units of the target codes, where the machine was fitted to others.
    Where a row stands for several ``copies (n,)`` in the table, one of them is left out.

    >>> from gramian.kernels import Gaussian
    >>> X = torch.linspace(-1, 1, 30, dtype=torch.float64)[:, None]
    >>> operator = KernelOperator(Gaussian(1.0), X)
    >>> coef = torch.linalg.solve(operator.dense() + 0.1 * torch.eye(30, dtype=torch.float64), X)
    >>> held = leave_one_out(KernelMachine(operator, coef), 0.1, Scaler(np.zeros(1), np.ones(1)))
    >>> bool(np.allclose(np.sort(held.targets.ravel()), np.linspace(-1, 1, 30)))
    True
    """
    device = machine.X.device
    most = min(machine.n, _SYSTEM_ROWS)
    while machine.max_bytes is not None and Direct().bytes_needed(most, machine.X.dtype) > machine.max_bytes:
        most //= 2
    order = torch.randperm(machine.n, generator=torch.Generator().manual_seed(0)).to(device)
    part = order[:most] if most < machine.n else order.sort().values
    weights = None if machine.weights is None else machine.weights[part]
    coef = machine.coef.to(machine.operator.wide)
    noise = ridge * coef if machine.weights is None else ridge * coef / machine.weights[:, None]
    Y = (machine.operator.matmul(coef) + noise)[part]  # the targets: the right-hand side the coefficients solve for
    operator = KernelOperator(machine.kernel, machine.X[part], machine.metric, machine.max_bytes)
    rows = torch.randperm(most, generator=torch.Generator().manual_seed(1))[:_LEFT_OUT_ROWS].to(device)
    at = part[rows].cpu().numpy()
    counts = None if copies is None else torch.as_tensor(copies, dtype=coef.dtype, device=device)[part]
    residuals = Direct().loo(operator, Y, ridge, rows, weights=weights, copies=counts)

    def in_units(values: torch.Tensor) -> Array:
        return scaler.inverse_transform(values.cpu().numpy().astype(np.float64))

    selected = np.ones(len(rows)) if weights is None else weights[rows].cpu().numpy().astype(np.float64)
    targets = in_units(Y[rows]) if codes is None else codes[at]
    left_out = None if copies is None else copies[at]
    return HoldoutPredictions(in_units(Y[rows] - residuals), targets, selected, "leave-one-out", left_out)
