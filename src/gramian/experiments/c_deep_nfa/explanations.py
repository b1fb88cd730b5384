"""Explanations of numbers of Fig. 6 and Table 3 that differ at the scale small, each tested by an experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.experiments import Null, Result, at_least, at_most, between, experiment, positive
from gramian.experiments.c_deep_nfa.setting import StackTraining, alignments, data, network, rule
from gramian.experiments.stacked import Stack, train
from gramian.report.style import GREY, SERIES, declutter


@dataclass(frozen=True)
class Collapse:
    """Networks of Fig. 6 (gdm, Gaussian link) by weight decay and size of the target, with a common initialisation.

    `nets` are pairs of weight decay and a factor for the target. At the rate 0.01, 6,000 steps have the flow time of
    the paper's 60,000 steps at 0.001.
    """

    depth: int
    nets: tuple[tuple[float, float], ...]
    epochs: int = 6000
    rate: float = 1e-2
    rows: int = 2048
    moments: int = 24


def collapse(spec: Collapse, seed: int) -> Result:
    """Measure the norm of the first layer during training, and the objective relative to that of the zero network.

    The objective is ``mean (f − y)² + (λ/2) Σ‖W‖²``; that of the zero network is the variance of y.
    """
    decays = tuple(decay for decay, _ in spec.nets)
    training = StackTraining(5, "gdm", spec.depth, spec.rate, spec.epochs, decays, rows=spec.rows, link="gauss")
    X, Y = data(training, seed)
    Y = Y * torch.tensor([factor for _, factor in spec.nets])[:, None, None]
    stack = network(training, seed)
    at = sorted({round(spec.epochs * k / spec.moments) for k in range(spec.moments + 1)})
    norms: list[list[float]] = []

    def watch(_: int, state: Stack) -> None:
        norms.append(state.weights[0].flatten(1).norm(dim=1).tolist())

    train(stack, X, Y, rule(training), epochs=spec.epochs, watch=watch, watch_at=at)
    loss, variance = stack.loss(X, Y), Y.var(1, correction=0)[:, 0]
    sizes = torch.stack([V.square().sum((1, 2)) for V in stack.weights]).sum(0)
    objective = loss + torch.tensor(decays) / 2 * sizes
    numbers: dict[str, float] = {}
    curves = {}
    for place, (decay, factor) in enumerate(spec.nets):
        name = f"L={spec.depth} λ={decay:g} target×{factor:g}"
        curves[name] = [row[place] for row in norms]
        numbers |= {
            f"{name}: first layer": norms[-1][place],
            f"{name}: first layer, change over the second half": norms[-1][place] / norms[len(at) // 2][place] - 1,
            f"{name}: explained": float(1 - loss[place] / variance[place]),
            f"{name}: objective over that of the vanished": float(objective[place] / variance[place]),
            f"{name}: variance of the target": float(variance[place]),
        }
    return Result(numbers, {"step": at, "norm": curves})


def draw_collapse(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the norm of the first layer by step, one panel per depth, a line per decay and target; first seed."""
    firsts = {record["spec"]["depth"]: record for record in reversed(list(records))}
    figure.set_size_inches(3.6 * len(firsts) + 0.4, 3.2)
    axes = figure.subplots(1, len(firsts), squeeze=False, sharey=True)[0]
    for ax, (depth, record) in zip(axes, sorted(firsts.items()), strict=True):
        for (name, norms), colour in zip(record["arrays"]["norm"].items(), (*SERIES, GREY), strict=False):
            ax.plot(record["arrays"]["step"], norms, color=colour, label=name.partition(" ")[2])
        ax.set_title(f"L = {depth}", fontsize=9)
        ax.set_xlabel("step of gradient descent with momentum", fontsize=9)
        ax.legend(frameon=False, fontsize=7)
        declutter(ax, "y")
    axes[0].set_ylim(top=1.5 * axes[0].get_ylim()[1])  # space for the legends
    axes[0].set_ylabel("norm of the first layer", fontsize=9)


def stationary(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the late change of a first layer that has learned; weights that never move are stationary, too."""
    numbers = {name: value for record in records for name, value in record["numbers"].items()}
    head = "L=2 λ=0.01 target×1:"
    objective, change = (
        numbers.get(f"{head} {what}")
        for what in ("objective over that of the vanished", "first layer, change over the second half")
    )
    if objective is None or change is None:
        return {}
    return {f"{head} change over the second half, below the vanished": change if objective < 1 else math.inf}


_SHALLOW = ((1e-2, 1.0), (3e-2, 1.0), (1e-1, 1.0), (1e-2, 0.5), (1e-2, 0.25))
_DEEP = ((1e-2, 1.0), (3e-3, 1.0), (1e-2, 4.0))

experiment(
    "c/fig6-why",
    "C",
    "Explanation of Fig. 6 for L = 2: the weights vanish or not depending on the size of the target",
    specs={
        "smoke": [Collapse(2, _SHALLOW[:2], 40, rows=256, moments=4), Collapse(3, _DEEP[:1], 40, rows=256, moments=4)],
        "small": [Collapse(2, _SHALLOW), Collapse(5, _DEEP)],
        "paper": [Collapse(2, _SHALLOW, 60_000, 1e-3), Collapse(5, _DEEP, 60_000, 1e-3)],
    },
    seeds={"smoke": 1, "small": 5, "paper": 1},
    claims=[
        between(
            "L=2 λ=0.01 target×1: change over the second half, below the vanished",
            -0.05,
            0.05,
            "stationary: a longer training would not make it vanish",
            slack=0.05,
            label="Explanation: L = 2, λ = 0.01: relative change of the first layer in the second half of training; "
            "infinite if the objective is not below that of the zero network",
            kind="side condition",
            null=Null(-1.0, "weights that vanish"),
        ),
        at_most(
            "L=2 λ=0.01 target×1: objective over that of the vanished",
            0.95,
            "below 1 the zero network is not the minimum of the objective, for any optimiser",
            slack=0.04,
            label="Explanation: L = 2, λ = 0.01: objective relative to that of the zero network",
            kind="side condition",
            null=Null(1.0, "the zero network"),
        ),
        at_most(
            "L=2 λ=0.01 target×0.25: first layer",
            0.5,
            "the band of c/fig6: with a target a quarter as large the paper's statement must hold",
            slack=0.5,
            label="Explanation: L = 2, λ = 0.01, target divided by 4: norm of the first layer at the end",
            kind="side condition",
            null=Null(4.6, "the initial norm"),
        ),
    ],
    draw=draw_collapse,
    derive=stationary,
)(collapse)


@dataclass(frozen=True)
class Fluctuation:
    """Gradient descent of Table 3 with L = 5; the largest of `decays` has enough time to act."""

    steps: int
    decays: tuple[float, ...] = (1e-4, 1e-2, 1e-1)
    rank: int = 20
    depth: int = 5
    rate: float = 1e-3
    rows: int = 2048
    every: int = 100


def fluctuation(spec: Fluctuation, seed: int) -> Result:
    """Measure the alignment with more decay minus that with the least decay, during training."""
    training = StackTraining(spec.rank, "gd", spec.depth, spec.rate, spec.steps, spec.decays, rows=spec.rows)
    X, Y = data(training, seed)
    stack = network(training, seed)
    at = list(range(spec.every, spec.steps + 1, spec.every))
    measured: list[list[float]] = []
    train(
        stack,
        X,
        Y,
        rule(training),
        epochs=spec.steps,
        watch=lambda _, state: measured.append(alignments(state, 1 / state.linear)),
        watch_at=at,
    )
    lines = np.array(measured).T
    numbers: dict[str, float] = {}
    arrays: dict[str, Any] = {"step": at}
    around = [place for place, step in enumerate(at) if 1000 <= step <= 3000] or [*range(len(at))]
    late = len(at) * 3 // 4
    for decay, line in zip(spec.decays[1:], lines[1:], strict=True):
        difference = line - lines[0]
        arrays[f"λ={decay:g}"] = difference.round(5).tolist()
        numbers |= {
            f"λ={decay:g}: difference, mean of steps 1,000 to 3,000": float(difference[around].mean()),
            f"λ={decay:g}: difference, standard deviation over those steps": float(difference[around].std()),
            f"λ={decay:g}: difference, mean of the last quarter": float(difference[late:].mean()),
        }
    return Result(numbers, arrays)


def draw_fluctuation(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the differences by step: a thin line per seed, and the mean."""
    figure.set_size_inches(6.4, 3.2)
    ax = figure.subplots()
    names = [name for name in records[0]["arrays"] if name != "step"]
    for name, colour in zip(names, SERIES, strict=False):
        lines = np.array([record["arrays"][name] for record in records])
        for line in lines:
            ax.plot(records[0]["arrays"]["step"], line, color=colour, alpha=0.35, linewidth=0.7)
        ax.plot(records[0]["arrays"]["step"], lines.mean(0), color=colour, label=f"{name} minus the smallest λ")
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.axvline(2000, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(
        xlabel="step of gradient descent (dotted: end of training at the scale small)",
        ylabel="difference of alignments",
    )
    ax.legend(frameon=False, fontsize=8)
    declutter(ax, "y")


experiment(
    "c/table3-why",
    "C",
    "Explanation of the sign of decay's effect in Table 3 at the scale small: it is smaller than the fluctuation",
    specs={
        "smoke": [Fluctuation(40, rows=256, every=10)],
        "small": [Fluctuation(8_000)],
        "paper": [Fluctuation(60_000)],
    },
    seeds={"smoke": 1, "small": 5, "paper": 1},
    claims=[
        at_least(
            "λ=0.01: difference, standard deviation over those steps",
            0.005,
            "a fluctuation of this size makes its sign at one step random",
            slack=0.002,
            kind="side condition",
            null=Null(0.0, "no fluctuation"),
            label="Explanation: λ = 0.01 against 1e-4: fluctuation of the difference, steps 1,000 to 3,000",
        ),
        positive(
            "λ=0.1: difference, mean of the last quarter",
            "at λ = 0.1 decay has acted for 2λt = 1.2 to 1.6, as in the paper (1.2): the sign is the paper's",
            label="Explanation: λ = 0.1 against 1e-4: difference over the last quarter",
            kind="side condition",
        ),
    ],
    draw=draw_fluctuation,
)(fluctuation)
