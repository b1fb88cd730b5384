"""Fig. 3 and 11 to 13: street numbers. Feature learning selects the centre digit; networks of several depths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from torch import Tensor, nn

from gramian.core import pearson, threads
from gramian.datasets import resized, street_numbers
from gramian.experiments.b_rfm.picture_data import read, tensors
from gramian.experiments.b_rfm.picture_models import (
    NetworkTraining,
    gram,
    gram_diagonal,
    learn,
    predictor,
    ridge_fit,
    scores,
    share_on,
    shown,
    train_network,
)
from gramian.experiments.b_rfm.printed_street import ACCURACIES, ERRORS, LAPLACE
from gramian.experiments.claims import Claim, Null, at_least, at_most, positive, unavailable
from gramian.experiments.registry import Result, experiment
from gramian.features import Agop
from gramian.kernels import NTK, as_metric
from gramian.report import style

RIDGE, NTK_ON_M_RIDGE = 1e-3, 1e-2
_SVHN = "SVHN is not among the available data; numbers made of MNIST's digits replace it"
_STAND_IN = "numbers made of MNIST's digits in place of SVHN"
_SMALL_RATE = "rate 1 in place of 0.05"


@dataclass(frozen=True)
class StreetTask:
    """Street numbers made of a set of digits, the models' sizes, and the hidden layers of the networks."""

    digits: str
    rows: int
    test: int
    side: int
    rounds: int
    gradients: int
    depths: tuple[int, ...]
    network: NetworkTraining


def street_rows(spec: StreetTask, seed: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor], torch.Generator]:
    """Return training rows with one-hot targets, test rows with classes, and the generator for the networks."""
    rng = torch.Generator().manual_seed(seed)
    parts = []
    for split, count in (("train", spec.rows), ("test", spec.test)):
        made = street_numbers(read(spec.digits, split), count, rng)
        parts.append(tensors(made if spec.side == 32 else resized(made, spec.side, spec.side), tuple(range(10))))
    (X, Y, _), (X_test, _, y_test) = parts
    return (X, Y), (X_test, y_test), rng


def centre_columns(side: int) -> Bool[Tensor, " d"]:
    """Return the mask of the middle half of the pixel columns, where the digit of the label is.

    >>> centre_columns(4).reshape(4, 4, 3)[0, :, 0]
    tensor([False,  True,  True, False])
    """
    mask = torch.zeros(side, side, 3, dtype=torch.bool)
    mask[:, side // 4 : side - side // 4] = True
    return mask.flatten()


def centred_agop_diagonal(model: nn.Module, X: Float[Tensor, "n d"], outputs: int = 10) -> Float[Tensor, " d"]:
    """Return the diagonal of ``Σ_c Cov(∂f_c/∂x)``, the centred average gradient outer product of a network.

    >>> linear = nn.Linear(3, 2)
    >>> centred_agop_diagonal(linear, torch.rand(5, 3), outputs=2).max() < 1e-12
    tensor(True)
    """
    total = torch.zeros(X.shape[1], dtype=torch.float64)
    with torch.enable_grad():
        for output in range(outputs):
            x = X.clone().requires_grad_()
            (G,) = torch.autograd.grad(model(x)[:, output].sum(), x)
            total += G.double().var(0, correction=0)
    return total


def top_share(diagonal: Float[Tensor, " d"], share: float = 300 / 3072) -> float:
    """Return the largest entries' share of a diagonal's sum; by default as many as 300 of 3,072.

    >>> top_share(torch.tensor([1.0, 1.0, 2.0, 4.0]), 0.25)
    0.5
    """
    count = max(1, round(share * len(diagonal)))
    return float(diagonal.sort(descending=True).values[:count].sum() / diagonal.sum())


def _picture(diagonal: Float[Tensor, " d"], side: int) -> list[list[int]]:
    grid = shown(diagonal).reshape(side, side, 3).mean(2)
    picture: list[list[int]] = torch.round(99 * grid / grid.max()).int().tolist()
    return picture


def _draw_selection(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(8.4, 2.6)
    axes = figure.subplots(1, 3, width_ratios=(1, 1, 1.5))
    first = next((record for record in records if "nn" in record["arrays"]), None)
    if first is not None:
        for ax, (key, title) in zip(axes, (("nn", "diag W₁ᵀW₁"), ("rfm", "diag M")), strict=False):
            ax.imshow(np.asarray(first["arrays"][key]), cmap=style.AMOUNT)
            ax.set(xticks=[], yticks=[])
            ax.set_title(title, fontsize=9)
    names = {"laplace": "Laplace", "ntk": "NTK", "nn": "network", "rfm/laplace": "RFM", "rfm": "RFM (NTK)"}
    for at, key in enumerate(names):
        values = [100 * record["numbers"][f"accuracy/{key}"] for record in records]
        axes[2].bar(at, np.mean(values), 0.6, color=style.GREY if at < 2 else style.BLUE)
        axes[2].plot([at] * len(values), values, ".", color=style.INK)
    axes[2].set(xticks=range(len(names)), ylabel="test accuracy (%)")
    axes[2].set_xticklabels(names.values(), fontsize=8)
    style.declutter(axes[2], "y")


_SMALL = StreetTask("mnist", 2000, 1000, 16, 5, 20_000, (1, 2, 3, 4), NetworkTraining(2, 256, "sgd", 1.0, 100, 150))
_PAPER = StreetTask("mnist", 58_606, 10_000, 32, 5, 20_000, (1, 2, 3, 4), NetworkTraining(rate=0.05, batch=100))
_SMOKE = StreetTask("made-digits", 60, 40, 8, 1, 20, (1, 2), NetworkTraining(2, 16, "sgd", 1.0, 20, 4))
BY_DEPTH = StreetTask("mnist", 1500, 1000, 16, 5, 20_000, (1, 2, 3, 4), NetworkTraining(2, 128, "sgd", 1.0, 100, 200))
_UNIFORM = Null(0.5, "all columns alike, as in an untrained network")


@experiment(
    "b/fig3",
    "B",
    "Street numbers: RFMs and networks select the centre digit and far outperform plain kernels",
    specs={"smoke": (_SMOKE,), "small": (_SMALL,), "paper": (_PAPER,)},
    seeds={"small": 5, "paper": 1},
    claims=[
        at_least(
            "centre/rfm",
            0.75,
            "“learn to subset to the center columns”: three quarters of what the figure shows",
            slack=0.1,
            label="RFM: share of diag M, as drawn, on the middle half of the columns",
            null=_UNIFORM,
        ),
        at_least(
            "centre/nn",
            0.75,
            "“learn to subset to the center columns”: three quarters of what the figure shows",
            slack=0.1,
            label="Network: share of diag W₁ᵀW₁, as drawn, on the middle half of the columns",
            small_setting=_SMALL_RATE,
            null=_UNIFORM,
        ),
        at_least(
            "gain/rfm",
            0.1,
            "“a gap of over 10 %” between these models and the Laplace kernel",
            slack=0.03,
            label="RFM (NTK): test accuracy minus that of the Laplace kernel",
            null=Null(0.0, "no gap"),
        ),
        at_least(
            "gain/nn",
            0.1,
            "“a gap of over 10 %” between these models and the Laplace kernel",
            slack=0.03,
            label="Network: test accuracy minus that of the Laplace kernel",
            small_setting=_SMALL_RATE,
            null=Null(0.0, "no gap"),
        ),
        positive(
            "beyond ntk/rfm",
            "“far outperform previous kernel methods”, the NTK among them; about 5 points in Fig. 3c",
            label="RFM (NTK): test accuracy minus that of the NTK",
        ),
        positive(
            "beyond ntk/nn",
            "“far outperform previous kernel methods”, the NTK among them",
            label="Network: test accuracy minus that of the NTK",
            small_setting=_SMALL_RATE,
        ),
    ],
    draw=_draw_selection,
    setting=_STAND_IN,
    cost=lambda spec: spec.rows * spec.network.epochs * 0.0008 + spec.rounds * (spec.rows**3 / 2e10 + 5),
)
def selection(spec: StreetTask, seed: int) -> Result:
    """Train RFM, network and plain kernels; return accuracies, and the share of features in the centre."""
    rows, test, rng = street_rows(spec, seed)
    centre = centre_columns(spec.side)
    with threads(1):
        by_round = []
        for machine in learn(*rows, RIDGE, spec.rounds, Agop(scale=None, center=True, max_rows=spec.gradients)):
            by_round.append(scores(predictor(machine), *test))
        M = machine.metric
        network = train_network(*rows, spec.network, rng)
        accuracy = {
            "laplace": by_round[0],
            "ntk": scores(predictor(ridge_fit(*rows, RIDGE, NTK(depth=2))), *test),
            "nn": scores(network, *test),
            "rfm/laplace": by_round[-1],
            "rfm": scores(predictor(ridge_fit(*rows, NTK_ON_M_RIDGE, NTK(depth=1), M)), *test),
        }
    diagonals = {"nn": gram_diagonal(network), "rfm": M.diagonal()}
    numbers = {f"accuracy/{key}": value for key, value in accuracy.items()}
    for key, diagonal in diagonals.items():
        numbers |= {
            f"centre/{key}": share_on(shown(diagonal), centre),
            f"gain/{key}": accuracy[key] - accuracy["laplace"],
            f"beyond ntk/{key}": accuracy[key] - accuracy["ntk"],
        }
    arrays: dict[str, Any] = {"rounds": by_round}
    if seed == 0:
        arrays |= {key: _picture(diagonal, spec.side) for key, diagonal in diagonals.items()}
    return Result(numbers, arrays)


def _depth_claims() -> tuple[Claim, ...]:
    claims: list[Claim] = [
        unavailable(f"svhn/{key}{name}/{depth}", _SVHN, paper=value, label=f"SVHN, {name}, depth {depth}: {what}")
        for key, what, printed in (("", "accuracy", ACCURACIES), ("mse/", "mean squared error", ERRORS))
        for name, values in printed.items()
        for depth, value in enumerate(values, 1)
    ]
    claims += [
        unavailable("svhn/laplace", _SVHN, paper=LAPLACE[0], label="SVHN, Laplace kernel: accuracy"),
        unavailable("svhn/mse/laplace", _SVHN, paper=LAPLACE[1], label="SVHN, Laplace kernel: mean squared error"),
    ]
    claims += [
        positive(
            f"ntk on features/beyond nn/{depth}",
            "“a Mahalanobis kernel with the first layer feature matrix is sufficient to exceed” the network; the table "
            "has it so at depths 1 to 3, and 0.14 points below the network at depth 4",
            label=f"Depth {depth}: accuracy of the NTK on W₁ᵀW₁ minus that of the network",
        )
        for depth in (1, 2, 3)
    ]
    for depth in (1, 2, 3, 4):
        claims += [
            at_least(
                f"laplace on features/gain/{depth}", 0.05, "12 points on SVHN at every depth", slack=0.03,
                label=f"Depth {depth}: accuracy of the Laplace kernel on W₁ᵀW₁ minus that without",
                null=Null(0.0, "features that do not help"),
            ),
            at_least(
                f"similar/{depth}", 0.8, "Fig. 12 and 13 show the same columns, those of an untrained network less so",
                slack=0.1, null=Null(0.5, "an untrained network, 0.40 to 0.53 for five seeds and four depths"),
                label=f"Depth {depth}: Pearson of the diagonals of W₁ᵀW₁ and of the network's centred AGOP",
            ),
            positive(
                f"centre/{depth}", "Fig. 13: bright centre columns", null=_UNIFORM,
                label=f"Depth {depth}: share of diag W₁ᵀW₁, as drawn, on the middle half of the columns",
            ),
        ]  # fmt: skip
    claims += [
        at_most(
            "depth/nn", 0.03, "“depth did not help accuracy”: 1.4 points from depth 1 to 4 on SVHN", slack=0.02,
            label="Network: accuracy at depth 4 minus that at depth 1", null=Null(0.1, "depth that helps"),
        ),
        positive(
            "depth/top",
            "“the largest 300 pixels increases relative to the remaining pixels on the diagonal with increasing depth”",
            label="Share of the largest 10 % of diag W₁ᵀW₁ at depth 4 minus that at depth 1",
        ),
    ]  # fmt: skip
    return tuple(claims)


def _draw_depth(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    depths = [int(depth) for depth in records[0]["spec"]["depths"]]
    figure.set_size_inches(1.6 * len(depths) + 4, 3.6)
    grid = figure.add_gridspec(2, len(depths) + 2)
    first = next((record for record in records if f"gram/{depths[0]}" in record["arrays"]), None)
    for row, (key, title) in enumerate((("agop", "centred AGOP"), ("gram", "W₁ᵀW₁"))):
        for at, depth in enumerate(depths):
            if first is not None:
                ax = figure.add_subplot(grid[row, at])
                ax.imshow(np.asarray(first["arrays"][f"{key}/{depth}"]), cmap=style.AMOUNT)
                ax.set(xticks=[], yticks=[])
                ax.set_title(f"{title}, depth {depth}", fontsize=7)
    ax = figure.add_subplot(grid[:, len(depths) :])
    names = {
        "nn": "network",
        "ntk": "NTK",
        "ntk on features": "NTK on W₁ᵀW₁",
        "laplace on features": "Laplace on W₁ᵀW₁",
    }
    for (key, name), colour in zip(names.items(), style.SERIES, strict=False):
        values = [100 * np.mean([record["numbers"][f"{key}/{depth}"] for record in records]) for depth in depths]
        ax.plot(depths, values, "o-", color=colour, label=name, markersize=4)
    ax.axhline(100 * np.mean([record["numbers"]["laplace"] for record in records]), color=style.GREY, linestyle=":")
    ax.set(xlabel="hidden layers (dots: Laplace)", ylabel="test accuracy (%)", xticks=depths)
    ax.legend(frameon=False, fontsize=7)
    style.declutter(ax, "y")


@experiment(
    "b/fig11",
    "B",
    "Street numbers by depth: kernels on a network's first-layer features against the network itself",
    specs={"smoke": (_SMOKE,), "small": (BY_DEPTH,), "paper": (_PAPER,)},
    seeds={"small": 5, "paper": 1},
    claims=_depth_claims(),
    draw=_draw_depth,
    setting=f"{_STAND_IN}; the network after its last epoch in place of the best of 4,000 epochs",
    small_setting=_SMALL_RATE,
    cost=lambda spec: len(spec.depths) * (spec.rows * spec.network.epochs * 0.001 + 3 * spec.rows**3 / 2e10),
)
def depth(spec: StreetTask, seed: int) -> Result:
    """Train networks of each depth, and kernels on their first-layer features."""
    rows, test, rng = street_rows(spec, seed)
    centre = centre_columns(spec.side)
    arrays: dict[str, Any] = {}
    with threads(1):
        numbers = {"laplace": scores(predictor(ridge_fit(*rows, RIDGE)), *test)}
        for hidden in spec.depths:
            fit = spec.network
            training = NetworkTraining(hidden, fit.width, fit.optimizer, fit.rate, fit.batch, fit.epochs)
            network = train_network(*rows, training, rng)
            features = as_metric(gram(network))
            diagonal = gram_diagonal(network)
            agop = centred_agop_diagonal(network, rows[0][:500])
            found = {
                "nn": scores(network, *test),
                "ntk": scores(predictor(ridge_fit(*rows, RIDGE, NTK(depth=hidden))), *test),
                "ntk on features": scores(predictor(ridge_fit(*rows, RIDGE, NTK(depth=hidden), features)), *test),
                "laplace on features": scores(predictor(ridge_fit(*rows, RIDGE, metric=features)), *test),
                "similar": pearson(diagonal, agop),
                "centre": share_on(shown(diagonal), centre),
                "top": top_share(diagonal),
            }
            found["ntk on features/beyond nn"] = found["ntk on features"] - found["nn"]
            found["laplace on features/gain"] = found["laplace on features"] - numbers["laplace"]
            numbers |= {f"{name}/{hidden}": value for name, value in found.items()}
            if seed == 0:
                arrays |= {f"gram/{hidden}": _picture(diagonal, spec.side), f"agop/{hidden}": _picture(agop, spec.side)}
    least, most = spec.depths[0], spec.depths[-1]
    for key in ("nn", "top"):
        numbers[f"depth/{key}"] = numbers[f"{key}/{most}"] - numbers[f"{key}/{least}"]
    return Result(numbers, arrays)
