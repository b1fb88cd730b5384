"""The polynomial targets of paper A, with the feature matrix each one really has."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def chain_monomial(X: Float[Tensor, "n d"], rank: int) -> Float[Tensor, " n"]:
    """Target ``y(x) = Σ_{k=1…r} x_{k mod r} · x_{(k+1) mod r}`` (paper A, (1)).

    Paper A scales the labels to standard deviation 1 afterwards; this function does not.

    >>> chain_monomial(torch.tensor([[1.0, 2.0, 3.0, 9.0]]), rank=3)
    tensor([11.])
    """
    _check_rank(rank, X.shape[1])
    head = X[:, :rank]
    return (head * head.roll(-1, dims=1)).sum(1)


def chain_monomial_egop(d: int, rank: int) -> Float[Tensor, "d d"]:
    """EGOP of the chain monomial under ``x ~ N(0, I)``: ``H²`` with ``y = ½ xᵀHx``, in float64.

    >>> chain_monomial_egop(4, 3).diag()
    tensor([2., 2., 2., 0.], dtype=torch.float64)
    """
    _check_rank(rank, d)
    C = torch.zeros(d, d, dtype=torch.float64)
    for k in range(rank):
        C[k, (k + 1) % rank] += 1
    H = C + C.mT
    return H @ H


def sum_of_squares(X: Float[Tensor, "n d"], Q: Float[Tensor, "m d"]) -> Float[Tensor, " n"]:
    """Target ``y(x) = Σᵢ (Qx)ᵢ²``, the high-rank polynomial of paper A, appendix H (Q Gaussian there).

    >>> sum_of_squares(torch.tensor([[1.0, 2.0]]), torch.eye(2))
    tensor([5.])
    """
    return (X @ Q.mT).square().sum(1)


def _check_rank(rank: int, d: int) -> None:
    if not 0 < rank <= d:
        raise ValueError(f"rank must be between 1 and the number of inputs {d}, got {rank}")
