"""Feature matrices at the first instant of training a one-hidden-layer quadratic network (paper A).

The network is ``f(x) = ½ aᵀ(Wx)²`` with ``a ~ N(0, I_k)``, ``W ~ N(0, 1/k)``, trained on
``½ Σ (yᵢ − f(xᵢ))²`` from zero output. Paper A writes it without the ½ and drops the 2 of ``(z²)' = 2z`` in
the next line; with the ½ its matrices are exact as printed (without it the NFM is 4 times, the AGOP 16
times larger, and every cosine the same).

Letters: ``S = XᵀYX`` with ``Y = diag(y)``, ``A = S²``, ``B = XᵀX``, ``R = Wᵀdiag(a²)W``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import cosine


@dataclass(frozen=True)
class QuadraticWeights:
    """Weights of ``f(x) = ½ aᵀ(Wx)²``: ``a (k)``, ``W (k, d)``.

    >>> net = QuadraticWeights(torch.ones(1), torch.tensor([[1.0, 2.0]]))
    >>> net.weight_kernel()
    tensor([[1., 2.],
            [2., 4.]])
    """

    a: Float[Tensor, " k"]
    W: Float[Tensor, "k d"]

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """The network's output ``½ aᵀ(Wx)²`` on each row."""
        return (X @ self.W.mT).square() @ self.a / 2

    def weight_kernel(self) -> Float[Tensor, "d d"]:
        """``R = Wᵀ diag(a²) W``; the dual PTK is ``X R Xᵀ``."""
        return (self.W.mT * self.a.square()) @ self.W


def sample_quadratic(d: int, width: int, rng: torch.Generator) -> QuadraticWeights:
    """Draw ``a ~ N(0, I_k)`` and ``W ~ N(0, 1/k)`` in float64.

    >>> sample_quadratic(3, 5, torch.Generator().manual_seed(0)).W.shape
    torch.Size([5, 3])
    """
    a = torch.randn(width, generator=rng, dtype=torch.float64)
    return QuadraticWeights(a, torch.randn(width, d, generator=rng, dtype=torch.float64) / width**0.5)


def label_moment(X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> Float[Tensor, "d d"]:
    """``S = Xᵀ diag(y) X``, the label-weighted second moment of the inputs.

    >>> label_moment(torch.eye(2), torch.tensor([3.0, -1.0])).diag()
    tensor([ 3., -1.])
    """
    return (X.mT * y) @ X


def early_nfm(X: Float[Tensor, "n d"], y: Float[Tensor, " n"], R: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """Half the second time derivative of the centred NFM at the start, ``ẆᵀẆ = S R S`` (paper A, (3)).

    >>> early_nfm(torch.eye(2), torch.tensor([2.0, 1.0]), torch.eye(2)).diag()
    tensor([4., 1.])
    """
    S = label_moment(X, y)
    return S @ R @ S


def early_agop(X: Float[Tensor, "n d"], y: Float[Tensor, " n"], R: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """Half the second time derivative of the centred AGOP at the start, ``ẆᵀKẆ = S R B R S`` (paper A, (3)).

    Here ``K = Σᵢ ∂f/∂h ∂f/∂hᵀ`` without a 1/n, as in paper A.

    >>> early_agop(2 * torch.eye(2), torch.tensor([1.0, 0.0]), torch.eye(2)).diag()
    tensor([64.,  0.])
    """
    S = label_moment(X, y)
    return S @ R @ (X.mT @ X) @ R @ S


def early_alignment(X: Float[Tensor, "n d"], y: Float[Tensor, " n"], R: Float[Tensor, "d d"]) -> float:
    """Observed alignment ``ρ(ẆᵀẆ, ẆᵀKẆ)`` of one network, which the free-probability formulas predict.

    >>> round(early_alignment(torch.eye(2), torch.tensor([2.0, 1.0]), torch.eye(2)), 6)
    1.0
    """
    return cosine(early_nfm(X, y, R), early_agop(X, y, R))


def expected_early_nfm(X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> Float[Tensor, "d d"]:
    """``E[ẆᵀẆ] = S²`` over the weights, exact at any width (paper A, Proposition 10).

    >>> expected_early_nfm(torch.eye(2), torch.tensor([2.0, 1.0])).diag()
    tensor([4., 1.])
    """
    S = label_moment(X, y)
    return S @ S


def expected_early_agop(X: Float[Tensor, "n d"], y: Float[Tensor, " n"], width: int) -> Float[Tensor, "d d"]:
    """``E[ẆᵀKẆ] = (1 + 5/k) S B S + (3/k) tr(B) S²``, exact at any width k; tr is not normalised.

    Corrected from paper A, Proposition 10, which drops the pairs of different neurons and the 1/k
    (:func:`gramian.theory.printed.expected_early_agop`).

    >>> expected_early_agop(torch.eye(2), torch.ones(2), width=1).diag()
    tensor([12., 12.])
    """
    S, B = label_moment(X, y), X.mT @ X
    return (1 + 5 / width) * S @ B @ S + (3 / width) * B.trace() * S @ S
