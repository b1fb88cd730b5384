"""One flat row of numbers per layer. A number that was not measured is NaN."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import effective_rank
from gramian.nets.alignment import centered_nfa, ptk_centered_nfa
from gramian.nets.feature_matrix import SimilarityColumn, Unavailable
from gramian.nets.matrices import MATRICES, find_matrix
from gramian.nets.record import LayerRecord
from gramian.nets.similarity import PowerFamily, agop_error, similarity
from gramian.nets.sums import LayerSums

Row = dict[str, float | int | str]


def _declared(*names: str) -> dict[str, str]:
    """Columns that the entries of these matrices declare, with their descriptions."""
    return {column.name: column.description for name in names for column in MATRICES[name].columns}


# Column → description; also the order of the columns.
COLUMNS: dict[str, str] = {
    "layer": "dotted name of the module",
    "kind": "type of the module",
    "shape": "outputs × inputs of its weight matrix (times groups)",
    "depth": "layers from here to the output, this one included",
    "nfa_cos": "NFA: cosine of WᵀW and AGOP (also UC-NFA of paper A)",
    "nfa_pearson": "the same, Pearson",
    "nfa_half_cos": "cosine of WᵀW and AGOP^(1/2) (papers B, D)",
    "nfa_half_pearson": "the same, Pearson (paper D, Table 2)",
    "nfa_depth_cos": "cosine of WᵀW and AGOP^(1/depth) (paper C)",
    "best_power": "the exponent s that maximises the cosine of WᵀW and AGOP^s",
    "nfa_best_cos": "the cosine at that exponent",
    "agop_error": "relative error of AGOP from random output projections (0 when exact)",
    "enfa_half_cos": "cosine of WᵀW and eNFA^(1/2)",
    "enfa_half_pearson": "the same, Pearson",
    **_declared("fact", "fact_polar"),
    "fact_residual": "‖FACT − WᵀW‖ / ‖WᵀW‖: 0 at a stationary point",
    "stationarity": "‖∇L + λW‖ / ‖λW‖: 0 at a stationary point",
    **_declared("bfact", "ptk", "benfa"),
    "c_nfa_cos": "C-NFA: the NFA of the change of weights since initialisation",
    "double_centered_nfa_cos": "the same with the change of the tangent kernel",
    "ptk_centered_nfa_cos": "alignment of the change of the tangent kernel with the initial weights",
    "effective_rank": "effective rank of WᵀW",
    "agop_effective_rank": "effective rank of AGOP",
    "top_share": "share of the trace of WᵀW in its first direction",
    "target_linearity": "R² of a ridge regression of the target on the layer's input (paper E)",
    "target_linearity_gamma": "its ridge γ; features and targets centred",
    "surrogate": "tr(YᵀGY)/n², G from the layer's output before the activation",
    "surrogate_input": "tr(YᵀGY)/n², G from the layer's input",
    "nc1": "within-class spread over between-class spread, tr(Σ_W Σ_B⁺)/C",
    "nc2_norm": "spread of the norms of the class means",
    "nc2_angle": "distance of their angles from the simplex",
    "nc3": "distance of classifier and class means",
    "nc4": "agreement with the nearest class mean",
    "balancedness": "‖WWᵀ − W⁺ᵀW⁺‖ relative, to the next layer (0 is balanced)",
}


def columns() -> dict[str, str]:
    """All columns with their descriptions: :data:`COLUMNS`, then those of matrices that were added to the table.

    >>> columns()["fact_cos"]
    'cosine of WᵀW and FACT'
    """
    return COLUMNS | _declared(*MATRICES)


def row(record: LayerRecord) -> Row:
    """All numbers of one layer, in the order of :func:`columns`."""
    g, m, k = record.weight.shape
    sums = record.sums
    found: Row = {
        "layer": record.name,
        "kind": record.kind,
        "shape": f"{m}×{k}" + (f" ×{g}" if g > 1 else ""),
        "depth": record.depth,
        "agop_error": agop_error(sums),
    }
    found |= _nfa(sums, record.depth) | _comparisons(sums) | _stationarity(sums) | _centered(sums) | _spectrum(sums)
    found |= record.geometry
    return {name: found.get(name, math.nan) for name in columns()}


def _nfa(sums: LayerSums, depth: int) -> Row:
    agop = PowerFamily.of(sums, "agop")
    power, best = agop.best()
    found: Row = {
        "nfa_cos": agop.cosine(1.0),
        "nfa_pearson": agop.pearson(1.0),
        "nfa_half_cos": agop.cosine(0.5),
        "nfa_half_pearson": agop.pearson(0.5),
        "nfa_depth_cos": agop.cosine(1 / depth),
        "best_power": power,
        "nfa_best_cos": best,
        "agop_effective_rank": effective_rank(agop.values),
    }
    if sums.loss is not None:
        enfa = PowerFamily.of(sums, "enfa")
        found |= {"enfa_half_cos": enfa.cosine(0.5), "enfa_half_pearson": enfa.pearson(0.5)}
    return found


def _comparisons(sums: LayerSums) -> Row:
    """The columns that matrices declare."""
    return {column.name: _compared(sums, name, column) for name, m in MATRICES.items() for column in m.columns}


def _compared(sums: LayerSums, name: str, column: SimilarityColumn) -> float:
    try:
        return similarity(sums, column.beside, name, power=column.power, measure=column.measure)
    except Unavailable:
        return math.nan


def _stationarity(sums: LayerSums) -> Row:
    try:
        X = find_matrix("fact").thin_form(sums)
    except Unavailable:
        return {}
    # FACT = WᵀX, so WᵀW − FACT = WᵀR with R = W − X = W + ∇L/λ, which is 0 at a stationary point.
    W = sums.W
    R = W - X
    B = W @ W.mT
    return {
        "fact_residual": float(((B @ R * R).sum() / (B @ W * W).sum()).sqrt()),
        "stationarity": float(R.norm() / W.norm()),
    }


def _centered(sums: LayerSums) -> Row:
    if sums.initial is None or sums.change is None:
        return {}
    W, W0 = sums.W, sums.initial_W
    K, K_bar = find_matrix("ptk").blocks(sums), find_matrix("ptk_change").blocks(sums)
    return {
        "c_nfa_cos": _centered_or_nan(W, W0, K),
        "double_centered_nfa_cos": _centered_or_nan(W, W0, K_bar),
        "ptk_centered_nfa_cos": ptk_centered_nfa(W0, K_bar) if K_bar.any() else math.nan,
    }


def _centered_or_nan(W: Float[Tensor, "g m k"], W0: Float[Tensor, "g m k"], K: Float[Tensor, "g m m"]) -> float:
    return centered_nfa(W, W0, K) if bool((W != W0).any()) and bool(K.any()) else math.nan


def _spectrum(sums: LayerSums) -> Row:
    values = torch.cat([torch.linalg.svdvals(W) for W in sums.W]).square()
    total = values.sum()
    return {
        "effective_rank": effective_rank(values),
        "top_share": float(values.max() / total) if total > 0 else math.nan,
    }
