"""Losses by which rounds, candidates and averages are selected: one number for each held-out row.

A loss that is a mean over rows is that row's term. The area under the ROC curve is written as such a mean, and a
function of the user's becomes one by leaving out groups of rows: selection compares means row by row.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.stats import rankdata
from torch import Tensor

from gramian.core.selection import RowLoss
from gramian.tables.links import fit_link
from gramian.tables.scaling import Array, Scaler
from gramian.tables.targets import ClassTarget, NumericTarget, Target

ClassMetric = Literal["log_loss", "brier", "auc", "accuracy"]
NumberMetric = Literal["rmse", "mae"]
MetricFunction = Callable[..., float]
"""``loss(y_true, y_pred)``: smaller is better; ``sample_weight`` is passed by name where rows have weights."""
MetricLike = Literal["auto"] | ClassMetric | NumberMetric | MetricFunction
_WORDS = {
    "auto": "mean squared error of the scaled target",
    "log_loss": "log loss",
    "brier": "Brier score",
    "auc": "1 − AUC",
    "accuracy": "share of wrong labels",
    "rmse": "mean squared error",
    "mae": "mean absolute error",
}
_GROUPS = 20
"""Number of groups of rows that are left out in turn to find the part of each in a user's loss."""


def selection_loss(metric: object, target: Target, scaler: Scaler) -> RowLoss | None:
    """Return the loss of a metric for outputs on the scale of the fit; None for ``"auto"``, the squared error on it.

    >>> selection_loss("rmse", ClassTarget(np.array([0, 1])), Scaler(np.zeros(1), np.ones(1)))
    Traceback (most recent call last):
    ValueError: metric must be "auto", "log_loss", "brier", "auc", "accuracy" or a function for classes, got 'rmse'
    """
    if isinstance(metric, str) and metric == "auto":
        return None
    names, kind = get_args(ClassMetric), "classes"
    if isinstance(target, NumericTarget):
        names, kind = get_args(NumberMetric), "numbers"
    if not (callable(metric) or (isinstance(metric, str) and metric in names)):
        listed = ", ".join(f'"{name}"' for name in ("auto", *names))
        raise ValueError(f"metric must be {listed} or a function for {kind}, got {metric!r}")
    if isinstance(target, NumericTarget):
        return NumberLoss(metric, target, scaler)  # type: ignore[arg-type]
    return ClassLoss(metric, target, scaler)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class NumberLoss:
    """Squared (``"rmse"``) or absolute (``"mae"``) errors in the units of y, or a function of the user's."""

    metric: NumberMetric | MetricFunction
    target: NumericTarget
    scaler: Scaler

    def __call__(
        self, outputs: Float[Tensor, "t m c"], Y: Float[Tensor, "m c"], weights: Float[Tensor, " m"]
    ) -> Float[Tensor, "t m"]:
        """Return the loss of each row after each round."""
        y, w = self.target.targets(self._codes(Y)), weights.cpu().numpy()
        found = [self._rows(y, self.target.predictions(self._codes(one)), w) for one in outputs]
        return torch.as_tensor(np.stack(found), dtype=outputs.dtype, device=outputs.device)

    def _codes(self, values: Float[Tensor, "m c"]) -> Array:
        return self.scaler.inverse_transform(values.cpu().numpy().astype(np.float64))

    def _rows(self, y: Array, predicted: Array, weights: Array) -> Array:
        if not isinstance(self.metric, str):
            return group_losses(self.metric, y, predicted, weights)
        gap = (predicted - y).reshape(len(y), -1)
        losses: Array = (gap**2 if self.metric == "rmse" else np.abs(gap)).mean(axis=1)
        return losses


@dataclass(frozen=True, eq=False)
class ClassLoss:
    """Losses of classes: of probabilities, whose link is fitted to the same rows, of ranks, or of labels."""

    metric: ClassMetric | MetricFunction
    target: ClassTarget
    scaler: Scaler

    def __call__(
        self, outputs: Float[Tensor, "t m c"], Y: Float[Tensor, "m c"], weights: Float[Tensor, " m"]
    ) -> Float[Tensor, "t m"]:
        """Return the loss of each row after each round."""
        labels, w = ClassTarget.indices(self._scores(Y)), weights.cpu().numpy()
        found = [self._rows(self._scores(one), labels, w) for one in outputs]
        return torch.as_tensor(np.stack(found), dtype=outputs.dtype, device=outputs.device)

    def _scores(self, values: Float[Tensor, "m c"]) -> Array:
        return self.scaler.inverse_transform(values.cpu().numpy().astype(np.float64))

    def _rows(self, scores: Array, labels: NDArray[np.intp], weights: Array) -> Array:
        if self.metric == "accuracy":
            wrong: Array = (ClassTarget.indices(scores) != labels).astype(np.float64)
            return wrong
        if self.metric == "auc":
            return ranking_losses(scores, labels, weights)
        logs = fit_link(scores, labels, weights).log_probabilities(scores)
        own = np.arange(len(labels)), labels
        losses: Array
        if self.metric == "log_loss":
            losses = -logs[own]
            return losses
        probabilities = np.exp(logs)
        if self.metric == "brier":
            probabilities[own] -= 1
            losses = (probabilities**2).sum(axis=1)
            return losses
        assert not isinstance(self.metric, str)
        return group_losses(self.metric, self.target.classes[labels], probabilities, weights)


def describe_loss(metric: object) -> str:
    """Return the words for the mean of a loss on held-out rows.

    >>> describe_loss("auc")
    '1 − AUC'
    """
    if isinstance(metric, str):
        return _WORDS[metric]
    return str(getattr(metric, "__name__", type(metric).__name__))


def ranking_losses(
    scores: Float[np.ndarray, "m c"], labels: Int[np.ndarray, " m"], weights: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """Return losses whose weighted mean is 1 − AUC; of several classes, the mean over each against the rest.

    The loss of a row is the share of rows on the other side that are ranked on the wrong side of it (ties count half),
    divided by twice the share of rows on its own side.

    >>> scores, labels = np.array([[0.1], [0.4], [0.35], [0.8]]), np.array([0, 0, 1, 1])
    >>> float(ranking_losses(scores, labels, np.ones(4)).mean())
    0.25
    """
    sides = [labels == 1] if scores.shape[1] == 1 else [labels == k for k in range(scores.shape[1])]
    share = weights / weights.sum()
    total, used = np.zeros(len(labels)), 0
    for score, inside in zip(scores.T, sides, strict=True):
        if inside.all() or not inside.any():
            continue
        used += 1
        order = rankdata(score, method="dense") - 1
        for own, sign in ((inside, 1), (~inside, -1)):
            others = np.bincount(order[~own], weights=share[~own], minlength=int(order.max()) + 1)
            below = np.cumsum(others) - others / 2
            wrong = others.sum() - below if sign > 0 else below
            total[own] += wrong[order[own]] / others.sum() / (2 * share[own].sum())
    return total / max(used, 1)


def group_losses(
    metric: MetricFunction, truth: NDArray[np.generic], predicted: Array, weights: Array
) -> Float[np.ndarray, " m"]:
    """Return losses whose mean is near that of a function of all rows, with the function's own standard error.

    Twenty groups of rows are left out in turn (the jackknife); rows of a group have the same loss.
    """

    weighted = np.ptp(weights) > 0
    repeated = weighted and not _takes_weights(metric)
    if repeated and not np.array_equal(weights, np.rint(weights)):
        raise ValueError(
            f"metric {_name(metric)} has no argument sample_weight, and rows have weights: given ones, or class weights"
        )

    def value(rows: NDArray[np.intp]) -> float:
        if repeated:  # weights count equal rows
            rows = np.repeat(rows, weights[rows].astype(np.intp))
        extra = {"sample_weight": weights[rows]} if weighted and not repeated else {}
        found = metric(truth[rows], predicted[rows], **extra)
        if not isinstance(found, int | float | np.number):
            raise ValueError(f"metric {_name(metric)} must return a number, got {found!r}")
        return float(found)

    every = np.arange(len(weights))
    group = every % min(_GROUPS, len(every))
    count = int(group.max()) + 1
    whole = value(every)
    if not np.isfinite(whole):
        raise ValueError(f"metric {_name(metric)} of {len(every)} held-out rows is {whole}: it must be a finite number")
    if count < 2:
        return np.full(len(every), whole)
    parts = np.array([count * whole - (count - 1) * value(every[group != g]) for g in range(count)])
    # Without some rows it may not exist, such as the AUC of a single class.
    parts = np.where(np.isfinite(parts), parts, whole)
    # Values that are equal within groups would look more certain than groups are.
    apart = np.sqrt(len(every) / count) * (parts - parts.mean())[group]
    losses: Array = whole + apart - np.average(apart, weights=weights)
    return losses


def metric_identity(metric: object) -> object:
    """Return a value that is equal for the same metric in another process, for the name of a checkpoint."""
    if isinstance(metric, str):
        return metric
    code = getattr(metric, "__code__", None)
    if code is None:
        raise ValueError(f"checkpoint needs a metric that is a name or a plain function, got {metric!r}")
    return getattr(metric, "__module__", ""), getattr(metric, "__qualname__", ""), code.co_code, repr(code.co_consts)


def _takes_weights(metric: MetricFunction) -> bool:
    try:
        parameters = inspect.signature(metric).parameters
    except (TypeError, ValueError):  # a compiled function says nothing about its arguments
        return True
    return "sample_weight" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _name(metric: MetricFunction) -> str:
    return str(getattr(metric, "__name__", type(metric).__name__))
