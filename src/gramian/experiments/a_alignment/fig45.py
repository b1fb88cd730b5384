"""Fig. 4 and 5: the part of the alignment due to the change of the tangent kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from gramian.experiments.a_alignment.trajectories import (
    FAST,
    ISOTROPIC,
    ChainTraining,
    Panel,
    at,
    draw_grid,
    thin,
    train_all,
)
from gramian.experiments.claims import Claim, Null, at_least, positive
from gramian.experiments.registry import Result, experiment

EARLY = 10
_SEEN = "a curve described in the text only (we have no legend and axes of the figure): "


def _fig4_claims() -> list[Claim]:
    claims = []
    for layer in "12":
        claims += [
            at_least(
                f"double{layer}_end", 0.2, _SEEN + "'relevant over longer periods of training' is more than 0.2",
                slack=0.1, label=f"double-centred over centred, layer {layer}, end of training, smallest scale",
                null=Null(0.0, "a tangent kernel that does not change"),
            ),
            positive(
                f"double{layer}_falls", "not significant 'when initialization is large': a sign",
                label=f"double-centred over centred, layer {layer}, end of training: smallest minus largest scale",
            ),
        ]  # fmt: skip
    return claims


def draw_fig4(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the ratio of both layers."""
    draw_grid(figure, [[(records, "double1", "ratio, layer 1"), (records, "double2", "ratio, layer 2")]])


@experiment(
    "a/fig4",
    "A",
    "Share of the double-centred term in the centred NFA",
    specs={"smoke": (ISOTROPIC.smoke(),), "small": (ISOTROPIC.small(),), "paper": (ISOTROPIC,)},
    seeds={"small": 2, "paper": 5},
    claims=_fig4_claims(),
    draw=draw_fig4,
)
def fig4(spec: ChainTraining, seed: int) -> Result:
    """Measure ``tr(W̄ᵀW̄ W̄ᵀK̄W̄) / tr(W̄ᵀW̄ W̄ᵀKW̄)`` during training."""
    found = train_all(spec, seed)
    low, high = found[min(found)], found[max(found)]
    numbers: dict[str, float] = {}
    for curves in found.values():  # 0/0 at the start; its limit is 0
        for key in ("double1", "double2"):
            curves[key][0] = 0.0
    for layer in "12":
        key = f"double{layer}"
        numbers |= {
            f"{key}_early": max(at(curves, key, EARLY) for curves in found.values()),
            f"{key}_end": low[key][-1],
            f"{key}_falls": low[key][-1] - high[key][-1],
        }
    return Result(numbers, {"curves": thin(found, ("double1", "double2"))})


def _fig5_claims() -> list[Claim]:
    return [
        positive(
            f"{data}_fall{layer}", "'decreases through training': a sign, of the mean over scales",
            label=f"PTK-centred NFA of layer {layer}, {name} data: early minus end, mean over scales",
        )
        for data, name in (("isotropic", "isotropic"), ("decaying", "decaying"))
        for layer in "12"
    ]  # fmt: skip


def draw_fig5(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw both layers, one row per spectrum of the data."""
    rows: list[list[Panel]] = []
    for decay, name in ((0.0, "isotropic"), (2.0, "$1/(1+k^2)$")):
        chosen = [record for record in records if record["spec"]["decay"] == decay]
        if chosen:
            rows.append([(chosen, "ptk1", f"layer 1, {name}"), (chosen, "ptk2", f"layer 2, {name}")])
    draw_grid(figure, rows)


@experiment(
    "a/fig5",
    "A",
    "Alignment of the tangent kernel's change with the initial weights",
    specs={
        "smoke": (ISOTROPIC.smoke(), FAST.smoke()),
        "small": (ISOTROPIC.small(), FAST.small()),
        "paper": (ISOTROPIC, FAST),
    },
    seeds={"small": 2, "paper": 5},
    claims=_fig5_claims(),
    draw=draw_fig5,
)
def fig5(spec: ChainTraining, seed: int) -> Result:
    """Measure ``ρ(W₀ᵀW₀, W₀ᵀK̄W₀)`` during training, from the first measured step on."""
    found = train_all(spec, seed)
    data = "decaying" if spec.decay else "isotropic"
    numbers: dict[str, float] = {}
    for layer in "12":
        key = f"ptk{layer}"
        falls = {scale: curves[key][1] - curves[key][-1] for scale, curves in found.items()}
        numbers[f"{data}_fall{layer}"] = math.fsum(falls.values()) / len(falls)
        numbers |= {f"{data}_fall{layer}_{scale:g}": fall for scale, fall in falls.items()}
        for curves in found.values():
            curves[key][0] = curves[key][1]
    return Result(numbers, {"curves": thin(found, ("ptk1", "ptk2"))})
