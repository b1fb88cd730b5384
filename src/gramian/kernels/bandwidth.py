"""Kernels with a bandwidth: a number, the median distance of the training rows, or a multiple of it that is tuned."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.kernels.base import Kernel
from gramian.kernels.points import Points

Bandwidth = float | str
"""A positive number, ``"median"`` or ``"auto"``."""
B = TypeVar("B", bound="LengthKernel")


@dataclass(frozen=True)
class LengthKernel(Kernel):
    """Base of the kernels of ``distance / L``, with value 1 at distance 0.

    Parameters
    ----------
    bandwidth : float, "median" or "auto"
        The length L. ``"median"`` is the median distance between training rows under the current metric, measured
        again after each update of it; ``"auto"`` is that median times a number that the fit selects by leave-one-out.
    bandwidth_scale : float
        Number that multiplies the bandwidth, however that is given.
    """

    bandwidth: Bandwidth = "auto"
    bandwidth_scale: float = field(default=1.0, kw_only=True)

    translation_invariant = True

    def __post_init__(self) -> None:
        good = self.bandwidth in ("auto", "median") if isinstance(self.bandwidth, str) else _positive(self.bandwidth)
        if not good:
            raise ValueError(f'bandwidth must be a positive number, "median" or "auto", got {self.bandwidth!r}')
        if not _positive(self.bandwidth_scale):
            raise ValueError(f"bandwidth_scale must be a positive number, got {self.bandwidth_scale!r}")

    @property
    def length(self) -> float:
        """The scaled bandwidth as a number; an error where it is still to be found from data."""
        if isinstance(self.bandwidth, str):
            raise ValueError(f"{self!r} has no number for its bandwidth yet: use with_bandwidth, or fit an estimator")
        return self.bandwidth_scale * self.bandwidth

    @property
    def automatic(self) -> bool:
        return self.bandwidth == "auto"

    @property
    def needs_median(self) -> bool:
        return isinstance(self.bandwidth, str)

    def with_bandwidth(self: B, bandwidth: float) -> B:
        """Return the same kernel with a number for its bandwidth.

        >>> from gramian.kernels import Laplace
        >>> Laplace().with_bandwidth(2.0)
        Laplace(bandwidth=2.0, bandwidth_scale=1.0)
        """
        return replace(self, bandwidth=float(bandwidth), bandwidth_scale=1.0)

    def at_median(self: B, median: float) -> B:
        return self.with_bandwidth(self.bandwidth_scale * median)

    def times(self: B, factor: float) -> B:
        return self.with_bandwidth(self.length * factor)

    @abstractmethod
    def distance(self, x: Points, z: Points) -> Float[Tensor, "n m"]:
        """Distances in the norm in which the bandwidth is measured."""

    def diagonal(self, x: Points) -> Float[Tensor, " n"]:
        """``k(x, x) = 1``."""
        return torch.ones(len(x), dtype=x.u.dtype, device=x.u.device)


def _positive(value: float) -> bool:
    return value > 0 and math.isfinite(value)
