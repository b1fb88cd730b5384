"""Figures 3, 6 and 7: alignment during training, by optimiser, weight decay, depth and target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from gramian.experiments import Result, between, experiment
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
SLOWER = "deeper networks align later; only the sign is compared"

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
            between(
                f"relu {name}: gain by momentum, mean over training",
                0.0,
                1.0,
                "momentum increases the rate of alignment; only the sign is compared",
                label=f"{name}: alignment gained by momentum",
            )
            for name in ("gd", "sgd")
        ),
        *(
            between(
                f"relu {name}: shallow minus deep, mean over training",
                0.0,
                1.0,
                SLOWER,
                label=f"{name}: alignment of L = 2 minus L = 5",
            )
            for name in ("gd", "gdm", "sgd", "sgdm")
        ),
        *(
            between(
                f"relu {name}: least final alignment",
                0.99,
                1.0 + 1e-9,
                "Table 2 prints 1.00 in this row for every depth",
                slack=0.02,
                label=f"{name}: minimum alignment over depths at the end",
                scales=("paper",),
            )
            for name in ("gd", "gdm", "sgd", "sgdm")
        ),
    ],
    seeds={"smoke": 1, "small": 2, "paper": 1},
    draw=draw,
)(run)

experiment(
    "c/fig6",
    "C",
    "Alignment during training on a Gaussian link, by decay and optimiser",
    specs={
        "smoke": [Curves(("gd", "gdm"), (1e-2, 1e-2), (60, 60), (1e-3, 1e-2), (2, 3), link="gauss", tail=5)],
        "small": [Curves(("gd", "gdm"), (1e-2, 1e-2), (3000, 3000), (1e-3, 1e-2), (2, 5), link="gauss")],
        "paper": [
            Curves(("gd", "gdm"), (1e-3, 1e-3), (FULL, FULL), (1e-5, 1e-4, 1e-3, 1e-2), link="gauss"),
            Curves(("sgd", "sgdm"), (1e-4, 1e-4), (FULL, FULL), (1e-5, 1e-4, 1e-3, 1e-2), link="gauss"),
        ],
    },
    claims=[
        *(
            between(
                f"gauss gdm λ=0.01 L={depth} first layer",
                0.0,
                0.5,
                "with λ = 0.01 the weights tend to zero; the initial norm of the first layer is about 4.6",
                slack=0.5,
                label=f"gdm, L = {depth}, λ = 0.01: norm of the first layer at the end",
            )
            for depth in (2, 5)
        ),
        between(
            "gauss gdm λ=0.01 L=5 explained",
            -0.05,
            0.05,
            "with λ = 0.01 the target is not learned",
            slack=0.1,
            label="gdm, L = 5, λ = 0.01: share of variance explained",
        ),
        between(
            "gauss gdm λ=0.001 L=2 explained",
            0.5,
            1.0,
            "with momentum the target is learned: most of its variance",
            slack=0.3,
            label="gdm, L = 2, λ = 0.001: share of variance explained",
        ),
        between(
            "gauss gd: gain by momentum, mean over training",
            -1.0,
            1.0,
            "shown for comparison with the ReLU link",
            label="gd: alignment gained by momentum",
            scales=(),
        ),
    ],
    seeds={"smoke": 1, "small": 2, "paper": 1},
    draw=draw,
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
        claim
        for link in ("identity", "relu")
        for claim in (
            between(
                f"{link} sgd: least final alignment",
                0.95,
                1.0 + 1e-9,
                "the theorems apply to these networks; the panels end at or near 1",
                slack=0.05,
                label=f"{link} target: minimum alignment over depths at the end",
            ),
            between(
                f"{link} sgd: shallow minus deep, mean over training",
                0.0,
                1.0,
                SLOWER,
                label=f"{link} target: alignment of L = 2 minus L = 5",
            ),
        )
    ],
    seeds={"smoke": 1, "small": 2, "paper": 1},
    draw=draw,
)(run)
