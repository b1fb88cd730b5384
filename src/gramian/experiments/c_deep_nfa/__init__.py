"""Experiments of paper C, on the neural feature ansatz in deep networks; importing the package registers them."""

from gramian.experiments.c_deep_nfa import (
    cited_target,
    curves,
    divergence,
    explanations,
    gauss_link,
    matrices,
    monte_carlo,
    nonlinear,
    other_targets,
    powers,
    proofs,
    rates,
    remarks,
    tables,
    target_size,
    theorems,
)

__all__ = [
    "cited_target",
    "curves",
    "divergence",
    "explanations",
    "gauss_link",
    "matrices",
    "monte_carlo",
    "nonlinear",
    "other_targets",
    "powers",
    "proofs",
    "rates",
    "remarks",
    "tables",
    "target_size",
    "theorems",
]
