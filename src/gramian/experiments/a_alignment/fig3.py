"""Fig. 3: alignment predicted by free probability and alignment observed, on the alignment-reversing data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from gramian.experiments.claims import Null, at_least, at_most, positive
from gramian.experiments.registry import Result, experiment
from gramian.report import style
from gramian.theory import (
    WeightMoments,
    alignment_reversing,
    data_moments,
    early_alignment,
    predicted_alignment,
    printed,
    sample_quadratic,
    sampled_weight_moments,
)

NETWORK = 2**31
"""Seed of the network and of the weight moments: all data seeds use the same network, as in the paper."""


@dataclass(frozen=True)
class Reversing:
    """The data set at several balances γ for one data seed; ``size = n = d = k``.

    With ``as_printed`` the covariance is exactly ``11ᵀ + ε₁I``; otherwise its spike is ``11ᵀ/d``, of the same size as
    the other term, and inputs have unit length.
    """

    size: int = 1024
    balances: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    draws: int = 30
    as_printed: bool = False


_FEW = (0.05, 0.2, 0.5, 1.0)
_FINITE = "free probability is exact as n → ∞; one network at n = 1,024 deviates by about 1/√n = 0.03"
_CHANGED = (
    "with the covariance 11ᵀ + ε₁I as printed one direction has variance d against ε₁ = 0.5 and nothing is reversed; "
    "here the spike is 11ᵀ/d and inputs have unit length"
)
_FALLS = (
    "'XᵀX becomes adversarially unaligned to XᵀYX as the balance parameter decreases', read as the alignment of the "
    "figure: a sign"
)
_CLAIMS = (
    at_most(
        "gap", 0.03, _FINITE, slack=0.02, label="|predicted − observed|, mean over γ",
        misprint="(28) prints its last term as tr[Ā]² tr[B²] tr[R²]² (which is 0) for tr[Ā²] tr[B]² tr[R²]²",
        printed_key="gap_printed", null=Null(0.064, "the best constant in place of the prediction"),
        setting=_CHANGED,
    ),
    at_least(
        "scatter", 0.99, "'closely match', the points of the right-hand panel lie near the diagonal", slack=0.004,
        label="correlation of predicted and observed over γ", scales=("paper",), setting=_CHANGED,
        null=Null(0.981, "the formula as printed"),
    ),
    positive(
        "formula_wins", "the misprint matters only if the corrected formula is nearer: a sign", kind="side condition",
        label="gap of the printed formula minus gap of the corrected one",
    ),
    at_least(
        "drop", 0.1, "'interpolates between small and large' alignment, so they differ visibly", slack=0.05,
        label="alignment at γ = 1 minus the minimum over γ", setting=_CHANGED, printed_key="drop_printed",
        null=Null(0.0, "no dependence on γ"),
    ),
    positive(
        "fall_above", _FALLS, label="alignment at γ = 1 minus that at γ = 1/2", setting=_CHANGED,
        printed_key="drop_printed",
    ),
    positive(
        "fall_below", _FALLS, label="alignment at γ = 1/2 minus that at the smallest γ", setting=_CHANGED,
        printed_key="drop_printed",
    ),
)  # fmt: skip


def derive(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the fall of the observed alignment from γ = 1 to 1/2, and from 1/2 to the smallest γ."""
    numbers = {}
    for record in records:
        if not record["spec"]["as_printed"]:
            observed = dict(zip(record["arrays"]["balances"], record["arrays"]["observed"], strict=True))
            numbers["fall_above"] = observed[1.0] - observed[0.5]
            numbers["fall_below"] = observed[0.5] - observed[min(observed)]
    return numbers


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw predicted and observed alignment over γ, and against each other."""
    figure.set_size_inches(10, 3.2)
    ours = [record for record in records if not record["spec"]["as_printed"]]
    gamma = ours[0]["arrays"]["balances"]
    predicted, observed, as_printed = (
        np.array([record["arrays"][key] for record in ours]) for key in ("predicted", "observed", "printed")
    )
    first, second, third = figure.subplots(1, 3)
    for ax, values, title in ((first, predicted, "predicted"), (second, observed, "observed")):
        for line in values[:4]:
            ax.plot(gamma, line, color=style.SKY, linewidth=0.7)
        ax.plot(gamma, values.mean(0), color=style.BLUE, label="mean over data seeds")
        ax.set(title=title, xlabel="balance γ", ylim=(0.6, 1.02))
    first.plot(gamma, as_printed.mean(0), color=style.ORANGE, linestyle="--", label="(28) as printed")
    first.legend(fontsize=8, frameon=False)
    for values, colour, label in ((as_printed, style.ORANGE, "(28) as printed"), (predicted, style.BLUE, "corrected")):
        third.scatter(values.mean(0), observed.mean(0), color=colour, s=18, label=label)
    third.plot([0.6, 1], [0.6, 1], color=style.GREY, linewidth=0.8)
    third.set(title="one point per γ", xlabel="predicted", ylabel="observed")
    third.legend(fontsize=8, frameon=False)
    for ax in (first, second, third):
        style.declutter(ax, grid="y")


@experiment(
    "a/fig3",
    "A",
    "Predicted and observed early alignment on the alignment-reversing data",
    specs={
        "smoke": (Reversing(64, (0.1, 0.5, 1.0), 3), Reversing(64, (0.1, 0.5, 1.0), 3, as_printed=True)),
        "small": (Reversing(256), Reversing(256, _FEW, as_printed=True)),
        "paper": (Reversing(), Reversing(balances=_FEW, as_printed=True)),
    },
    seeds={"small": 4, "paper": 5},
    claims=_CLAIMS,
    draw=draw,
    derive=derive,
)
def run(spec: Reversing, seed: int) -> Result:
    """Compute both alignments at every γ for the data of one seed."""
    R, weights = _network(spec.size, spec.draws)
    kind = {} if spec.as_printed else {"spike": 1 / spec.size, "scale": spec.size**-0.5}
    rng = torch.Generator().manual_seed(seed)
    predicted, observed, as_printed = [], [], []
    for balance in spec.balances:
        X, y = alignment_reversing(spec.size, spec.size, balance, rng, **kind)
        data = data_moments(X, y)
        predicted.append(predicted_alignment(data, weights))
        as_printed.append(printed.alignment(data, weights))
        observed.append(early_alignment(X, y, R))
    gap, gap_printed = _gap(predicted, observed), _gap(as_printed, observed)
    drop = observed[-1] - min(observed)
    if spec.as_printed:
        return Result({"printed_gap": gap, "drop_printed": drop})
    numbers = {
        "gap": gap,
        "gap_printed": gap_printed,
        "formula_wins": gap_printed - gap,
        "scatter": float(torch.corrcoef(torch.tensor([predicted, observed]))[0, 1]),
        "drop": drop,
    }
    curves = {"predicted": predicted, "observed": observed, "printed": as_printed}
    return Result(numbers, {"balances": spec.balances} | {key: [round(v, 4) for v in c] for key, c in curves.items()})


@lru_cache(maxsize=1)
def _network(size: int, draws: int) -> tuple[Tensor, WeightMoments]:
    """Return the network used for all data seeds, and the weight moments of networks with the same distribution."""
    fixed = torch.Generator().manual_seed(NETWORK)
    R = sample_quadratic(size, size, fixed).weight_kernel()
    return R, sampled_weight_moments(size, size, fixed, draws=draws)


def _gap(predicted: Sequence[float], observed: Sequence[float]) -> float:
    # In the printed formula the denominator may be negative and the prediction NaN, which cannot be compared.
    gaps = [abs(p - o) for p, o in zip(predicted, observed, strict=True) if not math.isnan(p)]
    return math.fsum(gaps) / len(gaps) if gaps else math.nan
