"""Similarities between the matrices of one layer, dense where they fit and through thin factors where they
do not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import cosine, pearson
from gramian.nets.alignment import best_power, power_alignment
from gramian.nets.record import PSD, LayerRecord, Unavailable, block_power, side_of
from gramian.nets.sketch import gram_eigh, probed_cosine

Metric = Literal["cosine", "pearson"]


def similarity(record: LayerRecord, a: str, b: str, *, power: float = 1.0, metric: Metric = "cosine") -> float:
    """``ρ(A, B^s)`` or its Pearson twin; both matrices must live on the same side of the layer."""
    if metric not in ("cosine", "pearson"):
        raise ValueError(f'metric must be "cosine" or "pearson", got {metric!r}')
    if not power > 0:
        raise ValueError(f"power must be positive, got {power}")
    if side_of(a) != side_of(b):
        raise ValueError(
            f"{a!r} lives on the layer's {side_of(a)} side and {b!r} on its {side_of(b)} side: they have no common size"
        )
    if record.dense(a):
        return block_similarity(record.blocks(a), _powered(record, b, power), metric)
    if record.sketched:
        return _sketched(record, a, b, power, metric)
    return _wide(record, a, b, power, metric)


def block_similarity(A: Float[Tensor, "g d d"], B: Float[Tensor, "g d d"], metric: Metric = "cosine") -> float:
    """Similarity of two block-diagonal matrices; the zeros between the blocks count in Pearson's means.

    >>> A = torch.stack([torch.eye(2), 2 * torch.eye(2)])
    >>> round(block_similarity(A, A), 6), round(block_similarity(A, A, "pearson"), 6)
    (1.0, 1.0)
    """
    if metric == "cosine":
        return cosine(A, B)
    if A.shape[0] == 1:
        return pearson(A, B)
    entries = (A.shape[0] * A.shape[1]) ** 2
    return _centered_cosine(
        (float((A * B).sum()), float((A * A).sum()), float((B * B).sum())),
        (float(A.sum()), float(B.sum())),
        entries,
    )


def _centered_cosine(products: tuple[float, float, float], sums: tuple[float, float], entries: int) -> float:
    ab, aa, bb = products
    sa, sb = sums
    spread = (aa - sa * sa / entries) * (bb - sb * sb / entries)
    return (ab - sa * sb / entries) / math.sqrt(spread) if spread > 0 else math.nan


def _powered(record: LayerRecord, b: str, power: float) -> Float[Tensor, "g d d"]:
    B = record.blocks(b)
    if power == 1:
        return B
    if b in PSD:
        return block_power(B, power)
    if b in ("fact", "bfact"):  # the PSD form of FACT is (F Fᵀ)^½
        return block_power(B @ B.mT, power / 2)
    raise ValueError(f"{b!r} is not positive semi-definite, so only power=1 is defined; got power={power}")


def _wide(record: LayerRecord, a: str, b: str, power: float, metric: Metric) -> float:
    if record.weight.shape[0] > 1 or side_of(a) == "output":
        record.blocks(a)  # says why it cannot be formed
    W = record.W[0]
    B = W @ W.mT
    k = W.shape[1]
    if power == 1:
        X, Y = record.wide(a), record.wide(b)
        BX, BY = B @ X, B @ Y
        products = (float((BX * Y).sum()), float((BX * X).sum()), float((BY * Y).sum()))
        if metric == "cosine":
            return products[0] / math.sqrt(products[1] * products[2])
        w = W.sum(1)
        return _centered_cosine(products, (float(w @ X.sum(1)), float(w @ Y.sum(1))), k * k)
    if b not in PSD:
        raise Unavailable(f"power={power} of {b!r} needs a dense matrix: raise max_dim above {k}")
    # ⟨WᵀX, V λˢ Vᵀ⟩ = Σ λⱼˢ (W vⱼ)·(X vⱼ)
    values, V = gram_eigh(record.factor(b))
    weights, X = values.pow(power), record.wide(a)
    products = (
        float((weights * ((W @ V) * (X @ V)).sum(0)).sum()),
        float(((B @ X) * X).sum()),
        float(weights.square().sum()),
    )
    if metric == "cosine":
        return products[0] / math.sqrt(products[1] * products[2])
    sums = (float(W.sum(1) @ X.sum(1)), float((weights * V.sum(0).square()).sum()))
    return _centered_cosine(products, sums, k * k)


def _sketched(record: LayerRecord, a: str, b: str, power: float, metric: Metric) -> float:
    if metric == "pearson":
        raise Unavailable(f"layer {record.name!r} is sketched, which gives cosines only: raise max_dim")
    if power == 1:
        return probed_cosine(record.probed(a), record.probed(b))[0]
    if a not in ("nfm", "bnfm") or b not in PSD:
        raise Unavailable(f"layer {record.name!r} is sketched: powers are compared with 'nfm' or 'bnfm' only")
    values, V = gram_eigh(record.factor(b))
    W = record.W[0] if a == "nfm" else record.W[0].mT
    weights = values.pow(power)
    norm = float(record.probed(a).square().sum(0).mean().sqrt())
    return float((weights * (W @ V).square().sum(0)).sum() / (norm * weights.norm()))


@dataclass(frozen=True)
class PowerFamily:
    """``ρ(WᵀW, B^s)`` for every s from one eigendecomposition of B, an input-side PSD matrix of the layer."""

    values: Float[Tensor, " p"]
    quadratic: Float[Tensor, " p"]  # vⱼᵀ WᵀW vⱼ
    ones: Float[Tensor, " p"]  # (1ᵀvⱼ)²
    norm: float  # ‖WᵀW‖
    total: float  # 1ᵀ WᵀW 1
    entries: int

    @classmethod
    def of(cls, record: LayerRecord, b: str) -> PowerFamily:
        """Eigendecompose one matrix of a layer."""
        values, quadratic, ones = [], [], []
        for W, (lam, V) in zip(record.W, record.eigenpairs(b), strict=True):
            lam, V = lam[lam > 0], V[:, lam > 0]
            values.append(lam)
            quadratic.append((W @ V).square().sum(0))
            ones.append(V.sum(0).square())
        small = [W @ W.mT if W.shape[0] < W.shape[1] else W.mT @ W for W in record.W]
        norm = math.sqrt(sum(float(S.square().sum()) for S in small))
        total = float(record.W.sum(2).square().sum())
        return cls(torch.cat(values), torch.cat(quadratic), torch.cat(ones), norm, total, record.dim(b) ** 2)

    def cosine(self, power: float) -> float:
        """``ρ(WᵀW, B^s)``."""
        if not self.values.numel() or not self.norm:
            return math.nan
        s = torch.tensor([power], dtype=self.values.dtype)
        return float(power_alignment(self.values, self.quadratic, self.norm, s))

    def pearson(self, power: float) -> float:
        """The same after subtracting each matrix's mean entry."""
        if not self.values.numel():
            return math.nan
        weights = (self.values / self.values.max()).pow(power)
        products = (float(weights @ self.quadratic), self.norm**2, float(weights.square().sum()))
        return _centered_cosine(products, (self.total, float(weights @ self.ones)), self.entries)

    def best(self) -> tuple[float, float]:
        """The exponent with the largest cosine, and that cosine."""
        if not self.values.numel() or not self.norm:
            return math.nan, math.nan
        return best_power(self.values, self.quadratic, self.norm)
