"""Explanations of the missing numbers of Table 3: whether momentum diverges at rank 20 depends on the random target.

The print has numbers for gdm with up to four layers and for three of the eight networks with five. Momentum converges
there on few random targets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure

from gramian.experiments import Null, Result, at_least, between, experiment, negative
from gramian.experiments.c_deep_nfa.other_targets import random_targets
from gramian.experiments.c_deep_nfa.printed_tables import PRINTED
from gramian.experiments.c_deep_nfa.setting import DECAYS, NOISES, StackTraining, fit, network, rule
from gramian.experiments.stacked import train
from gramian.report.style import BLUE, GREY, declutter

_RANK, _DECAY = 20, 1e-5
_AS_PRINTED = "converges wherever the print has a number"
_MEDIAN = 41.0
"""Half of all random targets of rank 20 are smaller; see :mod:`gramian.experiments.c_deep_nfa.target_size`."""


@dataclass(frozen=True)
class Divergence:
    """Networks of Table 3 with momentum, one for each of several random targets, at several learning rates."""

    depth: int
    rates: tuple[float, ...] = (1e-3, 3e-4)
    steps: int = 6000
    targets: int = 16
    rows: int = 2048


def divergence(spec: Divergence, seed: int) -> Result:
    """Return the share of the targets for which training diverges, by learning rate."""
    X, Y = random_targets(_RANK, spec.targets, spec.rows, seed)
    shares = {}
    for rate in spec.rates:
        training = StackTraining(_RANK, "gdm", spec.depth, rate, spec.steps, (_DECAY,) * spec.targets, rows=spec.rows)
        stack = network(training, seed)
        train(stack, X, Y, rule(training), epochs=spec.steps)
        lost = ~stack.values.isfinite().all(1)
        shares[f"L={spec.depth} rate={rate:g}: share that diverges"] = float(lost.to(torch.float64).mean())
    return Result(shares)


def less_at_lower_rate(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the share that diverges at the first rate minus that at the last, by depth."""
    found = {}
    for record in records:
        depth, rates = record["spec"]["depth"], record["spec"]["rates"]
        first, last = (
            record["numbers"][f"L={depth} rate={rate:g}: share that diverges"] for rate in (rates[0], rates[-1])
        )
        found[f"L={depth}: share that diverges, less at a third of the rate"] = first - last
    return found


def _draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(5.2, 3.0)
    ax = figure.subplots()
    depths = sorted({record["spec"]["depth"] for record in records})
    rates = records[0]["spec"]["rates"]
    for offset, rate, colour in zip((-0.17, 0.17), rates, (BLUE, GREY), strict=False):
        heights = []
        for depth in depths:
            key = f"L={depth} rate={rate:g}: share that diverges"
            values = [record["numbers"][key] for record in records if record["spec"]["depth"] == depth]
            heights.append(sum(values) / len(values))
        ax.bar([place + offset for place in range(len(depths))], heights, 0.3, color=colour, label=f"rate {rate:g}")
    ax.set_xticks(range(len(depths)), [f"L = {depth}" for depth in depths])
    ax.set(ylabel="share of targets that diverge", ylim=(0, 1.05))
    ax.legend(frameon=False, fontsize=8)
    declutter(ax, "y")


_SPECS = [Divergence(depth) for depth in (3, 4, 5)]

experiment(
    "c/table3-nan-why",
    "C",
    "Explanation of Table 3, gdm: whether training with four layers diverges depends on the random target",
    specs={
        "smoke": [Divergence(depth, steps=20, targets=3, rows=128) for depth in (3, 4, 5)],
        "small": _SPECS,
        "paper": _SPECS,
    },
    seeds={"smoke": 1, "small": 5, "paper": 5},
    claims=[
        between(
            "L=4 rate=0.001: share that diverges",
            0.05,
            0.95,
            "if it is the target that decides, some diverge and some do not: the paper's did not, ours of c/table3 did",
            slack=0.04,
            label="Explanation: rank 20, gdm, L = 4: share of the targets for which training diverges",
            kind="side condition",
            null=Null(1.0, "all diverge"),
        ),
        at_least(
            "L=4: share that diverges, less at a third of the rate",
            0.3,
            "if the step is too long for the steepest targets, a third of it is not",
            slack=0.1,
            label="Explanation: rank 20, gdm, L = 4: share that diverges at the printed rate minus at a third of it",
            kind="side condition",
            null=Null(0.0, "a rate without effect, or no step at all"),
        ),
    ],
    draw=_draw,
    derive=less_at_lower_rate,
)(divergence)


@dataclass(frozen=True)
class PrintedDivergence:
    """The networks of Table 3 with momentum on one of its random targets, for the first steps of their training."""

    depths: tuple[int, ...] = (5, 4)
    rate: float = 1e-3
    steps: int = 6000
    rows: int = 2048


def converges_as_printed(spec: PrintedDivergence, seed: int) -> Result:
    """Measure the size of the target, and return 1 if the networks converge wherever the print has a number, else 0.

    Depths after the first with a network that diverges and does not in print are not trained.
    """
    converges, size = True, math.nan
    for depth in spec.depths:
        training = StackTraining(_RANK, "gdm", depth, spec.rate, spec.steps, DECAYS, NOISES, tail=0, rows=spec.rows)
        course = fit(training, seed)
        size = float(course.Y[0].std(correction=0))
        printed = [PRINTED[_RANK]["gdm", depth, decay, noise] for noise, decay in training.nets]
        pairs = zip(course.final, printed, strict=True)
        converges = all(math.isfinite(ours) for ours, number in pairs if not math.isnan(number))
        if not converges:
            break
    numbers = {"standard deviation": size, _AS_PRINTED: float(converges)}
    return Result(numbers | ({f"standard deviation, {_AS_PRINTED}": size} if converges else {}))


def _draw_sizes(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(5.2, 2.0)
    ax = figure.subplots()
    for value, colour in ((1.0, BLUE), (0.0, GREY)):
        chosen = [record["numbers"] for record in records if record["numbers"][_AS_PRINTED] == value]
        sizes = [numbers["standard deviation"] for numbers in chosen]
        ax.plot(sizes, [value] * len(sizes), "o", color=colour, alpha=0.6, markersize=5)
    ax.set_yticks([0, 1], ["diverges", "converges"])
    ax.set(xlabel="standard deviation of the target", ylim=(-0.5, 1.5))
    declutter(ax, "x")


experiment(
    "c/table3-targets-why",
    "C",
    "Explanation of Table 3: momentum converges where it does in print on few random targets",
    specs={
        "smoke": [PrintedDivergence(steps=20, rows=128)],
        "small": [PrintedDivergence()],
        "paper": [PrintedDivergence()],
    },
    seeds={"smoke": 1, "small": 40, "paper": 40},
    claims=[
        between(
            _AS_PRINTED,
            0.005,
            0.3,
            "if the print shows something of its target, few random targets have it, and some do",
            label="Explanation: rank 20, gdm: share of the targets on which training converges as in print",
            kind="side condition",
            null=Null(1.0, "all converge"),
        ),
        negative(
            f"standard deviation, {_AS_PRINTED}",
            "if momentum converges on these targets because they are small, their mean size is below the median",
            label="Explanation: rank 20: mean standard deviation of the targets on which gdm converges as in print",
            kind="side condition",
            null=Null(_MEDIAN, "targets of any size"),
        ),
    ],
    draw=_draw_sizes,
)(converges_as_printed)
