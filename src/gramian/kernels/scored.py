"""ℓp kernel of normal scores: columns with long tails are replaced by ``Φ⁻¹(F(x))`` before distances are taken.

F is the distribution of a column in the training rows. The ℓ1 distance of scores depends on ranks: a value ten times as
large as all others is one place further, whatever its unit. The metric and its gradients are those of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gramian.core.statistics import normal_scores
from gramian.kernels.lp import Lp
from gramian.kernels.metric import Metric
from gramian.kernels.points import Points

_MANY_VALUES = 10
"""Number of different values above which a column gets scores."""
_KNOTS = 256
_LONG_TAIL = 0.1
"""Part of the variance of a column's scores that the column itself does not explain, from which its tails are long."""


@dataclass(frozen=True, eq=False)
class ColumnScores:
    """Normal scores of some columns: for ``columns[k]`` a line through the points ``(knots[k], scores[k])``.

    Beyond the outermost knots scores are constant. Columns with fewer knots than others are filled up with infinity.

    >>> import torch
    >>> X = torch.cat([torch.linspace(-1, 1, 99), torch.tensor([1e6])])[:, None]
    >>> ColumnScores.fit(X)(X).max()
    tensor(2.5758)
    """

    columns: Int[Tensor, " k"]
    knots: Float[Tensor, "k q"]
    scores: Float[Tensor, "k q"]
    has_long_tails: bool
    width: int | None = None
    """Number of columns of the rows; None in a file of an earlier version."""

    @classmethod
    def fit(cls, X: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None = None) -> ColumnScores:
        """Find the scores of all columns with more than ten different values."""
        values = X.cpu().numpy().astype(np.float64)
        w = np.ones(len(values)) if weights is None else weights.cpu().numpy().astype(np.float64)
        found, unexplained = {}, 0.0
        for j, column in enumerate(values.T):
            one = normal_scores(column, w, _KNOTS)
            if len(one[0]) > _MANY_VALUES:
                found[j] = one
                unexplained = max(unexplained, 1 - _correlation(column, np.interp(column, *one), w) ** 2)
        most = max((len(values_at) for values_at, _ in found.values()), default=2)
        table = np.full((2, len(found), most), np.inf)
        for at, (values_at, scores_at) in enumerate(found.values()):
            table[0, at, : len(values_at)] = values_at
            table[1, at] = np.pad(scores_at, (0, most - len(scores_at)), "edge")
        columns, (knots, scores) = torch.tensor(list(found), dtype=torch.int64), torch.from_numpy(table)
        return cls(columns, knots, scores, unexplained > _LONG_TAIL, X.shape[1])

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return rows with scores in the place of these columns."""
        if self.width is not None and X.shape[1] != self.width:
            raise ValueError(
                f"the kernel has scores of {self.width} columns and X has {X.shape[1]}: use a kernel without scores, "
                "such as ScoredLp(), and each fit finds its own"
            )
        knots, scores = self.knots.to(X), self.scores.to(X)
        values = X[:, self.columns.to(X.device)].mT.contiguous()
        at = (torch.searchsorted(knots, values, right=True) - 1).clamp(0, knots.shape[1] - 2)
        left = knots.gather(1, at)
        width = knots.gather(1, at + 1) - left
        # Knots that are equal in the format of X have no length between them.
        part = torch.where(width > 0, (values - left) / width, 1).clamp(0, 1)
        out = X.clone()
        out[:, self.columns.to(X.device)] = torch.lerp(scores.gather(1, at), scores.gather(1, at + 1), part).mT
        return out

    def slopes(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return the derivative of each score by its number; 1 for columns without scores.

        At a knot, which all training values are, it is the mean of the slopes on both sides.
        """
        knots, scores = self.knots.to(X), self.scores.to(X)
        values = X[:, self.columns.to(X.device)].mT.contiguous()
        total, sides = torch.zeros_like(values), torch.zeros_like(values)
        for right in (False, True):
            at = torch.searchsorted(knots, values, right=right) - 1
            here = at.clamp(0, knots.shape[1] - 2)
            width = knots.gather(1, here + 1) - knots.gather(1, here)
            exists = (at == here) & (width > 0) & torch.isfinite(width)
            rise = scores.gather(1, here + 1) - scores.gather(1, here)
            total += torch.where(exists, rise / width, 0)
            sides += exists
        out = torch.ones_like(X)
        out[:, self.columns.to(X.device)] = (total / sides.clamp_min(1)).mT
        return out

    def at_columns(self, support: Bool[Tensor, " d"]) -> ColumnScores:
        """Return the scores of the columns in a selection, by their numbers in it."""
        support = support.cpu()
        chosen = support[self.columns]
        columns = (support.cumsum(0) - 1)[self.columns[chosen]]
        return ColumnScores(columns, self.knots[chosen], self.scores[chosen], self.has_long_tails, int(support.sum()))


@dataclass(frozen=True)
class ScoredLp(Lp):
    """:class:`Lp` of normal scores instead of numbers, for columns with long tails.

    Parameters
    ----------
    bandwidth, bandwidth_scale, p, exponent
        As for :class:`Lp`.
    scores : ColumnScores, optional
        Scores of the training rows' columns; a fit finds them where they are not given.

    >>> import torch
    >>> X = torch.linspace(0, 1, 50)[:, None]
    >>> kernel = ScoredLp(1.0).fitted_to(X)
    >>> torch.allclose(kernel(X), ScoredLp(1.0).fitted_to(X.exp())(X.exp()))  # only ranks count
    True
    """

    scores: ColumnScores | None = field(default=None, kw_only=True, repr=False)

    def fitted_to(self, X: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None = None) -> ScoredLp:
        return self if self.scores is not None else replace(self, scores=ColumnScores.fit(X, weights))

    @property
    def needs_rows(self) -> bool:
        return self.scores is None

    @property
    def suits_its_rows(self) -> bool:
        return self.scores is None or self.scores.has_long_tails

    def at_columns(self, support: Bool[Tensor, " d"]) -> ScoredLp:
        return self if self.scores is None else replace(self, scores=self.scores.at_columns(support))

    def coordinates(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        if self.scores is None:
            raise ValueError("ScoredLp has no scores yet: use fitted_to(X), or fit an estimator")
        return self.scores(X)

    def slopes_of_coordinates(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"] | None:
        return None if self.scores is None else self.scores.slopes(X)

    def prepare(self, X: Float[Tensor, "n d"], metric: Metric, shift: Float[Tensor, " d"] | None = None) -> Points:
        return super().prepare(self.coordinates(X), metric, shift)

    def center(self, X: Float[Tensor, "n d"]) -> Float[Tensor, " d"]:
        return super().center(self.coordinates(X))


def _correlation(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    share = weights / weights.sum()
    x, y = x - share @ x, y - share @ y
    size = np.sqrt((share @ x**2) * (share @ y**2))
    return float(share @ (x * y) / size) if size > 0 else 1.0
