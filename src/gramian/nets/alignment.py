"""Alignment of the weights of a layer with the tangent kernel of the rest of the network (papers A, B, C)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import cosine, haar, psd_eigh


def congruence(W: Float[Tensor, "*g m k"], K: Float[Tensor, "*g m m"]) -> Float[Tensor, "*g k k"]:
    """``WᵀKW``: with K the pre-activation tangent kernel this is the AGOP, exactly (paper A, Proposition 2).

    >>> congruence(2 * torch.eye(2), torch.eye(2)).diag()
    tensor([4., 4.])
    """
    return W.mT @ (K @ W)


def symmetric_congruence(W: Float[Tensor, "m k"], K: Float[Tensor, "m m"]) -> Float[Tensor, "k k"]:
    """``WᵀKW`` for a symmetric K: blocks below the diagonal are not multiplied.

    >>> symmetric_congruence(2 * torch.eye(2), torch.eye(2)).diag()
    tensor([4., 4.])
    """
    m = W.shape[0]
    size = m if m < 512 else -(-m // 4)
    total = W.new_zeros(W.shape[1], W.shape[1])
    for i in range(0, m, size):
        own, after = W[i : i + size], W[i + size :]
        right = K[i : i + size, i : i + size] @ own / 2
        total.addmm_(own.mT, right + K[i : i + size, i + size :] @ after)
    return total + total.mT


def uncentered_nfa(W: Float[Tensor, "*g m k"], K: Float[Tensor, "*g m m"]) -> float:
    """UC-NFA ``ρ(WᵀW, WᵀKW)``.

    >>> round(uncentered_nfa(torch.eye(3), torch.eye(3)), 6)
    1.0
    """
    return cosine(W.mT @ W, congruence(W, K))


def centered_nfa(W: Float[Tensor, "*g m k"], W0: Float[Tensor, "*g m k"], K: Float[Tensor, "*g m m"]) -> float:
    """C-NFA ``ρ(W̄ᵀW̄, W̄ᵀKW̄)`` with ``W̄ = W − W₀``: the alignment due to training. NaN at initialisation.

    With ``K̄``, built from ``∂f/∂z − ∂f₀/∂z``, in place of K this is the double-centred NFA.

    >>> round(centered_nfa(torch.eye(2), torch.zeros(2, 2), torch.eye(2)), 6)
    1.0
    """
    return uncentered_nfa(W - W0, K)


def ptk_centered_nfa(W0: Float[Tensor, "*g m k"], K_bar: Float[Tensor, "*g m m"]) -> float:
    """PTK-centred NFA ``ρ(W₀ᵀW₀, W₀ᵀK̄W₀)``: the alignment of the tangents with the initial weights.

    >>> round(ptk_centered_nfa(torch.eye(2), torch.eye(2)), 6)
    1.0
    """
    return uncentered_nfa(W0, K_bar)


def corrupted_ptk(K: Float[Tensor, "m m"], rng: torch.Generator) -> Float[Tensor, "m m"]:
    """``Q``: the eigenvalues of K with Haar-random eigenvectors (paper A's control for the effect of the spectrum
    alone).

    >>> K = torch.diag(torch.tensor([2.0, 1.0]))
    >>> round(float(corrupted_ptk(K, torch.Generator().manual_seed(0)).trace()), 5)
    3.0
    """
    values, _ = psd_eigh(K)
    Q = haar(K.shape[0], rng).to(K)
    return (Q * values) @ Q.mT


def power_alignment(
    values: Float[Tensor, " p"],
    quadratic: Float[Tensor, " p"],
    norm: float,
    powers: Float[Tensor, " s"],
) -> Float[Tensor, " s"]:
    """``ρ(A, B^s)`` for many s from the eigenpairs ``(λⱼ, vⱼ)`` of B: ``Σ λⱼˢ vⱼᵀAvⱼ / (‖A‖ √Σ λⱼ²ˢ)``.

    >>> power_alignment(torch.ones(2), torch.ones(2), 2**0.5, torch.tensor([0.5, 1.0]))
    tensor([1.0000, 1.0000])
    """
    logs = values.log()
    weights = torch.outer(powers, logs - logs.max()).exp_()
    return weights @ quadratic / (norm * torch.linalg.vector_norm(weights, dim=1))


def best_power(
    values: Float[Tensor, " p"],
    quadratic: Float[Tensor, " p"],
    norm: float,
    low: float = 0.02,
    high: float = 3.0,
) -> tuple[float, float]:
    """The exponent s in ``[low, high]`` that maximises ``ρ(A, B^s)``, and the cosine there.

    The exponent is NaN where it does not matter: when B has one direction, or several of equal strength.

    >>> A = torch.tensor([4.0, 1.0])
    >>> s, rho = best_power(A**3, A, float(A.norm()))
    >>> round(s, 3), round(rho, 6)
    (0.333, 1.0)
    """
    a, b = torch.tensor([low, high], dtype=values.dtype).log().tolist()
    if values.max() <= values.min() * (1 + 1e-9):
        return math.nan, float(power_alignment(values, quadratic, norm, values.new_ones(1)))
    for points in (33, 17, 17, 17):  # the first pass narrows the bracket by 16, each further one by 8
        grid = torch.linspace(a, b, points, dtype=values.dtype)
        best = int(power_alignment(values, quadratic, norm, grid.exp()).argmax())
        a, b = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, points - 1)])
    s = torch.tensor([(a + b) / 2], dtype=values.dtype).exp()
    return float(s), float(power_alignment(values, quadratic, norm, s))


def pearson_from_sums(products: tuple[float, float, float], sums: tuple[float, float], entries: int) -> float:
    """Pearson's correlation of the entries of A and B from ``⟨A, B⟩, ‖A‖², ‖B‖²`` and the sums of their entries.

    >>> pearson_from_sums((2.0, 2.0, 2.0), (2.0, 2.0), entries=4)
    1.0
    """
    ab, aa, bb = products
    sa, sb = sums
    spread = (aa - sa * sa / entries) * (bb - sb * sb / entries)
    return (ab - sa * sb / entries) / math.sqrt(spread) if spread > 0 else math.nan
