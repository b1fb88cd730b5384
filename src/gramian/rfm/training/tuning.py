"""Ridge and bandwidth of a round, for the metric M of that round.

The exact leave-one-out error may compare ridges and bandwidths *given M*, since M is the same for all of them. It may
not compare rounds: M has seen the label that is left out. Rounds are compared on folds in which M is learned again; see
:mod:`gramian.rfm.training.validation`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.rows import Rows
from gramian.core.statistics import within_standard_error
from gramian.kernels import Kernel, KernelOperator, Metric
from gramian.rfm.training.plan import LOO_ROWS, MEDIAN_ROWS
from gramian.solvers import SPECTRAL_ROWS, RidgePath, Workspace

LARGE_LOO_ROWS = 1000
"""The same as LOO_ROWS where a fit is large: few rows cannot tell a small ridge from a larger one."""
_SEARCHED_ROUNDS = 3
"""From round 3 on the features hardly change, and neither do the best ridge and bandwidth."""

RIDGES = tuple(10.0**e for e in (-6, -5, -4, -3.5, -3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1))
"""The ridges that are compared, as multiples of the mean of the kernel's diagonal."""
_DEFAULT_RIDGE = 0.3
_COARSE = (2, 4, 6, 8, 10)
_PROMISING = 1.03
"""Error at the ridge of the best bandwidth, relative to the best, up to which a bandwidth's other ridges are tried."""
_SCALES = tuple(2.0 ** (e / 2) for e in range(-8, 9))
"""The multiples of the median distance that are compared as bandwidths."""


@dataclass(frozen=True)
class RoundParams:
    """Kernel with a number for its bandwidth, ridge, and the leave-one-out error that selected them (or NaN).

    ``bandwidth_scale`` is the bandwidth in median distances; ``ridge_index`` is the position of the ridge in
    :data:`RIDGES`, None where the ridge was given.
    """

    kernel: Kernel
    ridge: float
    loo: float = float("nan")
    bandwidth_scale: float = 1.0
    ridge_index: int | None = None


_LEAST_GROUPS = 3
"""Number of groups from which leave-one-out errors leave out whole groups."""


class RoundTuner(ABC):
    """Selects the ridge and the bandwidth of each round."""

    @abstractmethod
    def tune(self, index: int, kernel: Kernel, metric: Metric, data: Rows, workspace: Workspace) -> RoundParams:
        """Return the parameters of round ``index``."""

    def resume(self, last: RoundParams) -> None:  # noqa: B027
        """Continue after a round that an earlier fit finished with these parameters; most tuners have no state."""


def median_distance(kernel: Kernel, metric: Metric, X: Float[Tensor, "n d"], seed: int) -> float:
    """Return the median distance of two rows under the metric, from at most 300 random rows; 1 if all rows coincide.

    >>> from gramian.kernels import Identity, Laplace
    >>> median_distance(Laplace(), Identity(1), torch.tensor([[0.0], [2.0]]), seed=0)
    2.0
    """
    rows = torch.randperm(X.shape[0], generator=torch.Generator().manual_seed(seed))[:MEDIAN_ROWS]
    sample = X[rows.to(X.device)]
    points = kernel.prepare(sample, metric, kernel.center(sample))
    apart = kernel.distance(points, points).triu_(1)
    positive = apart[apart > 0]
    return float(positive.median()) if len(positive) else 1.0


def with_median_bandwidth(kernel: Kernel, metric: Metric, X: Float[Tensor, "n d"], seed: int) -> Kernel:
    """Return the kernel with the median distance as its bandwidth, where it asks for that."""
    return kernel.at_median(median_distance(kernel, metric, X, seed)) if kernel.needs_median else kernel


@dataclass(frozen=True)
class FixedParams(RoundTuner):
    """Uses the given ridge in every round, and the kernel's own bandwidth or the median distance.

    With ``per_row`` the ridge is multiplied by the total weight of the rows: ``K + nλI``.
    """

    ridge: float
    seed: int = 0
    per_row: bool = False

    def tune(self, index: int, kernel: Kernel, metric: Metric, data: Rows, workspace: Workspace) -> RoundParams:
        """Return the given ridge, times the total weight of the rows if it is per row."""
        ridge = self.ridge * data.total_weight if self.per_row else self.ridge
        return RoundParams(with_median_bandwidth(kernel, metric, data.X, self.seed), ridge)


@dataclass(frozen=True)
class ReplayedParams(RoundTuner):
    """Repeats ridge and bandwidth scale of an earlier run, round by round; the median distance is computed again.

    Folds use it: two numbers per round carry next to no information about the labels that are held out. ``growth``
    multiplies each ridge, for rows of another total weight where ridges are per row.
    """

    path: tuple[RoundParams, ...]
    seed: int = 0
    growth: float = 1.0

    def tune(self, index: int, kernel: Kernel, metric: Metric, data: Rows, workspace: Workspace) -> RoundParams:
        """Return the parameters of round ``index`` of the earlier run."""
        earlier = self.path[index]
        base = with_median_bandwidth(kernel, metric, data.X, self.seed)
        kernel = base.times(earlier.bandwidth_scale)
        return RoundParams(kernel, self.growth * earlier.ridge, bandwidth_scale=earlier.bandwidth_scale)


class LeaveOneOutTuner(RoundTuner):
    """Selects ridge, bandwidth, or both, by the exact leave-one-out error given M.

    Round 0 compares bandwidths over the whole range, since the error has more than one local minimum. Rounds 1 and 2
    move from the previous optimum in both directions while the error falls; later rounds repeat round 2. Of more than
    ``rows`` rows a random part is used: both numbers describe the function (its length scale, its noise) and not the
    sample size.

    Parameters
    ----------
    ridge : float or None
        A ridge to use, or None to select one.
    seed : int
    per_row : bool
        Multiply a given ridge by the total weight of the rows.
    cautious : bool
        Of all settings within one standard error of the best, take the one nearest to the default, not the best. This
        is for class codes, whose squared error is only a surrogate of the error that matters.
    rows : int
        Rows on which the error is computed, at most.
    """

    def __init__(
        self,
        ridge: float | None,
        seed: int = 0,
        per_row: bool = False,
        cautious: bool = False,
        rows: int = LOO_ROWS,
    ) -> None:
        self.rows = rows
        self.ridge = ridge
        self.seed = seed
        self.per_row = per_row
        self.cautious = cautious
        self._ridge_index: int | None = None
        self._scale_index = _SCALES.index(1.0)

    def tune(self, index: int, kernel: Kernel, metric: Metric, data: Rows, workspace: Workspace) -> RoundParams:
        """Search around the optimum of the previous round, and remember the new one."""
        base = with_median_bandwidth(kernel, metric, data.X, self.seed)
        ridge = self.ridge
        if ridge is not None and self.per_row:
            ridge *= data.total_weight
        if len(data) > self.rows:
            rng = torch.Generator().manual_seed(self.seed + 1)
            data = data[torch.randperm(len(data), generator=rng)[: self.rows].to(data.X.device)]
        search = _Search(base, metric, data, workspace, ridge)
        if index >= _SEARCHED_ROUNDS and self._ridge_index is not None:
            scale = _SCALES[self._scale_index]
            ridge = search.ridge_value(self._ridge_index)
            return RoundParams(base.times(scale), ridge, bandwidth_scale=scale, ridge_index=self._ridge_index)
        at = self._scale_index if kernel.automatic else _SCALES.index(1.0)
        best = search.at(at, self._ridge_index)
        if kernel.automatic:
            if self._ridge_index is None:
                best = min([best, *(search.at(s, best[2]) for s in range(0, len(_SCALES), 4))])
                best = _descend(search.at, best, 2)
            best = _descend(search.at, best, 1)
        error, scale_index, ridge_index = search.nearest_to_default(best) if self.cautious else best
        self._scale_index, self._ridge_index = scale_index, ridge_index
        scale = _SCALES[scale_index]
        return RoundParams(base.times(scale), search.ridge_value(ridge_index), error, scale, ridge_index)

    def resume(self, last: RoundParams) -> None:
        """Start from the parameters of a round that an earlier fit finished."""
        self._scale_index, self._ridge_index = _SCALES.index(last.bandwidth_scale), last.ridge_index


class RecordingTuner(RoundTuner):
    """Passes the parameters of another tuner on and records them in ``path``, after those of rounds done before."""

    def __init__(self, tuner: RoundTuner, path: Sequence[RoundParams]) -> None:
        self.tuner = tuner
        self.start(path)

    def start(self, path: Sequence[RoundParams]) -> None:
        """Continue after rounds with these parameters."""
        self.path = list(path)
        if path:
            self.tuner.resume(path[-1])

    def tune(self, index: int, kernel: Kernel, metric: Metric, data: Rows, workspace: Workspace) -> RoundParams:
        """Return and record what the other tuner selects."""
        params = self.tuner.tune(index, kernel, metric, data, workspace)
        self.path.append(params)
        return params


SearchPoint = tuple[float, int, int]
"""Leave-one-out error, index of the bandwidth scale, index of the ridge."""


class _Search:
    """Leave-one-out errors of one round, stored by bandwidth scale and ridge."""

    def __init__(self, base: Kernel, metric: Metric, data: Rows, workspace: Workspace, ridge: float | None) -> None:
        self.data, self.workspace, self.ridge = data, workspace, ridge
        self.best_of_scale: dict[int, SearchPoint] = {}
        self.errors: dict[tuple[int, int], Float[Tensor, " n"]] = {}
        self.operator = KernelOperator(base, data.X, metric).widened()  # of few rows
        # Row i gets the ridge λ/wᵢ: with weights far from 1 the grid must move along.
        weight = data.total_weight / len(data)
        self.scale = (float(self.operator.diagonal().mean()) or 1.0) * weight
        self.share = data.shares

    def ridge_value(self, index: int) -> float:
        """Return the ridge itself: the given one, or the grid's times the mean of the kernel's diagonal."""
        return self.scale * RIDGES[index] if self.ridge is None else self.ridge

    def at(self, scale: int, near: int | None) -> SearchPoint:
        """Find the best ridge for a bandwidth scale: around ``near``, or over a coarse grid where that is None."""
        if scale in self.best_of_scale:
            return self.best_of_scale[scale]
        path = self._path(self.operator.with_bandwidth_times(_SCALES[scale]))
        if self.ridge is not None:
            errors = self._errors(path, scale, [0])
        elif len(self.data) <= SPECTRAL_ROWS:
            errors = self._errors(path, scale, range(len(RIDGES)))
        else:
            lowest = min((found[0] for found in self.best_of_scale.values()), default=math.inf)
            errors = {} if near is None else self._errors(path, scale, [near])
            if near is not None and errors and errors[near] <= _PROMISING * lowest:
                errors |= self._errors(path, scale, _beside(near))
            if not errors:
                errors = self._errors(path, scale, _COARSE)
                found = min(errors, key=errors.__getitem__, default=_COARSE[-1])
                errors |= self._errors(path, scale, _beside(found))
        best = min(errors, key=errors.__getitem__, default=len(RIDGES) - 1)
        self.best_of_scale[scale] = (errors.get(best, math.inf), scale, best)
        return self.best_of_scale[scale]

    def nearest_to_default(self, best: SearchPoint) -> SearchPoint:
        """Return the setting nearest to the default among those within one standard error of the best.

        The default is the median distance as bandwidth and a ridge of 0.3: with few rows the smallest error is luck.
        """
        reference = self.errors.get(best[1:])
        if reference is None:
            return best
        good = {
            at: errors for at, errors in self.errors.items() if within_standard_error(errors, reference, self.share)
        }
        entries = [(float(errors @ self.share), *at) for at, errors in good.items()]
        return min(entries, key=lambda entry: (_steps_from_default(entry[1], entry[2]), entry[0]))

    def _path(self, operator: KernelOperator) -> RidgePath:
        data = self.data
        # A part of the rows may have one group, or two: without it hardly anything is left to predict from.
        groups = data.groups if data.groups is not None and len(set(data.groups.tolist())) >= _LEAST_GROUPS else None
        left_out = {"weights": data.weights, "copies": data.copies, "groups": groups}
        return RidgePath(operator, data.Y, workspace=self.workspace, **left_out)

    def _errors(self, path: RidgePath, scale: int, indices: Iterable[int]) -> dict[int, float]:
        values = {self.ridge_value(i): i for i in indices}
        points = path.at(list(values))
        for point in points:
            self.errors[scale, values[point.ridge]] = point.loo.square().mean(dim=1)
        return {values[p.ridge]: float(self.errors[scale, values[p.ridge]] @ self.share) for p in points}


def _steps_from_default(scale: int, ridge: int) -> float:
    """Half octaves of the bandwidth plus half decades of the ridge from the default setting."""
    return 2 * abs(math.log2(_SCALES[scale])) + 2 * abs(math.log10(RIDGES[ridge] / _DEFAULT_RIDGE))


def _beside(index: int) -> list[int]:
    return [i for i in (index - 1, index + 1) if 0 <= i < len(RIDGES)]


def _descend(at: Callable[[int, int], SearchPoint], best: SearchPoint, stride: int) -> SearchPoint:
    """Move from the best bandwidth scale up and down by ``stride`` while the error falls."""
    start = best[1]
    for direction in (stride, -stride):
        position = start + direction
        while 0 <= position < len(_SCALES):
            found = at(position, best[2])
            if not found[0] < best[0]:
                break
            best = found
            position += direction
    return best
