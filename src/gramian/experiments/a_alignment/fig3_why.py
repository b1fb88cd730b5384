"""Explanation of Fig. 3 below γ = 1/2: with n = d the rows of X₁ span too few directions to be reversed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.experiments.claims import positive
from gramian.experiments.registry import Result, experiment
from gramian.report import style
from gramian.theory import alignment_reversing, early_alignment, sample_quadratic

NETWORK = 2**31
"""Seed of the network: all data seeds use the same network, as in the paper."""


@dataclass(frozen=True)
class Span:
    """The alignment-reversing data with `ratio` rows per column, at balances γ for which X₁ spans all directions."""

    d: int = 256
    ratio: int = 8
    balances: tuple[float, ...] = (0.25, 0.375, 0.5, 0.75, 1.0)


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the observed alignment over γ: a thin line per seed, and the mean."""
    figure.set_size_inches(4.6, 3.2)
    ax = figure.subplots()
    lines = np.array([record["arrays"]["observed"] for record in records])
    for line in lines:
        ax.plot(records[0]["spec"]["balances"], line, color=style.SKY, linewidth=0.7)
    ax.plot(records[0]["spec"]["balances"], lines.mean(0), "o-", color=style.BLUE)
    ax.set(xlabel="balance γ", ylabel="observed alignment")
    style.declutter(ax, "y")


@experiment(
    "a/fig3-why",
    "A",
    "Explanation of Fig. 3 below γ = 1/2: with more rows than columns the alignment falls there too",
    specs={"smoke": (Span(16),), "small": (Span(64),), "paper": (Span(),)},
    seeds={"small": 5, "paper": 5},
    claims=(
        positive(
            "fall_below",
            "with eight rows per column all directions are reversed, also at γ = 1/4: the sign must be the paper's",
            label="Explanation: n = 8 d: alignment at γ = 1/2 minus that at γ = 1/4",
            kind="side condition",
        ),
    ),
    draw=draw,
)
def run(spec: Span, seed: int) -> Result:
    """Measure the alignment at initialisation for every balance."""
    R = sample_quadratic(spec.d, spec.d, torch.Generator().manual_seed(NETWORK)).weight_kernel()
    rng = torch.Generator().manual_seed(seed)
    observed = {}
    for balance in spec.balances:
        X, y = alignment_reversing(spec.ratio * spec.d, spec.d, balance, rng, spike=1 / spec.d, scale=spec.d**-0.5)
        observed[balance] = early_alignment(X, y, R)
    return Result({"fall_below": observed[0.5] - observed[0.25]}, {"observed": list(observed.values())})
