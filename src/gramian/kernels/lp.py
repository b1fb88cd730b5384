"""Product-type kernels ``exp(−‖x − z‖_p^q / L^q)``: they see coordinates, not rotations of them.

On tables with columns of different kinds the axes mean something, and p = 1 often beats p = 2. The metric may only
rescale the axes; gradients go coordinate by coordinate, without autograd.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.kernels.bandwidth import LengthKernel
from gramian.kernels.paths import mean_power_gradient
from gramian.kernels.points import Points


@dataclass(frozen=True)
class Lp(LengthKernel):
    """``k(x, z) = exp(−(D^{1/p} / L)^q)`` with ``D = Σ_k |u_k − v_k|^p`` and 0 < q ≤ p ≤ 2.

    Its derivative is ``∂k/∂u_k = −(q/L^q) D^{q/p − 1} k · sign(u_k − v_k) |u_k − v_k|^{p−1}``.

    Parameters
    ----------
    bandwidth, factor
        As for the radial kernels, with the ℓp distance in place of the Euclidean one.
    p : float
        The norm; 1 is the ℓ1 ("Manhattan") distance.
    exponent : float
        The power q; at most p, or the kernel is not positive definite.

    >>> import torch
    >>> Lp(bandwidth=1.0)(torch.zeros(1, 2), torch.ones(1, 2))
    tensor([[0.1353]])
    """

    p: float = 1.0
    exponent: float = 1.0

    needs_axis_aligned_metric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.exponent <= self.p <= 2:
            raise ValueError(
                f"Lp needs 0 < exponent <= p <= 2 to be positive definite, got exponent={self.exponent}, p={self.p}"
            )

    def distance(self, x: Points, z: Points) -> Float[Tensor, "n m"]:
        """The ℓp distance in kernel coordinates."""
        if self.p in (1, 2):  # the norms torch.cdist is fast at
            return torch.cdist(x.u, z.u, p=self.p, compute_mode="donot_use_mm_for_euclid_dist")
        total = x.u.new_zeros(len(x), len(z))
        for k in range(x.u.shape[1]):
            total += self._power(self._differences(x, z, k).abs_(), self.p)
        return total.pow_(1 / self.p)

    def block(self, x: Points, z: Points, *, same: bool = False, quick: bool = False) -> Float[Tensor, "n m"]:
        """See :meth:`Kernel.block`."""
        return self._power(self.distance(x, z).div_(self.length), self.exponent).neg_().exp_()

    def gradient(
        self, x: Points, z: Points, coef: Float[Tensor, "m c"], *, same: bool = False
    ) -> Float[Tensor, "n c k"]:
        """See :meth:`Kernel.gradient`."""
        coef = coef.to(x.u.dtype)
        r = self.distance(x, z)
        apart = r > 0
        r.clamp_(min=torch.finfo(r.dtype).tiny)
        power = self._power(r / self.length, self.exponent)
        # Σ_k |Δ_k|^p = r^p, so sign(Δ_k)|Δ_k|^{p−1}/r^{p−1} stays at most 1: no overflow however near the pair.
        scale = power.neg().exp_().mul_(power).mul_(-self.exponent).div_(r).mul_(apart)
        out = x.u.new_empty(len(x), coef.shape[1], x.u.shape[1])
        for k in range(x.u.shape[1]):
            delta = self._differences(x, z, k)
            direction = delta.sign() if self.p == 1 else delta.sign() * self._power(delta.abs_().div_(r), self.p - 1)
            out[:, :, k] = direction.mul_(scale) @ coef
        return out

    def mean_gradient(self, ends: Points, z: Points, coef: Float[Tensor, "m c"], nodes: int) -> Float[Tensor, "c k"]:
        """See :meth:`Kernel.mean_gradient`; by differences, of which one piece does the work of four nodes."""
        return mean_power_gradient(ends.u, z.u, coef, self.p, self.exponent, self.length, max(1, nodes // 4))

    @staticmethod
    def _differences(x: Points, z: Points, k: int) -> Float[Tensor, "n m"]:
        return x.u[:, k, None] - z.u[None, :, k]

    @staticmethod
    def _power(values: Float[Tensor, "n m"], exponent: float) -> Float[Tensor, "n m"]:
        # A general pow costs an order of magnitude more than a square root.
        if exponent == 1:
            return values
        if exponent == 0.5:
            return values.sqrt()
        if exponent == 1.5:
            return values.sqrt().mul_(values)
        return values.square() if exponent == 2 else values.pow(exponent)
