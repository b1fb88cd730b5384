"""Choosing ridge and bandwidth of a round, for the metric that round has.

Exact leave-one-out error may compare ridges and bandwidths *given M*: M is the same for all of them. It may not compare
rounds, since M has seen the label that is left out; that takes folds in which M is learned again.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.rows import Rows
from gramian.kernels import Kernel, KernelOperator, Metric
from gramian.rfm.selection import as_good
from gramian.solvers import Direct, Workspace

_MEDIAN_ROWS = 500
_LOO_ROWS = 1000
_SEARCHED_ROUNDS = 3
"""From the third round on the features hardly change, and neither do the best ridge and bandwidth."""
_ALL_RIDGES_ROWS = 250
"""Up to this many rows one eigendecomposition gives all ridges for the price of a few."""
RIDGES = tuple(10.0**e for e in (-6, -5, -4, -3.5, -3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1))
"""Ridges tried, as multiples of the mean of the kernel's diagonal."""
_PLAIN_RIDGE = 0.3
_COARSE = (2, 4, 6, 8, 10)
_FACTORS = tuple(2.0 ** (e / 2) for e in range(-8, 9))
"""Multiples of the median distance tried as bandwidth."""


@dataclass(frozen=True)
class Choice:
    """Kernel with a number for its bandwidth, ridge, and the leave-one-out error that chose them (or NaN)."""

    kernel: Kernel
    ridge: float
    loo: float = float("nan")
    factor: float = 1.0
    ridge_at: int | None = None
    """Where the ridge stands among those that were tried; None where it was not chosen."""


class Chooser(ABC):
    """Says which ridge and bandwidth a round uses."""

    @abstractmethod
    def choose(self, index: int, kernel: Kernel, metric: Metric, data: Rows, workspace: Workspace) -> Choice:
        """The choice for round ``index``."""

    def resume(self, last: Choice) -> None:  # noqa: B027
        """Go on after a round that was finished earlier with this choice; most choosers have no memory."""


def median_distance(kernel: Kernel, metric: Metric, X: Float[Tensor, "n d"], seed: int) -> float:
    """Median distance between two rows under the metric, from at most 500 random rows; 1 if all rows coincide.

    >>> from gramian.kernels import Identity, Laplace
    >>> median_distance(Laplace(), Identity(1), torch.tensor([[0.0], [2.0]]), seed=0)
    2.0
    """
    rows = torch.randperm(X.shape[0], generator=torch.Generator().manual_seed(seed))[:_MEDIAN_ROWS]
    sample = X[rows.to(X.device)]
    points = kernel.prepare(sample, metric, kernel.center(sample))
    distances = kernel.distance(points, points)
    apart = distances[torch.triu(torch.ones_like(distances, dtype=torch.bool), 1)]
    positive = apart[apart > 0]
    return float(positive.median()) if len(positive) else 1.0


def base_kernel(kernel: Kernel, metric: Metric, X: Float[Tensor, "n d"], seed: int) -> Kernel:
    """The kernel with its median bandwidth filled in, where it asks for one."""
    return kernel.at_median(median_distance(kernel, metric, X, seed)) if kernel.needs_median else kernel


@dataclass(frozen=True)
class Fixed(Chooser):
    """The user's ridge, and the kernel's bandwidth or median.

    With ``per_row`` the ridge is multiplied by the total weight of the rows: ``K + nλI``.
    """

    ridge: float
    seed: int = 0
    per_row: bool = False

    def choose(self, index: int, kernel: Kernel, metric: Metric, data: Rows, workspace: Workspace) -> Choice:
        """See :meth:`Chooser.choose`."""
        ridge = self.ridge * data.total_weight if self.per_row else self.ridge
        return Choice(base_kernel(kernel, metric, data.X, self.seed), ridge)


@dataclass(frozen=True)
class Replay(Chooser):
    """The choices of an earlier run, round by round: ridge and factor, while the median is taken anew.

    Folds use it: two numbers per round say next to nothing about the labels that are held out.
    """

    path: tuple[Choice, ...]
    seed: int = 0
    shrink: float = 1.0
    """Multiplies each ridge: below 1 for a part of the rows where ridges grow with their number."""

    def choose(self, index: int, kernel: Kernel, metric: Metric, data: Rows, workspace: Workspace) -> Choice:
        """See :meth:`Chooser.choose`."""
        earlier = self.path[index]
        base = base_kernel(kernel, metric, data.X, self.seed)
        return Choice(base.times(earlier.factor), self.shrink * earlier.ridge, factor=earlier.factor)


class LeaveOneOut(Chooser):
    """Ridge, bandwidth factor, or both, by the exact leave-one-out error given M.

    Round 0 looks at bandwidths over the whole range, since the error has more than one valley; rounds 1 and 2 walk
    from where the last ended, both ways, while the error falls; later ones keep what round 2 had. Beyond 1,000 rows
    the error is taken on a random part of them: both numbers describe the function (its length scale, its noise), not
    the sample size.

    Parameters
    ----------
    ridge : float or None
        A number to keep, or None to choose.
    seed : int
    per_row : bool
        Multiply a ridge that is kept by the total weight of the rows.
    cautious : bool
        Where several are as good within a standard error take the plainest, not the best. For class codes, whose
        squared error only stands in for what counts.
    """

    def __init__(self, ridge: float | None, seed: int = 0, per_row: bool = False, cautious: bool = False) -> None:
        self.ridge = ridge
        self.seed = seed
        self.per_row = per_row
        self.cautious = cautious
        self._ridge_at: int | None = None
        self._factor_at = _FACTORS.index(1.0)

    def choose(self, index: int, kernel: Kernel, metric: Metric, data: Rows, workspace: Workspace) -> Choice:
        """See :meth:`Chooser.choose`."""
        base = base_kernel(kernel, metric, data.X, self.seed)
        ridge = self.ridge
        if ridge is not None and self.per_row:
            ridge *= data.total_weight
        if len(data) > _LOO_ROWS:
            rng = torch.Generator().manual_seed(self.seed + 1)
            data = data[torch.randperm(len(data), generator=rng)[:_LOO_ROWS].to(data.X.device)]
        search = _Search(base, metric, data, workspace, ridge)
        if index >= _SEARCHED_ROUNDS and self._ridge_at is not None:
            factor = _FACTORS[self._factor_at]
            ridge = search.ridge_value(self._ridge_at)
            return Choice(base.times(factor), ridge, factor=factor, ridge_at=self._ridge_at)
        at = self._factor_at if kernel.automatic else _FACTORS.index(1.0)
        best = search.at(at, self._ridge_at)
        if kernel.automatic:
            if self._ridge_at is None:
                best = min([best, *(search.at(f, best[2]) for f in range(0, len(_FACTORS), 4))])
                best = _walk(search.at, best, 2)
            best = _walk(search.at, best, 1)
        error, factor_at, ridge_at = search.plainest(best) if self.cautious else best
        self._factor_at, self._ridge_at = factor_at, ridge_at
        chosen = base.times(_FACTORS[factor_at])
        return Choice(chosen, search.ridge_value(ridge_at), error, _FACTORS[factor_at], ridge_at)

    def resume(self, last: Choice) -> None:
        """See :meth:`Chooser.resume`."""
        self._factor_at, self._ridge_at = _FACTORS.index(last.factor), last.ridge_at


Found = tuple[float, int, int]
"""Leave-one-out error, index of the factor, index of the ridge."""


class _Search:
    """Leave-one-out errors of one round, remembered by factor and ridge."""

    def __init__(self, base: Kernel, metric: Metric, data: Rows, workspace: Workspace, ridge: float | None) -> None:
        self.base, self.metric, self.data = base, metric, data
        self.workspace, self.ridge = workspace, ridge
        self.seen: dict[int, Found] = {}
        self.errors: dict[tuple[int, int], Float[Tensor, " n"]] = {}
        points = base.prepare(data.X, metric, base.center(data.X))
        # Row i gets the ridge λ/wᵢ: with weights far from 1 the grid must move along.
        weight = data.total_weight / len(data)
        self.scale = (float(base.diagonal(points).mean()) or 1.0) * weight
        weights = torch.ones(len(data), dtype=data.Y.dtype) if data.weights is None else data.weights
        self.share = (weights / weights.sum()).to(data.Y.device)

    def ridge_value(self, at: int) -> float:
        return self.scale * RIDGES[at] if self.ridge is None else self.ridge

    def at(self, factor: int, near: int | None) -> Found:
        """The best ridge for a factor: among all to begin with, else around the one that was best elsewhere."""
        if factor in self.seen:
            return self.seen[factor]
        operator = KernelOperator(self.base.times(_FACTORS[factor]), self.data.X, self.metric)
        if self.ridge is not None:
            errors = self._errors(operator, factor, [0])
        elif len(self.data) <= _ALL_RIDGES_ROWS:
            errors = self._errors(operator, factor, list(range(len(RIDGES))))
        else:
            errors = {} if near is None else self._errors(operator, factor, _around(near))
            if not errors:
                errors = self._errors(operator, factor, list(_COARSE))
                found = min(errors, key=errors.__getitem__, default=_COARSE[-1])
                errors |= self._errors(operator, factor, _around(found))
        best = min(errors, key=errors.__getitem__, default=len(RIDGES) - 1)
        self.seen[factor] = (errors.get(best, math.inf), factor, best)
        return self.seen[factor]

    def plainest(self, best: Found) -> Found:
        """Of all that were looked at and are not worse than the best by a standard error, the nearest to the plain one.

        That is the median distance as bandwidth and a ridge of 0.3: with few rows the smallest error is luck.
        """
        reference = self.errors.get(best[1:])
        if reference is None:
            return best

        good = {at: errors for at, errors in self.errors.items() if as_good(errors, reference, self.share)}
        entries = [(float(errors @ self.share), *at) for at, errors in good.items()]
        return min(entries, key=lambda entry: (_steps_from_plain(entry[1], entry[2]), entry[0]))

    def _errors(self, operator: KernelOperator, factor: int, indices: list[int]) -> dict[int, float]:
        values = {self.ridge_value(i): i for i in indices}
        points = Direct().path(operator, self.data.Y, list(values), weights=self.data.weights, workspace=self.workspace)
        for point in points:
            self.errors[factor, values[point.ridge]] = point.loo.square().mean(dim=1)
        return {values[p.ridge]: float(self.errors[factor, values[p.ridge]] @ self.share) for p in points}


def _steps_from_plain(factor: int, ridge: int) -> float:
    """Half octaves of the bandwidth and half decades of the ridge from where one would begin without any data."""
    return 2 * abs(math.log2(_FACTORS[factor])) + 2 * abs(math.log10(RIDGES[ridge] / _PLAIN_RIDGE))


def _around(index: int) -> list[int]:
    return [i for i in (index - 1, index, index + 1) if 0 <= i < len(RIDGES)]


def _walk(at: Callable[[int, int], Found], best: Found, stride: int) -> Found:
    """Walk from the best factor up and down by ``stride`` while the error falls."""
    start = best[1]
    for direction in (stride, -stride):
        position = start + direction
        while 0 <= position < len(_FACTORS):
            found = at(position, best[2])
            if not found[0] < best[0]:
                break
            best = found
            position += direction
    return best
