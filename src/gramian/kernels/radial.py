"""Radial kernels: functions ``φ(r)`` of the distance ``r = ‖x − z‖_M``.

Each needs its profile ``φ`` and its slope ``κ(r) = −φ'(r)/r``, with which the gradient of ``Σⱼ αⱼ φ(‖x − xⱼ‖)`` is
``M Σⱼ κⱼ αⱼ (xⱼ − x)``. At r = 0 the slope counts as 0: the term vanishes (or, for a cusp, has no direction).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.kernels.bandwidth import LengthKernel
from gramian.kernels.base import Slopes, SmoothKernel
from gramian.kernels.points import Points, squared_distances

_LOG2E = 1 / math.log(2)
"""``e^t = 2^{t log₂e}``, and powers of 2 cost less than half as much."""
_ZERO_DISTANCE = 1e-10
"""Relative to ‖u‖: below it a direction ``(v − u)/r`` is round-off, and the pair counts as one point."""


@dataclass(frozen=True)
class Radial(LengthKernel, SmoothKernel):
    """Base of the radial kernels; their common parameters are those of :class:`LengthKernel`."""

    @abstractmethod
    def profile(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        """``φ`` of squared distances; may overwrite its argument."""

    @abstractmethod
    def slope(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        """``κ = −φ'(r)/r`` of positive squared distances; may overwrite its argument."""

    def block(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Float[Tensor, "n m"]:
        """See :meth:`Kernel.block`."""
        return self.profile(
            squared_distances(x, z, same=same, batch_invariant=batch_invariant, values=True).square.to(x.u.dtype)
        )

    def slopes(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Slopes:
        """See :meth:`SmoothKernel.slopes`."""
        square, near = squared_distances(x, z, same=same, batch_invariant=batch_invariant)
        if not near:
            square = square.to(x.u.dtype)
            if same:
                square.fill_diagonal_(1)
            kappa = self.slope(square)
            return Slopes(kappa.fill_diagonal_(0) if same else kappa, of_differences=True)
        # κ of a near pair is huge and multiplies a tiny difference: that product must not be rounded to float32.
        tiny = torch.finfo(square.dtype).tiny
        apart = square > (_ZERO_DISTANCE**2 * x.square_norms).clamp_min(tiny)[:, None]
        return Slopes(self.slope(square.clamp_(min=tiny)).mul_(apart), of_differences=True)

    def distance(self, x: Points, z: Points) -> Float[Tensor, "n m"]:
        """Euclidean distance in kernel coordinates."""
        return squared_distances(x, z).square.sqrt_()


@dataclass(frozen=True)
class Laplace(Radial):
    """Laplace kernel ``φ(r) = exp(−r/L)``, ``κ = φ/(L r)``: the kernel of the RFM paper (B), robust in high dimension.

    >>> import torch
    >>> Laplace(bandwidth=2.0)(torch.tensor([[0.0], [2.0]]))
    tensor([[1.0000, 0.3679],
            [0.3679, 1.0000]])
    """

    def profile(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        return square.sqrt_().mul_(-_LOG2E / self.length).exp2_()

    def slope(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        r = square.sqrt_()
        return (r * (-_LOG2E / self.length)).exp2_().div_(r.mul_(self.length))


@dataclass(frozen=True)
class Gaussian(Radial):
    """Gaussian kernel ``φ(r) = exp(−r²/(2L²))``, ``κ = φ/L²``.

    >>> import torch
    >>> Gaussian(bandwidth=1.0)(torch.tensor([[0.0]]), torch.tensor([[2.0]]))
    tensor([[0.1353]])
    """

    def profile(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        return square.mul_(-0.5 * _LOG2E / self.length**2).exp2_()

    def slope(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        return self.profile(square).div_(self.length**2)


@dataclass(frozen=True)
class Exponential(Radial):
    """Generalised exponential ``φ(r) = exp(−(r/L)^q)``, 0 < q ≤ 2, ``κ = q (r/L)^q φ / r²``; q = 1 is Laplace.

    >>> import torch
    >>> Exponential(bandwidth=1.0, exponent=2.0)(torch.tensor([[0.0]]), torch.tensor([[2.0]]))
    tensor([[0.0183]])
    """

    exponent: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.exponent <= 2:
            raise ValueError(f"exponent must be in (0, 2] for a positive-definite kernel, got {self.exponent!r}")

    def profile(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        return square.div_(self.length**2).pow_(self.exponent / 2).mul_(-_LOG2E).exp2_()

    def slope(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        power = (square / self.length**2).pow_(self.exponent / 2)
        return torch.exp(-power).mul_(power).mul_(self.exponent).div_(square)


@dataclass(frozen=True)
class Matern(Radial):
    """Matérn kernel of smoothness ν = 3/2 or 5/2, with ``a = √(2ν) r/L``.

    ``φ = (1 + a) e^{−a}``, ``κ = (3/L²) e^{−a}`` for ν = 3/2;
    ``φ = (1 + a + a²/3) e^{−a}``, ``κ = (5/(3L²)) (1 + a) e^{−a}`` for ν = 5/2.

    >>> import torch
    >>> Matern(bandwidth=1.0, nu=1.5)(torch.tensor([[0.0]]), torch.tensor([[1.0]]))
    tensor([[0.4834]])
    """

    nu: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (1.5, 2.5):
            raise ValueError(f"nu must be 1.5 or 2.5, got {self.nu!r}; nu = 0.5 is Laplace, nu = inf Gaussian")

    def _a(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        return square.sqrt_().mul_(math.sqrt(2 * self.nu) / self.length)

    def profile(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        a = self._a(square)
        poly = 1 + a if self.nu == 1.5 else a.square().div_(3).add_(a).add_(1)
        return poly * a.neg_().exp_()

    def slope(self, square: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        a = self._a(square)
        if self.nu == 1.5:
            return a.neg_().exp_().mul_(3 / self.length**2)
        return (1 + a).mul_(5 / (3 * self.length**2)) * a.neg_().exp_()
