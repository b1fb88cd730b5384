"""Explanation of FACT on few images of CIFAR-10: training is not stationary, because of the kinks of ReLU."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from matplotlib.figure import Figure
from scipy.stats import spearmanr
from torch import Tensor, nn

from gramian.core import threads
from gramian.experiments import Null, Result, at_least, at_most, experiment, positive
from gramian.experiments.d_fact.training import ImageTraining, TrainedNetwork, correlations, train
from gramian.report import style
from gramian.theory.lbfgs import LBFGS

_STATIONARY = 0.02
"""A network counts as stationary below this relative gradient."""


@dataclass(frozen=True)
class Settling:
    """A training, then at most `rounds` rounds of L-BFGS on all rows, until the first layer is stationary."""

    training: ImageTraining
    rounds: int = 0
    iterations: int = 300
    rest: float = _STATIONARY


@dataclass(frozen=True)
class Smooth(Settling):
    """A :class:`Settling` with GELU in place of ReLU after the training, so that the loss has no kinks."""


def smoothed(trained: TrainedNetwork) -> TrainedNetwork:
    """Return the network with GELU in place of ReLU and a copy of its weights."""
    parts = [copy.deepcopy(part) if isinstance(part, nn.Linear) else nn.GELU() for part in trained.model]
    return TrainedNetwork(nn.Sequential(*parts), trained.X, trained.Y, trained.losses)


def relative_gradient(trained: TrainedNetwork, weight_decay: float) -> float:
    """Return ``‖∇L + λW‖ / (λ‖W‖)`` of the first layer on all rows; at 0, FACT is exactly ``WᵀW``.

    >>> run = train(ImageTraining("digits", 64, hidden=1, width=16, epochs=2), seed=0)
    >>> relative_gradient(run, 1e-4) > 1
    True
    """
    W = next(trained.model.parameters())
    with threads(1), torch.enable_grad():
        loss = nn.functional.mse_loss(trained.model(trained.X), trained.Y)
        (gradient,) = torch.autograd.grad(loss, [W])
    shrinkage = weight_decay * W.detach()
    return float((gradient + shrinkage).norm() / shrinkage.norm())


def settle(trained: TrainedNetwork, spec: Settling) -> Iterator[TrainedNetwork]:
    """Minimise ``L + (λ/2)‖θ‖²`` on all rows by L-BFGS in double precision; yield the network after each round."""
    decay = spec.training.weight_decay
    model, X, Y = copy.deepcopy(trained.model).double(), trained.X.double(), trained.Y.double()
    now = TrainedNetwork(model, X, Y, trained.losses)

    def loss() -> Tensor:
        size = torch.stack([parameter.square().sum() for parameter in model.parameters()]).sum()
        return nn.functional.mse_loss(model(X), Y) + decay / 2 * size

    descent = LBFGS(model.parameters(), loss, max_steps=spec.iterations, history=20)
    for _ in range(spec.rounds):
        with threads(1):
            descent.run()
        yield now
        if relative_gradient(now, decay) < spec.rest:
            return


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(6.2, 3.6)
    ax = figure.subplots()
    for key, label, colour, mark in (
        ("fact", "FACT", style.BLUE, "o"),
        ("fact_polar", "√(FACT·FACTᵀ)", style.SKY, "o"),
        ("agop_half", "√AGOP", style.ORANGE, "s"),
    ):
        for smooth in (False, True):
            chosen = [record["arrays"] for record in records if (record["class"] == "Smooth") == smooth]
            x = [max(value, _STATIONARY) for arrays in chosen for value in arrays["unrest"]]
            y = [value for arrays in chosen for value in arrays[key]]
            fill = "none" if smooth else colour
            ax.plot(x, y, mark, color=colour, markerfacecolor=fill, markersize=4, label="" if smooth else label)
    ax.plot([], [], "o", color=style.GREY, markerfacecolor="none", label="hollow: GELU")
    ax.set_xscale("log")
    ax.set(
        xlabel="‖∇L + λW₁‖ / (λ‖W₁‖); smaller values are drawn at 0.02",
        ylabel="Pearson correlation with W₁ᵀW₁",
        ylim=(-0.05, 1.05),
    )
    ax.legend(frameon=False, fontsize=8)
    style.declutter(ax, "y")


_DIFFERS = ImageTraining("cifar10", 2000, width=256, weight_decay=1e-3, epochs=600, pool=2)
"""The cell of d/table2 that differs."""
_HOLDS = ImageTraining("mnist", 1000, width=256, weight_decay=1e-3)
"""A cell of d/table2 on MNIST that is reproduced."""
_LITTLE = ImageTraining("cifar10", 300, width=64, weight_decay=1e-3, epochs=300, pool=4)
_TINY = ImageTraining("cifar10", 300, width=32, weight_decay=1e-3, epochs=200, pool=8)
"""Small enough for thousands of steps of L-BFGS."""
_SMALL = (
    Settling(_DIFFERS),
    Settling(replace(_DIFFERS, epochs=200)),
    Settling(_HOLDS),
    Settling(_LITTLE, 40),
    Settling(_TINY, 5, 1000),
    Smooth(_TINY, 5, 1000),
)
_SMOKE = ImageTraining("digits", 128, hidden=2, width=24, weight_decay=1e-3, epochs=5)


@experiment(
    "d/table2-why",
    "D",
    "Explanation of FACT on few images of CIFAR-10: the network is not stationary",
    specs={
        "smoke": (Settling(_SMOKE, 2, 5), Smooth(_SMOKE, 2, 5)),
        "small": _SMALL,
        "paper": _SMALL,
    },
    seeds={"small": 3, "paper": 3},
    seeds_of=lambda spec, count: range(count if spec.rounds else 1),
    claims=[
        at_least(
            "cifar10/2000/600: unrest",
            0.5,
            "if the remaining gradient is at least half of λW, the error of FACT is as large as FACT",
            slack=0.2,
            label="Explanation: CIFAR-10, n = 2,000, the cell that differs: ‖∇L + λW₁‖/(λ‖W₁‖) after training",
            kind="side condition",
            null=Null(0.0, "a stationary network"),
        ),
        at_least(
            "cifar10/300/200: unrest at rest",
            0.5,
            "as above: if kinks are the reason, 5,000 steps of L-BFGS do not make a ReLU network stationary",
            slack=0.2,
            label="Explanation: CIFAR-10, n = 300: ‖∇L + λW₁‖/(λ‖W₁‖) after L-BFGS, ReLU",
            kind="side condition",
            null=Null(0.0, "a stationary network"),
        ),
        at_most(
            "cifar10/300/200/smooth: unrest at rest",
            0.05,
            "without kinks it must become stationary, up to the tolerance of L-BFGS",
            slack=0.05,
            label="Explanation: CIFAR-10, n = 300: ‖∇L + λW₁‖/(λ‖W₁‖) after L-BFGS, GELU",
            kind="side condition",
            null=Null(2.3, "the network with ReLU"),
        ),
        positive(
            "cifar10/300/200/smooth: lead at rest",
            "the band of d/table2: at a stationary point FACT must lead",
            label="Explanation: CIFAR-10, n = 300, stationary with GELU: lead of FACT, by the worse of its two forms",
            kind="side condition",
        ),
        at_most(
            "cifar10/300/300: rank correlation of FACT with unrest",
            -0.9,
            "the smaller the remaining gradient, the better FACT",
            slack=0.2,
            label="Explanation: during L-BFGS, rank correlation of FACT's Pearson correlation with ‖∇L + λW₁‖/(λ‖W₁‖)",
            kind="side condition",
            null=Null(0.0, "no relation"),
        ),
    ],
    draw=_draw,
)
def settling(spec: Settling, seed: int) -> Result:
    """Train and measure; then continue by L-BFGS and measure after each round."""
    made = spec.training
    trained = smoothed(train(made, seed)) if isinstance(spec, Smooth) else train(made, seed)
    seen = [_measure(trained, made.weight_decay)]
    seen += [_measure(now, made.weight_decay) for now in settle(trained, spec)]
    where = f"{made.data}/{made.rows}/{made.epochs}" + ("/smooth" if isinstance(spec, Smooth) else "")
    numbers = {f"{where}: {key}": value for key, value in seen[0].items()}
    if spec.rounds:
        numbers |= {f"{where}: {key} at rest": value for key, value in seen[-1].items()}
        ranked = spearmanr([found["fact"] for found in seen], [found["unrest"] for found in seen])
        numbers[f"{where}: rank correlation of FACT with unrest"] = float(ranked.statistic)
    return Result(numbers, {key: [found[key] for found in seen] for key in seen[0]})


def _measure(trained: TrainedNetwork, decay: float) -> dict[str, float]:
    found = {name: values[0] for name, values in correlations(trained, decay).items()}
    rivals = max(found[name] for name in ("agop", "agop_half", "enfa", "enfa_half"))
    with threads(1), torch.no_grad():
        loss = float(nn.functional.mse_loss(trained.model(trained.X), trained.Y))
    return {
        "unrest": relative_gradient(trained, decay),
        "loss": loss,
        "fact": found["fact"],
        "fact_polar": found["fact_polar"],
        "agop_half": found["agop_half"],
        "lead": min(found["fact"], found["fact_polar"]) - rivals,
    }
