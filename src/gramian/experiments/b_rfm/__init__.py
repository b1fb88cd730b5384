"""Experiments of paper B, on recursive feature machines (RFM); importing the package registers them."""

from gramian.experiments.b_rfm import (
    depth,
    fig4,
    fig4_why,
    fig5,
    gradient,
    low_rank,
    lowrank_notebook,
    metrics,
    propositions,
    sample_complexity,
    tables,
    theorem1,
)

__all__ = [
    "depth",
    "fig4",
    "fig4_why",
    "fig5",
    "gradient",
    "low_rank",
    "lowrank_notebook",
    "metrics",
    "propositions",
    "sample_complexity",
    "tables",
    "theorem1",
]
