"""Figures 4 and 8: the low rank learned by ReLU networks, and networks with linear first layers on MNIST."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from matplotlib.figure import Figure

from gramian.datasets import mnist
from gramian.experiments import Null, Result, at_least, at_most, experiment, positive
from gramian.experiments.c_deep_nfa.setting import (
    DEPTHS,
    INPUTS,
    LAST_EPOCHS,
    PAPER_EPOCHS,
    WIDTH,
    alignments,
    by_decay,
    random_target,
)
from gramian.experiments.stacked import Adam, Descent, Stack, train
from gramian.features import agop
from gramian.report.style import GREY, SERIES, declutter

SMALLEST = 1e-6
"""Smaller singular values are drawn at this value: those of the target are 0 beyond its rank."""


@dataclass(frozen=True)
class LowRankTarget:
    """ReLU networks of every depth with biases in each layer, trained by SGD with momentum on a target of rank 5."""

    record_name: ClassVar[str] = "LowRank"

    rows: int
    epochs: int
    rate: float
    depths: tuple[int, ...] = DEPTHS
    rank: int = 5
    decay: float = 1e-3
    tail: int = LAST_EPOCHS


def low_rank(spec: LowRankTarget, seed: int) -> Result:
    """Compute the singular values of ``W₁ᵀW₁`` after training, and those of the target's AGOP."""
    rng = torch.Generator().manual_seed(1000 + seed)
    target = random_target(spec.rank, rng)
    X = torch.rand(spec.rows, INPUTS, generator=rng, dtype=torch.float64) - 0.5
    truth = torch.linalg.eigvalsh(agop(target.gradients(X))).flip(0).clamp_min(0)
    arrays: dict[str, Any] = {f"N={spec.rows} target": (truth / truth[0]).tolist()}
    numbers = {}
    for depth in spec.depths:
        stack = Stack.random((INPUTS, *(WIDTH,) * (depth - 1), 1), ("relu",) * (depth - 1), seeds=[seed])
        rows, y = X.float(), target(X).float()[None, :, None]
        train(
            stack,
            rows,
            y,
            Descent(spec.rate, spec.decay, 0.9),
            epochs=spec.epochs,
            batch=64,
            rng=torch.Generator().manual_seed(seed),
            drop_after=spec.epochs - spec.tail,
        )
        values = torch.linalg.svdvals(stack.weights[0][0].double()).square()
        name = f"N={spec.rows} depth={depth}"
        arrays[name] = (values / values[0]).tolist()
        numbers[f"{name} energy outside the rank"] = float(values[spec.rank :].sum() / values.sum())
        numbers[f"{name} value after the rank"] = float(values[spec.rank] / values[0])
        numbers[f"{name} explained"] = float(1 - stack.loss(rows, y)[0] / y.var())
    mean = sum(numbers[f"N={spec.rows} depth={L} value after the rank"] for L in spec.depths) / len(spec.depths)
    return Result(numbers | {f"N={spec.rows} value after the rank, mean over depths": mean}, arrays)


def draw_low_rank(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw normalised singular values by index, one panel per number of rows, one line per depth; first seed."""
    panels: dict[str, dict[str, list[float]]] = {}
    for record in records:
        for name, values in record["arrays"].items():
            head, _, what = name.partition(" ")
            panels.setdefault(head, {}).setdefault(what, values)
    axes = figure.subplots(1, max(1, len(panels)), sharey=True, squeeze=False)[0]
    for ax, (head, lines) in zip(axes, panels.items(), strict=False):
        colours = iter(SERIES)
        for what, values in lines.items():
            colour = GREY if what == "target" else next(colours)
            style = "--" if what == "target" else "-"
            ax.plot(range(1, len(values) + 1), [max(v, SMALLEST) for v in values], style, color=colour, label=what)
        ax.set_yscale("log")
        ax.set_title(head)
        ax.set_xlabel("index")
        ax.set_xticks(range(5, len(values) + 1, 5))
        declutter(ax, "y")
    axes[0].set_ylabel("singular value relative to the largest")
    axes[0].legend(fontsize=7)


def more_rows(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the sixth singular values over the fifth, and the decrease of the sixth with the number of rows."""
    found = {
        record["spec"]["rows"]: record["numbers"][f"N={record['spec']['rows']} value after the rank, mean over depths"]
        for record in records
    }
    drops = {
        f"{name} drop after the rank": values[record["spec"]["rank"]] / values[record["spec"]["rank"] - 1]
        for record in records
        for name, values in record["arrays"].items()
        if "depth" in name
    }
    if {2048, 8192} <= set(found):
        return drops | {"value after the rank, N=2048 minus N=8192": found[2048] - found[8192]}
    return drops


FULL = PAPER_EPOCHS + LAST_EPOCHS

experiment(
    "c/fig4",
    "C",
    "Singular values of the first layer of ReLU networks and of the target's AGOP",
    specs={
        "smoke": [LowRankTarget(256, 6, 3e-4, (2, 3), tail=2)],
        "small": [LowRankTarget(2048, 200, 3e-4, tail=20), LowRankTarget(8192, 50, 3e-4, tail=5)],
        "paper": [LowRankTarget(2048, FULL, 1e-4), LowRankTarget(8192, FULL, 1e-4)],
    },
    claims=[
        *(
            at_most(
                f"N={rows} depth={depth} drop after the rank",
                0.5,
                "the sixth singular value is small relative to the fifth: the rank of the target is found, and no "
                "lower one; short training does not show it",
                slack=0.2,
                label=f"N = {rows}, depth {depth}: sixth singular value of W₁ᵀW₁ over the fifth",
                scales=("paper",),
                null=Null(0.94, "an untrained network"),
            )
            for rows in (2048, 8192)
            for depth in DEPTHS
        ),
        positive(
            "value after the rank, N=2048 minus N=8192",
            "'increasingly accurate as the number of data points increases': a sign, of the mean over depths",
            label="sixth singular value over the first, N = 2,048 minus N = 8,192, mean over depths",
        ),
    ],
    seeds={"smoke": 1, "small": 5, "paper": 1},
    small_setting="rate 3e-4 in place of 1e-4",
    draw=draw_low_rank,
    derive=more_rows,
    cost=lambda spec: 8e-6 * spec.rows * spec.epochs * len(spec.depths),
)(low_rank)


@dataclass(frozen=True)
class Digits:
    """Networks with `depth` linear layers, a ReLU layer and ten outputs on MNIST, for several weight decays."""

    optimiser: str
    rate: float
    epochs: int
    rows: int
    decays: tuple[float, ...] = (1e-4, 1e-3, 1e-2)
    depths: tuple[int, ...] = DEPTHS


def digits(spec: Digits, seed: int) -> Result:
    """Measure the alignment of the first layer with the root of the AGOP of the linear layers, by epoch."""
    source = mnist("train")
    order = torch.randperm(len(source.X), generator=torch.Generator().manual_seed(seed))[: spec.rows]
    X = torch.as_tensor(source.X)[order]
    Y = torch.as_tensor(source.y)[order].expand(len(spec.decays), -1)
    numbers: dict[str, float] = {}
    arrays: dict[str, Any] = {}
    for depth in spec.depths:
        widths = (X.shape[1], *(WIDTH,) * depth, 10)
        biases = (False,) * (depth - 1) + (True, True)
        activations = ("identity",) * (depth - 1) + ("relu",)
        stack = Stack.random(widths, activations, seeds=[seed] * len(spec.decays), biases=biases, loss="cross-entropy")
        momentum = Descent(spec.rate, spec.decays, 0.9)
        at = sorted({round(spec.epochs * k / 8) for k in range(9)})
        measured: list[list[float]] = []
        train(
            stack,
            X,
            Y,
            Adam(spec.rate, spec.decays) if spec.optimiser == "adam" else momentum,
            epochs=spec.epochs,
            batch=64,
            rng=torch.Generator().manual_seed(seed),
            watch=lambda _, state: measured.append(alignments(state, 1 / state.linear)),  # noqa: B023
            watch_at=at,
        )
        accuracy = (stack.outputs(X).argmax(2) == Y).double().mean(1).tolist()
        for place, decay in enumerate(spec.decays):
            name = f"{spec.optimiser} λ={decay:g} L={depth}"
            line = [row[place] for row in measured]
            arrays[name] = {"epoch": at, "alignment": line}
            numbers |= {
                f"{name} final": line[-1],
                f"{name} gain": line[-1] - line[0],
                f"{name} accuracy": accuracy[place],
            }
    low, high, deep = min(spec.decays), max(spec.decays), max(spec.depths)
    difference = numbers[f"{spec.optimiser} λ={high:g} L={deep} final"]
    difference -= numbers[f"{spec.optimiser} λ={low:g} L={deep} final"]
    accuracies = sorted(value for name, value in numbers.items() if name.endswith("accuracy"))
    return Result(
        numbers
        | {
            f"{spec.optimiser}: most minus least decay, deepest": difference,
            f"{spec.optimiser}: median accuracy": accuracies[len(accuracies) // 2],
        },
        arrays,
    )


def draw_digits(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the alignment by epoch, one panel per optimiser and decay, one line per depth; first seed."""
    panels: dict[str, dict[str, Mapping[str, list[float]]]] = {}
    for record in records:
        for name, curve in record["arrays"].items():
            head, _, depth = name.rpartition(" L=")
            panels.setdefault(head, {}).setdefault(depth, curve)
    columns = 3 if len(panels) > 4 else 2
    rows = -(-len(panels) // columns) or 1
    figure.set_size_inches(2.6 * columns + 0.6, 2.0 * rows + 0.6)
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False).flatten()
    for ax, (head, lines) in zip(axes, sorted(panels.items(), key=by_decay), strict=False):
        for colour, (depth, curve) in zip(SERIES, sorted(lines.items()), strict=False):
            ax.plot(curve["epoch"], curve["alignment"], color=colour, label=f"L = {depth}")
        ax.set_title(head, fontsize=9)
        declutter(ax, "y")
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    axes[0].legend(fontsize=7)
    figure.supxlabel("epoch", fontsize=9)
    figure.supylabel("alignment", fontsize=9)


def adam_faster(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return how much more the alignment rises with Adam than with SGD with momentum, mean over training."""
    rises: dict[str, list[float]] = {}
    for record in records:
        for name, curve in record["arrays"].items():
            line = curve["alignment"]
            rises.setdefault(name.partition(" ")[0], []).append(sum(line) / len(line) - line[0])
    if {"adam", "sgdm"} <= set(rises):
        adam, sgdm = (sum(rises[name]) / len(rises[name]) for name in ("adam", "sgdm"))
        return {"adam minus sgdm, mean over training": adam - sgdm}
    return {}


experiment(
    "c/fig8",
    "C",
    "Alignment during training on MNIST, by optimiser and decay",
    specs={
        "smoke": [Digits("adam", 1e-3, 1, 256, (1e-3,), (2,))],
        "small": [
            Digits("adam", 1e-3, 16, 4000, (1e-4, 1e-2), (2, 5)),
            Digits("sgdm", 3e-3, 16, 4000, (1e-4, 1e-2), (2, 5)),
        ],
        "paper": [Digits("adam", 1e-4, 200, 60_000), Digits("sgdm", 1e-4, 200, 60_000)],
    },
    claims=[
        *(
            positive(
                f"{name}: most minus least decay, deepest",
                "the rate of alignment depends on the decay: a sign",
                label=f"{name}: alignment with the largest minus the smallest decay, deepest network",
            )
            for name in ("adam", "sgdm")
        ),
        positive(
            "adam minus sgdm, mean over training",
            "'the weight matrices align more quickly when Adam is used': a sign, of the rise of the alignment",
            label="rise of the alignment, mean over training and networks: Adam minus SGD with momentum",
        ),
        at_least(
            "adam: median accuracy",
            0.97,
            "typically 97 % or more after 200 epochs: a statement about the length of training",
            slack=0.03,
            label="Adam: median training accuracy",
            scales=("paper",),
            null=Null(0.1, "chance"),
        ),
        at_least(
            "sgdm: median accuracy",
            0.95,
            "typically 95 % or more after 200 epochs: a statement about the length of training",
            slack=0.05,
            label="SGD with momentum: median training accuracy",
            scales=("paper",),
            null=Null(0.1, "chance"),
        ),
    ],
    seeds={"smoke": 1, "small": 5, "paper": 1},
    small_setting="rates 1e-3 (Adam) and 3e-3 (sgdm) in place of 1e-4",
    draw=draw_digits,
    derive=adam_faster,
    cost=lambda spec: 4e-5 * spec.rows * spec.epochs * len(spec.depths),
)(digits)
