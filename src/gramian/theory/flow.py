"""Gradient flow of a deep linear network, integrated finely enough to test conservation laws (paper C)."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from gramian.theory.balanced import end_to_end


def linear_gradients(
    weights: Sequence[Tensor], X: Float[Tensor, "n d"], Y: Float[Tensor, "n c"], weight_decay: float = 0.0
) -> tuple[Tensor, ...]:
    """Gradients of ``(1/2n) ‖X Jᵀ − Y‖² + (λ/2) Σ ‖W_l‖²`` with ``J = W_L … W₁``.

    ``∂/∂W_l = (W_L … W_{l+1})ᵀ G (W_{l−1} … W₁)ᵀ + λ W_l``, ``G = (J XᵀX − YᵀX)/n``.

    >>> import torch
    >>> linear_gradients([torch.eye(1), torch.eye(1)], torch.ones(1, 1), torch.zeros(1, 1))
    (tensor([[1.]]), tensor([[1.]]))
    """
    G = (end_to_end(weights) @ X.mT - Y.mT) @ X / X.shape[0]
    gradients = []
    for l, W in enumerate(weights):
        gradient = G
        for upper in reversed(weights[l + 1 :]):
            gradient = upper.mT @ gradient
        for lower in weights[:l]:
            gradient = gradient @ lower.mT
        gradients.append(gradient + weight_decay * W)
    return tuple(gradients)


def gradient_flow(
    weights: Sequence[Tensor],
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "n c"],
    *,
    time: float,
    steps: int,
    weight_decay: float = 0.0,
) -> tuple[Tensor, ...]:
    """Weights at ``time`` along ``Ẇ_l = −∂L/∂W_l`` (paper C, (3.2), (3.7)), by Runge–Kutta steps.

    The classical fourth-order rule: its error falls 16-fold when ``steps`` doubles, which plain gradient
    descent (order one) would need 16 times the steps for.

    >>> import torch
    >>> W = [torch.ones(1, 1).double(), torch.zeros(1, 1).double()]
    >>> gradient_flow(W, torch.ones(1, 1).double(), torch.ones(1, 1).double(), time=9, steps=90)[0].shape
    torch.Size([1, 1])
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    h = time / steps
    state = tuple(weights)
    for _ in range(steps):
        k1 = _velocity(state, X, Y, weight_decay)
        k2 = _velocity(_shift(state, k1, h / 2), X, Y, weight_decay)
        k3 = _velocity(_shift(state, k2, h / 2), X, Y, weight_decay)
        k4 = _velocity(_shift(state, k3, h), X, Y, weight_decay)
        mean = tuple((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
        state = _shift(state, mean, h)
    return state


def _velocity(state: Sequence[Tensor], X: Tensor, Y: Tensor, weight_decay: float) -> tuple[Tensor, ...]:
    return tuple(-g for g in linear_gradients(state, X, Y, weight_decay))


def _shift(state: Sequence[Tensor], velocity: Sequence[Tensor], h: float) -> tuple[Tensor, ...]:
    return tuple(W + h * v for W, v in zip(state, velocity, strict=True))
