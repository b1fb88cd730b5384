"""Kernel interface: values, slopes and a diagonal, on tiles of prepared rows.

A kernel is frozen and holds no data. ``kernel(X, Z)`` is for interactive use; the library calls :meth:`Kernel.block`
and :meth:`Kernel.gradient` on :class:`Points`, one tile at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gramian.core import wide_dtype
from gramian.core.options import Options
from gramian.core.quadrature import gauss_legendre
from gramian.kernels.metric import Identity, Metric
from gramian.kernels.points import Points

K = TypeVar("K", bound="Kernel")


@dataclass(frozen=True)
class Kernel(Options, ABC):
    """A positive-definite function of two rows. Frozen; its options are its fields."""

    translation_invariant: ClassVar[bool] = False
    """True if the kernel depends on differences of rows only, so that rows may be centred for accuracy."""
    needs_axis_aligned_metric: ClassVar[bool] = False
    """True if the metric may only rescale coordinates."""

    @abstractmethod
    def block(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Float[Tensor, "n m"]:
        """Values ``k(xᵢ, zⱼ)`` of a tile, in the rows' format.

        ``same`` declares that x and z are the same rows; without ``batch_invariant`` the last digits may depend on the
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
        """Gradients at x from the rows z, and at z from the rows x; a kernel may compute both from the same slopes."""
        return self.gradient(x, z, z_coef), self.gradient(z, x, x_coef)

    @abstractmethod
    def diagonal(self, x: Points) -> Float[Tensor, " n"]:
        """``k(xᵢ, xᵢ)``."""

    def mean_gradient(self, ends: Points, z: Points, coef: Float[Tensor, "m c"], nodes: int) -> Float[Tensor, "c k"]:
        """``∫₀¹ ∂/∂u Σⱼ coef_jc k(u(t), zⱼ) dt`` on the line u(t) between the two rows of ``ends``.

        Computed with Gauss–Legendre nodes, which suit gradients that are smooth along the line.
        """
        t, w = (ends.u.new_tensor(part) for part in gauss_legendre(nodes))
        on_line = Points(ends.u[0] + t[:, None] * (ends.u[1] - ends.u[0]))
        return torch.einsum("t,tck->ck", w, self.gradient(on_line, z, coef))

    def distance(self, x: Points, z: Points) -> Float[Tensor, "n m"]:
        """Distances in the norm in which the bandwidth is measured."""
        raise TypeError(f"{type(self).__name__} has no bandwidth and so no distance")

    def prepare(self, X: Float[Tensor, "n d"], metric: Metric, shift: Float[Tensor, " d"] | None = None) -> Points:
        """Return rows in kernel coordinates; a translation-invariant kernel subtracts ``shift`` first."""
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
        """Return the mean row, the shift for :meth:`prepare`: subtracting it loses no digits of a difference."""
        return X.mean(dim=0, dtype=wide_dtype(X.device)).to(X.dtype)

    def fitted_to(self: K, X: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None = None) -> K:
        """Return the kernel with all that it takes from the training rows besides its bandwidth: here nothing."""
        return self

    @property
    def needs_rows(self) -> bool:
        """True if :meth:`fitted_to` has to be called before the kernel can be used."""
        return False

    @property
    def suits_its_rows(self) -> bool:
        """False if the rows that the kernel was fitted to are no reason to try it."""
        return True

    def at_columns(self: K, support: Bool[Tensor, " d"]) -> K:
        """Return the kernel for rows of which only some columns are left."""
        return self

    def coordinates(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return rows in the coordinates of the metric: the input coordinates, unless the kernel changes columns."""
        return X

    def slopes_of_coordinates(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"] | None:
        """Return the derivatives of :meth:`coordinates`, column by column; None where both are the same."""
        return None

    @property
    def length(self) -> float:
        """The bandwidth as a number; NaN for a kernel without one."""
        return float("nan")

    @property
    def automatic(self) -> bool:
        """True if the fit may select a multiple of the median distance as bandwidth."""
        return False

    @property
    def needs_median(self) -> bool:
        """True if the bandwidth comes from the median distance of the training rows."""
        return False

    def at_median(self: K, median: float) -> K:
        """Return the kernel with its bandwidth set from a median distance; without a bandwidth it is unchanged."""
        return self

    def times(self: K, factor: float) -> K:
        """Return the kernel with its bandwidth multiplied; without a bandwidth it is unchanged."""
        return self

    def __call__(
        self,
        X: Float[Tensor, "n d"],
        Z: Float[Tensor, "m d"] | None = None,
        metric: Metric | None = None,
    ) -> Float[Tensor, "n m"]:
        """Return the dense matrix ``k(X, Z)``, for interactive use and tests; Z defaults to X."""
        metric = Identity(X.shape[1], X.device) if metric is None else metric
        shift = self.center(X if Z is None else Z)
        x = self.prepare(X, metric, shift)
        return self.block(x, x, same=True) if Z is None else self.block(x, self.prepare(Z, metric, shift))


@dataclass(frozen=True)
class Slopes:
    """Derivatives of a tile: ``∂k(uᵢ, vⱼ)/∂uᵢ = cross_ij vⱼ + own_ij uᵢ``.

    Parameters
    ----------
    cross : Tensor (n, m)
    own : Tensor (n, m), optional
        None where it is zero, or where it follows from ``cross``.
    of_differences : bool
        The kernel depends on ``u − v`` only, so that ``own = −cross``; ``own`` itself is then None.
    mirrored : Tensor (m, n), optional
        ``own`` of the tile with the roles of u and v exchanged; None where ``own`` is symmetric.
    """

    cross: Float[Tensor, "n m"]
    own: Float[Tensor, "n m"] | None = None
    of_differences: bool = False
    mirrored: Float[Tensor, "m n"] | None = None

    def transposed(self) -> Slopes:
        """Return the slopes ``∂k(vⱼ, uᵢ)/∂vⱼ`` of the mirrored tile."""
        own = self.own.mT if self.own is not None and self.mirrored is None else self.mirrored
        return Slopes(self.cross.mT, own, self.of_differences)

    def own_sums(self, coef: Float[Tensor, "m c"]) -> Float[Tensor, "n c"] | None:
        """``Σⱼ own_ij coef_jc``; None where ``own`` is zero."""
        if self.of_differences:
            return -(self.cross @ coef)
        return None if self.own is None else self.own @ coef

    def times(self, weights: Float[Tensor, "n m"]) -> Slopes:
        """Multiply each derivative by a weight of its pair."""
        own = None if self.own is None else self.own * weights
        return Slopes(self.cross * weights, own, self.of_differences)

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
        """Derivatives of the tile's values, in a wider format than the rows' where near pairs need it."""

    def gradient(
        self, x: Points, z: Points, coef: Float[Tensor, "m c"], *, same: bool = False
    ) -> Float[Tensor, "n c k"]:
        """See :meth:`Kernel.gradient`."""
        return self.slopes(x, z, same=same).gradient(x, z, coef).to(x.u.dtype)
