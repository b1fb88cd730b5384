"""Tests of explanations of the large gain from depth on our street numbers: too few epochs, and the rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from torch import nn

from gramian.core import threads
from gramian.experiments.b_rfm.picture_models import scores, train_network
from gramian.experiments.b_rfm.street import SMOKE, StreetTask, street_rows
from gramian.experiments.b_rfm.street_depth import BY_DEPTH, CONSTANT
from gramian.experiments.claims import Null, between, positive
from gramian.experiments.registry import Result, experiment
from gramian.report import style


@dataclass(frozen=True)
class LongerTraining:
    """Networks of the least and the largest depth of a task, looked at after these numbers of epochs."""

    task: StreetTask
    epochs: tuple[int, ...]


@dataclass(frozen=True)
class LowerRates:
    """Networks of the least and the largest depth of a task, trained with several learning rates."""

    task: StreetTask
    rates: tuple[float, ...]


def compare_depths(numbers: Mapping[str, float], task: StreetTask, tried: Sequence[float]) -> dict[str, float]:
    """Return ``gain``, the test accuracy at the largest depth minus the least, and ``rise``, last minus first tried."""
    least, most = task.depths[0], task.depths[-1]
    gains = {f"gain/{x:g}": numbers[f"nn/{most}/{x:g}"] - numbers[f"nn/{least}/{x:g}"] for x in tried}
    first, last = tried[0], tried[-1]
    return gains | {f"rise/{d}": numbers[f"nn/{d}/{last:g}"] - numbers[f"nn/{d}/{first:g}"] for d in (least, most)}


def learned_gain(numbers: Mapping[str, float], depths: Sequence[int], tried: Sequence[float]) -> float:
    """Return the best accuracy at the largest depth minus that at the least; infinite if one is that of a constant.

    >>> numbers = {"nn/1/0.3": 0.6, "nn/1/1": 0.4, "nn/4/0.3": 0.2, "nn/4/1": 0.55}
    >>> round(learned_gain(numbers, (1, 4), (0.3, 1.0)), 6)
    -0.05
    >>> learned_gain({**numbers, "nn/4/1": 0.15}, (1, 4), (0.3, 1.0))
    inf
    """
    least, most = (max(numbers[f"nn/{depth}/{x:g}"] for x in tried) for depth in (depths[0], depths[-1]))
    return most - least if min(least, most) > CONSTANT else math.inf


def _gain_after_training(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    spec, numbers = records[0]["spec"], records[0]["numbers"]
    return {"last gain/learned": learned_gain(numbers, spec["task"]["depths"], spec["epochs"][-1:])}


def _best_gain(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    spec, numbers = records[0]["spec"], records[0]["numbers"]
    return {"best gain/learned": learned_gain(numbers, spec["task"]["depths"], spec["rates"])}


def _draw(records: Sequence[dict[str, Any]], figure: Figure, field: str, name: str) -> None:
    figure.set_size_inches(4.8, 3.2)
    ax = figure.subplots()
    spec = records[0]["spec"]
    depths, tried = spec["task"]["depths"], spec[field]
    for depth, colour in zip((depths[0], depths[-1]), (style.BLUE, style.ORANGE), strict=True):
        for key, line in (("nn", "o-"), ("train", "s:")):
            values = 100 * np.array([[r["numbers"][f"{key}/{depth}/{x:g}"] for x in tried] for r in records])
            label = f"depth {depth}, {'test' if key == 'nn' else 'training'}"
            ax.plot(tried, values.mean(0), line, color=colour, label=label, markersize=4)
    ax.set(xscale="log", xlabel=name, ylabel="accuracy (%)")
    ax.set_xticks(tried, [f"{x:g}" for x in tried])
    ax.set_xticks([], minor=True)
    ax.legend(frameon=False, fontsize=8)
    style.finish(ax, "y")


_SMALL = LongerTraining(BY_DEPTH, (200, 400, 600))


@experiment(
    "b/fig11-why",
    "B",
    "Test of an explanation of Fig. 11 on our street numbers: the gain from depth along training (it fails)",
    specs={"smoke": (LongerTraining(SMOKE, (2, 4)),), "small": (_SMALL,), "paper": ()},
    seeds={"small": 5},
    claims=[
        positive(
            "rise/1",
            "if 3,000 steps are too few at depth 1, three times as many raise its test accuracy",
            label="Depth 1: test accuracy after 600 epochs minus that after 200",
            kind="side condition",
            scales=("small",),
        ),
        positive(
            "fall",
            "if that is why depth helps, it helps less after 600 epochs",
            label="Test accuracy at depth 4 minus depth 1: after 200 epochs minus after 600",
            kind="side condition",
            scales=("small",),
        ),
        between(
            "last gain/learned",
            -0.03,
            0.03,
            "the band of b/fig11, which should be reached if the number of steps is the whole reason",
            slack=0.02,
            label="Test accuracy at depth 4 minus depth 1, after 600 epochs; infinite if either is that of a constant",
            kind="side condition",
            scales=("small",),
            null=Null(0.17, "as after 200 epochs, in b/fig11"),
        ),
    ],
    draw=partial(_draw, field="epochs", name="epochs"),
    derive=_gain_after_training,
    cost=lambda spec: 2 * spec.task.rows * max(spec.epochs) * 1.5e-5,
)
def longer_training(spec: LongerTraining, seed: int) -> Result:
    """Train both depths once; return accuracies on training and test rows at each of the numbers of epochs."""
    rows, test, rng = street_rows(spec.task, seed)
    X, y = rows[0], rows[1].argmax(1)
    numbers: dict[str, float] = {}

    for depth in (spec.task.depths[0], spec.task.depths[-1]):

        def watch(epoch: int, network: nn.Sequential, depth: int = depth) -> None:
            if epoch in spec.epochs:
                numbers[f"nn/{depth}/{epoch}"] = scores(network, *test)
                numbers[f"train/{depth}/{epoch}"] = scores(network, X, y)

        with threads(1):
            train_network(*rows, replace(spec.task.network, hidden=depth, epochs=max(spec.epochs)), rng, watch)
    numbers |= compare_depths(numbers, spec.task, spec.epochs)
    numbers["fall"] = numbers[f"gain/{spec.epochs[0]}"] - numbers[f"gain/{spec.epochs[-1]}"]
    return Result(numbers)


_RATES = LowerRates(BY_DEPTH, (0.3, 0.5, 1.0))


@experiment(
    "b/fig11-rate-why",
    "B",
    "Test of an explanation of Fig. 11 on our street numbers: a learning rate that is too high at depth 1",
    specs={"smoke": (LowerRates(SMOKE, (0.3, 1.0)),), "small": (_RATES,), "paper": ()},
    seeds={"small": 5},
    claims=[
        positive(
            "rise/1",
            "if the rate 1.0 is too high at depth 1, a third of it raises its test accuracy",
            label="Depth 1: test accuracy with rate 0.3 minus that with rate 1.0",
            kind="side condition",
            scales=("small",),
        ),
        between(
            "best gain/learned",
            -0.03,
            0.03,
            "the band of b/fig11, which should be reached if the rate is the whole reason",
            slack=0.02,
            label="Test accuracy at depth 4 minus depth 1, the best of three rates; infinite if that of a constant",
            kind="side condition",
            scales=("small",),
            null=Null(0.17, "as with the rate 1.0 at both depths, in b/fig11"),
        ),
    ],
    draw=partial(_draw, field="rates", name="learning rate"),
    derive=_best_gain,
    cost=lambda spec: 2 * len(spec.rates) * spec.task.rows * spec.task.network.epochs * 1.5e-5,
)
def lower_rates(spec: LowerRates, seed: int) -> Result:
    """Train both depths with every rate from the same start; return accuracies, and the gain from depth."""
    rows, test, rng = street_rows(spec.task, seed)
    start = rng.get_state()
    numbers: dict[str, float] = {}
    least, most = spec.task.depths[0], spec.task.depths[-1]
    for depth in (least, most):
        for rate in spec.rates:
            rng.set_state(start)
            with threads(1):
                network = train_network(*rows, replace(spec.task.network, hidden=depth, rate=rate), rng)
            numbers[f"nn/{depth}/{rate:g}"] = scores(network, *test)
            numbers[f"train/{depth}/{rate:g}"] = scores(network, rows[0], rows[1].argmax(1))
    best = {depth: max(numbers[f"nn/{depth}/{rate:g}"] for rate in spec.rates) for depth in (least, most)}
    # From the highest rate to the lowest, as the explanation lowers it.
    numbers |= compare_depths(numbers, spec.task, sorted(spec.rates, reverse=True))
    numbers["best gain"] = best[most] - best[least]
    return Result(numbers)
