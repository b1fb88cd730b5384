"""Similarities between the matrices of one layer, dense where they fit and through thin factors where they do not."""

from __future__ import annotations

import math

from jaxtyping import Float
from torch import Tensor

from gramian.core import cosine, pearson
from gramian.nets.alignment import pearson_from_sums
from gramian.nets.feature_matrix import FeatureMatrix, Measure, Unavailable
from gramian.nets.matrices import find_matrix
from gramian.nets.sketch import gram_eigh, probed_cosine
from gramian.nets.sums import LayerSums


def similarity(sums: LayerSums, a: str, b: str, *, power: float = 1.0, measure: Measure = "cosine") -> float:
    """``ρ(A, B^s)`` or its Pearson twin; both matrices must be on the same side of the layer."""
    if measure not in ("cosine", "pearson"):
        raise ValueError(f'measure must be "cosine" or "pearson", got {measure!r}')
    if not power > 0:
        raise ValueError(f"power must be positive, got {power}")
    A, B = find_matrix(a), find_matrix(b)
    if A.side != B.side:
        raise ValueError(
            f"{a!r} is on the layer's {A.side} side and {b!r} on its {B.side} side: they have no common size"
        )
    A.check(sums)
    B.check(sums)
    if A.may_be_formed(sums):
        return block_similarity(A.blocks(sums), B.power(sums, power), measure)
    if sums.sketched:
        return _sketched_similarity(sums, A, B, power, measure)
    return _thin_similarity(sums, A, B, power, measure)


def block_similarity(A: Float[Tensor, "g d d"], B: Float[Tensor, "g d d"], measure: Measure = "cosine") -> float:
    """Similarity of two block-diagonal matrices; the zeros between the blocks count in Pearson's means.

    >>> import torch
    >>> A = torch.stack([torch.eye(2), 2 * torch.eye(2)])
    >>> round(block_similarity(A, A), 6), round(block_similarity(A, A, "pearson"), 6)
    (1.0, 1.0)
    """
    if measure == "cosine":
        return cosine(A, B)
    if A.shape[0] == 1:
        return pearson(A, B)
    entries = (A.shape[0] * A.shape[1]) ** 2
    return pearson_from_sums(
        (float((A * B).sum()), float((A * A).sum()), float((B * B).sum())),
        (float(A.sum()), float(B.sum())),
        entries,
    )


def _thin_similarity(sums: LayerSums, a: FeatureMatrix, b: FeatureMatrix, power: float, measure: Measure) -> float:
    if sums.weight.shape[0] > 1 or a.side == "output":
        a.blocks(sums)  # raises, with the reason why it cannot be formed
    W = sums.W[0]
    B = W @ W.mT
    k = W.shape[1]
    if power == 1:
        X, Y = a.thin_form(sums)[0], b.thin_form(sums)[0]
        BX, BY = B @ X, B @ Y
        products = (float((BX * Y).sum()), float((BX * X).sum()), float((BY * Y).sum()))
        if measure == "cosine":
            return _cosine_from_sums(*products)
        w = W.sum(1)
        return pearson_from_sums(products, (float(w @ X.sum(1)), float(w @ Y.sum(1))), k * k)
    if not b.psd:
        raise Unavailable(f"power={power} of {b.name!r} needs a dense matrix: raise max_dim above {k}")
    # ⟨WᵀX, V λˢ Vᵀ⟩ = Σ λⱼˢ (W vⱼ)·(X vⱼ)
    values, V = gram_eigh(b.factor_form(sums))
    weights, X = values.pow(power), a.thin_form(sums)[0]
    products = (
        float((weights * ((W @ V) * (X @ V)).sum(0)).sum()),
        float(((B @ X) * X).sum()),
        float(weights.square().sum()),
    )
    if measure == "cosine":
        return _cosine_from_sums(*products)
    totals = (float(W.sum(1) @ X.sum(1)), float((weights * V.sum(0).square()).sum()))
    return pearson_from_sums(products, totals, k * k)


def _cosine_from_sums(product: float, square_a: float, square_b: float) -> float:
    """``⟨A, B⟩ / (‖A‖ ‖B‖)``; NaN where one of them is zero, as for dense matrices."""
    squares = square_a * square_b
    return product / math.sqrt(squares) if squares > 0 else math.nan


def _sketched_similarity(sums: LayerSums, a: FeatureMatrix, b: FeatureMatrix, power: float, measure: Measure) -> float:
    if measure == "pearson":
        raise Unavailable(f"layer {sums.name!r} is sketched, which gives cosines only: raise max_dim")
    if power == 1:
        return probed_cosine(a.probed_form(sums), b.probed_form(sums))[0]
    Y = a.exact_factor(sums)
    if Y is None or not b.psd:
        raise Unavailable(f"layer {sums.name!r} is sketched: powers are compared with 'nfm' or 'bnfm' only")
    values, V = gram_eigh(b.factor_form(sums))
    weights = values.pow(power)
    norm = float(a.probed_form(sums).square().sum(0).mean().sqrt())
    return float((weights * (Y @ V).square().sum(0)).sum() / (norm * weights.norm()))
