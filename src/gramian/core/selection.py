"""Selection among predictors by their predictions of held-out rows: race, best round, and the shares of an average.

A *run* is a sequence of predictors, the rounds of one candidate. Errors are losses row by row, by default squared ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import nnls
from torch import Tensor

from gramian.core.rows import Rows
from gramian.core.statistics import within_standard_error

_BLEND_ERRORS = 3.0
"""Standard errors behind the best up to which a predictor may take part in an average."""
_LEAST_SHARE = 0.05
_SUM_PENALTY = 1e3
"""Weight of the condition that shares have the sum 1, relative to the largest entry of the system."""
_RACE_ERRORS = 2.0
"""Standard errors behind the best from which a candidate is not repeated on further splits."""
_NEAR_SHARE = 1.1
"""Error, as a multiple of the smallest, up to which a predictor may take part in an average, however clear it is."""
_USEFUL_SHARE = 0.1
"""Share in the average of all predictors from which one may take part, however large its own error is."""
_DIVERGED = 100.0
"""Error, as a multiple of the smallest, from which a predictor is no part of any average."""


RowLoss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Loss ``(t, m)`` of each row, from outputs ``(t, m, c)``, targets ``(m, c)`` and weights ``(m,)``, to be small."""


def squared_loss(
    outputs: Float[Tensor, "t m c"], Y: Float[Tensor, "m c"], weights: Float[Tensor, " m"]
) -> Float[Tensor, "t m"]:
    """Return the squared error of each row, averaged over its outputs."""
    return (outputs - Y.to(outputs.dtype)).square().mean(dim=2)


@dataclass(frozen=True, eq=False)
class RoundPredictions:
    """Predictions ``outputs (t, m, c)`` of t rounds for m held-out rows, whose indices are ``rows``."""

    rows: Int[Tensor, " m"]
    outputs: Float[Tensor, "t m c"]
    weights: Float[Tensor, " m"] | None = None

    @property
    def weights_or_ones(self) -> Float[Tensor, " m"]:
        """The weights of the rows, or ones where there are none."""
        return self.outputs.new_ones(len(self.rows)) if self.weights is None else self.weights


@dataclass(frozen=True)
class Member:
    """One member of an ensemble: a round of a run, and its weight in the average."""

    run: int
    round: int
    share: float


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected members, best first, and mean squared errors ``scores[run][round]`` on held-out rows."""

    members: tuple[Member, ...]
    scores: list[list[float]]


def row_errors(
    predictions: Sequence[RoundPredictions], Y: Float[Tensor, "n c"], loss: RowLoss = squared_loss
) -> tuple[Float[Tensor, "t m"], Float[Tensor, " m"]]:
    """Return the loss of each held-out row after each round, and the rows' weights."""
    rows = torch.cat([one.rows for one in predictions])
    outputs = torch.cat([one.outputs for one in predictions], dim=1)
    weights = torch.cat([one.weights_or_ones for one in predictions]).to(outputs.dtype)
    return loss(outputs, Y[rows], weights), weights


def held_out_errors(outputs: Float[Tensor, "m c"], rows: Rows, loss: RowLoss = squared_loss) -> Float[Tensor, " m"]:
    """Return the loss of each row of outputs."""
    return loss(outputs[None], rows.Y, rows.weights_or_ones.to(outputs.dtype)).squeeze(0)


def mean_error(outputs: Float[Tensor, "m c"], rows: Rows, loss: RowLoss = squared_loss) -> float:
    """Return the weighted mean over rows of the loss of outputs."""
    errors = held_out_errors(outputs, rows, loss)
    return float(errors @ rows.shares.to(errors))


@dataclass(frozen=True, eq=False)
class RunComparison:
    """Errors ``(t, m)`` of each run on held-out rows with their weights, and the predictions behind them.

    A run that was left behind is not in ``selectable``, and may have fewer rows than the others.
    """

    errors: list[Float[Tensor, "_ _"]]
    weights: list[Float[Tensor, " _"]]
    predictions: list[list[RoundPredictions]]
    selectable: tuple[int, ...]
    loss: RowLoss = squared_loss

    @classmethod
    def of(
        cls,
        predictions: list[list[RoundPredictions]],
        Y: Float[Tensor, "n c"],
        selectable: Sequence[int] | None = None,
        loss: RowLoss = squared_loss,
    ) -> RunComparison:
        """Compare the predictions of all runs with the targets, to whose rows they point."""
        found = [row_errors(one, Y, loss) for one in predictions]
        kept = range(len(predictions)) if selectable is None else selectable
        return cls([errors for errors, _ in found], [weights for _, weights in found], predictions, tuple(kept), loss)

    @property
    def shares(self) -> list[Float[Tensor, " _"]]:
        """The weights of each run's rows as parts of their sum."""
        return [weights / weights.sum() for weights in self.weights]

    @cached_property
    def scores(self) -> list[list[float]]:
        """The mean error of each run after each round."""
        return [(errors @ share).tolist() for errors, share in zip(self.errors, self.shares, strict=True)]

    def without(self, part: slice) -> RunComparison:
        """Return the comparison on other rows than these, among the runs that may be selected."""

        def other(values: Tensor, dim: int = 0) -> Tensor:
            ends = (values.narrow(dim, 0, part.start), values.narrow(dim, part.stop, values.shape[dim] - part.stop))
            return torch.cat(ends, dim=dim)

        errors, weights, predictions = list(self.errors), list(self.weights), list(self.predictions)
        for run in self.selectable:
            outputs = torch.cat([one.outputs for one in self.predictions[run]], dim=1)
            errors[run], weights[run] = other(self.errors[run], 1), other(self.weights[run])
            predictions[run] = [RoundPredictions(other(self.rows(run)), other(outputs, 1), weights[run])]
        return RunComparison(errors, weights, predictions, self.selectable, self.loss)

    def rows(self, run: int) -> Int[Tensor, " m"]:
        """Return the indices of the rows that a run was compared on."""
        return torch.cat([one.rows for one in self.predictions[run]])

    def outputs(self, run: int, at: int) -> Float[Tensor, "m c"]:
        """Return the predictions of these rows after round ``at``."""
        return torch.cat([one.outputs[at] for one in self.predictions[run]])


def race(comparison: RunComparison, Y: Float[Tensor, "n c"], *, last: bool = False, most: int = 1) -> list[int]:
    """Return the runs that may still be selected: those whose best round is near the best of all, or useful beside it.

    Near is within two standard errors, or a tenth of the error. Where up to ``most`` > 1 predictors may be averaged, a
    run is useful if its share in the average of all runs is above 0.1: errors of another kind cancel, however large.

    >>> good, bad = torch.tensor([[[0.1], [0.2], [0.1]]]), torch.tensor([[[1.1], [1.2], [1.0]]])
    >>> rows, Y = torch.arange(3), torch.zeros(3, 1)
    >>> race(RunComparison.of([[RoundPredictions(rows, good)], [RoundPredictions(rows, bad)]], Y), Y)
    [0]
    """
    best = _best_rounds(comparison, last)
    return sorted(run for (_, _, run), _ in _near_or_useful(comparison, best, Y, _RACE_ERRORS, most))


def select(comparison: RunComparison, Y: Float[Tensor, "n c"], *, last: bool = False, most: int = 1) -> Selection:
    """Select the predictors: one round of one run, or an average of up to ``most`` of them.

    Alone, it is the earliest round within one standard error of the best of all, of the run with the smallest error. An
    average takes the best round of each run that is within three standard errors of the best, or a tenth of its error,
    or useful as in :func:`race` (with ``last`` the final rounds). The standard error is that of the *difference*
    between two predictors, row by row. Shares are those of :func:`blend`; for another loss than the squared error, the
    best of these, equal shares and the best predictor alone.

    Parameters
    ----------
    comparison : RunComparison
    Y : Tensor (n, c)
        Targets, to whose rows the predictions point.

    >>> outputs = torch.tensor([[[1.0], [1.1]], [[0.1], [0.2]], [[0.1], [0.2]]])
    >>> Y = torch.zeros(2, 1)
    >>> select(RunComparison.of([[RoundPredictions(torch.arange(2), outputs)]], Y), Y).members
    (Member(run=0, round=1, share=1.0),)
    """
    errors, shares = comparison.errors, comparison.shares
    best = _best_rounds(comparison, last)
    scores = comparison.scores
    _, at, run = best[0]
    reference, share = errors[run][at], shares[run]
    if most == 1:
        if not last:
            at = next(t for t in range(at + 1) if within_standard_error(errors[run][t], reference, share))
        return Selection((Member(run, at, 1.0),), scores)
    found = _near_or_useful(comparison, best, Y, _BLEND_ERRORS, most)
    # The best one, and of too many others those with the largest shares in the average of all.
    useful = sorted(range(1, len(found)), key=lambda i: -found[i][1])[: most - 1]
    near = [found[i][0] for i in sorted([0, *useful])]
    outputs = torch.stack([comparison.outputs(run, at) for _, at, run in near])
    targets = Y[comparison.rows(run)]
    weights = blend(outputs.to(Y.dtype), targets, share.to(Y.dtype))
    if comparison.loss is not squared_loss:
        alone = torch.eye(len(near), dtype=weights.dtype, device=weights.device)[0]
        tried = torch.stack([weights, torch.full_like(weights, 1 / len(near)), alone])
        averages = torch.einsum("ak,kmc->amc", tried.to(outputs), outputs)
        weights = tried[int((comparison.loss(averages, targets, comparison.weights[run]) @ share).argmin())]
    members = [Member(run, at, float(w)) for (_, at, run), w in zip(near, weights, strict=True) if w > 0]
    members.sort(key=lambda member: -member.share)
    return Selection(tuple(members), scores)


def _best_rounds(comparison: RunComparison, last: bool) -> list[tuple[float, int, int]]:
    """Return error, round and run for the best (or ``last``) round of each run that may be selected, best run first."""
    found, scores = [], comparison.scores
    for run in comparison.selectable:
        score = [math.inf if math.isnan(error) else error for error in scores[run]]
        at = len(score) - 1 if last else score.index(min(score))
        found.append((score[at], at, run))
    return sorted(found)


def _near_or_useful(
    comparison: RunComparison, best: list[tuple[float, int, int]], Y: Float[Tensor, "n c"], times: float, most: int
) -> list[tuple[tuple[float, int, int], float]]:
    """Return those predictors that are near the first, or useful in the average of all, with their shares in that."""
    least, at, run = best[0]
    limit = _DIVERGED * least if least > 0 else math.inf
    best = [best[0], *(one for one in best[1:] if one[0] <= limit and math.isfinite(one[0]))]
    reference, share = comparison.errors[run][at], comparison.shares[run]
    parts = [0.0] * len(best)
    if most > 1 and len(best) > 1:
        outputs = torch.stack([comparison.outputs(run, at) for _, at, run in best])
        parts = blend(outputs.to(Y.dtype), Y[comparison.rows(run)], share.to(Y.dtype)).tolist()
    return [
        (one, part)
        for one, part in zip(best, parts, strict=True)
        if part > _USEFUL_SHARE or _is_near(comparison.errors[one[2]][one[1]], reference, share, times)
    ]


def _is_near(errors: Float[Tensor, " m"], best: Float[Tensor, " m"], share: Float[Tensor, " m"], times: float) -> bool:
    close = float(errors @ share) <= _NEAR_SHARE * float(best @ share)
    return close or within_standard_error(errors, best, share, times=times)


def blend(outputs: Float[Tensor, "k m c"], Y: Float[Tensor, "m c"], share: Float[Tensor, " m"]) -> Float[Tensor, " k"]:
    """Return the shares of k predictors in their average: non-negative, with sum 1, and 0 instead of less than 0.05.

    They minimise the squared error of the average on held-out rows plus ``σ² k/m ‖w − 1/k‖²``, where σ² is the squared
    error of the plain average and m the effective number of rows: with few rows the shares are nearly equal.

    >>> Y = torch.tensor([[0.0], [1.0], [2.0], [3.0]], dtype=torch.float64)
    >>> blend(torch.stack([Y, 10 - 5 * Y]), Y, torch.full((4,), 0.25, dtype=torch.float64))
    tensor([0.9000, 0.1000], dtype=torch.float64)
    """
    k = len(outputs)
    root = share.sqrt()[:, None]
    A = torch.stack([(root * one).flatten() for one in outputs], dim=1).cpu().numpy()
    y = (root * Y).flatten().cpu().numpy()
    variance = float(((outputs.mean(dim=0) - Y).square().sum(dim=1) @ share) * share.square().sum())
    pull = np.sqrt(variance * k)
    equal, one = np.full(k, 1 / k), np.ones((1, k))
    scale = _SUM_PENALTY * max(1.0, float(np.abs(A).max()))
    system = np.vstack([A, pull * np.eye(k), scale * one])
    found, _ = nnls(system, np.concatenate([y, pull * equal, [scale]]))
    parts = found / found.sum()
    found = np.where(parts < min(_LEAST_SHARE, parts.max()), 0.0, found)
    return torch.from_numpy(found / found.sum()).to(outputs)


def average_predictions(
    selection: Selection, comparison: RunComparison, Y: Float[Tensor, "n c"], *, last: bool = False, most: int = 1
) -> tuple[Int[Tensor, " m"], Float[Tensor, "m c"], Float[Tensor, " m"]]:
    """Average predictions of held-out rows by a selection that has not seen them; return indices, averages, weights.

    The selected predictors are the best on all held-out rows, so that their errors on these rows are too small. Where
    there are several splits, the rows of each are predicted by what :func:`select` finds on the other splits.
    """
    first = comparison.selectable[0]
    sizes = [len(one.rows) for one in comparison.predictions[first]]
    parts, start = [], 0
    for size in sizes:
        here = slice(start, start + size)
        start += size
        chosen = selection if len(sizes) == 1 else select(comparison.without(here), Y, last=last, most=most)
        outputs = [member.share * comparison.outputs(member.run, member.round)[here] for member in chosen.members]
        parts.append(sum(outputs[1:], start=outputs[0]))
    return comparison.rows(first), torch.cat(parts), comparison.weights[first]
