"""Closed forms in which the NFM and the gradient outer product agree (paper B, theorem 1, propositions 1, 3, 4, 5).

Rows are samples here, ``X (n, d)``; paper B writes its X transposed. ``y (n)``, learning rate η, width k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


def ideal_kernel(f: Float[Tensor, " n"], g: Float[Tensor, " m"]) -> Float[Tensor, "n m"]:
    """The ideal kernel ``K*(x, z) = f(x) f(z)`` from the target's values on two sets of points (Def. 1).

    >>> ideal_kernel(torch.tensor([1.0, 2.0]), torch.tensor([3.0]))
    tensor([[3.],
            [6.]])
    """
    return f[:, None] * g


def linear_target_kernel(
    X: Float[Tensor, "n d"], Z: Float[Tensor, "m d"], M: Float[Tensor, "d d"]
) -> Float[Tensor, "n m"]:
    """The linear kernel ``xᵀMz``; with ``M = ββᵀ``, the EGOP of ``f(x) = β·x``, it is ideal (Prop. 1).

    >>> beta = torch.tensor([1.0, -1.0])
    >>> linear_target_kernel(torch.eye(2), torch.eye(2), torch.outer(beta, beta))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    return X @ M @ Z.mT


def relu_expected_gop(W: Float[Tensor, "k d"]) -> Float[Tensor, "d d"]:
    """``E_{a,x}[∇g ∇gᵀ] = WᵀW / k`` for ``g(x) = aᵀ[√(2/k) Wx]₊``, ``E[a] = 0``, ``E[a²] = 1`` (Prop. 3).

    W is any fixed matrix, trained or not, and a is a new draw. Paper B takes ``x ~ N(0, I)``; all that is
    used is that each neuron is on for half of the inputs, so any distribution symmetric about 0 without mass
    on the kinks will do.

    >>> relu_expected_gop(torch.eye(2))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    return W.mT @ W / W.shape[0]


def joint_activity(W: Float[Tensor, "k d"]) -> Float[Tensor, "k k"]:
    """Probability that two ReLU neurons are both on for ``x ~ N(0, I)``: ``½ − θ/(2π)`` for weights at the angle θ.

    >>> joint_activity(torch.eye(2))
    tensor([[0.5000, 0.2500],
            [0.2500, 0.5000]])
    """
    U = W / W.norm(dim=1, keepdim=True)
    square = (U[:, None] - U[None]).square().sum(-1)
    theta = 2 * (square.sqrt() / 2).clamp(max=1).arcsin()  # arccos loses half of the digits at small angles
    return 0.5 - theta / (2 * math.pi)


def relu_gop(W: Float[Tensor, "k d"], moment: Float[Tensor, "k k"]) -> Float[Tensor, "d d"]:
    """``E_x[∇g ∇gᵀ]`` of ``g(x) = aᵀ[√(2/k) Wx]₊`` for ``x ~ N(0, I)`` and fixed a.

    `moment` is ``aaᵀ`` or a mean of it; with the mean ``I`` the result is that of :func:`relu_expected_gop`.

    >>> relu_gop(torch.eye(2), torch.eye(2))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    return 2 / W.shape[0] * W.mT @ (joint_activity(W) * moment) @ W


def deep_relu_gop(
    X: Float[Tensor, "n d"], W: Float[Tensor, "k d"], depth: int, width: int, rng: torch.Generator
) -> Float[Tensor, "d d"]:
    """Mean over x and −x of ``E_a ∇g∇gᵀ`` for a first layer W and new upper layers of this width (Theorem 1).

    Each of the `depth` hidden layers is ``√(2/k)[W·]₊`` and ``E aaᵀ = I``, so ``E_a ∇g∇gᵀ = JᵀJ`` with J the Jacobian
    of the last hidden layer. The pairs x, −x activate every neuron of the first layer exactly once. The limit for
    wide upper layers is that of :func:`relu_expected_gop`.

    >>> rng = torch.Generator().manual_seed(0)
    >>> W = torch.tensor([[1.0, 2.0]])
    >>> deep_relu_gop(torch.ones(1, 2), W, depth=1, width=1, rng=rng)
    tensor([[1.0000, 2.0000],
            [2.0000, 4.0000]])
    """
    X = torch.cat([X, -X])
    Z = X @ W.mT
    scale = (2 / len(W)) ** 0.5
    H, J = scale * Z.relu(), scale * (Z > 0).to(X.dtype)[:, :, None] * W
    for _ in range(depth - 1):
        V = torch.randn(width, H.shape[1], generator=rng, dtype=X.dtype)
        scale = (2 / width) ** 0.5
        Z = H @ V.mT
        J = scale * (Z > 0).to(X.dtype)[:, :, None] * (V @ J)
        H = scale * Z.relu()
    return torch.einsum("nkd,nke->de", J, J) / len(X)


def relu_gradients(X: Float[Tensor, "n d"], W: Float[Tensor, "k d"], a: Float[Tensor, "c k"]) -> Float[Tensor, "n c d"]:
    """Gradients of ``g_c(x) = a_cᵀ[√(2/k) Wx]₊`` for c draws of a: which Proposition 3 averages.

    >>> relu_gradients(torch.ones(1, 1), 2 * torch.ones(1, 1), torch.ones(1, 1)).item()
    2.828...
    """
    on = (X @ W.mT > 0).to(X.dtype)
    return (2 / W.shape[0]) ** 0.5 * torch.einsum("nk,ck,kd->ncd", on, a, W)


def regression_iterate(
    X: Float[Tensor, "n d"], y: Float[Tensor, " n"], step: float, steps: int, outer_norm: float = 1.0
) -> Float[Tensor, " d"]:
    """Gradient descent for linear regression from 0: ``u ← u + η Xᵀ(y − s X u)`` with ``s = outer_norm``.

    >>> regression_iterate(torch.eye(2), torch.tensor([1.0, 2.0]), step=0.5, steps=1)
    tensor([0.5000, 1.0000])
    """
    u = X.new_zeros(X.shape[1])
    for _ in range(steps):
        u = u + step * X.mT @ (y - outer_norm * X @ u)
    return u


@dataclass(frozen=True)
class TwoLayerLinear:
    """``f(x) = A B x / √k`` after gradient descent on ``½ Σ (yᵢ − f(xᵢ))²``; ``A (k)``, ``B (k, d)``.

    >>> net = train_two_layer_linear(torch.eye(2), torch.ones(2), torch.ones(4), step=0.1, steps=1)
    >>> net.gradient()
    tensor([0.1000, 0.1000])
    """

    A: Float[Tensor, " k"]
    B: Float[Tensor, "k d"]

    def gradient(self) -> Float[Tensor, " d"]:
        """The constant input gradient ``BᵀA/√k``."""
        return self.B.mT @ self.A / self.A.shape[0] ** 0.5


def train_two_layer_linear(
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    A: Float[Tensor, " k"],
    *,
    step: float,
    steps: int,
    train_outer: bool = False,
) -> TwoLayerLinear:
    """Gradient descent from ``B = 0``, with A fixed (Prop. 4) or trained too (Prop. 5).

    >>> train_two_layer_linear(torch.eye(2), torch.ones(2), torch.ones(4), step=0.1, steps=0).B.sum()
    tensor(0.)
    """
    root = A.shape[0] ** 0.5
    B = X.new_zeros(A.shape[0], X.shape[1])
    for _ in range(steps):
        slope = X.mT @ (y - X @ (B.mT @ A) / root)
        move_A = B @ slope
        B = B + step / root * torch.outer(A, slope)
        if train_outer:
            A = A + step / root * move_A
    return TwoLayerLinear(A, B)


def linear_gd_features(
    X: Float[Tensor, "n d"], y: Float[Tensor, " n"], step: float, steps: int, outer_norm: float = 1.0
) -> tuple[Float[Tensor, "d d"], Float[Tensor, "d d"]]:
    """NFM and gradient outer product ``(s uuᵀ, s² uuᵀ)`` of Proposition 4 at any width, ``s = ‖A‖²/k``.

    u is :func:`regression_iterate`: the network runs linear regression. As k → ∞, s → 1 and the two are
    equal, which is the proposition; before that they differ by the factor s and nothing else.

    >>> nfm, gop = linear_gd_features(torch.eye(1), torch.ones(1), step=0.5, steps=1)
    >>> nfm.item(), gop.item()
    (0.25, 0.25)
    """
    u = regression_iterate(X, y, step, steps, outer_norm)
    outer = torch.outer(u, u)
    return outer_norm * outer, outer_norm**2 * outer


def two_step_features(X: Float[Tensor, "n d"], y: Float[Tensor, " n"], step: float) -> Float[Tensor, "d d"]:
    """The common limit k → ∞ of NFM and gradient outer product after two steps on both layers (Prop. 5).

    ``(2I − ηC) M (2I − ηC) = 4M − 2η(MC + CM) + η²CMC`` with ``C = XᵀX`` and ``M = η² XᵀyyᵀX`` after one
    step. Corrected: paper B's last line has ``4η²M + η²CMC``, without the cross terms and with two stray
    factors η².

    >>> two_step_features(torch.eye(1), torch.ones(1), step=1.0)
    tensor([[1.]])
    """
    return linear_gd_features(X, y, step, steps=2)[0]
