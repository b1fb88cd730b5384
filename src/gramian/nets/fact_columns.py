"""The columns that compare WᵀW with FACT, from one pass over the weights and their gradient in pieces.

``FACT = WᵀX`` with ``X = −∇L/λ``, so that every number follows from matrices on the smaller side of the layer, and a
table of 50,000 tokens needs no float64 copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.features import fact_from_moments
from gramian.nets.alignment import pearson_from_sums
from gramian.nets.chance import Invariants, random_eigenvectors
from gramian.nets.decompositions import PIECE, Decompositions
from gramian.nets.matrices import find_matrix
from gramian.nets.sums import LayerSums


@dataclass(frozen=True)
class _Products:
    """Numbers of one group: products of ``S = WᵀW`` and ``F = FACT``, and sums over their entries."""

    own: Invariants
    fact: Invariants
    product: float  # ⟨S, F⟩
    residual: float  # ‖S − F‖²
    entry_sums: tuple[float, float]
    distance: float  # ‖W − X‖²


def fact_columns(layer: Decompositions) -> dict[str, float]:
    """Cosine, correlation, residual, stationarity and the cosine by chance; raises where FACT was not measured.

    The cosine by chance has random eigenvectors for FACT: it is no function ``WᵀKW`` of the weights.
    """
    sums = layer.sums
    find_matrix("fact").check(sums)
    parts = [
        _tall(S, _pieces(sums, g)) if layer.tall else _wide(S, sums.weight.shape[2], partial(_pieces, sums, g))
        for g, S in enumerate(layer.grams)
    ]
    norm = math.hypot(*(part.own.norm for part in parts))
    size = math.hypot(*(part.fact.norm for part in parts))
    product = sum(part.product for part in parts)
    chance = random_eigenvectors([part.own for part in parts], [part.fact for part in parts])
    totals = (sum(part.entry_sums[0] for part in parts), sum(part.entry_sums[1] for part in parts))
    entries = find_matrix("fact").dim(sums) ** 2
    weight = math.sqrt(sum(part.own.trace for part in parts))
    return {
        "fact_cos": product / (norm * size) if norm * size > 0 else math.nan,
        "fact_pearson": pearson_from_sums((product, norm**2, size**2), totals, entries),
        "fact_residual": math.sqrt(sum(part.residual for part in parts)) / norm if norm > 0 else math.nan,
        "stationarity": math.sqrt(sum(part.distance for part in parts)) / weight if weight > 0 else math.nan,
        "fact_chance": chance.mean,
        "fact_chance_sd": chance.sd,
    }


def _pieces(sums: LayerSums, group: int) -> Iterator[tuple[Float[Tensor, "p q"], Float[Tensor, "p q"]]]:
    """W and X in float64, a few rows at a time, transposed where the layer has more inputs than outputs."""
    assert sums.stationary_gradient is not None
    W, G = sums.weight[group], sums.stationary_gradient[group]
    if W.shape[1] > W.shape[0]:
        W, G = W.mT, G.mT
    rows = max(1, PIECE // W.shape[1])
    for w, g in zip(W.split(rows), G.split(rows), strict=True):
        # The gradient of the mean loss is already divided by n, so it counts as one sample.
        yield w.double(), fact_from_moments(g.double(), samples=1, weight_decay=sums.decay.weight_decay)


def _tall(S: Float[Tensor, "k k"], pieces: Iterator[tuple[Tensor, Tensor]]) -> _Products:
    F, distance = torch.zeros_like(S), 0.0
    for w, x in pieces:
        F.addmm_(w.mT, x)
        distance += float((w - x).square().sum())
    return _Products(
        own=Invariants.of(S),
        fact=Invariants.of(F),
        product=float((S * F).sum()),
        residual=float((S - F).square().sum()),
        entry_sums=(float(S.sum()), float(F.sum())),
        distance=distance,
    )


def _wide(G: Float[Tensor, "m m"], k: int, again: Callable[[], Iterator[tuple[Tensor, Tensor]]]) -> _Products:
    """The same on the output side: ``⟨WᵀW, WᵀX⟩ = ⟨WWᵀ, XWᵀ⟩`` and ``‖WᵀX‖² = ⟨WWᵀ, XXᵀ⟩``."""
    XW, RR, squares = torch.zeros_like(G), torch.zeros_like(G), 0.0
    w_sum, x_sum = torch.zeros_like(G[0]), torch.zeros_like(G[0])
    for w, x in again():
        XW.addmm_(x.mT, w)
        # At a stationary point R = W − X vanishes, and a difference of WWᵀ, XWᵀ and XXᵀ would not show how far.
        r = w - x
        RR.addmm_(r.mT, r)
        squares += float(x.square().sum())
        w_sum += w.sum(0)
        x_sum += x.sum(0)
    # ⟨G, XXᵀ⟩, with XXᵀ = RRᵀ − WWᵀ + XWᵀ + WXᵀ: exact to 1e-10 unless X is far smaller than W.
    square = float((G * (RR - G + 2 * XW)).sum())
    if squares < 1e-6 * float(G.trace()):
        square = sum(float(((x @ G) * x).sum()) for _, x in again())
    square = max(square, 0.0)
    symmetric = max((square + float((XW * XW.mT).sum())) / 2, 0.0)
    norm = float(G.norm())
    return _Products(
        own=Invariants(k, float(G.trace()), norm, norm),
        fact=Invariants(k, float(XW.trace()), math.sqrt(square), math.sqrt(symmetric)),
        product=float((G * XW).sum()),
        residual=max(float((G * RR).sum()), 0.0),
        entry_sums=(float(w_sum @ w_sum), float(w_sum @ x_sum)),
        distance=float(RR.trace()),
    )
