"""Gradients of ℓp kernels averaged along a straight line, as path-integrated explanations need them.

Gradients that are smooth along the line are averaged over Gauss–Legendre nodes (:mod:`gramian.core.quadrature`). Those
of ℓp kernels jump (p = 1) or bend wherever the line crosses a coordinate of a row, thousands of times; here differences
replace them.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import wide_dtype
from gramian.core.tiles import spans

_CUBE = 2**19
"""Numbers in memory at a time: fewer cost more calls, more exceed the processor's cache."""


def mean_power_gradient(
    ends: Float[Tensor, "2 k"],
    v: Float[Tensor, "m k"],
    coef: Float[Tensor, "m c"],
    p: float,
    exponent: float,
    length: float,
    pieces: int,
) -> Float[Tensor, "c k"]:
    """``∫₀¹ ∂/∂u Σⱼ coef_jc φ(D(u(t), vⱼ)) dt`` for a function φ of ``D = Σ_k A_k``, ``A_k = |u_k − v_k|^p``.

    Here ``φ(D) = exp(−(D^{1/p}/L)^q)`` with q the ``exponent`` and L the ``length``. On a piece of the line,
    coordinate k contributes ``ΔA_k · Δφ/ΔD`` to Δφ. ΔA includes every jump of the gradient, and the contributions sum
    to Δφ exactly for any number of pieces. A coordinate in which the ends agree gets 0.

    >>> line, row = torch.tensor([[-1.0, 0.0], [1.0, 1.0]]), torch.tensor([[0.0, 0.0]])
    >>> g = mean_power_gradient(line, row, torch.ones(1, 1), p=1, exponent=1, length=1.0, pieces=4)
    >>> round(float(g @ (line[1] - line[0]).double()), 6)  # exp(−2) − exp(−1)
    -0.232544
    """
    wide = wide_dtype(v.device)
    u0, u1 = ends.to(wide)
    t = torch.linspace(0, 1, pieces + 1, dtype=wide, device=v.device)
    line = torch.lerp(u0, u1, t[:, None])
    parts = u0.new_zeros(len(u0), coef.shape[1])
    for rows in spans(len(v), max(1, _CUBE // line.numel())):
        cube = _raised((line.mT[:, :, None] - v[rows].to(wide).mT[:, None, :]).abs_(), p)
        slope = _secants(cube.sum(dim=0), p, exponent, length)
        # Σ slope ΔA, summed by parts: the slopes are subtracted once, and not the A of every coordinate.
        edge = torch.zeros_like(slope[:1])
        steps = torch.cat([edge, slope]) - torch.cat([slope, edge])
        parts += cube.flatten(1) @ (steps[:, :, None] * coef[rows].to(wide)).flatten(0, 1)
    step = u1 - u0
    return torch.where(step != 0, parts.mT / torch.where(step != 0, step, 1.0), 0.0)


def _secants(D: Float[Tensor, "s m"], p: float, exponent: float, length: float) -> Float[Tensor, "s-1 m"]:
    """``Δφ/ΔD`` between neighbouring rows of D; the tangent where they are too close to divide."""
    middle = (D[1:] + D[:-1]).div_(2).clamp_(min=torch.finfo(D.dtype).tiny)
    power = _raised(middle / length**p, exponent / p)
    tangent = power.neg().exp_().mul_(power).mul_(-exponent / p).div_(middle)
    phi = _raised(D / length**p, exponent / p).neg_().exp_()
    step = D.diff(dim=0)
    return torch.where(step.abs() > 1e-5 * middle, phi.diff(dim=0).div_(step), tangent)


def _raised(values: Tensor, power: float) -> Tensor:
    """``values^power``, with shortcuts for 1 and 3/2, which are common: a general power costs ten times more."""
    if power == 1:
        return values
    return values.sqrt().mul_(values) if power == 1.5 else values.pow(power)
