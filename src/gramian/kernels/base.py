"""What a kernel is: values, slopes and a diagonal, on tiles of prepared rows.

A kernel is frozen and knows no data. ``kernel(X, Z)`` is for people; the house uses :meth:`Kernel.block` and
:meth:`Kernel.gradient` on :class:`Points`, one tile at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import wide_dtype
from gramian.core.options import Options
from gramian.kernels.metric import Identity, Metric
from gramian.kernels.paths import gauss_legendre
from gramian.kernels.points import Points

K = TypeVar("K", bound="Kernel")


@dataclass(frozen=True)
class Kernel(Options, ABC):
    """A positive-definite function of two rows. Frozen; its options are its fields."""

    translation_invariant: ClassVar[bool] = False
    """Whether only differences of rows count, so that rows may be centred for accuracy."""
    needs_axis_aligned_metric: ClassVar[bool] = False
    """Whether the metric may only rescale coordinates."""

    @abstractmethod
    def block(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Float[Tensor, "n m"]:
        """Values ``k(xᵢ, zⱼ)`` of a tile, in the rows' format.

        ``same`` says that x and z are the same rows; without ``batch_invariant`` the last digits may depend on the
        other rows of the tile, which is faster.
        """

    @abstractmethod
    def gradient(
        self, x: Points, z: Points, coef: Float[Tensor, "m c"], *, same: bool = False
    ) -> Float[Tensor, "n c k"]:
        """``∂/∂uᵢ Σⱼ coef_jc k(uᵢ, zⱼ)``, in kernel coordinates. The term at zero distance is 0."""

    def mutual_gradients(
        self, x: Points, z: Points, x_coef: Float[Tensor, "n c"], z_coef: Float[Tensor, "m c"]
    ) -> tuple[Float[Tensor, "n c k"], Float[Tensor, "m c k"]]:
        """The gradients x receives from z and z from x; a kernel may get both from the same numbers."""
        return self.gradient(x, z, z_coef), self.gradient(z, x, x_coef)

    @abstractmethod
    def diagonal(self, x: Points) -> Float[Tensor, " n"]:
        """``k(xᵢ, xᵢ)``."""

    def mean_gradient(self, ends: Points, z: Points, coef: Float[Tensor, "m c"], nodes: int) -> Float[Tensor, "c k"]:
        """``∫₀¹ ∂/∂u Σⱼ coef_jc k(u(t), zⱼ) dt`` on the line u(t) between the two rows of ``ends``.

        Gauss–Legendre nodes, which suits gradients that are smooth along the line.
        """
        t, w = (ends.u.new_tensor(part) for part in gauss_legendre(nodes))
        on_line = Points(ends.u[0] + t[:, None] * (ends.u[1] - ends.u[0]))
        return torch.einsum("t,tck->ck", w, self.gradient(on_line, z, coef))

    def distance(self, x: Points, z: Points) -> Float[Tensor, "n m"]:
        """The distance the bandwidth is measured in."""
        raise TypeError(f"{type(self).__name__} has no bandwidth and so no distance")

    def prepare(self, X: Float[Tensor, "n d"], metric: Metric, shift: Float[Tensor, " d"] | None = None) -> Points:
        """Rows in kernel coordinates; ``shift`` is subtracted first where only differences count."""
        self.check_metric(metric)
        if self.translation_invariant and shift is not None:
            X = X - shift
        return Points(metric.transform(X))

    def check_metric(self, metric: Metric) -> None:
        """Raise a ValueError for a metric this kernel cannot be used with."""
        if self.needs_axis_aligned_metric and not metric.axis_aligned:
            raise ValueError(
                f"{type(self).__name__} needs a metric that only rescales coordinates; use an update with diagonal=True"
            )

    def center(self, X: Float[Tensor, "n d"]) -> Float[Tensor, " d"]:
        """The shift to hand to :meth:`prepare`: subtracting it loses no digits of a difference."""
        return X.mean(dim=0, dtype=wide_dtype(X.device)).to(X.dtype)

    @property
    def length(self) -> float:
        """The bandwidth as a number; NaN for a kernel without one."""
        return float("nan")

    @property
    def automatic(self) -> bool:
        """Whether the fit may choose a multiple of the median distance as bandwidth."""
        return False

    @property
    def needs_median(self) -> bool:
        """Whether the bandwidth comes from the median distance of the training rows."""
        return False

    def at_median(self: K, median: float) -> K:
        """The kernel with its bandwidth filled in from a median distance; itself where it has none."""
        return self

    def times(self: K, factor: float) -> K:
        """The kernel with its bandwidth multiplied; itself where it has none."""
        return self

    def __call__(
        self,
        X: Float[Tensor, "n d"],
        Z: Float[Tensor, "m d"] | None = None,
        metric: Metric | None = None,
    ) -> Float[Tensor, "n m"]:
        """The dense matrix ``k(X, Z)``, for people and tests; Z defaults to X."""
        metric = Identity(X.shape[1], X.device) if metric is None else metric
        shift = self.center(X if Z is None else Z)
        x = self.prepare(X, metric, shift)
        return self.block(x, x, same=True) if Z is None else self.block(x, self.prepare(Z, metric, shift))


@dataclass(frozen=True)
class Slopes:
    """Derivatives of a tile: ``∂k(uᵢ, vⱼ)/∂uᵢ = cross_ij vⱼ + own_ij uᵢ``.

    ``own="minus"`` says ``own = −cross`` (the kernel sees differences), ``own=None`` that it is zero. ``mirrored`` is
    ``own`` for the tile with the roles of u and v exchanged, and None where ``own`` is symmetric.
    """

    cross: Float[Tensor, "n m"]
    own: Float[Tensor, "n m"] | Literal["minus"] | None
    mirrored: Float[Tensor, "m n"] | None = None

    def transposed(self) -> Slopes:
        """The slopes ``∂k(vⱼ, uᵢ)/∂vⱼ`` of the mirrored tile."""
        own = self.own if self.mirrored is None else self.mirrored
        return Slopes(self.cross.mT, own.mT if isinstance(own, Tensor) and self.mirrored is None else own)

    def own_sums(self, coef: Float[Tensor, "m c"]) -> Float[Tensor, "n c"] | None:
        """``Σⱼ own_ij coef_jc``."""
        if self.own is None:
            return None
        return -(self.cross @ coef) if isinstance(self.own, str) else self.own @ coef

    def times(self, weights: Float[Tensor, "n m"]) -> Slopes:
        """Each derivative times a weight of its pair."""
        own = self.own * weights if isinstance(self.own, Tensor) else self.own
        return Slopes(self.cross * weights, own)

    def gradient(self, x: Points, z: Points, coef: Float[Tensor, "m c"]) -> Float[Tensor, "n c k"]:
        """``Σⱼ coef_jc (cross_ij vⱼ + own_ij uᵢ)`` by one matrix product."""
        dtype = self.cross.dtype
        coef, u, v = coef.to(dtype), x.u.to(dtype), z.u.to(dtype)
        (m, c), k = coef.shape, u.shape[1]
        out = (self.cross @ (coef[:, :, None] * v[:, None, :]).reshape(m, c * k)).reshape(len(x), c, k)
        sums = self.own_sums(coef)
        if sums is not None:
            out += sums[:, :, None] * u[:, None, :]
        return out


@dataclass(frozen=True)
class SmoothKernel(Kernel):
    """A kernel of ``u·v``, ``‖u‖`` and ``‖v‖`` only: its gradients are matrix products with its :class:`Slopes`."""

    @abstractmethod
    def slopes(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Slopes:
        """Derivatives of the tile's values; in a wider format than the rows' where near pairs need it."""

    def gradient(
        self, x: Points, z: Points, coef: Float[Tensor, "m c"], *, same: bool = False
    ) -> Float[Tensor, "n c k"]:
        """See :meth:`Kernel.gradient`."""
        return self.slopes(x, z, same=same).gradient(x, z, coef).to(x.u.dtype)
