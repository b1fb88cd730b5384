"""Updates: rules that compute the next feature matrix M from the model of the last round.

An update states each choice that papers often leave implicit: the matrix, its power, centred or not, the scale, and
the rows of the average. It reads the model only through :class:`Source`, so it works for any model that can return the
moments of its gradients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core import psd_eigh, psd_power
from gramian.core.options import Options
from gramian.features.matrices import agop_from_moments, fact_geometric, fact_symmetric

Scale = str | None
"""``"max"``, ``"mean"``, ``"trace"`` or None."""
Matrix = Float[Tensor, "d d"] | Float[Tensor, " d"]


@dataclass(frozen=True, eq=False)
class Factored:
    """A matrix ``M = F Fᵀ`` by its factor ``F (d, k)``, for d so large that M itself would not be wanted in memory."""

    factor: Float[Tensor, "d k"]


@runtime_checkable
class Source(Protocol):
    """The part of a fitted model that an update reads."""

    @property
    def n(self) -> int:
        """Number of training rows."""

    def moments(self, rows: Int[Tensor, " m"] | None) -> tuple[Float[Tensor, "d d"], Float[Tensor, "c d"], float]:
        """``Σ g gᵀ``, mean gradient and number of points, over all training rows or the given ones."""

    def few_gradients(
        self, rows: Int[Tensor, " m"] | None
    ) -> tuple[Float[Tensor, "m c d"], Float[Tensor, " m"]] | None:
        """The gradients themselves and the rows' weights, where they are far fewer than columns; else None."""

    def fact(self) -> Float[Tensor, "d d"]:
        """The FACT matrix of the model."""

    def matrix(self) -> Float[Tensor, "d d"]:
        """The feature matrix M that the model was fitted with."""


@dataclass(frozen=True)
class Update(Options, ABC):
    """A rule ``fitted model → M``. Frozen."""

    @abstractmethod
    def __call__(self, source: Source, rng: torch.Generator) -> Matrix | Factored:
        """Return the next M, its diagonal as a vector for a diagonal update, or its factor where gradients are few.

        The entries are zero if all gradients are zero.
        """


@dataclass(frozen=True)
class Agop(Update):
    """``M ← AGOP^power`` of the fitted predictor (papers B and D: NFA-RFM).

    Parameters
    ----------
    power : float
        1 in paper B's tables, ½ in paper D and for modular arithmetic.
    center : bool
        Subtract the mean gradient of each output first.
    scale : "max", "mean", "trace" or None
        Divide by the largest entry, the mean diagonal entry, the trace, or nothing. It matters where the bandwidth
        is a fixed number.
    diagonal : bool
        Keep only the diagonal (before the power is taken).
    max_rows : int, optional
        Average over at most this many training rows, drawn at random; over all by default.
    shrink : float
        Mix M with a multiple of the identity of the same trace: ``(1 − s) M + s (tr M / d) I``, so that every column
        keeps a positive weight.

    >>> Agop(power=0.5, scale="mean")
    Agop(power=0.5, center=False, scale='mean', diagonal=False, max_rows=None, shrink=0.0)
    """

    power: float = 1.0
    center: bool = False
    scale: Scale = "max"
    diagonal: bool = False
    max_rows: int | None = None
    shrink: float = 0.0

    def __post_init__(self) -> None:
        _check_scale(self.scale)
        if not self.power > 0:
            raise ValueError(f"power must be positive, got {self.power!r}")
        if self.max_rows is not None and self.max_rows < 1:
            raise ValueError(f"max_rows must be a positive number of rows or None, got {self.max_rows!r}")
        if not 0 <= self.shrink < 1:
            raise ValueError(f"shrink must be at least 0 and below 1, got {self.shrink!r}")

    def __call__(self, source: Source, rng: torch.Generator) -> Matrix | Factored:
        rows = None
        if self.max_rows is not None and self.max_rows < source.n:
            rows = torch.randperm(source.n, generator=rng)[: self.max_rows]
        few = None if self.shrink and not self.diagonal else source.few_gradients(rows)
        if few is not None:
            return self._of_few(*few)
        M = agop_from_moments(*source.moments(rows), center=self.center)
        if self.diagonal:
            return rescale(_shrink(M.diagonal().clamp_min(0).pow(self.power), self.shrink), self.scale)
        return rescale(_shrink(psd_power(M, self.power), self.shrink), self.scale)

    def _of_few(self, G: Float[Tensor, "m c d"], weights: Float[Tensor, " m"]) -> Matrix | Factored:
        """Return the diagonal or the factor: with ``AGOP = SᵀS`` both come from the small matrix ``S Sᵀ``."""
        share = (weights / weights.sum()).to(G.dtype)
        if self.center:
            G = G - torch.einsum("m,mcd->cd", share, G)
        S = (share.sqrt()[:, None, None] * G).flatten(0, 1).to(weights.dtype)
        if self.diagonal:
            return rescale(_shrink(S.square().sum(dim=0).pow(self.power), self.shrink), self.scale)
        values, vectors = psd_eigh(S @ S.mT)
        positive = values > len(values) * torch.finfo(values.dtype).eps * values[0]
        values, vectors = values[positive], vectors[:, positive]
        F = (S.mT @ vectors) * values.pow((self.power - 1) / 2)
        diagonal = F.square().sum(dim=1)
        return Factored(F * (rescale(diagonal, self.scale).sum() / diagonal.sum()).sqrt() if len(values) else F)


@dataclass(frozen=True)
class Fact(Update):
    """``M ← (F Fᵀ)^½`` with F the FACT matrix of the fitted model (paper D: FACT-RFM).

    Parameters
    ----------
    geometric : bool
        Take the geometric mean with the current M, ``(F M Mᵀ Fᵀ)^¼``: needed for modular arithmetic.
    scale : "max", "mean", "trace" or None
        As for :class:`Agop`.
    diagonal : bool
        Keep only the diagonal of F: ``|F_kk|``, or ``√(|F_kk| M_kk)``.

    >>> Fact(geometric=True)
    Fact(geometric=True, scale='max', diagonal=False)
    """

    geometric: bool = False
    scale: Scale = "max"
    diagonal: bool = False

    def __post_init__(self) -> None:
        _check_scale(self.scale)

    def __call__(self, source: Source, rng: torch.Generator) -> Matrix:
        F = source.fact()
        if self.diagonal:
            f = F.diagonal().abs()
            return rescale((f * source.matrix().diagonal()).sqrt() if self.geometric else f, self.scale)
        return rescale(fact_geometric(F, source.matrix()) if self.geometric else fact_symmetric(F), self.scale)


def rescale(M: Matrix, scale: Scale) -> Matrix:
    """Divide M (or a diagonal) by its largest entry, mean diagonal or trace; a zero M is returned unchanged.

    >>> rescale(torch.tensor([1.0, 4.0]), "max")
    tensor([0.2500, 1.0000])
    """
    diagonal = M if M.ndim == 1 else M.diagonal()
    # The largest entry of a PSD matrix is on its diagonal.
    divisors = {"max": diagonal.max(), "mean": diagonal.mean(), "trace": diagonal.sum()}
    divisor = 1.0 if scale is None else float(divisors[scale])
    return M / divisor if divisor > 0 else M


def _shrink(M: Matrix, share: float) -> Matrix:
    if not share:
        return M
    diagonal = M if M.ndim == 1 else M.diagonal()
    mean = torch.full_like(diagonal, float(diagonal.mean()))
    return (1 - share) * M + share * (mean if M.ndim == 1 else torch.diag(mean))


def _check_scale(scale: Scale) -> None:
    if scale not in ("max", "mean", "trace", None):
        raise ValueError(f'scale must be "max", "mean", "trace" or None, got {scale!r}')


BY_NAME: dict[str, Update] = {
    "agop": Agop(),
    "agop-diagonal": Agop(diagonal=True),
    "agop-sqrt": Agop(power=0.5),
    "fact": Fact(),
    "fact-geometric": Fact(geometric=True),
}
"""Updates by the names that an estimator accepts."""
