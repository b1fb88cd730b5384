"""Numbers of one weight matrix, and of its change, from Gram matrices on the smaller side.

A matrix is read in its stored type and multiplied in blocks, so that no copy of it in a wider type is made. Gram
matrices of up to 2,048 rows are computed in float64. Larger ones are sums in float64 of products in float32, and their
eigenvalues are computed in float32: relative errors of about 1e-6 of the largest eigenvalue, so that singular values
below about 1e-3 of the largest are not resolved.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import effective_rank

EXACT_SIZE = 2048
"""Largest Gram matrix in float64; eigenvalues of 4,096 rows take 5 s in float64 and 3.5 s in float32 on one core, and
products twice as long."""
_BLOCK = 1024

Matrix = Float[Tensor, "m k"]


def weight_numbers(values: Float[Tensor, " r"], groups: int, rows: int, columns: int) -> dict[str, float]:
    """Return norms and ranks from the eigenvalues of ``WᵀW``, and the effective rank of a random matrix of its shape.

    >>> numbers = weight_numbers(torch.tensor([4.0, 1.0]), 1, 2, 2)
    >>> numbers["norm"] ** 2, numbers["spectral_norm"], numbers["stable_rank"], numbers["top_share"]
    (5.0..., 2.0, 1.25, 0.8)
    """
    total, top = float(values.double().sum()), float(values.max())
    return {
        "norm": math.sqrt(total),
        "spectral_norm": math.sqrt(top),
        "stable_rank": total / top if top > 0 else math.nan,
        "effective_rank": effective_rank(values),
        "random_rank": groups * random_effective_rank(rows, columns),
        "top_share": top / total if total > 0 else math.nan,
    }


def random_effective_rank(rows: int, columns: int) -> float:
    """Return the effective rank of ``WᵀW`` for independent Gaussian entries, ``n e^{−n/(2N)}`` with n ≤ N the sides.

    It is the entropy of the Marchenko–Pastur law, in the limit of large sides.

    >>> W = torch.randn(300, 200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> observed = effective_rank(torch.linalg.svdvals(W).square())
    >>> abs(observed / random_effective_rank(300, 200) - 1) < 0.01
    True
    """
    n, N = sorted((rows, columns))
    return n * math.exp(-n / (2 * N))


def spectrum(W: Matrix) -> Float[Tensor, " r"]:
    """Return the eigenvalues of ``WᵀW`` that can be positive (the smaller side of W has r), largest first.

    >>> spectrum(torch.tensor([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    tensor([9., 1.], dtype=torch.float64)
    """
    return eigenvalues(gram(W))


def gram(W: Matrix) -> Float[Tensor, "r r"]:
    """Return ``WᵀW`` or ``WWᵀ``, the smaller one, in float64."""
    m, k = W.shape
    return _sum_of_products(min(m, k), max(m, k), _long_blocks(W))


def gram_of_change(W: Matrix, W0: Matrix) -> Float[Tensor, "r r"]:
    """Return the Gram matrix of ``W − W₀`` on the smaller side, in float64."""
    m, k = W.shape
    one, two = _long_blocks(W), _long_blocks(W0)
    return _sum_of_products(min(m, k), max(m, k), lambda a, b, dtype: one(a, b, dtype) - two(a, b, dtype))


def eigenvalues(G: Float[Tensor, "r r"]) -> Float[Tensor, " r"]:
    """Return the eigenvalues of a Gram matrix in float64, largest first, negative ones as 0."""
    values = torch.linalg.eigvalsh(G.to(_precision(len(G))))
    return values.flip(0).clamp_min(0).double()


def top_inputs(W: Matrix, G: Float[Tensor, "r r"], count: int) -> tuple[Float[Tensor, " r"], Float[Tensor, "k c"]]:
    """Return all eigenvalues of ``WᵀW``, and its strongest ``count`` directions of the input, as columns.

    Fewer are returned where the matrix has a lower rank: a direction of the null space would be arbitrary.
    """
    m, k = W.shape
    values, vectors = torch.linalg.eigh(G.to(_precision(len(G))))
    values, vectors = values.flip(0).clamp_min(0).double(), vectors.flip(1)
    kept = min(count, int((values > 1e-6 * values[0]).sum())) if values[0] > 0 else 0
    vectors = vectors[:, :kept]
    if k <= m:
        return values, vectors.double()
    # The vectors are on the output side: Wᵀu / σ is the direction on the input side.
    blocks, dtype = _long_blocks(W), vectors.dtype
    V = torch.cat([blocks(a, min(a + _BLOCK, k), dtype) @ vectors for a in range(0, k, _BLOCK)]).double()
    return values, V / V.norm(dim=0)


def change_numbers(W: Matrix, W0: Matrix, directions: int) -> tuple[Float[Tensor, " r"], dict[str, float], list[float]]:
    """Return the eigenvalues of ``WᵀW``, numbers of the change from W₀ to W, and principal angles in degrees.

    The angles are those between the strongest ``directions`` of the input of both, smallest first; none where the layer
    has no more inputs than directions, because those always agree.
    """
    G, G0 = gram(W), gram(W0)
    difference = gram_of_change(W, W0)
    start = float(G0.trace())
    numbers = {
        "weight_change": math.sqrt(max(float(difference.trace()), 0.0) / start) if start > 0 else math.nan,
        "nfm_cos": nfm_inner(W, W0, G, G0) / norms if (norms := float(G.norm() * G0.norm())) > 0 else math.nan,
        "change_rank": effective_rank(eigenvalues(difference)) if difference.any() else math.nan,
        "nfm_overlap": math.nan,
        "largest_angle": math.nan,
    }
    if W.shape[1] <= directions:
        return eigenvalues(G), numbers, []
    values, V = top_inputs(W, G, directions)
    _, V0 = top_inputs(W0, G0, directions)
    count = min(V.shape[1], V0.shape[1])
    if not count:
        return values, numbers, []
    cosines = torch.linalg.svdvals(V[:, :count].mT @ V0[:, :count]).clamp(0, 1)
    angles = torch.rad2deg(torch.arccos(cosines)).tolist()
    numbers |= {"nfm_overlap": float(cosines.square().mean()), "largest_angle": angles[-1]}
    return values, numbers, angles


def nfm_inner(W: Matrix, W0: Matrix, G: Float[Tensor, "r r"], G0: Float[Tensor, "r r"]) -> float:
    """Return ``tr(WᵀW W₀ᵀW₀)`` for two matrices of one shape, from their Gram matrices or as ``‖W W₀ᵀ‖²``."""
    m, k = W.shape
    if k <= m:
        return float((G * G0).sum())
    one, two = _long_blocks(W), _long_blocks(W0)
    dtype = _precision(m)
    product = torch.zeros(m, m, dtype=torch.float64)
    for a in range(0, k, _BLOCK):
        b = min(a + _BLOCK, k)
        product += one(a, b, dtype).mT @ two(a, b, dtype)
    return float(product.square().sum())


def imbalance(
    W: Matrix, values: Float[Tensor, " r"], W_next: Float[Tensor, "p m"], values_next: Float[Tensor, " s"]
) -> float:
    """Return ``‖WWᵀ − W⁺ᵀW⁺‖ / max(‖WWᵀ‖, ‖W⁺ᵀW⁺‖)`` without the two matrices, from their eigenvalues.

    ``‖A − B‖² = ‖A‖² + ‖B‖² − 2 tr(AB)``, and ``tr(WWᵀW⁺ᵀW⁺) = ‖W⁺W‖²``. Differences below about 1e-7 are rounding.

    >>> W = torch.eye(2)
    >>> imbalance(W, spectrum(W), 2 * W, spectrum(2 * W))
    0.75
    """
    dtype = _precision(max(W.shape[1], len(W_next)))
    product = torch.zeros(len(W_next), W.shape[1], dtype=torch.float64)
    for a in range(0, len(W), _BLOCK):
        product += W_next[:, a : a + _BLOCK].to(dtype) @ W[a : a + _BLOCK].to(dtype)
    one, two = float(values.square().sum()), float(values_next.square().sum())
    inner = float(product.square().sum())
    return math.sqrt(max(one + two - 2 * inner, 0.0) / top) if (top := max(one, two)) > 0 else math.nan


_Blocks = Callable[[int, int, torch.dtype], Tensor]


def _long_blocks(W: Matrix) -> _Blocks:
    """Return a function that gives rows of the matrix, or of its transpose if that is longer, in a wider type."""
    tall = W if W.shape[1] <= W.shape[0] else W.mT
    return lambda a, b, dtype: tall[a:b].to(dtype)


def _sum_of_products(size: int, length: int, block: _Blocks) -> Tensor:
    dtype = _precision(size)
    G = torch.zeros(size, size, dtype=torch.float64)
    for a in range(0, length, _BLOCK):
        B = block(a, min(a + _BLOCK, length), dtype)
        if dtype == torch.float64:
            G.addmm_(B.mT, B)
        else:
            G += B.mT @ B
    return G


def _precision(size: int) -> torch.dtype:
    return torch.float64 if size <= EXACT_SIZE else torch.float32
