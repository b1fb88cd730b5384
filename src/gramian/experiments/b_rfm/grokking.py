"""Fig. 7: a star in the corner tells the class; networks and RFMs find it after they have fitted all training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from gramian.core import threads
from gramian.datasets import mark_class, marked_pixels
from gramian.datasets.composed import STAR, WHITE, YELLOW
from gramian.experiments.b_rfm.machines import learn
from gramian.experiments.b_rfm.picture_data import tensors, two_classes
from gramian.experiments.b_rfm.picture_models import (
    NetworkTraining,
    gram_diagonal,
    predictor,
    scores,
    share_on,
    shown,
    train_network,
)
from gramian.experiments.claims import Claim, Kind, Null, at_least, positive, unavailable
from gramian.experiments.registry import Result, experiment
from gramian.features import Agop
from gramian.report import style

PLANE, TRUCK = 0, 9
_SIDE_SHOWN = 48

_FITTED = 0.99
"""Training accuracy from which the network counts as fitted."""
_POINTS_PER_100_EPOCHS = 1e4


@dataclass(frozen=True)
class Marked:
    """Planes and trucks with a mark, most of them of one class.

    ``path`` is ``"text"`` (the paper's appendix: 500 planes, 53 trucks, a yellow star, a diagonal M), ``"code"`` (the
    authors' published code: 53 planes, 500 trucks, a white block of 5 × 5, a full M) or ``"small text"`` (the appendix
    on smaller pictures, which a network needs at the scale small). ``test`` is the number of test pictures per class,
    ``side`` that of rows and columns of pixels; 80 % of the many and the few are trained on.
    """

    path: str
    data: str
    side: int
    test: int
    rounds: int
    ridge: float
    many: int = 500
    few: int = 53
    network: NetworkTraining | None = None


def marked_rows(spec: Marked, seed: int) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[Tensor, Tensor], Tensor]:
    """Return training rows (pixels, one-hot, class), test rows (pixels, class), and the mask of the mark's columns."""
    rng = torch.Generator().manual_seed(seed)
    many, few = int(0.8 * spec.many), int(0.8 * spec.few)
    counts = (few, many) if spec.path == "code" else (many, few)
    pattern, at, colour = (np.ones((5, 5), bool), (2, 7), WHITE) if spec.path == "code" else (STAR, (2, 2), YELLOW)
    pair = (PLANE, TRUCK)
    parts = []
    for split, rows in (("train", counts), ("test", (spec.test, spec.test))):
        pictures = two_classes(spec.data, split, pair, rows, rng, spec.side)
        parts.append(tensors(mark_class(pictures, TRUCK, pattern, at, colour), pair))
    mask = torch.from_numpy(marked_pixels((spec.side, spec.side, 3), pattern, at))
    (X, Y, y), (X_test, _, y_test) = parts
    return (X, Y, y), (X_test, y_test), mask


def as_picture(diagonal: Tensor, side: int) -> list[list[int]]:
    """Return a diagonal as a picture with entries 0 … 99, the largest channel of each pixel, at most 48 × 48."""
    grid = shown(diagonal).reshape(side, side, 3).amax(2)
    if side > _SIDE_SHOWN:
        grid = torch.nn.functional.adaptive_max_pool2d(grid[None, None], _SIDE_SHOWN)[0, 0]
    picture: list[list[int]] = torch.round(99 * grid).int().tolist()
    return picture


def _claims() -> tuple[Claim, ...]:
    stl = "STL-10 is not among the available data; CIFAR-10 replaces it"
    claims = [
        unavailable("stl/nn/start", stl, paper=0.80, label="STL-10, network: test accuracy 120 epochs before the end"),
        unavailable("stl/nn/end", stl, paper=0.9938, label="STL-10, network: test accuracy at the end"),
        unavailable("stl/rfm/0", stl, paper=0.558, label="STL-10, RFM: test accuracy of round 0"),
        unavailable("stl/rfm/3", stl, paper=1.0, label="STL-10, RFM: test accuracy of round 3"),
        unavailable("stl/rfm/no ridge", stl, paper=1.0, label="STL-10, RFM without ridge: test accuracy of round 1"),
    ]
    chance = Null(0.5, "chance on a balanced test set")
    paths: tuple[tuple[str, str, Kind], ...] = (
        ("text", "text", "statement"),
        ("code", "published code", "side condition"),  # no sentence is about a white block and exchanged classes
    )
    for path, name, kind in paths:
        claims += [
            at_least(
                f"{path}/rise", 0.44, "“a drastic rise in test accuracy from 55.8 % to 100 %”: 44 points", slack=0.2,
                label=f"RFM as in the {name}: test accuracy of the last round minus that of round 0",
                null=Null(0.0, "no rise, as of a constant"), kind=kind,
            ),
            at_least(
                f"{path}/end", 0.99, "“rises to 100 %”: 99 % on other pictures", slack=0.02,
                label=f"RFM as in the {name}: test accuracy of the last round", null=chance, kind=kind,
            ),
            at_least(
                f"{path}/share", 0.8, "“the RFM subsets the star pixels”: most of the trace of M", slack=0.1,
                label=f"RFM as in the {name}: the mark's share of tr M, last round",
                null=Null(0.003, "the identity, at 96 × 96 pixels"), kind=kind,
            ),
        ]  # fmt: skip
    claims += [
        at_least(
            "no ridge", 0.99,
            "“without regularization, the RFM gets 100% test accuracy within 1 iteration”", slack=0.02,
            label="RFM without ridge: test accuracy of round 1", null=chance,
        ),
        at_least(
            "nn/rise", 0.19, "“the test accuracy rises drastically from 80 % to 99.38 %”: 19 points", slack=0.09,
            label="Network: test accuracy at the end minus that when training accuracy first reaches 99 %, of seeds "
            "that do",
            null=Null(0.0, "no rise, as of a constant"),
        ),
        at_least(
            "nn/end", 0.98, "99.38 % on STL-10; other pictures, and 400 test rows at the scale small", slack=0.02,
            label="Network: test accuracy at the end", null=chance,
        ),
        positive(
            "nn/grown faster", "“the network learns the feature corresponding to the star during this stage”: faster "
            "than before",
            label="Network: points per 100 epochs by which the star's share of tr W₁ᵀW₁ grows once the training "
            "accuracy is 99 %, minus those by which it grows before",
        ),
    ]  # fmt: skip
    return tuple(claims)


def rises(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the rise of the test accuracy over rounds and, of the network, after 99 % training accuracy.

    ``nn/grown faster`` is the growth of the star's share of tr W₁ᵀW₁ in points per 100 epochs after 99 % training
    accuracy minus that before. A network that does not reach 99 %, or only at its first or last measurement, has no
    numbers.
    """
    found = {}
    for record in records:
        test = record["arrays"]["test"]
        found[f"{record['spec']['path']}/rise"] = test[-1] - test[0]
        if "network" in record["arrays"]:
            found |= _network_rise(record["arrays"]["network"])
    return found


def _network_rise(curves: Mapping[str, Sequence[float]]) -> dict[str, float]:
    epoch, train, test, share = (curves[key] for key in ("epoch", "train", "test", "share"))
    fitted = _fitted_at(train)
    if train[fitted] < _FITTED or not 0 < fitted < len(train) - 1:
        return {}
    before = (share[fitted] - share[0]) / (epoch[fitted] - epoch[0])
    after = (share[-1] - share[fitted]) / (epoch[-1] - epoch[fitted])
    return {"nn/rise": test[-1] - test[fitted], "nn/grown faster": _POINTS_PER_100_EPOCHS * (after - before)}


def _fitted_at(train: Sequence[float]) -> int:
    """Return the place of the first training accuracy that counts as fitted, or the last place."""
    return next((i for i, accuracy in enumerate(train) if accuracy >= _FITTED), len(train) - 1)


def draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    """Draw accuracies of network and RFM, and the last diagonal of each."""
    first = {record["spec"]["path"]: record for record in reversed(list(records)) if "picture" in record["arrays"]}
    figure.set_size_inches(9, 2.6 * len(first))
    grid = figure.subplots(len(first), 3, squeeze=False, width_ratios=(1.3, 1.3, 1))
    for row, (path, record) in zip(grid, sorted(first.items(), reverse=True), strict=True):
        arrays = record["arrays"]
        for test, train in ((r["arrays"]["test"], r["arrays"]["train"]) for r in records if r["spec"]["path"] == path):
            row[0].plot(100 * np.asarray(test), "o-", color=style.BLUE, markersize=3, alpha=0.7)
            row[0].plot(100 * np.asarray(train), ":", color=style.GREY)
        row[0].set(xlabel="round", ylabel="accuracy (%)", xticks=range(len(arrays["test"])), ylim=(45, 103))
        side = record["spec"]["side"]
        row[0].set_title(f"RFM, {path}, {side} × {side}: test (line), training", fontsize=8)
        style.declutter(row[0], "y")
        curves = arrays.get("network", {})
        if curves:
            row[1].plot(curves["epoch"], 100 * np.asarray(curves["test"]), color=style.BLUE)
            row[1].plot(curves["epoch"], 100 * np.asarray(curves["train"]), ":", color=style.GREY)
            row[1].set(xlabel="epoch", ylim=(45, 103))
            row[1].set_title("network: test (line), training (dots)", fontsize=9)
            style.declutter(row[1], "y")
        else:
            row[1].imshow(np.asarray(arrays["picture/first"]), cmap=style.AMOUNT)
            row[1].set(xticks=[], yticks=[])
            row[1].set_title("diag M, first learned", fontsize=9)
        row[2].imshow(np.asarray(arrays["picture"]), cmap=style.AMOUNT)
        row[2].set(xticks=[], yticks=[])
        row[2].set_title("diag M, last round", fontsize=9)


_SMOKE = NetworkTraining(width=32, optimizer="adam", rate=1e-3, batch=None, epochs=15, first_std=5e-3)
_SMALL = NetworkTraining(width=512, optimizer="adam", rate=1e-4, batch=None, epochs=100, first_std=5e-3)
_PAPER = NetworkTraining(width=1024, optimizer="adam", rate=1e-4, batch=None, epochs=300, first_std=5e-3)


@experiment(
    "b/fig7",
    "B",
    "Grokking of a star in the corner of planes and trucks, by networks and by RFMs",
    specs={
        "smoke": (
            Marked("text", "made", 16, 20, 2, 2.5e-3, 50, 10, _SMOKE),
            Marked("code", "made", 16, 20, 1, 1e-3, 50, 10),
        ),
        "small": (
            Marked("text", "cifar10", 96, 200, 3, 2.5e-3),
            Marked("code", "cifar10", 96, 200, 5, 1e-3),
            Marked("small text", "cifar10", 48, 200, 3, 2.5e-3, network=_SMALL),
        ),
        "paper": (
            Marked("text", "cifar10", 96, 800, 3, 2.5e-3, network=_PAPER),
            Marked("code", "cifar10", 96, 800, 5, 1e-3),
        ),
    },
    seeds={"small": 5, "paper": 5},
    claims=_claims(),
    draw=draw,
    derive=rises,
    setting="planes and trucks of CIFAR-10 in place of STL-10",
    cost=lambda spec: 0.02 * spec.side**2 + (0.0002 * spec.network.epochs * spec.side**2 if spec.network else 0),
)
def grokking(spec: Marked, seed: int) -> Result:
    """Train the RFM, with and without ridge, and the network; return accuracies and the mark's share of features."""
    (X, Y, y), (X_test, y_test), mask = marked_rows(spec, seed)
    update = Agop(scale=None, diagonal=spec.path != "code")
    train, test, pictures = [], [], []
    with threads(1):
        for machine in learn(X, Y, spec.ridge, spec.rounds, update):
            train.append(scores(predictor(machine), X, y))
            test.append(scores(predictor(machine), X_test, y_test))
            diagonal = machine.metric.diagonal()
            if len(test) > 1:
                pictures.append(as_picture(diagonal, spec.side))
        numbers = {
            f"{spec.path}/train": min(train),
            f"{spec.path}/start": test[0],
            f"{spec.path}/end": test[-1],
            f"{spec.path}/share": share_on(diagonal, mask),
        }
        arrays: dict[str, Any] = {"train": train, "test": test}
        if seed == 0:
            arrays |= {"picture/first": pictures[0], "picture": pictures[-1]}
        if spec.path == "text":
            *_, machine = learn(X, Y, 0.0, 1, update)
            numbers["no ridge"] = scores(predictor(machine), X_test, y_test)
        if spec.network is not None:
            found, curves = _network(spec.network, (X, Y, y), (X_test, y_test), mask, seed)
            numbers |= found
            arrays["network"] = curves
    return Result(numbers, arrays)


def _network(
    training: NetworkTraining,
    rows: tuple[Tensor, Tensor, Tensor],
    test_rows: tuple[Tensor, Tensor],
    mask: Tensor,
    seed: int,
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Train the network; return the numbers of the claims, and its curves at every fifth epoch."""
    X, Y, y = rows
    course: list[tuple[float, float, float]] = []

    def watch(epoch: int, model: nn.Sequential) -> None:
        if epoch % 5 == 0:
            course.append((scores(model, X, y), scores(model, *test_rows), share_on(gram_diagonal(model), mask)))

    train_network(X, Y, training, torch.Generator().manual_seed(1000 + seed), watch)
    epochs = [float(5 * i) for i in range(len(course))]
    train, test, share = ([row[i] for row in course] for i in range(3))
    numbers = {"nn/fitted": test[_fitted_at(train)], "nn/end": test[-1]}
    return numbers, {"epoch": epochs, "train": train, "test": test, "share": share}
