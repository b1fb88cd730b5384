"""Explanation of the test loss of Fig. 8: after 800 steps the training from a small scale has not ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.experiments.a_alignment.network import chain_task, descend, draw_weights, evaluate
from gramian.experiments.claims import Null, at_least, positive
from gramian.experiments.registry import Result, experiment
from gramian.report import style


@dataclass(frozen=True)
class LongTraining:
    """The network of Fig. 8 at its smallest and largest scale, trained longer than the paper's `early` steps."""

    steps: int = 6400
    early: int = 800
    n: int = 256
    d: int = 32
    width: int = 256
    rank: int = 5
    decay: float = 2.0
    scales: tuple[float, float] = (0.01, 1.0)
    step: float = 0.05
    every: int = 400


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw training and test loss by step, mean over seeds, for both scales."""
    figure.set_size_inches(7.6, 3.0)
    for ax, part in zip(figure.subplots(1, 2), ("train", "test"), strict=True):
        for scale, colour in zip(records[0]["spec"]["scales"], style.SERIES, strict=False):
            lines = [record["arrays"][f"{part}/{scale:g}"] for record in records]
            ax.plot(records[0]["arrays"]["step"], np.mean(lines, axis=0), color=colour, label=f"s₀ = {scale:g}")
        ax.axvline(records[0]["spec"]["early"], color=style.GREY, linestyle=":", linewidth=0.8)
        ax.set(xlabel="step (dotted: end of the paper's training)", ylabel=f"{part} loss", yscale="log")
        style.declutter(ax, "y")
    ax.legend(frameon=False, fontsize=8)


def gain_learned(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the relative gain of the test loss at the end minus that of the untrained networks, for one seed."""
    found = {}
    for record in records:
        near, far = (record["arrays"][f"test/{scale:g}"][0] for scale in record["spec"]["scales"])
        found["late/test gain learned"] = record["numbers"]["late/test gain"] - (far - near) / max(far, near)
    return found


@experiment(
    "a/fig8-why",
    "A",
    "Explanation of the test loss of Fig. 8: both scales after a longer training",
    specs={
        "smoke": (LongTraining(80, 40, 64, 12, 24, every=40),),
        "small": (LongTraining(width=128),),
        "paper": (LongTraining(),),
    },
    seeds={"small": 3, "paper": 5},
    claims=(
        at_least(
            "early/train ratio",
            1.25,
            "training from the small scale must be clearly behind after 800 steps",
            label="Explanation: training loss from s₀ = 0.01 over that from s₀ = 1 after 800 steps",
            kind="side condition",
            null=Null(1.0, "equally far"),
        ),
        positive(
            "late/test gain learned",
            "after eight times as many steps the sign must be the paper's, beyond untrained networks",
            label="Explanation: test loss from s₀ = 1 minus that from s₀ = 0.01, relative, after 6,400 steps minus at "
            "the start",
            kind="side condition",
        ),
    ),
    draw=draw,
    derive=gain_learned,
)
def run(spec: LongTraining, seed: int) -> Result:
    """Train from both scales on the same data, and measure both losses."""
    curves: dict[str, list[float]] = {}
    steps: list[int] = []
    for scale in spec.scales:
        rng = torch.Generator().manual_seed(seed)
        task = chain_task(spec.n, spec.d, spec.rank, spec.decay, rng, tests=500)
        first, second, third = (W.float() for W in draw_weights(spec.d, spec.width, (scale, 1.0, 1.0), rng))
        X, y = task.X.float(), task.y.float()
        steps = []
        for t, weights, seen in descend((first, second, third), X, y, spec.step, spec.steps):
            if t % spec.every == 0:
                test = evaluate(weights, task.X_test.float()).f
                steps.append(t)
                curves.setdefault(f"train/{scale:g}", []).append(float((seen.f - y).square().mean()))
                curves.setdefault(f"test/{scale:g}", []).append(float((test - task.y_test.float()).square().mean()))
    small, large = (f"{scale:g}" for scale in spec.scales)
    numbers = {}
    for when, at in (("early", steps.index(spec.early)), ("late", -1)):
        numbers[f"{when}/train ratio"] = curves[f"train/{small}"][at] / curves[f"train/{large}"][at]
        near, far = curves[f"test/{small}"][at], curves[f"test/{large}"][at]
        numbers[f"{when}/test gain"] = (far - near) / max(far, near)
    return Result(numbers, {"step": steps} | curves)
