"""Moments of the gradients of a kernel machine ``f(x) = Σⱼ αⱼ k(x, xⱼ)`` at its own training rows.

There are two ways to compute ``Σᵢ Σ_c g_ic g_icᵀ``, and the cheaper one is used:

- *per output*: form the gradients ``G (n, c, k)`` by one product of the slopes with ``α ⊗ X``, cost ``2 n m c k``;
- *by pairs*: with slopes ``A`` (cross) and ``S = own·α``,
  ``Σ g gᵀ = Xᵀ(AᵀA ∘ ααᵀ)X + E + Eᵀ + Xᵀ diag(Σ_c S²) X``, ``E = Xᵀ(Aᵀ ∘ αSᵀ)X``: no loop over outputs, cost
  about ``n² m``, which is cheaper for many outputs, as in modular arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.tiles import padded, spans, upper_tiles
from gramian.kernels.base import SmoothKernel
from gramian.kernels.operator import KernelOperator
from gramian.kernels.points import Points

Coef = Float[Tensor, "n c"]


@dataclass(frozen=True, eq=False)
class GradientMoments:
    """``second = Σᵢ wᵢ Σ_c g gᵀ (d, d)``, ``mean (c, d)`` the (weighted) mean gradient, ``count = Σ w``."""

    second: Float[Tensor, "d d"]
    mean: Float[Tensor, "c d"]
    count: float


def gradient_moments(
    operator: KernelOperator,
    coef: Coef,
    rows: Int[Tensor, " m"] | None = None,
    weights: Float[Tensor, " n"] | None = None,
    way: str = "auto",
) -> GradientMoments:
    """Compute first and second moments of the gradients at the training rows, or at some of them.

    Parameters
    ----------
    operator : KernelOperator
    coef : Tensor (n, c)
    rows : Tensor of int (m,), optional
        Indices of the rows to average over; all by default.
    weights : Tensor (n,), optional
        Weight of each training row in the averages.
    way : "auto", "outputs" or "pairs"
        Formula to use; both give the same result.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]]))
    >>> gradient_moments(K, torch.tensor([[1.0], [1.0]])).second
    tensor([[0.7358]], dtype=torch.float64)
    """
    if way == "auto":
        way = "pairs" if _pairs_pay(operator, coef, rows) else "outputs"
    chosen, w = _chosen(operator, rows, weights)
    if way == "pairs":
        second, total = _by_pairs(operator, coef, chosen, w)
    elif _gradients_fit(operator, coef):
        second, total = _moments_of(_all_gradients(operator, coef, rows, chosen), w)
    else:
        second, total = _by_blocks(operator, coef, chosen, w)
    count = float(w.sum())
    return GradientMoments(operator.metric.pull_matrix(second), operator.metric.pull(total / count), count)


def gradient_rows(
    operator: KernelOperator,
    coef: Coef,
    rows: Int[Tensor, " m"] | None = None,
    weights: Float[Tensor, " n"] | None = None,
) -> tuple[Float[Tensor, "m c d"], Float[Tensor, " m"]]:
    """Return the gradients at the training rows, or at some of them, and the rows' weights.

    For few rows with many columns they are smaller than the second moment (d, d), which is made of them.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]]))
    >>> gradient_rows(K, torch.tensor([[1.0], [1.0]]))[0].squeeze()
    tensor([ 0.6065, -0.6065])
    """
    chosen, w = _chosen(operator, rows, weights)
    return operator.metric.pull(_all_gradients(operator, coef, rows, chosen)), w


def _chosen(operator: KernelOperator, rows: Tensor | None, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the indices of rows in their order, and their weights in the wide format."""
    chosen = torch.arange(operator.n, device=operator.X.device) if rows is None else rows.sort().values
    if rows is not None and bool((chosen[1:] == chosen[:-1]).any()):
        raise ValueError("rows must be distinct: give a row that counts twice a weight of 2")
    w = torch.ones_like(chosen, dtype=operator.wide) if weights is None else weights.to(operator.wide)[chosen]
    return chosen, w


def _all_gradients(operator: KernelOperator, coef: Coef, rows: Tensor | None, chosen: Tensor) -> Float[Tensor, "m c k"]:
    """Gradients at the chosen rows, in kernel coordinates."""
    points = operator.points
    if rows is not None:  # they come first, so that a row is paired with itself in diagonal tiles only
        others = torch.ones(operator.n, dtype=torch.bool, device=chosen.device).index_fill_(0, chosen, False)
        order = torch.cat([chosen, others.nonzero().squeeze(1)])
        points, coef = points[order], coef[order]
    gradients = _smooth_gradients if isinstance(operator.kernel, SmoothKernel) else _gradients
    return gradients(operator, points, coef, len(chosen))


def fact_sum(operator: KernelOperator, coef: Coef) -> Float[Tensor, "d d"]:
    """``F = Σᵢⱼ ∂ₓk(xᵢ, xⱼ) (αᵢ·αⱼ) xᵢᵀ``: the FACT matrix of a kernel machine at its ridge solution (D, Lemma F.1).

    There ``∇ₓℓᵢ = −λ Σ_c α_ic g_ic``, so this is ``−(1/λ) Σ ∇ₓℓᵢ xᵢᵀ``. With ``B = slopes ∘ ααᵀ`` no loop over outputs
    is needed. For a translation-invariant kernel F does not depend on the origin, and rows are centred for accuracy.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]]))
    >>> fact_sum(K, torch.tensor([[1.0], [-1.0]]))
    tensor([[0.6065]], dtype=torch.float64)
    """
    kernel, points = operator.kernel, operator.points
    V = torch.zeros_like(points.wide)
    for rows, cols in upper_tiles(operator.n, operator.tile):
        x, z = points[rows], points[cols]
        if isinstance(kernel, SmoothKernel):
            slopes = kernel.slopes(x, z, same=rows == cols, batch_invariant=False)
            pairs = (coef[rows] @ coef[cols].mT).to(slopes.cross.dtype)
            sides = [(rows, cols, slopes, pairs)]
            if rows != cols:
                sides.append((cols, rows, slopes.transposed(), pairs.mT))
            for i, j, side, pair in sides:
                one = torch.ones(pair.shape[1], 1, dtype=pair.dtype, device=pair.device)
                V[i] += side.times(pair).gradient(points[i], points[j], one).squeeze(1)
        else:
            at_rows, at_cols = kernel.mutual_gradients(x, z, coef[rows], coef[cols])
            V[rows] += torch.einsum("nck,nc->nk", at_rows.to(V.dtype), coef[rows].to(V.dtype))
            if rows != cols:
                V[cols] += torch.einsum("nck,nc->nk", at_cols.to(V.dtype), coef[cols].to(V.dtype))
    X = kernel.coordinates(operator.X)
    X = X - operator.shift if kernel.translation_invariant else X
    return operator.metric.pull(V).mT @ X.to(V.dtype)


def _pairs_pay(operator: KernelOperator, coef: Coef, rows: Tensor | None) -> bool:
    n, c, k = operator.n, coef.shape[1], operator.points.u.shape[1]
    if not isinstance(operator.kernel, SmoothKernel):
        return False
    fits = operator.max_bytes is None or 3 * n * n * torch.finfo(operator.wide).bits // 8 <= operator.max_bytes
    # Per row and column: 2ck operations in the working format, against n + 4c + 4k in the wide one (half as fast).
    return fits and n <= 8192 and 2 * c * k > 2 * (2 * n + 4 * c + 4 * k)


def _gradients_fit(operator: KernelOperator, coef: Coef) -> bool:
    size = operator.n * coef.shape[1] * operator.points.u.shape[1] * operator.X.element_size()
    return size <= (2**30 if operator.max_bytes is None else operator.max_bytes // 4)


def _gradients(operator: KernelOperator, points: Points, coef: Coef, count: int) -> Float[Tensor, "m c k"]:
    """Gradients at the first ``count`` rows, in kernel coordinates; a tile between two of them is used for both."""
    kernel = operator.kernel
    G = points.u.new_zeros(count, coef.shape[1], points.u.shape[1])
    for rows, cols in _tiles(count, len(points), operator.tile):
        if rows == cols or cols.start >= count:
            G[rows] += kernel.gradient(points[rows], points[cols], coef[cols], same=rows == cols)
        else:
            at_rows, at_cols = kernel.mutual_gradients(points[rows], points[cols], coef[rows], coef[cols])
            G[rows] += at_rows
            G[cols] += at_cols
    return G


def _smooth_gradients(operator: KernelOperator, points: Points, coef: Coef, count: int) -> Float[Tensor, "m c k"]:
    """Gradients as in :func:`_gradients`, with each slope computed once and one product for all outputs.

    ``Σⱼ cross_ij α_jc uⱼ`` and ``Σⱼ cross_ij α_jc`` are one product with ``[α ⊗ u, α]``; the term of uᵢ itself is added
    once at the end. Tiles with near pairs, where the two nearly cancel, are summed separately in the wide format.
    """
    kernel = operator.kernel
    assert isinstance(kernel, SmoothKernel)
    (n, c), k = coef.shape, points.u.shape[1]
    coef = coef.to(points.u.dtype)
    right = coef.new_zeros(n, padded(c * k + c))
    torch.mul(coef[:, :, None], points.u[:, None, :], out=right[:, : c * k].view(n, c, k))
    right[:, c * k : c * k + c] = coef
    sums = torch.zeros_like(right[:count])
    own_sign = 0
    # With many columns on the right the product costs more than the slopes, and larger tiles make it faster.
    size = operator.tile if c * k < 256 or count < 4096 else 2 * operator.tile
    for rows, cols in _tiles(count, n, size):
        slopes = kernel.slopes(points[rows], points[cols], same=rows == cols, batch_invariant=False)
        sides = [(rows, cols, slopes)]
        if rows != cols and cols.stop <= count:
            sides.append((cols, rows, slopes.transposed()))
        for i, j, side in sides:
            if side.cross.dtype == right.dtype and side.own is None:
                own_sign = -1 if side.of_differences else 0
                sums[i].addmm_(side.cross, right[j])
            else:
                sums[i, : c * k] += side.gradient(points[i], points[j], coef[j]).flatten(1)
    G = sums[:, : c * k].reshape(count, c, k)
    if own_sign:
        G += own_sign * sums[:, c * k : c * k + c, None] * points.u[:count, None, :]
    return G


def _tiles(count: int, n: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Tiles on and above the diagonal of the first rows, then those between the first rows and the others."""
    yield from upper_tiles(count, size)
    for rows in spans(count, size):
        for cols in spans(n - count, size):
            yield rows, slice(count + cols.start, count + cols.stop)


def _moments_of(G: Float[Tensor, "m c k"], w: Float[Tensor, " m"]) -> tuple[Tensor, Tensor]:
    k = G.shape[2]
    second = torch.zeros(k, k, dtype=w.dtype, device=G.device)
    total = torch.zeros(G.shape[1], k, dtype=w.dtype, device=G.device)
    plain = bool((w == 1).all())
    for block in spans(G.shape[0], max(1, 2**17 // math.prod(G.shape[1:]))):
        g = G[block].to(w.dtype)
        weighted = g if plain else g * w[block, None, None]
        second += weighted.flatten(0, 1).mT @ g.flatten(0, 1)
        total += weighted.sum(dim=0)
    return second, total


def _by_blocks(operator: KernelOperator, coef: Coef, chosen: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Moments per output, a block of rows at a time, for gradients that do not all fit into memory."""
    kernel, points, k = operator.kernel, operator.points, operator.points.u.shape[1]
    second = torch.zeros(k, k, dtype=w.dtype, device=w.device)
    total = torch.zeros(coef.shape[1], k, dtype=w.dtype, device=w.device)
    for block in spans(len(chosen), 256):  # the rows are sorted, so that few tiles contain a row twice
        x = points[chosen[block]]
        G = operator.X.new_zeros(len(x), coef.shape[1], k)
        for cols in spans(operator.n, operator.tile):
            z = points[cols]
            if isinstance(kernel, SmoothKernel):
                G += kernel.slopes(x, z, batch_invariant=False).gradient(x, z, coef[cols]).to(G.dtype)
            else:
                G += kernel.gradient(x, z, coef[cols])
        block_second, block_total = _moments_of(G, w[block])
        second += block_second
        total += block_total
    return second, total


def _by_pairs(operator: KernelOperator, coef: Coef, chosen: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    kernel, points = operator.kernel, operator.points
    assert isinstance(kernel, SmoothKernel)
    x, X, a = points[chosen], points.wide, coef.to(w.dtype)
    A = torch.empty(len(x), operator.n, dtype=w.dtype, device=w.device)
    S = torch.zeros(len(x), a.shape[1], dtype=w.dtype, device=w.device)
    for rows in spans(len(x), operator.tile):
        slopes = kernel.slopes(x[rows], points)
        A[rows] = slopes.cross
        sums = slopes.own_sums(a.to(slopes.cross.dtype))
        if sums is not None:
            S[rows] = sums.to(w.dtype)
    WA, Xi = w[:, None] * A, x.wide
    # The larger product comes first: E overwrites the weighted slopes, which T needs.
    T = (A.mT @ WA).mul_(a @ a.mT)
    second = X.mT @ (T @ X)
    total = ((A.mT @ w)[:, None] * a).mT @ X + (w[:, None] * S).mT @ Xi
    E = X.mT @ (WA.mT.mul_(a @ S.mT) @ Xi)
    second = second + E + E.mT + Xi.mT @ (Xi * (w * S.square().sum(dim=1))[:, None])
    return second, total
