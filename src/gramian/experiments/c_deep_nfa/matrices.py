"""Figure 1: the feature matrix of the first layer and the root of the AGOP, before and after training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import psd_power
from gramian.experiments import Null, Result, at_least, at_most, experiment, number
from gramian.experiments.c_deep_nfa.setting import (
    LAST_EPOCHS,
    PAPER_EPOCHS,
    StackTraining,
    alignments,
    data,
    fit,
    network,
)
from gramian.report.style import AMOUNT, colour_bar


@dataclass(frozen=True)
class Matrices:
    """One training of five linear layers with weight decay."""

    epochs: int
    optimiser: str = "sgd"
    rate: float = 1e-4
    decay: float = 1e-2
    depth: int = 5


def matrices(spec: Matrices, seed: int) -> Result:
    """Compute ``W₁ᵀW₁`` and ``A^{1/L}`` before and after training."""
    training = StackTraining(
        5, spec.optimiser, spec.depth, spec.rate, spec.epochs, (spec.decay,), tail=spec.epochs // 600
    )
    before = network(training, seed)
    stack = fit(training, seed).stack
    arrays, numbers = {}, {}
    for when, state in (("before", before), ("after", stack)):
        gram, power = _pair(state.weights[0][0], state.jacobian()[0], spec.depth)
        arrays[f"weights {when}"], arrays[f"agop {when}"] = _short(gram), _short(power)
        numbers[f"alignment {when}"] = alignments(state, 1 / spec.depth)[0]
        numbers[f"relative distance {when}"] = float((gram - power).norm() / gram.norm())
    X, Y = data(training, seed)
    numbers["loss after"] = float(stack.loss(X, Y)[0])
    return Result(numbers, arrays)


def _pair(V: Tensor, J: Tensor, depth: int) -> tuple[Tensor, Tensor]:
    V, J = V.double(), J.double()
    return V @ V.mT, psd_power(J @ J.mT, 1 / depth)


def _short(M: Tensor) -> list[list[float]]:
    return [[float(f"{v:.3g}") for v in row] for row in M.tolist()]


def draw_matrices(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the four matrices of the first seed."""
    names = ("weights before", "agop before", "weights after", "agop after")
    titles = ("$W_1^T W_1$, before", "$A^{1/L}$, before", "$W_1^T W_1$, after", "$A^{1/L}$, after")
    figure.set_size_inches(9.6, 2.6)
    axes = figure.subplots(1, 4)
    for ax, name, title in zip(axes, names, titles, strict=True):
        image = ax.imshow(torch.tensor(records[0]["arrays"][name]).abs().numpy(), cmap=AMOUNT)
        ax.set_title(title, fontsize=9)
        ax.set_axis_off()
        colour_bar(ax, image, "absolute value of the entry" if name == names[-1] else "")


_FULL_BATCHES = "full batches with momentum at rate 1e-3 in place of batches of 64 rows at 1e-4"

experiment(
    "c/fig1",
    "C",
    "The feature matrix of the first layer and the root of the AGOP, before and after training",
    specs={
        "smoke": [Matrices(60, "gdm", 1e-3)],
        "small": [Matrices(15_000, "gdm", 1e-3)],
        "paper": [Matrices(PAPER_EPOCHS + LAST_EPOCHS)],
    },
    claims=[
        number(
            "alignment before",
            0.915,
            0.01,
            "random starts have mean 0.906 and standard deviation 0.008",
            label="L = 5, alignment before training",
            scales=("smoke", "small", "paper"),
            null=Null(0.837, "weights and AGOP of two unrelated networks"),
            pooled=True,
        ),
        number(
            "alignment after",
            1.0,
            0.002,
            "the paper prints 1.000",
            label="L = 5, alignment after",
            scales=("paper",),
            null=Null(0.909, "an untrained network"),
        ),
        at_least(
            "alignment after",
            0.99,
            "a quarter of the paper's epochs",
            slack=0.02,
            small_setting=_FULL_BATCHES,
            label="L = 5, alignment after a shorter training",
            scales=("small",),
            null=Null(0.909, "an untrained network"),
        ),
        at_most(
            "relative distance after",
            0.1,
            "the paper calls the two matrices approximately equal",
            slack=0.1,
            small_setting=_FULL_BATCHES,
            label="relative distance of the two matrices after training",
            null=Null(0.73, "an untrained network"),
        ),
    ],
    seeds={"smoke": 1, "small": 5, "paper": 1},
    cost=lambda spec: (1.5e-3 if spec.optimiser == "gdm" else 1.2e-2) * spec.epochs,
    draw=draw_matrices,
)(matrices)
