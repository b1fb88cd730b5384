"""The probe of one layer: a recursive feature machine on few rows of high dimension, with folds that relearn M.

Ridge, bandwidth, kernel and round are selected by the squared error on held-out rows of five folds, in each of which
the feature matrix is learned from the other rows only. The leave-one-out error is no substitute from round 1 on: M has
seen the label that is left out, and the smallest ridge always looks best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.concepts.gram_rounds import RadialKernel, fit_round, gradient_weights, next_gram, unit_gram
from gramian.concepts.row_space import RowSpace
from gramian.core.statistics import within_standard_error
from gramian.kernels import Gaussian, Laplace

Fold = tuple[Int[Tensor, " m"], Int[Tensor, " q"]]
_RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True)
class ProbeOptions:
    """The settings among which the probe of a layer selects.

    Parameters
    ----------
    kernels : tuple of Laplace or Gaussian
        Candidates; the bandwidth is ``bandwidth_scale`` times the median distance of each round. The first one is
        used unless another is better by more than one standard error.
    ridges : tuple of float
        Ridges that are compared in each round.
    feature_ridge : float
        Ridge of the predictor from which M is learned: the same in all rounds, one of ``ridges``.
    rounds : int
        Largest number of rounds after round 0, kernel ridge regression with M = I, which may be selected too.
    share : float
        Share of the squared length of rows that the unlearned metric keeps; see :mod:`gramian.concepts.gram_rounds`.
    flatten : tuple of float
        Powers by which the variances of the principal directions are made more equal before round 0; see
        :meth:`gramian.concepts.row_space.RowSpace.gains`.

    >>> ProbeOptions(rounds=1).rounds
    1
    """

    kernels: tuple[RadialKernel, ...] = (Laplace("median"), Gaussian("median"))
    ridges: tuple[float, ...] = _RIDGES
    feature_ridge: float = 1.0
    rounds: int = 3
    share: float = 0.8
    flatten: tuple[float, ...] = (0.3,)

    def __post_init__(self) -> None:
        if not self.kernels:
            raise ValueError("kernels must contain at least one kernel")
        if not self.ridges or min(self.ridges) <= 0:
            raise ValueError(f"ridges must be positive numbers, got {self.ridges!r}")
        if self.feature_ridge not in self.ridges:
            raise ValueError(f"feature_ridge must be one of ridges {self.ridges!r}, got {self.feature_ridge!r}")
        if self.rounds < 0:
            raise ValueError(f"rounds must be 0 or more, got {self.rounds!r}")
        if not self.flatten or not all(0 <= power <= 1 for power in self.flatten):
            raise ValueError(f"flatten must be powers between 0 and 1, got {self.flatten!r}")
        if not 0 <= self.share < 1:
            raise ValueError(f"share must be at least 0 and below 1, got {self.share!r}")

    @property
    def feature_index(self) -> int:
        """Position of ``feature_ridge`` in ``ridges``."""
        return self.ridges.index(self.feature_ridge)


@dataclass(frozen=True, eq=False)
class Selected:
    """The selected setting of a layer, and its outputs for rows that were held out."""

    kernel: RadialKernel
    flatten: float
    ridge: float
    round: int
    error: float
    """Mean squared error on held-out rows, of targets between 0 and 1."""
    outputs: Float[Tensor, "n c"]


def fold_outputs(
    G: Float[Tensor, "n n"],
    Y: Float[Tensor, "n c"],
    train: Int[Tensor, " m"],
    kernel: RadialKernel,
    options: ProbeOptions,
) -> Float[Tensor, "t r n c"]:
    """Return the outputs at all rows, by round and ridge, of machines that are trained on some rows only.

    ``G`` are the inner products of all rows, centred and of mean squared length 1. The targets of the other rows are
    not read.
    """
    ridges = torch.tensor(options.ridges, dtype=G.dtype)
    N, found = G, []
    for index in range(options.rounds + 1):
        fit = fit_round(N, Y, train, kernel, ridges)
        found.append(fit.outputs)
        if index < options.rounds:
            B = gradient_weights(fit, options.feature_index)
            N = next_gram(N, G, train, B, options.share)
    return torch.stack(found)


def select(
    space: RowSpace,
    Y: Float[Tensor, "n c"],
    folds: Sequence[Fold],
    options: ProbeOptions,
    dtype: torch.dtype = torch.float32,
) -> Selected:
    """Select flattening, kernel, ridge and round by the squared error on held-out rows.

    The first kernel with the first flattening is preferred: others replace it only if their error is smaller by more
    than one standard error of the difference. With a few hundred rows the smallest of many errors is mostly chance.

    >>> rng = torch.Generator().manual_seed(0)
    >>> X = torch.randn(40, 60, generator=rng)
    >>> folds = [(torch.arange(20), torch.arange(20, 40)), (torch.arange(20, 40), torch.arange(20))]
    >>> select(RowSpace.of(X), (X[:, :1] > 0).float(), folds, ProbeOptions(rounds=1)).outputs.shape
    torch.Size([40, 1])
    """
    found = []
    for power in options.flatten:
        G = flattened_gram(space, power).to(dtype)
        found += [_best(G, Y, folds, kernel, power, options) for kernel in options.kernels]
    best = min(found, key=lambda candidate: candidate.error)
    share = torch.full((len(Y),), 1 / len(Y))
    errors = [(candidate.outputs - Y).square().mean(dim=1).float() for candidate in (found[0], best)]
    return found[0] if within_standard_error(errors[0], errors[1], share) else best


def flattened_gram(space: RowSpace, power: float) -> Float[Tensor, "n n"]:
    """Return the inner products of centred and flattened rows, with a mean squared length of 1."""
    Z = space.Z * space.gains(power) if power else space.Z
    return unit_gram(Z @ Z.mT)


def _best(
    G: Float[Tensor, "n n"],
    Y: Float[Tensor, "n c"],
    folds: Sequence[Fold],
    kernel: RadialKernel,
    power: float,
    options: ProbeOptions,
) -> Selected:
    """Select ridge and round for one kernel and one flattening."""
    Y = Y.to(G.dtype)
    held_out = G.new_zeros(options.rounds + 1, len(options.ridges), *Y.shape)
    for train, other in folds:
        held_out[:, :, other] = fold_outputs(G, Y, train, kernel, options)[:, :, other]
    errors = (held_out - Y).square().mean(dim=(2, 3))
    errors = torch.where(errors.isfinite(), errors, torch.inf)
    index, ridge = divmod(int(errors.argmin()), len(options.ridges))
    outputs = held_out[index, ridge].clone()
    return Selected(kernel, power, options.ridges[ridge], index, float(errors[index, ridge]), outputs)
