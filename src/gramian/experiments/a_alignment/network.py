"""The network of paper A, ``f(x) = w₂ᵀ φ(W₁ φ(W₀x))`` with ReLU and no biases, and gradient descent on it.

The gradients are written out by hand: descent needs the same tangents ``J_ℓ = ∂f(X)/∂h_ℓ`` as the AGOP.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import cosine
from gramian.theory import chain_monomial, decaying_gaussian

Weights = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class ChainTask:
    """Training and test inputs with their labels."""

    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    X_test: Float[Tensor, "m d"]
    y_test: Float[Tensor, " m"]


def chain_task(n: int, d: int, rank: int, decay: float, rng: torch.Generator, tests: int = 1000) -> ChainTask:
    """Draw the chain monomial on Gaussian inputs with covariance ``λ_k = 1/(1 + k^α)``; identity covariance at α = 0.

    Labels are divided by the standard deviation of the training labels (paper A, appendix H).

    >>> task = chain_task(50, 8, 5, 0.0, torch.Generator().manual_seed(0))
    >>> round(float(task.y.std()), 6), task.X_test.shape
    (1.0, torch.Size([1000, 8]))
    """
    if decay == 0:
        X = torch.randn(n + tests, d, generator=rng, dtype=torch.float64)
    else:
        X, _ = decaying_gaussian(n + tests, d, decay, rng)
    y = chain_monomial(X, rank)
    y = y / y[:n].std()
    return ChainTask(X[:n], y[:n], X[n:], y[n:])


def draw_weights(d: int, width: int, scales: Sequence[float], rng: torch.Generator) -> Weights:
    """Draw ``W_ℓ ~ N(0, s_ℓ / fan-in)`` for the three layers, in float64.

    >>> [W.shape[0] for W in draw_weights(3, 5, (0.01, 1, 1), torch.Generator().manual_seed(0))]
    [5, 5, 1]
    """
    shapes = ((width, d), (width, width), (1, width))
    drawn = [torch.randn(*shape, generator=rng, dtype=torch.float64) for shape in shapes]
    first, second, third = (W * (s / W.shape[1]) ** 0.5 for W, s in zip(drawn, scales, strict=True))
    return first, second, third


@dataclass(frozen=True)
class NetworkPass:
    """Evaluation on data: ``inputs[ℓ]`` of layer ℓ, ``tangents[ℓ] = ∂f/∂h_ℓ`` of the two hidden layers, outputs f."""

    inputs: tuple[Tensor, Tensor, Tensor]
    tangents: tuple[Tensor, Tensor]
    f: Float[Tensor, " n"]


def evaluate(weights: Weights, X: Float[Tensor, "n d"]) -> NetworkPass:
    """Evaluate the network forward and backward.

    >>> W = (torch.ones(1, 1), 2 * torch.ones(1, 1), 3 * torch.ones(1, 1))
    >>> seen = evaluate(W, torch.tensor([[1.0], [-1.0]]))
    >>> seen.f.tolist(), seen.tangents[0].flatten().tolist()
    ([6.0, 0.0], [6.0, 0.0])
    """
    W0, W1, w2 = weights
    Z0 = X @ W0.mT
    H1 = Z0.relu()
    Z1 = H1 @ W1.mT
    H2 = Z1.relu()
    J1 = w2 * (Z1 > 0)
    J0 = (J1 @ W1) * (Z0 > 0)
    return NetworkPass((X, H1, H2), (J0, J1), (H2 @ w2.mT)[:, 0])


def descend(
    weights: Weights, X: Float[Tensor, "n d"], y: Float[Tensor, " n"], step: float, steps: int
) -> Iterator[tuple[int, Weights, NetworkPass]]:
    """Yield weights and their evaluation at times 0, 1, …, ``steps`` of gradient descent on ``(1/2n) Σ (f(xᵢ) − yᵢ)²``.

    With the factor ½ the derivative is the residual, as in section 3.1 of paper A. Without it the paper's step 0.05
    from ``s₀ = 1`` on isotropic inputs is unstable at the beginning.

    >>> start = draw_weights(2, 4, (1, 1, 1), torch.Generator().manual_seed(0))
    >>> X, y = torch.eye(2).double(), torch.ones(2).double()
    >>> losses = [float((seen.f - y).square().mean()) for _, _, seen in descend(start, X, y, 0.1, 20)]
    >>> losses[-1] < losses[0], len(losses)
    (True, 21)
    """
    for t in range(steps + 1):
        seen = evaluate(weights, X)
        yield t, weights, seen
        slope = (seen.f - y)[:, None] / len(y)
        (H0, H1, H2), (J0, J1) = seen.inputs, seen.tangents
        W0, W1, w2 = weights
        weights = (W0 - step * (slope * J0).mT @ H0, W1 - step * (slope * J1).mT @ H1, w2 - step * slope.mT @ H2)


def agop_of(W: Float[Tensor, "m k"], J: Float[Tensor, "n m"]) -> Float[Tensor, "k k"]:
    """Return ``WᵀKW`` with ``K = JᵀJ``, as ``(JW)ᵀ(JW)``: no m × m matrix, and no 1/n, which does not affect cosines.

    >>> agop_of(torch.eye(2), torch.ones(3, 2)).tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    P = J @ W
    return P.mT @ P


def nfa_of(W: Float[Tensor, "m k"], J: Float[Tensor, "n m"]) -> float:
    """Return ``ρ(WᵀW, WᵀKW)`` with ``K = JᵀJ``: UC-NFA, C-NFA or PTK-centred NFA, depending on W and J.

    >>> round(nfa_of(torch.eye(2), torch.eye(2)), 6)
    1.0
    """
    return cosine(W.mT @ W, agop_of(W, J))
