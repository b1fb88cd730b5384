"""Explanation of appendix F: the AGOP's derivative is close to the identity where X₁ᵀX₁ is small and has an inverse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure

from gramian.core import threads
from gramian.experiments.a_alignment.lemmas import Construction, reversed_numbers
from gramian.experiments.claims import Null, at_least
from gramian.experiments.registry import Result, experiment
from gramian.report import style


@dataclass(frozen=True)
class Scales:
    """The data of appendix F with n = 8 d and γ = 1/4, for several lengths of the rows of X₁."""

    d: int = 64
    lengths: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.01)


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(4.6, 3.2)
    ax = figure.subplots()
    for record in records:
        ax.plot(record["spec"]["lengths"], record["arrays"]["identity"], "o-", color=style.BLUE, markersize=4)
    ax.set_xscale("log")
    ax.set(xlabel="scale of X₁ (1 as printed)", ylabel="cosine of S B S with the identity", ylim=(-0.03, 1.03))
    style.declutter(ax, "y")


@experiment(
    "a/appendix-f-why",
    "A",
    "Explanation of appendix F: the scale of X₁ decides whether the AGOP's derivative is close to the identity",
    specs={"smoke": (Scales(16),), "small": (Scales(),), "paper": (Scales(128),)},
    claims=(
        at_least(
            "identity/smallest",
            0.99,
            "S B S = (X₁ᵀX₁)³ + I, so that a small X₁ leaves the identity",
            label="Explanation: n = 8 d, X₁ a hundredth of its size: cosine of S B S with the identity",
            kind="side condition",
            null=Null(0.2, "one direction of 64, about"),
        ),
    ),
    seeds={"small": 5, "paper": 3},
    draw=_draw,
)
def scales(spec: Scales, seed: int) -> Result:
    """Measure the cosine for every length of the rows."""
    values = []
    with threads(1):
        for length in spec.lengths:
            rng = torch.Generator().manual_seed(seed)
            setting = Construction(spec.d, 8, 0.25, length, printed=False)
            values.append(reversed_numbers(setting, 8 * spec.d, rng)["invertible/identity"])
    return Result({"identity/printed": values[0], "identity/smallest": values[-1]}, {"identity": values})
