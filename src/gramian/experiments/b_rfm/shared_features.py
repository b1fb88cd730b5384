"""Fig. 1, 2 and 15: feature matrices of RFMs and of networks agree on one task, and not across tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import pearson, psd_eigh, threads
from gramian.datasets import unit_rows
from gramian.experiments.b_rfm.machines import learn
from gramian.experiments.b_rfm.picture_data import read, tensors, two_classes
from gramian.experiments.b_rfm.picture_models import (
    NetworkTraining,
    gram,
    predictor,
    refit_accuracy,
    scores,
    shown,
    train_network,
)
from gramian.experiments.claims import Claim, Null, at_least, at_most, positive, unavailable
from gramian.experiments.registry import Result, experiment
from gramian.features import Agop
from gramian.report import style
from gramian.rfm.training.thresholded import select_columns

RIDGE = 1e-3
THRESHOLD = 0.05
"""Columns are selected whose entry of diag M, scaled from the smallest (0) to the largest (1), exceeds this."""
NAMES = {
    "mnist": {(3, 8): "3 against 8", (4, 9): "4 against 9"},
    "cifar10": {(1, 9): "automobile against truck", (4, 7): "deer against horse"},
    "made": {(0, 4): "left against right", (2, 7): "above against below"},
}
"""The tasks: pairs of classes with something in common, as attributes of faces have."""


@dataclass(frozen=True)
class PairTasks:
    """Two classes at a time of one set, on the unit sphere; ``rows`` and ``test`` are pictures per class."""

    data: str
    pairs: tuple[tuple[int, int], ...]
    rows: int
    test: int
    side: int
    gradients: int
    network: NetworkTraining


@dataclass(frozen=True)
class Leading:
    """Diagonal, leading eigenvector and the ratio of the two largest eigenvalues of a feature matrix."""

    diagonal: Float[Tensor, " d"]
    vector: Float[Tensor, " d"]
    gap: float


def leading(M: Float[Tensor, "d d"]) -> Leading:
    """Return what the figures show of a feature matrix.

    >>> leading(torch.diag(torch.tensor([1.0, 4.0]))).gap
    4.0
    """
    M = M.double()
    values, vectors = psd_eigh(M)
    return Leading(M.diagonal(), vectors[:, 0], float(values[0] / values[1]))


def on_sphere(
    spec: PairTasks, pair: tuple[int, int], split: str, rng: torch.Generator
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n 2"], Tensor]:
    """Return rows of norm 1, one-hot targets and class numbers of one task."""
    count = spec.rows if split == "train" else spec.test
    X, Y, y = tensors(two_classes(spec.data, split, pair, (count, count), rng, spec.side), pair)
    return torch.from_numpy(unit_rows(X.numpy())), Y, y


def matched_and_crossed(
    networks: Sequence[Float[Tensor, " d"]],
    machines: Sequence[Float[Tensor, " d"]],
    correlation: Callable[[Tensor, Tensor], float] = pearson,
) -> tuple[list[float], list[float]]:
    """Return correlations between two models of one task, and between those of different tasks.

    >>> a, b = torch.tensor([1.0, 0, 0, 0]), torch.tensor([0, 0, 1.0, 0])
    >>> same, other = matched_and_crossed([a, b], [a, -b])
    >>> [round(value, 3) for value in (*same, *other)]
    [1.0, -1.0, 0.333, -0.333]
    """
    matched = [correlation(a, b) for a, b in zip(networks, machines, strict=True)]
    crossed = [correlation(networks[i], machines[j]) for i, j in permutations(range(len(networks)), 2)]
    return matched, crossed


def unsigned_pearson(u: Float[Tensor, " d"], v: Float[Tensor, " d"]) -> float:
    """Return the absolute Pearson correlation of two eigenvectors, whose signs are arbitrary.

    >>> round(unsigned_pearson(torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0])), 6)
    1.0
    """
    return abs(pearson(u, v))


_CORRELATIONS: dict[str, Callable[[Tensor, Tensor], float]] = {"diagonal": pearson, "vector": unsigned_pearson}


STAND_IN = "pairs of classes of MNIST and CIFAR-10 in place of CelebA"
_FIG_1 = (
    ("lipstick", 0.9053, 0.9162),
    ("eyebrows", 0.7571, 0.7811),
    ("5 o'clock shadow", 0.8588, 0.8818),
    ("necktie", 0.8877, 0.9039),
    ("smiling", 0.8983, 0.9124),
    ("rosy cheeks", 0.8722, 0.8872),
)
"""Test accuracies of the network and of RFM-T in Fig. 1."""


def _claims() -> tuple[Claim, ...]:
    celeba = "CelebA is not among the available data; pairs of classes replace its attributes"
    diagonals = (0.982, 0.949, 0.947, 0.965, 0.817, 0.815)
    claims: list[Claim] = [
        unavailable(f"celeba/diagonal/{i}", celeba, paper=value, label=f"CelebA, Pearson of diagonals, value {i}")
        for i, value in enumerate(diagonals, 1)
    ]
    claims += [
        unavailable("celeba/vector", celeba, paper=0.999, label="CelebA, Pearson of leading eigenvectors, six tasks"),
    ]
    claims += [
        unavailable(f"celeba/{task}/{model}", celeba, paper=value, label=f"CelebA, {task}: accuracy of {name} (Fig. 1)")
        for task, *values in _FIG_1
        for (model, name), value in zip((("nn", "the network"), ("rfm-t", "RFM-T")), values, strict=True)
    ]
    claims += [
        unavailable("celeba/crossed", celeba, paper=0.110, label="CelebA, Pearson of diagonals, glasses and mustache"),
    ]
    untrained = Null(0.0, "an untrained network")
    for data, name in (("mnist", "MNIST"), ("cifar10", "CIFAR-10")):
        for pair, task in NAMES[data].items():
            key = f"{data}/{pair[0]}-{pair[1]}"
            claims += [
                at_least(
                    f"{key}/diagonal", 0.8, "“greater than 0.8” on CelebA; other pictures and fewer steps",
                    slack=0.1, null=Null(0.11, "glasses and mustache in the paper"),
                    label=f"{name}, {task}: Pearson of the diagonals of W₁ᵀW₁ and M",
                ),
                at_least(
                    f"{key}/vector", 0.9, "above 0.99 on CelebA after some 100,000 steps; here thousands",
                    slack=0.1, null=untrained, label=f"{name}, {task}: Pearson of the leading eigenvectors",
                ),
                at_least(
                    f"{key}/gap/nn", 2.0, "Fig. 15, “a large gap”: at least twice the next",
                    null=Null(1.0, "no gap"), label=f"{name}, {task}: λ₁/λ₂ of W₁ᵀW₁",
                ),
            ]  # fmt: skip
        for what, words in (("diagonal", "diagonals"), ("vector", "leading eigenvectors")):
            claims.append(
                positive(
                    f"{data}/{what}/beyond", "the control of the text: features of two tasks are not alike",
                    label=f"{name}: Pearson of {words} on one task minus that across tasks",
                )
            )  # fmt: skip
        claims.append(
            at_most(
                f"{data}/diagonal/crossed", 0.5, "0.110 for two attributes of CelebA; pairs of other pictures",
                slack=0.2, null=Null(0.9, "as on one task"), label=f"{name}: Pearson of diagonals across tasks",
            )
        )  # fmt: skip
    return tuple(claims)


def leads(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the accuracies of RFM and RFM-T minus that of the network, by task."""
    found = {}
    for record in records:
        data, numbers = record["spec"]["data"], record["numbers"]
        for pair in record["spec"]["pairs"]:
            task = f"{data}/{pair[0]}-{pair[1]}"
            for model in ("rfm", "rfm-t"):
                found[f"{task}/lead/{model}"] = numbers[f"{task}/accuracy/{model}"] - numbers[f"{task}/accuracy/nn"]
    return found


def draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    """Draw the diagonals of both models for each task of seed 0, and correlations on one task and across tasks."""
    shown_records = [record for record in records if record["arrays"]]
    tasks = [(record, pair) for record in shown_records for pair in record["spec"]["pairs"]]
    figure.set_size_inches(1.9 * max(len(tasks), 2) + 2.4, 4.0)
    grid = figure.subplots(2, max(len(tasks), 1) + 1, squeeze=False)
    for at, (record, pair) in enumerate(tasks):
        data = record["spec"]["data"]
        for row, (key, title) in enumerate((("nn", "diag W₁ᵀW₁"), ("rfm", "diag M"))):
            picture = np.asarray(record["arrays"][f"{pair[0]}-{pair[1]}/{key}"])
            grid[row, at].imshow(picture, cmap=style.AMOUNT)
            grid[row, at].set(xticks=[], yticks=[])
            grid[row, at].set_title(f"{NAMES[data][tuple(pair)]}\n{title}", fontsize=8)
    for row, what in enumerate(("diagonal", "vector")):
        ax = grid[row, -1]
        for at, data in enumerate(dict.fromkeys(record["spec"]["data"] for record in records)):
            numbers = [record["numbers"] for record in records if record["spec"]["data"] == data]
            for offset, key, colour in ((-0.15, "matched", style.BLUE), (0.15, "crossed", style.GREY)):
                values = [found[f"{data}/{what}/{key}"] for found in numbers]
                ax.plot([at + offset] * len(values), values, "o", color=colour, markersize=4, alpha=0.7)
        names = list(dict.fromkeys(record["spec"]["data"] for record in records))
        ax.set(xticks=range(len(names)), xticklabels=names, ylim=(0, 1.02))
        ax.set_title(f"Pearson, {what}s: one task\n(blue), across tasks (grey)", fontsize=8)
        ax.tick_params(labelsize=8)
        style.declutter(ax, "y")


def _cost(spec: PairTasks) -> float:
    columns = spec.side**2 * (1 if spec.data == "mnist" else 3)
    step = 6 * spec.network.width * (columns + spec.network.width) / 2e10
    one = 2 * spec.rows * spec.network.epochs * step + (8 * spec.rows**3 + 4 * spec.rows * columns**2) / 2e10
    return len(spec.pairs) * one


SMALL_NETWORK = NetworkTraining(width=256, epochs=500)
_PAPER = NetworkTraining()


@experiment(
    "b/fig2",
    "B",
    "Features of networks and RFMs: the same diagonals and leading eigenvectors on one task",
    specs={
        "smoke": (PairTasks("made", tuple(NAMES["made"]), 30, 20, 8, 50, NetworkTraining(width=32, epochs=10)),),
        "small": (
            PairTasks("mnist", tuple(NAMES["mnist"]), 300, 500, 28, 20_000, SMALL_NETWORK),
            PairTasks("cifar10", tuple(NAMES["cifar10"]), 300, 500, 16, 20_000, SMALL_NETWORK),
        ),
        "paper": (
            PairTasks("mnist", tuple(NAMES["mnist"]), 5000, 800, 28, 20_000, _PAPER),
            PairTasks("cifar10", tuple(NAMES["cifar10"]), 5000, 1000, 32, 20_000, _PAPER),
        ),
    },
    seeds={"small": 5, "paper": 3},
    claims=_claims(),
    version=2,  # correlations of diagonals have a sign, and RFM-T is recorded
    draw=draw,
    derive=leads,
    cost=_cost,
    setting=STAND_IN,
)
def features(spec: PairTasks, seed: int) -> Result:
    """Train both models on every task; return their agreement on each, and between tasks."""
    rng = torch.Generator().manual_seed(seed)
    numbers: dict[str, float] = {}
    arrays: dict[str, Any] = {}
    found: dict[str, list[Leading]] = {"nn": [], "rfm": []}
    for pair in spec.pairs:
        task = f"{pair[0]}-{pair[1]}"
        (X, Y, _), (X_test, _, y_test) = (on_sphere(spec, pair, split, rng) for split in ("train", "test"))
        with threads(1):
            *_, machine = learn(X, Y, RIDGE, 1, Agop(scale=None, max_rows=spec.gradients))
            network = train_network(X, Y, spec.network, rng)
            numbers[f"{spec.data}/{task}/accuracy/rfm"] = scores(predictor(machine), X_test, y_test)
            numbers[f"{spec.data}/{task}/accuracy/nn"] = scores(network, X_test, y_test)
            kept = select_columns(machine.metric.diagonal(), THRESHOLD)
            numbers[f"{spec.data}/{task}/accuracy/rfm-t"] = refit_accuracy(kept, (X, Y), (X_test, y_test), RIDGE)
            found["rfm"].append(leading(machine.matrix()))
            found["nn"].append(leading(gram(network)))
        for key, matrices in found.items():
            numbers[f"{spec.data}/{task}/gap/{key}"] = matrices[-1].gap
            if seed == 0:
                arrays[f"{task}/{key}"] = _picture(matrices[-1].diagonal, spec)
    for what, correlation in _CORRELATIONS.items():
        networks, machines = ([getattr(m, what) for m in found[key]] for key in ("nn", "rfm"))
        matched, crossed = matched_and_crossed(networks, machines, correlation)
        for pair, value in zip(spec.pairs, matched, strict=True):
            numbers[f"{spec.data}/{pair[0]}-{pair[1]}/{what}"] = value
        numbers[f"{spec.data}/{what}/matched"] = float(np.mean(matched))
        numbers[f"{spec.data}/{what}/crossed"] = float(np.mean(crossed))
        numbers[f"{spec.data}/{what}/beyond"] = float(np.mean(matched) - np.mean(crossed))
    return Result(numbers, arrays)


def _picture(diagonal: Float[Tensor, " d"], spec: PairTasks) -> list[list[int]]:
    shape = read(spec.data, "test").image_shape or ()
    grid = shown(diagonal).reshape(spec.side, spec.side, shape[2] if len(shape) == 3 else 1).mean(2)
    picture: list[list[int]] = torch.round(99 * grid / grid.max()).int().tolist()
    return picture
