"""Figures 3 and 7: alignment during training, by optimiser, weight decay, depth and target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from gramian.experiments import Null, Result, at_least, at_most, experiment, positive
from gramian.experiments.c_deep_nfa.setting import (
    DEPTHS,
    LAST_EPOCHS,
    PAPER_EPOCHS,
    StackTraining,
    TrainedStack,
    by_decay,
    fit,
)
from gramian.report.style import SERIES, declutter

MOMENTS = 24


@dataclass(frozen=True)
class Curves:
    """Trainings with every optimiser, decay and depth on one type of target; rates and epochs are per optimiser."""

    optimisers: tuple[str, ...]
    rates: tuple[float, ...]
    epochs: tuple[int, ...]
    decays: tuple[float, ...]
    depths: tuple[int, ...] = DEPTHS
    rank: int = 5
    link: str = "relu"
    head: bool = True
    tail: int = LAST_EPOCHS
    rows: int = 2048


def run(spec: Curves, seed: int) -> Result:
    """Train all networks, and measure alignment, fit and norm of the weights."""
    numbers: dict[str, float] = {}
    arrays: dict[str, Any] = {}
    for optimiser, rate, epochs in zip(spec.optimisers, spec.rates, spec.epochs, strict=True):
        for depth in spec.depths:
            training = StackTraining(
                spec.rank,
                optimiser,
                depth,
                rate,
                epochs,
                spec.decays,
                tail=spec.tail,
                rows=spec.rows,
                link=spec.link,
                head=spec.head,
            )
            course = fit(training, seed, MOMENTS)
            for place, decay in enumerate(spec.decays):
                name = f"{spec.link} {optimiser} λ={decay:g} L={depth}"
                alignment = [row[place] for row in course.alignments]
                arrays[name] = {"epoch": course.epochs, "alignment": alignment}
                numbers |= {f"{name} {what}": value for what, value in _measures(course, place, alignment).items()}
    return Result(numbers | _contrasts(spec, numbers), arrays)


def _measures(course: TrainedStack, place: int, alignment: Sequence[float]) -> dict[str, float]:
    loss = course.stack.loss(course.X, course.Y)[place]
    spread = (course.Y[place] - course.Y[place].mean(0)).square().mean()
    return {
        "final": alignment[-1],
        "mean": sum(alignment) / len(alignment),
        "explained": float(1 - loss / spread),
        "first layer": float(course.stack.weights[0][place].norm()),
    }


def _contrasts(spec: Curves, numbers: Mapping[str, float]) -> dict[str, float]:
    """Compute the differences that the paper describes, at the largest decay of the spec."""
    decay = max(spec.decays)
    shallow, deep = min(spec.depths), max(spec.depths)
    made = {}
    for optimiser in spec.optimisers:
        head = f"{spec.link} {optimiser} λ={decay:g}"
        slower = numbers[f"{head} L={shallow} mean"] - numbers[f"{head} L={deep} mean"]
        made[f"{spec.link} {optimiser}: shallow minus deep, mean over training"] = slower
        made[f"{spec.link} {optimiser}: least final alignment"] = min(
            numbers[f"{head} L={depth} final"] for depth in spec.depths
        )
        if f"{optimiser}m" in spec.optimisers:
            other = f"{spec.link} {optimiser}m λ={decay:g}"
            gains = [numbers[f"{other} L={L} mean"] - numbers[f"{head} L={L} mean"] for L in spec.depths]
            made[f"{spec.link} {optimiser}: gain by momentum, mean over training"] = sum(gains) / len(gains)
    return made


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw one panel per target, optimiser and decay, one line per depth; thin lines are single seeds."""
    panels: dict[str, dict[str, list[Mapping[str, list[float]]]]] = {}
    for record in records:
        for name, curve in record["arrays"].items():
            head, _, depth = name.rpartition(" L=")
            panels.setdefault(head, {}).setdefault(depth, []).append(curve)
    columns = min(4, max(1, len(panels)))
    rows = -(-len(panels) // columns) or 1
    figure.set_size_inches(2.2 * columns + 0.8, 2.0 * rows + 0.7)
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False).flatten()
    for ax, (head, lines) in zip(axes, sorted(panels.items(), key=by_decay), strict=False):
        for colour, (depth, curves) in zip(SERIES, sorted(lines.items()), strict=False):
            for curve in curves:
                ax.plot(curve["epoch"], curve["alignment"], color=colour, alpha=0.25, linewidth=0.8)
            mean = [sum(v) / len(v) for v in zip(*(c["alignment"] for c in curves), strict=True)]
            ax.plot(curves[0]["epoch"], mean, color=colour, label=f"L = {depth}")
        ax.set_title(head, fontsize=9)
        declutter(ax, "y")
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    axes[0].legend(fontsize=7)
    figure.supxlabel("epoch", fontsize=9)
    figure.supylabel("alignment", fontsize=9)


FULL = PAPER_EPOCHS + LAST_EPOCHS
SLOWER = "deeper networks align later: a sign, of the share of the initial gap 1 − ρ that is closed, mean over training"
UNTRAINED = Null(0.909, "an untrained network")


_ALIGNED = 0.5
"""Closed share from which networks count as aligned."""


def derive(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return contrasts of the closed share ``(ρ(t) − ρ(0)) / (1 − ρ(0))``, mean over training, at the largest decay.

    An untrained network has 0 for every depth, while its alignment itself decreases with depth. The distance of the
    targets is infinite where half of the gap is not closed for both.
    """
    numbers: dict[str, float] = {}
    for record in records:
        spec, closed = record["spec"], {}
        for name, curve in record["arrays"].items():
            line = curve["alignment"]
            closed[name] = sum((rho - line[0]) / (1 - line[0]) for rho in line) / len(line)
        for optimiser in spec["optimisers"]:
            head = f"{spec['link']} {optimiser} λ={max(spec['decays']):g}"
            shallow, deep = (closed[f"{head} L={depth}"] for depth in (min(spec["depths"]), max(spec["depths"])))
            numbers[f"{spec['link']} {optimiser}: closed share, shallow minus deep"] = shallow - deep
            values = [closed[f"{head} L={depth}"] for depth in spec["depths"]]
            numbers[f"{spec['link']} {optimiser}: closed share"] = sum(values) / len(values)
    if "identity sgd: closed share" in numbers and "relu sgd: closed share" in numbers:
        both = [numbers[f"{link} sgd: closed share"] for link in ("identity", "relu")]
        numbers["closed share, distance of the targets"] = abs(both[0] - both[1]) if min(both) >= _ALIGNED else math.inf
    return numbers


def estimate_seconds(spec: Curves) -> float:
    """Estimate the seconds of a cell from the time of a pass over the rows."""
    seconds = {"gd": 2e-3, "gdm": 2e-3, "sgd": 1e-2, "sgdm": 1e-2}
    return len(spec.depths) * sum(seconds[o] * epochs for o, epochs in zip(spec.optimisers, spec.epochs, strict=True))


_STOCHASTIC = "rate 3e-4 in place of 1e-4"
_SMALL_RATE = {"gd": "", "gdm": "", "sgd": _STOCHASTIC, "sgdm": _STOCHASTIC}

experiment(
    "c/fig3",
    "C",
    "Alignment during training with weight decay 0.01, by optimiser",
    specs={
        "smoke": [Curves(("gd", "gdm"), (1e-3, 1e-3), (60, 60), (1e-2,), (2, 3), tail=5)],
        "small": [
            Curves(("gd", "gdm"), (1e-3, 1e-3), (4000, 4000), (1e-2,)),
            Curves(("sgd", "sgdm"), (3e-4, 3e-4), (200, 200), (1e-2,), tail=20),
        ],
        "paper": [
            Curves(("gd", "gdm"), (1e-3, 1e-3), (FULL, FULL), (1e-2,)),
            Curves(("sgd", "sgdm"), (1e-4, 1e-4), (FULL, FULL), (1e-2,)),
        ],
    },
    claims=[
        *(
            positive(
                f"relu {name}: gain by momentum, mean over training",
                "momentum increases the rate of alignment: a sign",
                label=f"{name}: alignment gained by momentum",
                small_setting=_SMALL_RATE[name],
            )
            for name in ("gd", "sgd")
        ),
        *(
            positive(
                f"relu {name}: closed share, shallow minus deep",
                SLOWER,
                label=f"{name}: closed share of L = 2 minus L = 5",
                # At small, without momentum, five layers do not align at all, so that a frozen network would pass.
                scales=("small", "paper") if name.endswith("m") else ("paper",),
                small_setting=_SMALL_RATE[name],
            )
            for name in ("gd", "gdm", "sgd", "sgdm")
        ),
        *(
            at_least(
                f"relu {name}: least final alignment",
                0.99,
                "Table 2 prints 1.00 in this row for every depth",
                slack=0.02,
                label=f"{name}: minimum alignment over depths at the end",
                scales=("paper",),
                kind="side condition",
                null=UNTRAINED,
            )
            for name in ("gd", "gdm", "sgd", "sgdm")
        ),
    ],
    seeds={"smoke": 1, "small": 5, "paper": 1},
    draw=draw,
    derive=derive,
    cost=estimate_seconds,
)(run)


experiment(
    "c/fig7",
    "C",
    "Alignment during training of fully linear networks",
    specs={
        "smoke": [
            Curves(("sgd",), (1e-2,), (5,), (1e-2,), (2, 3), link=link, head=False, tail=2)
            for link in ("identity", "relu")
        ],
        "small": [
            Curves(("sgd",), (1e-2,), (300,), (1e-2,), link=link, head=False, tail=20) for link in ("identity", "relu")
        ],
        "paper": [Curves(("sgd",), (1e-3,), (FULL,), (1e-2,), link=link, head=False) for link in ("identity", "relu")],
    },
    claims=[
        *(
            claim
            for link in ("identity", "relu")
            for claim in (
                at_least(
                    f"{link} sgd: least final alignment",
                    0.95,
                    "the theorems apply to these networks; the panels end at or near 1",
                    slack=0.03,
                    label=f"{link} target: minimum alignment over depths at the end",
                    null=Null(0.888, "an untrained network"),
                ),
                positive(
                    f"{link} sgd: closed share, shallow minus deep",
                    SLOWER,
                    label=f"{link} target: closed share of L = 2 minus L = 5",
                ),
            )
        ),
        at_most(
            "closed share, distance of the targets",
            0.1,
            "'the results appear to be similar when learning the two functions'",
            slack=0.1,
            label="closed share of the initial gap, distance between the two targets; infinite if one is below a half",
            null=Null(0.5, "one target learned, the other not, at half the gap closed on average"),
        ),
    ],
    seeds={"smoke": 1, "small": 5, "paper": 1},
    small_setting="rate 0.01 in place of 0.001",
    draw=draw,
    derive=derive,
    cost=estimate_seconds,
)(run)
