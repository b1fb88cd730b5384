"""Explanation of the second row of Fig. 2: the UC-NFA of layer 2 depends on its own scale, which the caption fixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.experiments.a_alignment.network import chain_task, descend, draw_weights, nfa_of
from gramian.experiments.claims import Null, at_least
from gramian.experiments.registry import Result, experiment
from gramian.report import style


@dataclass(frozen=True)
class SecondLayer:
    """The network of Fig. 2, trained for a number of steps with each pair ``(s₀, s₁)`` of scales."""

    pairs: tuple[tuple[float, float], ...]
    steps: int
    n: int = 256
    d: int = 32
    width: int = 256
    rank: int = 5
    step: float = 0.05
    moments: int = 20


def run(spec: SecondLayer, seed: int) -> Result:
    """Measure the UC-NFA of layer 2 during training, and the distance of that layer from its initial weights."""
    numbers: dict[str, float] = {}
    curves: dict[str, Any] = {}
    ends = []
    for pair in spec.pairs:
        rng = torch.Generator().manual_seed(seed)
        task = chain_task(spec.n, spec.d, spec.rank, 0.0, rng, tests=1)
        start = draw_weights(spec.d, spec.width, (*pair, 1.0), rng)
        first, second, third = (W.float() for W in start)
        line: dict[str, list[float]] = {"t": [], "uc2": [], "moved": []}
        for t, weights, seen in descend((first, second, third), task.X.float(), task.y.float(), spec.step, spec.steps):
            if t % (spec.steps // spec.moments) == 0:
                line["t"].append(float(t))
                line["uc2"].append(nfa_of(weights[1], seen.tangents[1]))
                line["moved"].append(float((weights[1] - second).norm() / second.norm()))
        name = f"s₀ = {pair[0]:g}, s₁ = {pair[1]:g}, {spec.steps} steps"
        curves[name] = line
        numbers |= {f"{name}: UC-NFA": line["uc2"][-1], f"{name}: moved": line["moved"][-1]}
        ends.append(line["uc2"][-1])
    changed = "s₀" if len({pair[1] for pair in spec.pairs}) == 1 else "s₁"
    numbers[f"{spec.steps} steps, range over {changed}"] = max(ends) - min(ends)
    return Result(numbers, {"curves": curves})


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw UC-NFA of layer 2 and distance from the start by step; mean over seeds, one line per pair of scales."""
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault(record["spec"]["steps"], []).append(record)
    figure.set_size_inches(3.4 * len(groups) + 0.4, 4.8)
    axes = figure.subplots(2, len(groups), squeeze=False, sharex="col")
    for column, group in zip(axes.T, groups.values(), strict=True):
        for name, colour in zip(group[0]["arrays"]["curves"], style.SERIES, strict=False):
            lines = [record["arrays"]["curves"][name] for record in group]
            for ax, key in zip(column, ("uc2", "moved"), strict=True):
                mean = np.mean([line[key] for line in lines], axis=0)
                ax.plot(lines[0]["t"], mean, color=colour, label=name.rpartition(",")[0])
                style.declutter(ax, "y")
        column[0].set_ylim(0, 1.03)
        column[0].legend(frameon=False, fontsize=7)
        column[1].set_xlabel("step of gradient descent", fontsize=9)
    axes[0, 0].set_ylabel("UC-NFA, layer 2", fontsize=9)
    axes[1, 0].set_ylabel("‖W₁ − W₁(0)‖ / ‖W₁(0)‖", fontsize=9)


_OWN = ((0.1, 1.0), (0.1, 0.1), (0.1, 0.01))
_FIRST = ((0.001, 1.0), (0.1, 1.0))


def _specs(first: int, second: int, **more: int) -> tuple[SecondLayer, ...]:
    return SecondLayer(_OWN, first, **more), SecondLayer(_FIRST, second, **more)


experiment(
    "a/fig2-why",
    "A",
    "Explanation of the second row of Fig. 2: layer 2 depends on its own scale, not on that of layer 1",
    specs={
        "smoke": _specs(40, 60, n=64, d=12, width=24),
        "small": _specs(800, 2400, width=128),
        "paper": _specs(800, 2400),
    },
    seeds={"small": 3, "paper": 3},
    claims=[
        at_least(
            "800 steps, range over s₁",
            0.3,
            "the band of a/fig2 for 'extremely sensitive'",
            label="Explanation: final UC-NFA of layer 2, range over the scale of layer 2, that of layer 1 fixed",
            kind="side condition",
            null=Null(0.03, "the range over the scale of layer 1"),
        ),
    ],
    draw=draw,
)(run)
