"""Kernels ``exp(−‖x − z‖_p^q / L^q)`` of the ℓp distance, which is not invariant to rotations of the coordinates.

On tables with columns of different kinds the axes have a meaning, and p = 1 is often better than p = 2. The metric may
only rescale the axes; gradients are closed forms, without autograd.

No matrix product gives an ℓp distance, so every pair costs a few operations per coordinate: in one compiled pass where
:mod:`gramian.kernels.compiled` applies, else in place on pieces small enough for the processor's cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.tiles import pad_outputs, spans
from gramian.kernels import compiled
from gramian.kernels.bandwidth import LengthKernel
from gramian.kernels.line_average import mean_power_gradient
from gramian.kernels.points import Points

_TILE, _CUBE = 2**18, 2**19
"""Numbers in a tile of pairs and in a cube of slopes: smaller ones cost more calls, larger ones exceed the cache."""


@dataclass(frozen=True)
class Lp(LengthKernel):
    """``k(x, z) = exp(−(D^{1/p} / L)^q)`` with ``D = Σ_k |u_k − v_k|^p`` and 0 < q ≤ p ≤ 2.

    Its derivative is ``∂k/∂u_k = −(q/L^q) D^{q/p − 1} k · sign(u_k − v_k) |u_k − v_k|^{p−1}``.

    Parameters
    ----------
    bandwidth, bandwidth_scale
        As for the radial kernels, with the ℓp distance instead of the Euclidean one.
    p : float
        The norm; 1 is the ℓ1 ("Manhattan") distance.
    exponent : float
        The power q; at most p, otherwise the kernel is not positive definite.

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
        D = self._power_sums(x, z)
        return D if self.p == 1 else D.pow_(1 / self.p)

    def block(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Float[Tensor, "n m"]:
        """See :meth:`Kernel.block`."""
        return self._exponents(self._power_sums(x, z)).neg_().exp_()

    def gradient(
        self, x: Points, z: Points, coef: Float[Tensor, "m c"], *, same: bool = False
    ) -> Float[Tensor, "n c k"]:
        """See :meth:`Kernel.gradient`."""
        coef = coef.to(x.u.dtype)
        out = x.u.new_empty(len(x), coef.shape[1], x.u.shape[1])
        for rows, slopes in self._slopes(x, z):
            out[rows] = _sums(slopes, coef)
        return out

    def mutual_gradients(
        self, x: Points, z: Points, x_coef: Float[Tensor, "n c"], z_coef: Float[Tensor, "m c"]
    ) -> tuple[Float[Tensor, "n c k"], Float[Tensor, "m c k"]]:
        """See :meth:`Kernel.mutual_gradients`: ``∂k/∂v = −∂k/∂u``, so both sides use the same cube of slopes."""
        x_coef, z_coef = x_coef.to(x.u.dtype), z_coef.to(x.u.dtype)
        c, k = z_coef.shape[1], x.u.shape[1]
        at_x, at_z = x.u.new_empty(len(x), c, k), x.u.new_zeros(k, c, len(z))
        for rows, slopes in self._slopes(x, z):
            at_x[rows] = _sums(slopes, z_coef)
            at_z -= x_coef[rows].mT @ slopes
        return at_x, at_z.permute(2, 1, 0)

    def mean_gradient(self, ends: Points, z: Points, coef: Float[Tensor, "m c"], nodes: int) -> Float[Tensor, "c k"]:
        """See :meth:`Kernel.mean_gradient`; computed by differences, of which one piece replaces four nodes."""
        return mean_power_gradient(ends.u, z.u, coef, self.p, self.exponent, self.length, max(1, nodes // 4))

    def _power_sums(self, x: Points, z: Points) -> Float[Tensor, "n m"]:
        """``D``, summed over the coordinates in a fixed order, so that its digits do not depend on the batch."""
        u, v = x.u.mT.contiguous(), z.u.mT.contiguous()
        if (sums := compiled.power_sums(u, v, self.p)) is not None:
            return sums
        if self.p == 1:
            return torch.cdist(x.u, z.u, p=1)
        D = x.u.new_zeros(len(x), len(z))
        step = max(1, _TILE // max(1, len(z)))
        buffer, spare = u.new_empty(2, min(step, len(x)), len(z))
        for rows in spans(len(x), step):
            total, size = D[rows], rows.stop - rows.start
            for k in range(len(u)):
                delta = torch.sub(u[k, rows, None], v[k], out=buffer[:size])
                total.addcmul_(delta, delta if self.p == 2 else self._directions(delta, spare[:size]))
        return D

    def _slopes(self, x: Points, z: Points) -> Iterator[tuple[slice, Float[Tensor, "k r m"]]]:
        """``∂k(uᵢ, vⱼ)/∂u_ik`` for some rows i of x at a time; the next ones overwrite the memory."""
        u, v = x.u.mT.contiguous(), z.u.mT.contiguous()
        if (D := compiled.power_sums(u, v, self.p)) is not None:
            scale = self._slope_of_sum(D)
            for rows, cube in _cubes(u, v):
                compiled.fill_slopes(u[:, rows].contiguous(), v, scale[rows], self.p, cube)
                yield rows, cube
            return
        for (rows, delta), (_, spare) in zip(_cubes(u, v), _cubes(u, v), strict=True):
            torch.sub(u[:, rows, None], v[:, None], out=delta)
            directions = self._directions(delta, spare)
            yield rows, directions.mul_(self._slope_of_sum(delta.mul_(directions).sum(dim=0)))

    def _slope_of_sum(self, D: Float[Tensor, "r m"]) -> Float[Tensor, "r m"]:
        """``p ∂k/∂D = −q (D^{1/p}/L)^q k / D``; D is overwritten."""
        # Where D underflows the pair counts as one point; elsewhere 1/D is finite.
        apart = D.clamp_(min=torch.finfo(D.dtype).tiny) > torch.finfo(D.dtype).tiny
        powers = self._exponents(D.clone())
        return powers.neg().exp_().mul_(powers).mul_(-self.exponent).div_(D).mul_(apart)

    def _directions(self, delta: Float[Tensor, "*k r m"], out: Float[Tensor, "*k r m"]) -> Float[Tensor, "*k r m"]:
        """``sign(Δ)|Δ|^{p−1}``, computed as ``Δ|Δ|^{p−2}``: its product with Δ is ``|Δ|^p``."""
        if self.p == 1:
            return torch.sign(delta, out=out)
        if self.p == 2:
            return out.copy_(delta)
        torch.abs(delta, out=out).clamp_(min=torch.finfo(out.dtype).tiny)
        if self.p == 1.5:
            out.rsqrt_()
        else:
            _pow(out, self.p - 2)
        return out.mul_(delta)

    def _exponents(self, D: Float[Tensor, "r m"]) -> Float[Tensor, "r m"]:
        """``(D^{1/p} / L)^q``, in place."""
        power = self.exponent / self.p
        return (D if power == 1 else _pow(D, power)).mul_(self.length**-self.exponent)


def _pow(values: Float[Tensor, "*k r m"], exponent: float) -> Float[Tensor, "*k r m"]:
    """``values^exponent`` in place, by base-2 logarithms, in half the time of ``pow``."""
    return values.log2_().mul_(exponent).exp2_()


def _sums(slopes: Float[Tensor, "k r m"], coef: Float[Tensor, "m c"]) -> Float[Tensor, "r c k"]:
    """``Σⱼ slopes_kij coef_jc``. In float32 a product with a few outputs takes longer than one with 16."""
    c = coef.shape[1]
    return (slopes @ (pad_outputs(coef) if c > 1 and coef.dtype == torch.float32 else coef))[..., :c].permute(1, 2, 0)


def _cubes(u: Float[Tensor, "k n"], v: Float[Tensor, "k m"]) -> Iterator[tuple[slice, Float[Tensor, "k r m"]]]:
    """Some rows at a time, with a buffer of one number per coordinate, row and column, the same memory each time."""
    k, n, m = len(u), u.shape[1], v.shape[1]
    step = max(1, min(n, _CUBE // max(1, k * m)))
    buffer = u.new_empty(k * step * m)
    for rows in spans(n, step):
        shape = (k, rows.stop - rows.start, m)
        yield rows, buffer[: math.prod(shape)].view(shape)
