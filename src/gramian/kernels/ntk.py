"""Kernels of infinitely wide bias-free ReLU networks, in closed form.

Both are homogeneous: ``k(x, z) = ‖x‖ ‖z‖ h(ρ)`` with ρ the cosine of the angle. With the arc-cosine functions
``κ₀(ρ) = 1 − θ/π`` and ``κ₁(ρ) = (sin θ + (π − θ) cos θ)/π``, θ = arccos ρ, one layer maps

    ρ ← κ₁(ρ)                        (NNGP)
    h ← h κ₀(ρ) + κ₁(ρ)              (NTK, both starting from ρ)

The angle is computed from the distance of the unit vectors, since arccos near ρ = 1 loses half the digits.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.kernels.base import Slopes, SmoothKernel
from gramian.kernels.points import Points, squared_distances

Tile = Float[Tensor, "n m"]


def _arc_cosine(theta: Tile) -> tuple[Tile, Tile]:
    """``κ₀`` and ``κ₁`` of an angle."""
    rest = math.pi - theta
    return rest / math.pi, (theta.sin() + rest * theta.cos()) / math.pi


def _angle(rho: Tile) -> Tile:
    return rho.clamp(-1, 1).arccos()


@dataclass(frozen=True)
class ReluNetwork(SmoothKernel):
    """Base of both kernels: ``depth`` is the number of hidden layers, 1 to 5.

    Weights have variance ``2 / fan-in``, so ``k(x, x) = ‖x‖²`` for the NNGP and ``(depth + 1) ‖x‖²`` for the NTK.
    """

    depth: int = 1

    def __post_init__(self) -> None:
        if self.depth not in (1, 2, 3, 4, 5):
            raise ValueError(f"depth must be an integer from 1 to 5, got {self.depth!r}")

    @abstractmethod
    def angular(self, theta: Tile) -> tuple[Tile, Tile]:
        """``h(ρ)`` and ``h'(ρ)`` of an angle in (0, π)."""

    @property
    @abstractmethod
    def at_one(self) -> float:
        """``h(1)``."""

    def block(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Tile:
        """See :meth:`Kernel.block`."""
        theta, _ = self._angles(x, z, same)
        h = torch.where(theta > 0, self.angular(theta)[0], self.at_one)
        values = (h * _norms(x)[:, None] * _norms(z)[None, :]).to(x.u.dtype)
        if same:
            values.diagonal().copy_(self.diagonal(x))
        return values

    def slopes(self, x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True) -> Slopes:
        """See :meth:`SmoothKernel.slopes`: ``cross = h'``, ``own = (h − ρh') ‖z‖/‖x‖``; no direction at θ = 0."""
        theta, near = self._angles(x, z, same)
        apart = (theta > 1e-8) & (theta < math.pi - 1e-8)
        h, slope = self.angular(theta.clamp(1e-8, math.pi - 1e-8))
        h = torch.where(theta > 1e-8, h, self.at_one)
        slope = slope * apart
        rest = h - theta.cos() * slope
        a, b = _norms(x), _norms(z)
        own = rest * torch.where(a > 0, 1 / a, 0)[:, None] * b[None, :]
        mirrored = (rest * a[:, None] * torch.where(b > 0, 1 / b, 0)[None, :]).mT
        dtype = slope.dtype if near else x.u.dtype
        return Slopes(slope.to(dtype), own.to(dtype), mirrored=mirrored.to(dtype))

    def diagonal(self, x: Points) -> Float[Tensor, " n"]:
        """``h(1) ‖x‖²``."""
        return (self.at_one * x.square_norms).to(x.u.dtype)

    @staticmethod
    def _angles(x: Points, z: Points, same: bool) -> tuple[Tile, bool]:
        square, near = squared_distances(_unit(x), _unit(z), same=same)
        return 2 * (square.sqrt() / 2).clamp(max=1).arcsin(), near


@dataclass(frozen=True)
class NNGP(ReluNetwork):
    """Covariance of the outputs of an infinitely wide random ReLU network with ``depth`` hidden layers.

    >>> import torch
    >>> NNGP(depth=1)(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor([[1.0000, 0.3183],
            [0.3183, 1.0000]])
    """

    @property
    def at_one(self) -> float:
        return 1.0

    def angular(self, theta: Tile) -> tuple[Tile, Tile]:
        slope = torch.ones_like(theta)
        rho = theta.cos()
        for layer in range(self.depth):
            kappa0, rho = _arc_cosine(theta if layer == 0 else _angle(rho))
            slope = slope * kappa0  # κ₁' = κ₀
        return rho, slope


@dataclass(frozen=True)
class NTK(ReluNetwork):
    """Neural tangent kernel of an infinitely wide ReLU network with ``depth`` hidden layers.

    >>> import torch
    >>> NTK(depth=1)(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor([[2.0000, 0.3183],
            [0.3183, 2.0000]])
    """

    @property
    def at_one(self) -> float:
        return self.depth + 1.0

    def angular(self, theta: Tile) -> tuple[Tile, Tile]:
        rho = theta.cos()
        h, slope, rho_slope = rho, torch.ones_like(theta), torch.ones_like(theta)
        for layer in range(self.depth):
            angle = theta if layer == 0 else _angle(rho)
            kappa0, rho = _arc_cosine(angle)
            # κ₀' = 1/(π sin θ): infinite at θ = 0, where the caller masks it.
            kappa0_slope = rho_slope / (math.pi * angle.sin().clamp(min=1e-8))
            rho_slope = rho_slope * kappa0
            slope = slope * kappa0 + h * kappa0_slope + rho_slope
            h = h * kappa0 + rho
        return h, slope


def _norms(x: Points) -> Float[Tensor, " n"]:
    return x.square_norms.sqrt()


def _unit(x: Points) -> Points:
    return Points(x.wide / _norms(x)[:, None].clamp(min=torch.finfo(x.wide.dtype).tiny))
