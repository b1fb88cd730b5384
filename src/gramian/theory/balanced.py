"""Deep linear networks: balancedness, balanced initialisation and the exponent 1/L (paper C).

A network is a tuple of weights ``(W₁, …, W_L)`` with ``W_l (d_{l+1}, d_l)``, applied as
``f(x) = W_L … W₁ x``. It is balanced when ``W_l W_lᵀ = W_{l+1}ᵀ W_{l+1}`` for every l; then
``W₁ᵀW₁ = AGOP^{1/L}`` exactly (Theorem 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import haar, psd_power
from gramian.features import nfm


def end_to_end(weights: Sequence[Tensor]) -> Float[Tensor, "c d"]:
    """The product ``J = W_L … W₁``, which is the network's constant Jacobian.

    >>> end_to_end([torch.eye(2), 3 * torch.eye(2)])
    tensor([[3., 0.],
            [0., 3.]])
    """
    J = weights[0]
    for W in weights[1:]:
        J = W @ J
    return J


def linear_agop(weights: Sequence[Tensor]) -> Float[Tensor, "d d"]:
    """AGOP ``JᵀJ`` of a deep linear network: its gradient is the same everywhere.

    >>> linear_agop([2 * torch.eye(2), torch.eye(2)]).diag()
    tensor([4., 4.])
    """
    return nfm(end_to_end(weights))


def nfa_exponent(depth: int) -> float:
    """The power ``s = 1/L`` in ``W₁ᵀW₁ = AGOP^s`` of a balanced linear network with L layers (Theorem 3.1).

    >>> nfa_exponent(4)
    0.25
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    return 1 / depth


def nfa_gap(weights: Sequence[Tensor]) -> float:
    """Relative distance ``‖W₁ᵀW₁ − AGOP^{1/L}‖ / ‖W₁ᵀW₁‖``; 0 for a balanced network.

    >>> nfa_gap([torch.eye(2), 4 * torch.eye(2)])
    3.0
    """
    gram = nfm(weights[0])
    power = psd_power(linear_agop(weights), nfa_exponent(len(weights)))
    return float((gram - power).norm() / gram.norm())


def imbalance(weights: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """``C_l = W_l W_lᵀ − W_{l+1}ᵀ W_{l+1}`` for l = 1 … L − 1.

    Conserved by gradient flow, and multiplied by ``e^{−2λt}`` under weight decay λ (Lemmas 3.1 and 3.2), for
    any loss that sees the product of the layers only.

    >>> imbalance([torch.eye(2), 2 * torch.eye(2)])[0].diag()
    tensor([-3., -3.])
    """
    return tuple(lower @ lower.mT - upper.mT @ upper for lower, upper in pairwise(weights))


def uniform_gram_norm(fan_out: int, fan_in: int) -> float:
    """``E‖WᵀW‖² = (m/d)(1/5 + (d + m − 2)/9)`` for ``W (m, d)`` with entries ``U(±1/√d)`` (Lemma B.1).

    >>> round(uniform_gram_norm(1, 1), 6)
    0.2
    """
    return fan_out / fan_in * (1 / 5 + (fan_in + fan_out - 2) / 9)


def balanced_scale(d1: int, d2: int, d3: int) -> float:
    """Factor on W₁ that gives ``E‖W₁ᵀW₁‖² = E‖W₂ᵀW₂‖²`` for uniform entries, corrected from paper C, (B.2).

    ``(d₁d₃(5d₂ + 5d₃ − 1) / (d₂²(5d₁ + 5d₂ − 1)))^¼``: a squared Gram norm grows with the fourth power of the
    factor, so the root is the fourth and not the square root in print.

    >>> balanced_scale(7, 7, 7)
    1.0
    """
    return (d1 * d3 * (5 * d2 + 5 * d3 - 1) / (d2**2 * (5 * d1 + 5 * d2 - 1))) ** 0.25


def balanced_init(widths: Sequence[int], rng: torch.Generator) -> tuple[Tensor, ...]:
    """Balanced random weights of a linear network with layer widths ``(d₁, …, d_{L+1})``, in float64.

    ``W₁`` is uniform in ``±1/√d₁`` times :func:`balanced_scale`; with its thin SVD ``U₁ΣV₁ᵀ`` of rank
    ``r = min(d₁, d₂)``, ``W_l = U_l Σ U_{l−1}ᵀ`` where U_l holds r columns of a Haar matrix (paper C,
    algorithm 1).

    >>> weights = balanced_init((3, 5, 6, 4), torch.Generator().manual_seed(0))
    >>> max(C.abs().max().item() for C in imbalance(weights)) < 1e-14
    True
    """
    if len(widths) < 3:
        raise ValueError(f"balance is between layers: give at least three widths, got {tuple(widths)}")
    rank = min(widths[0], widths[1])
    if min(widths[2:]) < rank:
        raise ValueError(
            f"widths {tuple(widths)}: every layer after the first needs at least {rank} outputs to carry the "
            f"{rank} singular values of the first"
        )
    W1 = 2 * torch.rand(widths[1], widths[0], generator=rng, dtype=torch.float64) - 1
    W1 = W1 * balanced_scale(*widths[:3]) / widths[0] ** 0.5
    U, sigma, _ = torch.linalg.svd(W1, full_matrices=False)
    weights = [W1]
    for width in widths[2:]:
        upper = haar(width, rng, columns=rank)
        weights.append((upper * sigma) @ U.mT)
        U = upper
    return tuple(weights)
