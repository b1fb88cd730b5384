"""The cosine of WᵀW with every power of a PSD matrix, from one eigendecomposition."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.nets.alignment import best_power, pearson_from_sums, power_alignment


@dataclass(frozen=True)
class PowerCosines:
    """``ρ(A, B^s)`` for every s, from the eigenvalues λⱼ of B and ``vⱼᵀAvⱼ``.

    >>> found = PowerCosines(torch.tensor([4.0, 1.0]), torch.tensor([2.0, 1.0]), norm=5**0.5)
    >>> round(found.cosine(0.5), 6)
    1.0
    """

    values: Float[Tensor, " p"]
    quadratic: Float[Tensor, " p"]  # vⱼᵀAvⱼ
    norm: float  # ‖A‖

    def cosine(self, power: float) -> float:
        """``ρ(A, B^s)``; NaN where one of them is zero."""
        if not self._defined:
            return math.nan
        s = torch.tensor([power], dtype=self.values.dtype)
        return float(power_alignment(self.values, self.quadratic, self.norm, s))

    def best(self) -> tuple[float, float]:
        """The exponent with the largest cosine, and that cosine."""
        return best_power(self.values, self.quadratic, self.norm) if self._defined else (math.nan, math.nan)

    @property
    def _defined(self) -> bool:
        return bool(self.values.numel()) and self.norm > 0


@dataclass(frozen=True)
class GroupTraces:
    """Traces and norms of ``WᵀW`` in one group of a layer, and the number of eigenvalues of B that belong to it."""

    count: int
    width: int
    trace: float
    norm: float


@dataclass(frozen=True)
class PowerFamily:
    """``ρ(WᵀW, B^s)`` for every s from one eigendecomposition of B, an input-side PSD matrix of a layer.

    The eigenvalues of all groups are in one vector, group after group.
    """

    cosines: PowerCosines
    ones: Float[Tensor, " p"]  # (1ᵀvⱼ)²
    total: float  # 1ᵀ WᵀW 1
    entries: int
    groups: tuple[GroupTraces, ...]

    @property
    def values(self) -> Float[Tensor, " p"]:
        """Positive eigenvalues of B, up to a common factor."""
        return self.cosines.values

    def cosine(self, power: float) -> float:
        """``ρ(WᵀW, B^s)``."""
        return self.cosines.cosine(power)

    def best(self) -> tuple[float, float]:
        """The exponent with the largest cosine, and that cosine."""
        return self.cosines.best()

    def pearson(self, power: float) -> float:
        """The cosine after subtracting each matrix's mean entry."""
        if not self.values.numel():
            return math.nan
        weights = (self.values / self.values.max()).pow(power)
        products = (float(weights @ self.cosines.quadratic), self.cosines.norm**2, float(weights.square().sum()))
        return pearson_from_sums(products, (self.total, float(weights @ self.ones)), self.entries)
