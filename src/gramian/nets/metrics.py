"""One flat row of numbers per layer. A number that was not measured is NaN."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from gramian.core import effective_rank
from gramian.nets.alignment import centered_nfa, ptk_centered_nfa
from gramian.nets.record import LayerRecord, Unavailable
from gramian.nets.similarity import PowerFamily, similarity

# Column → what it says; also the order of columns.
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
    "fact_cos": "cosine of WᵀW and FACT",
    "fact_pearson": "the same, Pearson",
    "fact_polar_pearson": "Pearson of WᵀW and (FACT FACTᵀ)^(1/2)",
    "fact_residual": "‖FACT − WᵀW‖ / ‖WᵀW‖: 0 at a stationary point",
    "stationarity": "‖∇L + λW‖ / ‖λW‖: 0 at a stationary point",
    "bfact_cos": "cosine of WWᵀ and bFACT",
    "bnfa_half_cos": "cosine of WWᵀ and bAGOP^(1/2) = PTK^(1/2)",
    "benfa_half_cos": "cosine of WWᵀ and beNFA^(1/2)",
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


def row(record: LayerRecord) -> dict[str, float | int | str]:
    """All numbers of one layer, in the order of :data:`COLUMNS`."""
    g, m, k = record.weight.shape
    found: dict[str, float | int | str] = {
        "layer": record.name,
        "kind": record.kind,
        "shape": f"{m}×{k}" + (f" ×{g}" if g > 1 else ""),
        "depth": record.depth,
        "agop_error": record.agop_error(),
    }
    found |= _nfa(record) | _fact(record) | _backward(record) | _centered(record) | _spectrum(record)
    found |= record.geometry
    return {name: found.get(name, math.nan) for name in COLUMNS}


def _measured(compute: Callable[[], float]) -> float:
    try:
        return compute()
    except Unavailable:
        return math.nan


def _nfa(record: LayerRecord) -> dict[str, float | int | str]:
    agop = PowerFamily.of(record, "agop")
    power, best = agop.best()
    found: dict[str, float | int | str] = {
        "nfa_cos": agop.cosine(1.0),
        "nfa_pearson": agop.pearson(1.0),
        "nfa_half_cos": agop.cosine(0.5),
        "nfa_half_pearson": agop.pearson(0.5),
        "nfa_depth_cos": agop.cosine(1 / record.depth),
        "best_power": power,
        "nfa_best_cos": best,
        "agop_effective_rank": effective_rank(agop.values),
    }
    if record.loss is not None:
        enfa = PowerFamily.of(record, "enfa")
        found |= {"enfa_half_cos": enfa.cosine(0.5), "enfa_half_pearson": enfa.pearson(0.5)}
    return found


def _fact(record: LayerRecord) -> dict[str, float]:
    if record.loss is None or record.why_no_fact or not record.decay.usable or record.at_rest is None:
        return {}
    W, lam = record.W, record.decay.weight_decay
    rest = W + record.at_rest / lam
    B = W @ W.mT
    return {
        "fact_cos": _measured(lambda: similarity(record, "nfm", "fact")),
        "fact_pearson": _measured(lambda: similarity(record, "nfm", "fact", metric="pearson")),
        "fact_polar_pearson": _measured(lambda: similarity(record, "nfm", "fact_polar", metric="pearson")),
        "fact_residual": float(((B @ rest * rest).sum() / (B @ W * W).sum()).sqrt()),
        "stationarity": float(rest.norm() / W.norm()),
        "bfact_cos": _measured(lambda: similarity(record, "bnfm", "bfact")),
    }


def _backward(record: LayerRecord) -> dict[str, float]:
    found = {"bnfa_half_cos": _measured(lambda: similarity(record, "bnfm", "ptk", power=0.5))}
    if record.loss is not None:
        found["benfa_half_cos"] = _measured(lambda: similarity(record, "bnfm", "benfa", power=0.5))
    return found


def _centered(record: LayerRecord) -> dict[str, float]:
    if record.initial is None or record.change is None:
        return {}
    W, W0 = record.W, record.initial.double()
    K, K_bar = record.blocks("ptk"), record.blocks("ptk_change")
    return {
        "c_nfa_cos": _quiet_centered(W, W0, K),
        "double_centered_nfa_cos": _quiet_centered(W, W0, K_bar),
        "ptk_centered_nfa_cos": ptk_centered_nfa(W0, K_bar) if K_bar.any() else math.nan,
    }


def _quiet_centered(W: torch.Tensor, W0: torch.Tensor, K: torch.Tensor) -> float:
    return centered_nfa(W, W0, K) if bool((W != W0).any()) and bool(K.any()) else math.nan


def _spectrum(record: LayerRecord) -> dict[str, float]:
    values = torch.cat([torch.linalg.svdvals(W) for W in record.W]).square()
    total = values.sum()
    return {
        "effective_rank": effective_rank(values),
        "top_share": float(values.max() / total) if total > 0 else math.nan,
    }
