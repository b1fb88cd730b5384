"""Inner-product kernels: functions ``k(t)`` of ``t = xᵀMz``.

The gradient of ``Σⱼ αⱼ k(xᵀMxⱼ)`` is ``M Σⱼ k'(tⱼ) αⱼ xⱼ``.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from gramian.kernels.base import Slopes, SmoothKernel
from gramian.kernels.points import Points


@dataclass(frozen=True)
class InnerProduct(SmoothKernel):
    """Base of the inner-product kernels: a profile ``k(t)`` and its derivative ``k'(t)``."""

    @abstractmethod
    def profile(self, t: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """``k(t)``."""

    @abstractmethod
    def slope(self, t: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        """``k'(t)``."""

    def block(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Float[Tensor, "n m"]:
        """See :meth:`Kernel.block`."""
        values = self.profile(x.dot(z)).to(x.u.dtype)
        if same:
            values.diagonal().copy_(self.diagonal(x))
        return values

    def slopes(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Slopes:
        """See :meth:`SmoothKernel.slopes`."""
        return Slopes(self.slope(x.dot(z)).to(x.u.dtype))

    def diagonal(self, x: Points) -> Float[Tensor, " n"]:
        """``k(‖x‖²_M)``."""
        return self.profile(x.square_norms).to(x.u.dtype)


@dataclass(frozen=True)
class Polynomial(InnerProduct):
    """Polynomial kernel ``k(t) = (t + offset)^degree``; degree 2 is the kernel of paper D for modular arithmetic.

    >>> import torch
    >>> Polynomial(degree=2, offset=1.0)(torch.tensor([[1.0, 1.0]]))
    tensor([[9.]])
    """

    degree: int = 2
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.degree, int) and self.degree >= 1):
            raise ValueError(f"degree must be an integer of at least 1, got {self.degree!r}")
        if not self.offset >= 0:
            raise ValueError(f"offset must be non-negative for a positive-definite kernel, got {self.offset!r}")

    def profile(self, t: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return (t + self.offset).pow(self.degree)

    def slope(self, t: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        return self.degree * (t + self.offset).pow(self.degree - 1)


@dataclass(frozen=True)
class ExponentialDot(InnerProduct):
    """Exponential inner-product kernel ``k(t) = exp(t / scale)``.

    >>> import torch
    >>> ExponentialDot(scale=2.0)(torch.tensor([[1.0, 1.0]]))
    tensor([[2.7183]])
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise ValueError(f"scale must be positive, got {self.scale!r}")

    def profile(self, t: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return (t / self.scale).exp()

    def slope(self, t: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        return self.profile(t) / self.scale
