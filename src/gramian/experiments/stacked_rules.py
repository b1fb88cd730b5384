"""Optimisers for a stack of networks, equal to those of ``torch.optim``, with settings per network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

Setting = float | Sequence[float]
"""One number for all networks, or one for each network."""


class Descent:
    """Gradient descent with momentum, as ``torch.optim.SGD``: ``v ← βv + ∇L + λθ``, ``θ ← θ − ηv``.

    The decay λ is added to the gradient of weights and not to that of biases.

    Parameters
    ----------
    learning_rate, weight_decay, momentum : float or one per network

    Attributes
    ----------
    scale : float
        Factor of every learning rate; decrease it to lower the rate.

    >>> values, gradient = torch.ones(2, 1), torch.ones(2, 1)
    >>> Descent(learning_rate=[0.5, 0.25]).step(values, gradient, decayed=1)
    >>> values.flatten().tolist()
    [0.5, 0.75]
    """

    def __init__(self, learning_rate: Setting, weight_decay: Setting = 0.0, momentum: Setting = 0.0) -> None:
        self.learning_rate, self.weight_decay, self.momentum = learning_rate, weight_decay, momentum
        self.scale = 1.0
        self._velocity: Tensor | None = None
        self._columns: list[Tensor] = []

    def step(self, values: Float[Tensor, "B P"], gradient: Float[Tensor, "B P"], decayed: int) -> None:
        """Update `values` in place; weight decay applies to the first `decayed` of the P parameters."""
        if not self._columns:
            self._columns = columns(values, self.learning_rate, self.weight_decay, self.momentum)
            if bool((self._columns[2] > 0).any()):
                self._velocity = torch.zeros_like(values)
        eta, decay, beta = self._columns
        gradient[:, :decayed].addcmul_(decay, values[:, :decayed])
        if self._velocity is not None:
            gradient = self._velocity.mul_(beta).add_(gradient)
        values.addcmul_(eta, gradient, value=-self.scale)


class Adam:
    """``torch.optim.Adam``: the decay λ is part of the gradient (not decoupled), of weights only.

    ``m ← β₁m + (1−β₁)g``, ``v ← β₂v + (1−β₂)g²``, ``θ ← θ − η (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε)``.

    >>> values, gradient = torch.ones(1, 1), torch.full((1, 1), 7.0)
    >>> Adam(learning_rate=0.25).step(values, gradient, decayed=1)
    >>> round(values.item(), 4)
    0.75
    """

    def __init__(
        self,
        learning_rate: Setting,
        weight_decay: Setting = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.learning_rate, self.weight_decay, self.betas, self.epsilon = learning_rate, weight_decay, betas, epsilon
        self.scale = 1.0
        self._steps = 0
        self._mean: Tensor | None = None
        self._square: Tensor | None = None
        self._columns: list[Tensor] = []

    def step(self, values: Float[Tensor, "B P"], gradient: Float[Tensor, "B P"], decayed: int) -> None:
        """Update `values` in place; weight decay applies to the first `decayed` of the P parameters."""
        if self._mean is None or self._square is None:
            self._columns = columns(values, self.learning_rate, self.weight_decay)
            self._mean, self._square = torch.zeros_like(values), torch.zeros_like(values)
        eta, decay = self._columns
        first, second = self.betas
        self._steps += 1
        gradient[:, :decayed].addcmul_(decay, values[:, :decayed])
        self._mean.lerp_(gradient, 1 - first)
        self._square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        torch.sqrt(self._square, out=gradient)
        gradient.mul_((1 - second**self._steps) ** -0.5).add_(self.epsilon)
        torch.div(self._mean, gradient, out=gradient)
        values.addcmul_(eta, gradient, value=-self.scale / (1 - first**self._steps))


def columns(values: Tensor, *settings: Setting) -> list[Tensor]:
    """Return each setting as a column ``(B, 1)`` that multiplies the parameters of its network."""
    made = []
    for setting in settings:
        column = torch.as_tensor(setting, dtype=values.dtype).reshape(-1, 1)
        if len(column) not in (1, len(values)):
            raise ValueError(f"give one number or one for each of {len(values)} networks, got {len(column)}")
        made.append(column.expand(len(values), 1).contiguous())
    return made
