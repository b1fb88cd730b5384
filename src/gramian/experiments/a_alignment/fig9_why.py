"""Explanation of Fig. 9 on MNIST: the correlation left by a corrupted K depends on the contrast of the NFM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gramian.experiments.a_alignment.fig9 import CIFAR, MNIST, EpochMeasures, ImageNetwork, follow
from gramian.experiments.claims import Claim, Null, at_least, at_most
from gramian.experiments.registry import Result, experiment
from gramian.report import style

_TITLES = {
    "mnist/all": "MNIST, all pixels",
    "mnist/lit": "MNIST, lit pixels",
    "cifar10/all": "CIFAR-10",
    "made/all": "synthetic",
}


def run(spec: ImageNetwork, seed: int) -> Result:
    """Measure and predict the correlation with the corrupted diagonal during training."""
    seen = follow(spec, seed)
    where = f"{spec.data}/{spec.pixels}"
    numbers = {f"{where}/{epoch} epochs/{key}": value for epoch, at in seen.items() for key, value in _of(at)}
    errors = [abs(at.numbers["corrupted"] - at.numbers["predicted"]) for at in seen.values()]
    numbers[f"{where}/error of the prediction"] = max(errors)
    curves = {key: [at.numbers[key] for at in seen.values()] for key in ("nfa", "corrupted", "predicted")}
    return Result(numbers, {"epoch": list(seen), **curves})


def _of(at: EpochMeasures) -> list[tuple[str, float]]:
    return [(key, at.numbers[key]) for key in ("nfa", "corrupted", "lost", "contrast", "participation", "loss")]


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw one panel per data set: correlations with the NFM's diagonal by epoch, and their prediction."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault(f"{record['spec']['data']}/{record['spec']['pixels']}", []).append(record)
    figure.set_size_inches(3 * len(groups) + 0.5, 3)
    lines = (
        ("nfa", "with AGOP", style.BLUE, "o-"),
        ("corrupted", "with WᵀQW", style.ORANGE, "o-"),
        ("predicted", "predicted from contrast", style.GREY, "--"),
    )
    axes = figure.subplots(1, len(groups), squeeze=False, sharey=True)[0]
    for ax, (where, group) in zip(axes, groups.items(), strict=True):
        for key, label, colour, kind in lines:
            mean = np.mean([record["arrays"][key] for record in group], axis=0)
            ax.plot(group[0]["arrays"]["epoch"], mean, kind, color=colour, markersize=3, label=label)
        ax.set_xscale("log")
        ax.set_title(_TITLES[where], fontsize=9)
        ax.set_xlabel("epoch", fontsize=9)
        ax.set_ylim(0, 1.03)
        style.declutter(ax, "y")
    axes[0].set_ylabel("Pearson with diag NFM", fontsize=9)
    axes[0].legend(frameon=False, fontsize=7, loc="lower left")


def _claims() -> tuple[Claim, ...]:
    law = "the formula assumes independent columns and first order in the fluctuation: 0.1 is allowed for its error"
    claims = [
        at_most(
            f"{where}/error of the prediction", 0.1, law, slack=0.05, kind="side condition",
            null=Null(0.39, "a prediction that nothing is left"),
            label=f"Explanation: {_TITLES[where]}, measured minus predicted Pearson with diag WᵀQW, worst epoch",
        )
        for where in ("mnist/all", "mnist/lit", "cifar10/all")
    ]  # fmt: skip
    claims.append(
        at_least(
            "mnist/all/5 epochs/lost", 0.2, "the band of a/fig9, at an epoch where the contrast is still low",
            slack=0.1, kind="side condition", null=Null(-0.09, "an untrained network"),
            label="Explanation: MNIST after 5 epochs, correlation lost by corrupting K",
        )
    )  # fmt: skip
    return tuple(claims)


_LIT = replace(MNIST, pixels="lit")
_SHORT = (replace(MNIST, epochs=100), replace(_LIT, epochs=100), replace(CIFAR, n=2000, epochs=100))

experiment(
    "a/fig9-why",
    "A",
    "Explanation of Fig. 9 on MNIST: contrast of the NFM and length of training",
    specs={
        "smoke": (ImageNetwork("made", n=128, width=16, epochs=5, batch=32, rotations=3),),
        "small": _SHORT,
        "paper": (MNIST, _LIT, CIFAR),
    },
    seeds={"small": 3, "paper": 1},
    claims=_claims(),
    draw=draw,
)(run)
