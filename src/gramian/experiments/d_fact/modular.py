"""Fig. 6 and 7: grokking of ``(x + y) mod p`` by recursive feature machines, and the agreement of NFA and FACT."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import cosine, threads
from gramian.datasets import modular_arithmetic
from gramian.experiments import Null, Result, at_least, at_most, experiment, number, positive
from gramian.experiments.d_fact.kernel_rounds import UPDATES, learn
from gramian.kernels import Polynomial
from gramian.report import style
from gramian.rfm import KernelMachine

_KERNEL = Polynomial(degree=2)
_RIDGE = 1e-6
_CHANCE = Null(0.02, "chance")
_NAMES = {"nfa": "NFA-RFM", "fact": "FACT-RFM"}
_GENERAL = 0.5
"""Test accuracy from which a kernel counts as general."""
_CIRCULANT = 0.9
"""Share of the variance from which a block counts as circulant."""
_SHOWN = {"nfa": "√AGOP", "fact": "√(FACT·M)"}


@dataclass(frozen=True)
class Arithmetic:
    """Addition mod p, learned from a fraction of the table in a number of rounds."""

    p: int
    fraction: float
    rounds: int


_SPECS = {
    "smoke": (Arithmetic(17, 0.7, 30),),
    "small": (Arithmetic(43, 0.6, 60),),
    "paper": (Arithmetic(61, 0.5, 75),),
}


def table(spec: Arithmetic, seed: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return training rows with one-hot targets (minus their mean), and test rows with labels."""
    data = modular_arithmetic(spec.p, "+", spec.fraction, seed)
    train, test = (torch.from_numpy(rows) for rows in data.splits[0])
    X, y = torch.from_numpy(data.X), torch.from_numpy(data.y)
    Y = torch.nn.functional.one_hot(y, spec.p).double()
    return (X[train], Y[train] - Y[train].mean(0)), (X[test], y[test])


def accuracy(machine: KernelMachine, X: Float[Tensor, "n d"], labels: Tensor) -> float:
    """Return the share of rows whose largest output is that of their label."""
    return float((machine.predict(X, batch_invariant=False).argmax(1) == labels).double().mean())


def circulant_share(C: Float[Tensor, "p p"]) -> float:
    """Return the share of the variance of C's entries that depends only on ``(i − j) mod p``: 1 if C is circulant.

    A matrix with random entries has 1/p on average.

    >>> circulant_share(torch.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0]]))
    1.0
    """
    p = len(C)
    i = torch.arange(p)
    shift = (i[:, None] - i) % p
    centred = C - C.mean()
    mean = torch.zeros(p, dtype=C.dtype).index_add_(0, shift.flatten(), centred.flatten()) / p
    return float(p * mean.square().sum() / centred.square().sum())


def _first(accuracies: Sequence[float], least: float) -> float:
    """Return the first round with at least this accuracy, or one more than the last round."""
    return float(next((i for i, value in enumerate(accuracies) if value >= least), len(accuracies)))


def _draw_grokking(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(9, 3)
    axes = figure.subplots(1, 3, width_ratios=(1.35, 1, 1))
    for (name, title), colour in zip(_NAMES.items(), style.SERIES, strict=False):
        for index, record in enumerate(records):
            train, test = (np.asarray(record["arrays"][f"{part}/{name}"]) for part in ("train", "test"))
            axes[0].plot(100 * test, color=colour, label=f"{title}, test" if index == 0 else None)
            if index == 0:
                axes[0].plot(100 * train, color=colour, linestyle=":", label=f"{title}, training")
    axes[0].set(xlabel="round", ylabel="accuracy (%)")
    axes[0].legend(frameon=False, fontsize=8)
    style.declutter(axes[0], "y")
    for ax, name in zip(axes[1:], _NAMES, strict=True):
        block = np.asarray(records[0]["arrays"][f"block/{name}"])
        ax.imshow(block, cmap=style.SIGNED, vmin=-np.abs(block).max(), vmax=np.abs(block).max())
        ax.set_title(f"{_SHOWN[name]}, block (x, y)", fontsize=9)
        ax.set(xlabel="y", ylabel="x", xticks=[], yticks=[])


def of_learned_features(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the delays of kernels that generalise, and the cosine of features that are circulant, for one seed.

    A kernel that never generalises has a long delay as well, and unrelated matrices are distinct.
    """
    found = {}
    for numbers in (record["numbers"] for record in records):
        for name in _NAMES:
            learned = numbers[f"accuracy/{name}"] >= _GENERAL
            found[f"delay/{name}/learned"] = numbers[f"delay/{name}"] if learned else -math.inf
        circulant = min(numbers[f"circulant/{name}"] for name in _NAMES) >= _CIRCULANT
        found["same-features/circulant"] = numbers["same-features"] if circulant else 1.0
    return found


@experiment(
    "d/fig6",
    "D",
    "Grokking (x + y) mod 61: delayed generalisation, and features that are circulant",
    specs=_SPECS,
    seeds={"small": 5, "paper": 3},
    claims=[
        *(
            number(
                f"accuracy/{name}",
                1.0,
                0.005,
                "“100 % test accuracy”: 0.5 % is nine of the paper's 1,861 test pairs",
                label=f"{title}: test accuracy of the last round",
                scales=("paper",),
                null=_CHANCE,
            )
            for name, title in _NAMES.items()
        ),
        *(
            at_least(
                f"accuracy/{name}",
                0.95,
                "a smaller table has fewer rows for each residue",
                slack=0.05,
                label=f"{title}: test accuracy of the last round, smaller table",
                scales=("small",),
                null=_CHANCE,
            )
            for name, title in _NAMES.items()
        ),
        *(
            at_least(
                f"delay/{name}/learned",
                3.0,
                "“delayed generalization”: several rounds at full training accuracy and less than half test accuracy",
                label=f"{title}: rounds from 99 % training to 50 % test accuracy; −∞ if the last round has less",
                null=Null(0.0, "no delay"),
            )
            for name, title in _NAMES.items()
        ),
        *(
            at_least(
                f"circulant/{name}",
                _CIRCULANT,
                "“block circulant”: 90 % of the variance",
                slack=0.05,
                label=f"{_SHOWN[name]}: share of the block (x, y) that is circulant",
                null=Null(0.023, "random entries: 1/p"),
            )
            for name in _NAMES
        ),
        at_most(
            "same-features/circulant",
            0.9,
            "“FACT and AGOP learn distinct feature transforms”: their circulants are not nearly proportional",
            label="Cosine between the two blocks (x, y), minus their means; 1 if one of them is not circulant",
            null=Null(1.0, "the same features"),
        ),
    ],
    small_setting="60 % of the table in place of 50 %",
    draw=_draw_grokking,
    derive=of_learned_features,
)
def grokking(spec: Arithmetic, seed: int) -> Result:
    """Train with both updates on one split; return accuracies by round, and the off-diagonal block of the last M."""
    (X, Y), (X_test, labels) = table(spec, seed)
    numbers: dict[str, float] = {}
    arrays: dict[str, Any] = {}
    blocks = []
    with threads(1):
        for name, update in UPDATES.items():
            train, test = [], []
            for machine in learn(_KERNEL, update, X, Y, _RIDGE, spec.rounds):
                train.append(accuracy(machine, X, Y.argmax(1)))
                test.append(accuracy(machine, X_test, labels))
            block = machine.matrix()[: spec.p, spec.p :]
            blocks.append(block - block.mean())
            numbers |= {
                f"accuracy/{name}": test[-1],
                f"delay/{name}": _first(test, _GENERAL) - _first(train, 0.99),
                f"circulant/{name}": circulant_share(block),
            }
            arrays |= {f"train/{name}": _short(train), f"test/{name}": _short(test)}
            if seed == 0:
                arrays[f"block/{name}"] = torch.round(100 * blocks[-1] / blocks[-1].abs().max()).int().tolist()
    return Result(numbers | {"same-features": cosine(*blocks)}, arrays)


def _draw_similarities(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(4.2, 3.4)
    ax = figure.subplots()
    slope, tau = (np.asarray(records[0]["arrays"][key]) for key in ("slope", "tau"))
    ax.plot(slope, tau, ".", color=style.BLUE, markersize=3, alpha=0.5)
    line = np.array([min(0.0, slope.min()), slope.max()])
    ax.plot(line, records[0]["numbers"]["ratio"] * line, color=style.ORANGE, label="best proportional fit")
    ax.set(xlabel="k′(xᵢᵀMxⱼ)", ylabel="τ(xᵢ, M, xⱼ)")
    ax.legend(frameon=False, fontsize=8)
    style.declutter(ax, "y")


@experiment(
    "d/fig7",
    "D",
    "Agreement of NFA and FACT on modular arithmetic: τ(xᵢ, M, xⱼ) is nearly proportional to k′(xᵢᵀMxⱼ)",
    specs=_SPECS,
    seeds={"small": 5, "paper": 2},
    claims=[
        positive(
            "explained",
            "“achieves a good fit”: a better one than the kernel without learned features has",
            label="R² of τ = c·k′ over all pairs",
            null=Null(0.946, "M = I at p = 61; 0.935 at p = 43"),
        ),
        positive(
            "cosine",
            "“approximately proportional”: the cosine between the two as vectors of pairs, above that of M = I",
            label="Cosine between τ and k′ over all pairs",
            null=Null(0.976, "M = I at p = 61; 0.972 at p = 43"),
        ),
    ],
    small_setting="60 % of the table in place of 50 %",
    draw=_draw_similarities,
)
def similarities(spec: Arithmetic, seed: int) -> Result:
    """Train FACT-RFM, then compare the two similarity measures between training rows."""
    (X, Y), _ = table(spec, seed)
    with threads(1):
        for machine in learn(_KERNEL, UPDATES["fact"], X, Y, _RIDGE, spec.rounds):
            M = machine.matrix()
        slope = _KERNEL.slope(X @ M @ X.mT)
        tau = slope @ slope.mT / len(X)
    ratio = float((slope * tau).sum() / slope.square().sum())
    left = float((tau - ratio * slope).square().sum() / (tau - tau.mean()).square().sum())
    pairs = torch.randint(tau.numel(), (1000,), generator=torch.Generator().manual_seed(seed))
    arrays = {"slope": _short(slope.flatten()[pairs].tolist()), "tau": _short(tau.flatten()[pairs].tolist())}
    return Result({"explained": 1 - left, "cosine": cosine(slope, tau), "ratio": ratio}, arrays if seed == 0 else {})


def _short(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
