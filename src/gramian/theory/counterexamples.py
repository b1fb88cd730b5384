"""Networks and targets for which the neural feature ansatz fails (paper C, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class ReluPair:
    """``f(x) = aᵀ[Wx]₊ = [x₁]₊ + [x₂]₊`` on ℝ²: exact, yet no power of its AGOP is proportional to ``WᵀW``.

    The two kinks force the two neurons; up to rescaling there is no other network of width two. With an equal
    share of the data in each quadrant the AGOP is ``¼ [[2, 1], [1, 2]]``, not diagonal as ``WᵀW`` is.
    (The gradient is ``1{x > 0}``; paper C prints ``1{x > 1}``.)

    >>> pair = relu_pair()
    >>> pair(torch.tensor([[1.0, -1.0], [2.0, 3.0]], dtype=torch.float64))
    tensor([1., 5.], dtype=torch.float64)
    """

    a: Float[Tensor, " k"]
    W: Float[Tensor, "k 2"]

    def __call__(self, X: Float[Tensor, "n 2"]) -> Float[Tensor, " n"]:
        """The network's output on each row."""
        return (X @ self.W.mT).relu() @ self.a

    def gradients(self, X: Float[Tensor, "n 2"]) -> Float[Tensor, "n 1 2"]:
        """Input gradients, in the shape :func:`gramian.features.agop` takes."""
        return (((X @ self.W.mT > 0).to(X.dtype) * self.a) @ self.W)[:, None]


def relu_pair(scales: tuple[float, float] = (1.0, 1.0)) -> ReluPair:
    """The two-neuron network, its rows multiplied by positive ``scales`` and its outputs divided by them.

    >>> relu_pair((2.0, 1.0)).W.diag()
    tensor([2., 1.], dtype=torch.float64)
    """
    if min(scales) <= 0:
        raise ValueError(f"scales must be positive, got {scales}: a negative one flips the half-space")
    c = torch.tensor(scales, dtype=torch.float64)
    return ReluPair(1 / c, torch.diag(c))


def relu_pair_with_silent_neuron() -> ReluPair:
    """The same function with a third neuron ``(1, 1)`` of output weight 0: now ``WᵀW = 4 · AGOP`` exactly.

    >>> net = relu_pair_with_silent_neuron()
    >>> net.W.mT @ net.W
    tensor([[2., 1.],
            [1., 2.]], dtype=torch.float64)
    """
    W = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    return ReluPair(torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64), W)


def relu_pair_egop() -> Float[Tensor, "2 2"]:
    """``E[∇f ∇fᵀ] = ¼ [[2, 1], [1, 2]]`` for any distribution with equal quadrant probabilities.

    >>> relu_pair_egop().diag()
    tensor([0.5000, 0.5000], dtype=torch.float64)
    """
    return torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64) / 4


def ripple(X: Float[Tensor, "n 2"], frequency: int) -> Float[Tensor, " n"]:
    """Target ``f_n(x) = cos(n²x₁)/n + x₂`` (paper C, (4.1)): within 1/n of ``x₂``, far steeper.

    >>> ripple(torch.tensor([[0.0, 1.0]]), frequency=2)
    tensor([1.5000])
    """
    return torch.cos(frequency**2 * X[:, 0]) / frequency + X[:, 1]


def ripple_egop(frequency: int) -> Float[Tensor, "2 2"]:
    """EGOP ``diag(n²/2, 1)`` of :func:`ripple` for ``x₁ ~ U[−π, π]``; the good fit ``x₂`` has ``diag(0, 1)``.

    Their cosine ``(1 + n⁴/4)^{−½}`` goes to 0 while the fit's error goes to 0: alignment of feature
    matrices is not necessary for a good fit.

    >>> ripple_egop(2).diag()
    tensor([2., 1.], dtype=torch.float64)
    """
    if frequency < 1:
        raise ValueError(f"frequency must be a positive integer, got {frequency}")
    return torch.diag(torch.tensor([frequency**2 / 2, 1.0], dtype=torch.float64))
