"""Fig. 2 and 6: training with Gram-whitened steps, fully connected and convolutional networks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import nn
from torch.optim import Optimizer

from gramian.experiments import Claim, Null, Result, at_least, at_most, between, experiment, positive, unavailable
from gramian.experiments.e_gram.classifiers import (
    accuracy,
    cnn_classifier,
    gram_kept_sgd,
    train_classifier,
    whitened_sgd,
)
from gramian.experiments.e_gram.image_rows import NAMES, ImageData, image_rows
from gramian.experiments.e_gram.small_nets import perceptron
from gramian.report import style

DATA = ("mnist", "cifar10", "cifar100")
_METHODS = {"plain": "SGD", "whitened": "Gram-whitened SGD", "kept": "Gram matrices kept (control)"}
_COLOURS = {"plain": style.INK, "whitened": style.BLUE, "kept": style.GREY}
_DEGRADED = Null(-0.05, "a clear loss, as expected if the Gram matrix did not contain the signal: five points")
_EXACT = "the exact polar factor in place of ten Newton–Schulz steps"
JUDGED_RATE = 0.01
"""The rate of both methods in Fig. 2 and 6: the authors' notebook plots this one of the four that their code runs."""
_QUARTER_LOST = Null(0.75, "a quarter of the accuracy lost")
_CLASSES = {"cifar100": 100}  # of the other sets: 10
_LEARNED = 2
"""Multiple of chance that plain training must reach: two networks that learned nothing are equally good too."""


@dataclass(frozen=True)
class WhitenedTraining:
    """A training with one method and one learning rate.

    ``method`` is ``"plain"``, ``"whitened"``, or ``"kept"``, whose steps do not change the Gram matrices; ``width`` is
    the number of neurons of each of two hidden layers, or of channels of a convolutional network.
    """

    data: ImageData
    method: str
    rate: float
    momentum: float = 0.95
    network: str = "mlp"
    width: int = 256
    kernel: int = 3
    epochs: int = 20
    batch: int = 64


def _optimizer(spec: WhitenedTraining, model: nn.Module) -> Optimizer:
    if spec.method == "whitened":
        return whitened_sgd(model, spec.rate, spec.momentum, "svd")
    if spec.method == "kept":
        return gram_kept_sgd(model, spec.rate, spec.momentum)
    return torch.optim.SGD(model.parameters(), lr=spec.rate, momentum=spec.momentum)


def accuracies(spec: WhitenedTraining, seed: int) -> list[float]:
    """Train, and return the test accuracy after every epoch; chance from the epoch in which the weights diverge."""
    rng = torch.Generator().manual_seed(seed)
    rows = image_rows(spec.data, rng)
    if spec.network == "cnn":
        model = cnn_classifier(rows.shape, spec.width, rows.classes, rng, spec.kernel)
    else:
        model = perceptron((rows.X.shape[1], spec.width, spec.width, rows.classes), "gelu", rng)
    found: list[float] = []

    def watch(epoch: int) -> None:
        if epoch:
            found.append(accuracy(model, rows.X_test, rows.y_test))

    steps = _optimizer(spec, model)
    try:
        train_classifier(model, rows.X, rows.y, steps, epochs=spec.epochs, batch=spec.batch, rng=rng, watch=watch)
    except FloatingPointError:  # the optimiser's own report of weights that are not finite
        found += [1 / rows.classes] * (spec.epochs - len(found))
    return found


def level(curve: Sequence[float]) -> float:
    """Return the mean accuracy of the last quarter of the epochs: single epochs differ by a few points.

    >>> level([0.1, 0.2, 0.3, 0.4, 0.6])
    0.5
    """
    last = math.ceil(len(curve) / 4)
    return float(np.mean(curve[-last:]))


def compare_methods(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return, for each data set, whitened minus plain accuracy (:func:`level`) at the judged rate, and their ratio.

    Also the first epoch in which whitened training is as good as the best epoch of plain training (one more than there
    are epochs if it never is), and the loss of the control. At other rates only the ratio is given. Data sets on which
    plain training learns nothing are left out.
    """
    found: dict[str, float] = {}
    curves = {
        (spec["data"]["name"], spec["rate"], spec["method"]): record["arrays"]["accuracy"]
        for record in records
        for spec in (record["spec"],)
    }
    for data, rate in dict.fromkeys((data, rate) for data, rate, _ in curves):
        plain, whitened, kept = (curves.get((data, rate, method)) for method in ("plain", "whitened", "kept"))
        if plain is None or whitened is None or level(plain) < _LEARNED / _CLASSES.get(data, 10):
            continue
        ratio = level(whitened) / level(plain)
        if rate != JUDGED_RATE:
            found[f"{data}/ratio at {rate:g}"] = ratio
            continue
        reached = [epoch for epoch, value in enumerate(whitened, 1) if value >= max(plain)]
        found[f"{data}/gap"] = level(whitened) - level(plain)
        found[f"{data}/ratio"] = ratio
        found[f"{data}/epochs"] = float(min(reached, default=len(whitened) + 1))
        if kept is not None:
            found[f"{data}/control"] = level(plain) - level(kept)
    return found


def draw_accuracies(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw test accuracy by epoch at the judged rate, one column per data set."""
    sets = list(dict.fromkeys(record["spec"]["data"]["name"] for record in records))
    figure.set_size_inches(3.0 * len(sets) + 2.0, 3.0)
    axes = figure.subplots(1, len(sets), squeeze=False)[0]
    for ax, data in zip(axes, sets, strict=True):
        for method, label in _METHODS.items():
            wanted = {"method": method, "rate": JUDGED_RATE}
            chosen = [r for r in records if r["spec"]["data"]["name"] == data and wanted.items() <= r["spec"].items()]
            if chosen:
                curves = np.array([record["arrays"]["accuracy"] for record in chosen])
                epochs, mean, spread = np.arange(1, curves.shape[1] + 1), curves.mean(0), curves.std(0)
                ax.plot(epochs, mean, color=_COLOURS[method], label=label)
                ax.fill_between(epochs, mean - spread, mean + spread, color=_COLOURS[method], alpha=0.15, linewidth=0)
        ax.set(title=NAMES[data], xlabel="epoch")
        style.declutter(ax, "y")
    axes[0].set_ylabel("test accuracy")
    # The control was not run on every set, but on the first.
    axes[-1].legend(*axes[0].get_legend_handles_labels(), loc="center left", bbox_to_anchor=(1, 0.5))


def _mlp_claims() -> Iterator[Claim]:
    for data in ("mnist", "cifar10"):
        yield at_least(
            f"{data}/gap",
            -0.01,
            "“matches or exceeds the performance of standard GD”: at most one point less",
            slack=0.01,
            label=f"{NAMES[data]}: test accuracy, whitened minus plain",
            null=_DEGRADED,
        )
    yield at_least(
        "cifar100/ratio",
        0.9,
        "“tracks standard GD with a small gap”: two points of about 20, and at small of an accuracy that is lower",
        slack=0.05,
        label="CIFAR-100: test accuracy, whitened over plain",
        null=_QUARTER_LOST,
    )
    yield at_most(
        "cifar10/epochs",
        5,
        "“it reaches GD's best performance within four to five epochs”, of 20 epochs on all rows",
        slack=1,
        label="CIFAR-10: first epoch in which whitened training is as good as the best epoch of plain training",
        scales=("paper",),
        null=Null(20, "as slow as plain training"),
    )
    yield unavailable("svhn/gap", "SVHN cannot be fetched", label="SVHN: test accuracy, whitened minus plain")
    for data in ("mnist", "cifar10"):
        yield positive(
            f"{data}/control",
            "our control: steps that keep the Gram matrices should learn less, if these contain the signal",
            label=f"{NAMES[data]}: test accuracy, plain minus training that keeps the Gram matrices",
            kind="side condition",
        )


def _cnn_claims() -> Iterator[Claim]:
    for data in DATA:
        for scale, tolerance in (("small", 0.02), ("paper", 0.01)):
            if data == "cifar100" and scale == "small":
                yield between(
                    "cifar100/ratio",
                    0.9,
                    1.1,
                    "“negligible difference”: a tenth of an accuracy that is below 0.1 at small, as in e/fig2",
                    slack=0.05,
                    label="CIFAR-100: test accuracy, whitened over plain (small)",
                    scales=("small",),
                    null=_QUARTER_LOST,
                )
                continue
            ours = "ours, since the authors' code has no MNIST here: " if data == "mnist" else ""
            yield between(
                f"{data}/gap",
                -tolerance,
                tolerance,
                f"{ours}“negligible difference”: one point; two at small, where training is short and seeds differ by "
                "a point",
                slack=0.01,
                label=f"{NAMES[data]}: test accuracy, whitened minus plain ({scale})",
                scales=(scale,),
                kind="side condition" if data == "mnist" else "statement",
                null=_DEGRADED,
            )
    yield unavailable("svhn/gap", "SVHN cannot be fetched", label="SVHN: test accuracy, whitened minus plain")


def estimate_seconds(spec: WhitenedTraining) -> float:
    """Estimate the duration from the operations of a row and, with whitening, an SVD of each weight in every step."""
    rows = spec.data.rows or 55_000
    pixels = (784 if spec.data.name == "mnist" else 3072) / spec.data.pool**2
    weights = 500 * pixels if spec.network == "cnn" else pixels * spec.width + spec.width**2
    step = 0.0 if spec.method == "plain" else 2e-3 + 1.5e-9 * spec.width**3
    return spec.epochs * rows * (6 * weights / 3e10 + step / spec.batch)


def _mlp_specs(
    epochs: int, width: int, rates: Mapping[str, Sequence[float]], **data: Any
) -> tuple[WhitenedTraining, ...]:
    return tuple(
        WhitenedTraining(ImageData(name, **data), method, rate, momentum, width=width, epochs=epochs)
        for name, momentum in zip(DATA, (0.95, 0.95, 0.8), strict=True)
        for method in ("plain", "whitened", "kept")
        for rate in (rates[name] if method != "kept" else (0.01,))
        if method != "kept" or name != "cifar100"
    )


# CIFAR-100 at 0.1 and 0.05 is our own control: with few rows and epochs networks learn little at the judged rate.
_SMALL_RATES = {"mnist": (0.01,), "cifar10": (0.01,), "cifar100": (JUDGED_RATE, 0.1, 0.05)}
_PAPER_RATES = dict.fromkeys(DATA, (0.1, 0.05, 0.01, 0.005))


@experiment(
    "e/fig2",
    "E",
    "Gram-whitened training of three-layer networks is as good as plain SGD",
    specs={
        "smoke": tuple(
            WhitenedTraining(ImageData("digits", 200, 100), method, 0.01, width=16, epochs=2) for method in _METHODS
        ),
        "small": _mlp_specs(8, 128, _SMALL_RATES, rows=3000, test_rows=5000, pool=2),
        "paper": _mlp_specs(20, 256, _PAPER_RATES),
    },
    seeds={"small": 5, "paper": 5},
    claims=[*_mlp_claims()],
    setting=_EXACT,
    draw=draw_accuracies,
    derive=compare_methods,
    cost=estimate_seconds,
)
def fully_connected(spec: WhitenedTraining, seed: int) -> Result:
    """Train a three-layer network and return its test accuracy after every epoch."""
    return _result(spec, seed)


def _cnn_specs(epochs: int, **data: Any) -> tuple[WhitenedTraining, ...]:
    return tuple(
        WhitenedTraining(ImageData(name, **data), method, 0.01, network="cnn", width=16, epochs=epochs)
        for name in DATA
        for method in ("plain", "whitened")
    )


@experiment(
    "e/fig6",
    "E",
    "Gram-whitened training of a convolutional network differs little from plain SGD",
    specs={
        "smoke": tuple(
            WhitenedTraining(ImageData("digits", 100, 50), method, 0.01, network="cnn", width=4, epochs=2)
            for method in ("plain", "whitened")
        ),
        "small": _cnn_specs(8, rows=3000, test_rows=2500, pool=2),
        "paper": _cnn_specs(20),
    },
    seeds={"small": 5, "paper": 1},
    claims=[*_cnn_claims()],
    setting=f"3 × 3 kernels, as in the authors' code, in place of 2 × 2; {_EXACT}",
    draw=draw_accuracies,
    derive=compare_methods,
    cost=estimate_seconds,
)
def convolutional(spec: WhitenedTraining, seed: int) -> Result:
    """Train a convolutional network and return its test accuracy after every epoch."""
    return _result(spec, seed)


def _result(spec: WhitenedTraining, seed: int) -> Result:
    curve = accuracies(spec, seed)
    return Result({f"{spec.data.name}/{spec.method}/{spec.rate:g}": level(curve)}, {"accuracy": curve})
