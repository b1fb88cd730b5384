"""Tests of explanations of the low agreement for deer against horse: number of epochs, and the random start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import nn

from gramian.core import pearson, threads
from gramian.experiments.b_rfm.machines import learn
from gramian.experiments.b_rfm.picture_models import NetworkTraining, first_weight, train_network
from gramian.experiments.b_rfm.shared_features import RIDGE, SMALL_NETWORK, PairTasks, on_sphere
from gramian.experiments.claims import Null, at_least, positive
from gramian.experiments.registry import Result, experiment
from gramian.features import Agop
from gramian.report import style


@dataclass(frozen=True)
class LongerPair:
    """The first pair of a task, and the numbers of epochs after which the network is looked at."""

    task: PairTasks
    epochs: tuple[int, ...]


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(4.8, 3.2)
    ax = figure.subplots()
    epochs = records[0]["spec"]["epochs"]
    for key, words, colour in (("diagonal", "W₁", style.BLUE), ("moved", "W₁ minus its start", style.ORANGE)):
        values = np.array([[record["numbers"][f"{key}/{e}"] for e in epochs] for record in records])
        ax.plot(epochs, values.T, color=colour, linewidth=0.7, alpha=0.5)
        ax.plot(epochs, values.mean(0), "o-", color=colour, label=words, markersize=4)
    ax.set(xlabel="epochs", ylabel="Pearson of diagonals with M", xticks=epochs)
    ax.legend(frameon=False, fontsize=8)
    style.finish(ax, "y")


_SMOKE = PairTasks("made", ((0, 4),), 30, 20, 8, 50, NetworkTraining(width=32, epochs=10))
_SMALL = LongerPair(PairTasks("cifar10", ((4, 7),), 300, 500, 16, 20_000, SMALL_NETWORK), (250, 500, 1500))
_AS_BEFORE = Null(0.64, "as after 500 epochs, in b/fig2")


@experiment(
    "b/fig2-why",
    "B",
    "Explanation of Fig. 2, deer against horse: the diagonals agree more after more epochs, and without the start",
    specs={"smoke": (LongerPair(_SMOKE, (5, 10)),), "small": (_SMALL,), "paper": ()},
    seeds={"small": 5},
    claims=[
        positive(
            "rise",
            "if 2,500 steps are too few, three times as many raise the correlation",
            label="Pearson of the diagonals of W₁ᵀW₁ and M: after 1,500 epochs minus after 500",
            kind="side condition",
            scales=("small",),
        ),
        at_least(
            "diagonal/1500",
            0.8,
            "the band of b/fig2, which should be reached if the number of steps is the whole reason",
            slack=0.1,
            label="Pearson of the diagonals of W₁ᵀW₁ and M after 1,500 epochs",
            kind="side condition",
            scales=("small",),
            null=_AS_BEFORE,
        ),
        positive(
            "moved/beyond",
            "if the random start hides what was learned, the change of W₁ agrees more with M than W₁ does",
            label="After 500 epochs, Pearson with diag M: the change ΔW₁ᵀΔW₁ minus W₁ᵀW₁",
            kind="side condition",
            scales=("small",),
        ),
        at_least(
            "moved/500",
            0.8,
            "the band of b/fig2, which should be reached if the start is the whole reason",
            slack=0.1,
            label="Pearson of the diagonals of ΔW₁ᵀΔW₁ and M after 500 epochs",
            kind="side condition",
            scales=("small",),
            null=_AS_BEFORE,
        ),
    ],
    version=2,  # correlations of diagonals have a sign
    draw=_draw,
    cost=lambda spec: 2 + 2 * spec.task.rows * max(spec.epochs) * 2e-5,
)
def longer_pair(spec: LongerPair, seed: int) -> Result:
    """Train an RFM and a network; return correlations of diagonals along training, with and without the start."""
    rng = torch.Generator().manual_seed(seed)
    X, Y, _ = on_sphere(spec.task, spec.task.pairs[0], "train", rng)
    numbers: dict[str, float] = {}
    start: list[torch.Tensor] = []
    with threads(1):
        *_, machine = learn(X, Y, RIDGE, 1, Agop(scale=None, max_rows=spec.task.gradients))
        target = machine.metric.diagonal().double()

        def watch(epoch: int, network: nn.Sequential) -> None:
            W = first_weight(network).double()
            if epoch == 0:
                start.append(W.clone())
            if epoch in spec.epochs:
                change = W - start[0]
                numbers[f"diagonal/{epoch}"] = pearson(W.square().sum(0), target)
                numbers[f"moved/{epoch}"] = pearson(change.square().sum(0), target)
                numbers[f"change/{epoch}"] = float(change.norm() / start[0].norm())

        train_network(X, Y, replace(spec.task.network, epochs=max(spec.epochs)), rng, watch)
    last, before = sorted(spec.epochs)[:-3:-1]
    numbers["rise"] = numbers[f"diagonal/{last}"] - numbers[f"diagonal/{before}"]
    numbers["moved/beyond"] = numbers[f"moved/{before}"] - numbers[f"diagonal/{before}"]
    return Result(numbers)
