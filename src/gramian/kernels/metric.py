"""Metrics: positive semidefinite matrices M that weight the directions of the input.

A metric represents a matrix ``M = F Fᵀ``; the kernel is evaluated on ``u = Fᵀx``, so that
``‖u − u'‖² = (x − x')ᵀ M (x − x')``. A gradient with respect to u is pulled back to x by F.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core import psd_factor, wide_dtype
from gramian.core.tiles import rowwise_matmul


class Metric(ABC):
    """A PSD matrix M on the input space, in its cheapest form. Frozen."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of input coordinates d."""

    @property
    @abstractmethod
    def rank(self) -> int:
        """Number of kernel coordinates k."""

    @abstractmethod
    def transform(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Coordinates ``u = Fᵀx`` of each row; a row's result does not depend on its batch."""

    @abstractmethod
    def pull(self, G: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch d"]:
        """Gradients with respect to x from gradients with respect to u: ``F g``."""

    @abstractmethod
    def matrix(self) -> Float[Tensor, "d d"]:
        """The matrix M itself, in float64 (float32 on devices without it)."""

    def diagonal(self) -> Float[Tensor, " d"]:
        """The diagonal of M."""
        return self.matrix().diagonal()

    def block(self, at: Int[Tensor, " k"]) -> Float[Tensor, "k k"]:
        """The entries of M between some coordinates."""
        return torch.diag(self.diagonal()[at])

    def inner(self, other: Metric) -> float:
        """``⟨M, M'⟩ = tr M M'``."""
        if self.axis_aligned or other.axis_aligned:
            return float(self.diagonal().to(other.diagonal()) @ other.diagonal())
        assert isinstance(self, LowRank)
        assert isinstance(other, LowRank)
        return float((self.factor.mT @ other.factor.to(self.factor)).square().sum())

    @property
    def axis_aligned(self) -> bool:
        """True if M only rescales the coordinates, as ℓp kernels require."""
        return False

    def pull_matrix(self, S: Float[Tensor, "k k"]) -> Float[Tensor, "d d"]:
        """``F S Fᵀ``: a second moment of gradients with respect to u, pulled back to x."""
        return self.pull(self.pull(S).mT.contiguous())


@dataclass(frozen=True, eq=False)
class Identity(Metric):
    """``M = I``: unweighted distances.

    >>> Identity(2).matrix()
    tensor([[1., 0.],
            [0., 1.]], dtype=torch.float64)
    """

    d: int
    device: torch.device | str = "cpu"

    @property
    def dim(self) -> int:
        return self.d

    @property
    def rank(self) -> int:
        return self.d

    @property
    def axis_aligned(self) -> bool:
        return True

    def transform(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return X

    def pull(self, G: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        return G

    def diagonal(self) -> Float[Tensor, " d"]:
        return torch.ones(self.d, dtype=wide_dtype(torch.device(self.device)), device=self.device)

    def matrix(self) -> Float[Tensor, "d d"]:
        return torch.eye(self.d, dtype=wide_dtype(torch.device(self.device)), device=self.device)


@dataclass(frozen=True, eq=False)
class Diagonal(Metric):
    """``M = diag(m)``: each coordinate has its own weight ``m ≥ 0``; coordinates of weight 0 become zeros.

    >>> Diagonal(torch.tensor([4.0, 0.0])).transform(torch.tensor([[1.0, 1.0]]))
    tensor([[2., 0.]])
    """

    weights: Float[Tensor, " d"]

    def __post_init__(self) -> None:
        if not bool((self.weights >= 0).all()):
            raise ValueError("the weights of a diagonal metric must be non-negative and not NaN")

    @property
    def dim(self) -> int:
        return self.weights.shape[0]

    @property
    def rank(self) -> int:
        return self.weights.shape[0]

    @property
    def axis_aligned(self) -> bool:
        return True

    def transform(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return X * self.weights.sqrt().to(X.dtype)

    def pull(self, G: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        return G * self.weights.sqrt().to(G.dtype)

    def diagonal(self) -> Float[Tensor, " d"]:
        return self.weights

    def matrix(self) -> Float[Tensor, "d d"]:
        return torch.diag(self.weights)


@dataclass(frozen=True, eq=False)
class LowRank(Metric):
    """``M = F Fᵀ`` with a factor ``F (d, k)``: only k directions count. A full-rank M is the case k = d.

    >>> LowRank(torch.tensor([[1.0], [1.0]])).matrix()
    tensor([[1., 1.],
            [1., 1.]])
    """

    factor: Float[Tensor, "d k"]

    @property
    def dim(self) -> int:
        return self.factor.shape[0]

    @property
    def rank(self) -> int:
        return self.factor.shape[1]

    def transform(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        return rowwise_matmul(X, self.factor.to(X.dtype))

    def pull(self, G: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch d"]:
        return G @ self.factor.mT.to(G.dtype)

    def diagonal(self) -> Float[Tensor, " d"]:
        return self.factor.square().sum(dim=1)

    def block(self, at: Int[Tensor, " k"]) -> Float[Tensor, "k k"]:
        return self.factor[at] @ self.factor[at].mT

    def matrix(self) -> Float[Tensor, "d d"]:
        return self.factor @ self.factor.mT


@dataclass(frozen=True, eq=False)
class Full(LowRank):
    """Metric made from a matrix M, which it stores; its factor leaves out the null space of M.

    >>> Full.of(torch.diag(torch.tensor([1.0, 0.0]))).rank
    1
    """

    M: Float[Tensor, "d d"]

    @classmethod
    def of(cls, M: Float[Tensor, "d d"], power: float = 1.0) -> Full:
        """Make the metric ``M^power`` of a symmetric PSD matrix."""
        factor = psd_factor(M, power)
        return cls(factor, M if power == 1 else factor @ factor.mT)

    def diagonal(self) -> Float[Tensor, " d"]:
        return self.M.diagonal()

    def block(self, at: Int[Tensor, " k"]) -> Float[Tensor, "k k"]:
        return self.M[at][:, at]

    def matrix(self) -> Float[Tensor, "d d"]:
        return self.M


def as_metric(M: Float[Tensor, "d d"] | Float[Tensor, " d"], power: float = 1.0) -> Metric:
    """Make a metric from a PSD matrix, or from a vector of diagonal entries, raised to a power.

    A matrix without off-diagonal entries becomes a :class:`Diagonal`.

    >>> as_metric(torch.tensor([4.0, 1.0]), power=0.5).matrix().diag()
    tensor([2., 1.])
    """
    if not bool(torch.isfinite(M).all()):
        raise ValueError("a metric needs finite entries, got NaN or inf")
    if M.ndim == 1:
        return Diagonal(M.clamp_min(0).pow(power))
    if bool((torch.diag(M.diagonal()) == M).all()):
        return Diagonal(M.diagonal().clamp_min(0).pow(power))
    return Full.of(M, power)
