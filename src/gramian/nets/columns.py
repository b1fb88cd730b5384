"""The columns of a report: their meanings, their order, and the groups by which they are chosen and computed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from gramian.nets.matrices import MATRICES

Columns = str | Sequence[str]
"""Names of columns or of groups of columns."""


def _declared(*names: str) -> dict[str, str]:
    """Columns that the entries of these matrices declare, with their descriptions."""
    return {column.name: column.description for name in names for column in MATRICES[name].columns}


LAYER = {
    "layer": "dotted name of the module",
    "kind": "type of the module",
    "shape": "outputs × inputs of its weight matrix (times groups)",
    "depth": "layers from here to the output, this one included",
}
"""Columns that every row has."""

GROUPS: dict[str, dict[str, str]] = {
    "nfa": {
        "nfa_cos": "NFA: cosine of WᵀW and AGOP (also UC-NFA of paper A)",
        "nfa_pearson": "the same, Pearson",
        "nfa_half_cos": "cosine of WᵀW and AGOP^(1/2) (papers B, D)",
        "nfa_half_pearson": "the same, Pearson (paper D, Table 2)",
        "nfa_depth_cos": "cosine of WᵀW and AGOP^(1/depth) (paper C)",
        "best_power": "the exponent s that maximises the cosine of WᵀW and AGOP^s",
        "nfa_best_cos": "the cosine at that exponent",
        "nfa_random": "nfa_cos if AGOP kept its spectrum and had random eigenvectors (expected value)",
        "nfa_half_random": "the same for nfa_half_cos",
        "nfa_depth_random": "the same for nfa_depth_cos",
        "agop_effective_rank": "effective rank of AGOP",
    },
    "chance": {
        "nfa_half_excess": "(nfa_half_cos − nfa_half_chance) / (1 − nfa_half_chance): 0 by chance, 1 aligned",
        "nfa_half_chance": "nfa_half_cos by chance: W as it is, the tangent kernel K of AGOP = WᵀKW with its spectrum "
        "in random directions",
        "nfa_half_chance_sd": "its standard deviation between draws",
        "nfa_chance": "nfa_cos by chance",
        "nfa_chance_sd": "its standard deviation",
        "nfa_depth_chance": "nfa_depth_cos by chance",
        "nfa_depth_chance_sd": "its standard deviation",
        "nfa_best_chance": "nfa_best_cos by chance, at the best exponent of each draw",
        "nfa_best_chance_sd": "its standard deviation",
    },
    "untrained": {
        "nfa_untrained": "nfa_cos of the network with its initial weights",
        "nfa_half_untrained": "nfa_half_cos of the network with its initial weights",
        "nfa_depth_untrained": "nfa_depth_cos of the network with its initial weights",
        "nfa_best_untrained": "nfa_best_cos of the network with its initial weights",
    },
    "projections": {"agop_error": "relative error of AGOP from random output projections (0 when exact)"},
    "enfa": {
        "enfa_half_cos": "cosine of WᵀW and eNFA^(1/2)",
        "enfa_half_pearson": "the same, Pearson",
        "enfa_half_random": "enfa_half_cos if eNFA kept its spectrum and had random eigenvectors (expected value)",
    },
    "enfa_chance": {
        "enfa_half_chance": "enfa_half_cos by chance: the kernel of the loss with its spectrum in random directions",
        "enfa_half_chance_sd": "its standard deviation",
    },
    "fact": {
        "fact_cos": "cosine of WᵀW and FACT",
        "fact_pearson": "the same, Pearson",
        "fact_chance": "fact_cos if FACT kept its spectrum and had random eigenvectors (expected value)",
        "fact_chance_sd": "its standard deviation",
        "fact_residual": "‖FACT − WᵀW‖ / ‖WᵀW‖: 0 at a stationary point",
        "stationarity": "‖∇L + λW‖ / ‖λW‖: 0 at a stationary point",
    },
    "fact_polar": _declared("fact_polar"),
    "output": _declared("bfact", "ptk", "benfa"),
    "centered": {
        "c_nfa_cos": "C-NFA: the NFA of the change of weights since initialisation",
        "c_nfa_chance": "c_nfa_cos by chance: the tangent kernel with its spectrum in random directions",
        "c_nfa_chance_sd": "its standard deviation",
        "double_centered_nfa_cos": "the same with the change of the tangent kernel",
        "ptk_centered_nfa_cos": "alignment of the change of the tangent kernel with the initial weights",
    },
    "spectrum": {
        "effective_rank": "effective rank of WᵀW",
        "top_share": "share of the trace of WᵀW in its first direction",
    },
    "features": {
        "target_linearity": "R² of a ridge regression of the target on the layer's input (paper E)",
        "target_linearity_gamma": "its ridge γ; features and targets centred",
        "features_per_sample": "features of that regression per sample: from 1 on, any target is linear",
        "surrogate": "tr(YᵀGY)/n², G from the layer's output before the activation",
        "surrogate_input": "tr(YᵀGY)/n², G from the layer's input",
        "nc1": "within-class spread over between-class spread, tr(Σ_W Σ_B⁺)/C",
        "nc2_norm": "spread of the norms of the class means",
        "nc2_angle": "distance of their angles from the simplex",
        "nc3": "distance of classifier and class means",
        "nc4": "agreement with the nearest class mean",
    },
    "balance": {"balancedness": "‖WWᵀ − W⁺ᵀW⁺‖ relative, to the next layer (0 is balanced)"},
}
"""Group → its columns with their descriptions. The columns of a group are computed together."""

COLUMNS: dict[str, str] = LAYER | {name: about for group in GROUPS.values() for name, about in group.items()}
"""Column → description; also the order of the columns."""


def columns() -> dict[str, str]:
    """All columns with their descriptions: :data:`COLUMNS`, then those of matrices that were added to the table.

    >>> columns()["fact_cos"]
    'cosine of WᵀW and FACT'
    """
    return COLUMNS | _declared(*MATRICES)


def choose_columns(chosen: Columns | None) -> list[str]:
    """Names of the chosen columns, groups resolved, after those that every row has; all columns for None.

    >>> choose_columns(["spectrum", "nc1"])
    ['layer', 'kind', 'shape', 'depth', 'effective_rank', 'top_share', 'nc1']
    """
    known = columns()
    if chosen is None:
        return list(known)
    found = dict.fromkeys(LAYER)
    for name in [chosen] if isinstance(chosen, str) else chosen:
        if name not in known and name not in GROUPS:
            close = difflib.get_close_matches(name, [*GROUPS, *known], n=3)
            near = f"did you mean {' or '.join(close)}?" if close else f"the groups are {', '.join(GROUPS)}"
            raise ValueError(f"columns asks for {name!r}, which is neither a column nor a group of columns; {near}")
        found.update(dict.fromkeys(GROUPS.get(name, {name: ""})))
    return [name for name in known if name in found]
