"""Fig. 4 and 9: target linearity and its surrogate grow during training and from layer to layer, with SGD and Adam."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.experiments import Claim, Null, Result, at_least, between, experiment, number, positive
from gramian.experiments.e_gram.classifiers import accuracy, layer_linearity, train_classifier, training_seconds
from gramian.experiments.e_gram.image_rows import NAMES, ImageData, image_rows
from gramian.experiments.e_gram.small_nets import perceptron
from gramian.experiments.e_gram.trends import fits_better, kendall, measured_epochs, straightness
from gramian.report import style

DATA = ("cifar10", "cifar100")


@dataclass(frozen=True)
class LinearityCourse:
    """A training of a fully connected network, and the number of its measurements, the start included."""

    data: ImageData
    optimizer: str = "sgd"
    rate: float = 0.005
    momentum: float = 0.95
    hidden: int = 4
    width: int = 256
    epochs: int = 100
    batch: int = 64
    points: int = 21


def measure_course(spec: LinearityCourse, seed: int) -> dict[str, Any]:
    """Train, and return epochs, target linearity and log₁₀ of the surrogate (points, layers), and accuracies."""
    rng = torch.Generator().manual_seed(seed)
    rows = image_rows(spec.data, rng)
    model = perceptron((rows.X.shape[1], *[spec.width] * spec.hidden, rows.classes), "gelu", rng)
    if spec.optimizer == "adam":
        optimizer: torch.optim.Optimizer = torch.optim.Adam(model.parameters(), lr=spec.rate, fused=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=spec.rate, momentum=spec.momentum)
    epochs = measured_epochs(spec.epochs, spec.points)
    found: dict[str, Any] = {"epochs": epochs, "linearity": [], "surrogate": [], "train": [], "test": []}

    def watch(epoch: int) -> None:
        if epoch in epochs:
            linearity, surrogates = layer_linearity(model, rows.X, rows.y, rows.classes)
            found["linearity"].append(linearity)
            found["surrogate"].append(np.log10(surrogates).tolist())
            found["train"].append(accuracy(model, rows.X, rows.y))
            found["test"].append(accuracy(model, rows.X_test, rows.y_test))

    train_classifier(model, rows.X, rows.y, optimizer, epochs=spec.epochs, batch=spec.batch, rng=rng, watch=watch)
    return found


def summarise(course: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of one course: orders over epochs and layers, shapes of growth, and levels at the end.

    An order is Kendall's correlation: 1 if a quantity always grows. That over epochs is the lowest of all layers.
    """
    TL, S, epochs = np.array(course["linearity"]), np.array(course["surrogate"]), np.array(course["epochs"])
    layers = np.arange(TL.shape[1])
    trained, log_epochs = epochs[1:], np.log(epochs[1:])
    return {
        "TL/epochs": min(kendall(epochs, TL[:, l]) for l in layers),
        "S/epochs": min(kendall(epochs, S[:, l]) for l in layers),
        "TL/layers": kendall(layers, TL[-1]),
        "S/layers": kendall(layers, S[-1]),
        "TL/layers at start": kendall(layers, TL[0]),
        "S/layers at start": kendall(layers, S[0]),
        "TL/rise": float(TL[-1, -1] - TL[0, -1]),
        "TL/logarithmic": float(
            np.mean([straightness(log_epochs, TL[1:, l]) - straightness(trained, TL[1:, l]) for l in layers])
        ),
        "S/exponential": float(
            np.mean([straightness(trained, S[1:, l]) - straightness(trained, 10 ** S[1:, l]) for l in layers])
        ),
        "TL/last": float(TL[-1, -1]),
        "TL/last at start": float(TL[0, -1]),
        "train": course["train"][-1],
        "test": course["test"][-1],
    }


def shapes(course: Mapping[str, Any]) -> dict[str, float]:
    """Return the mean over layers of :func:`fits_better` for TL on log epoch, and for log S on epoch.

    >>> epochs = [0, 1, 2, 4, 8, 16]
    >>> TL, S = [[float(np.log(1 + e))] for e in epochs], [[0.3 * e] for e in epochs]
    >>> all(value > 0 for value in shapes({"epochs": epochs, "linearity": TL, "surrogate": S}).values())
    True
    """
    TL, S = (np.array(course[key])[1:] for key in ("linearity", "surrogate"))
    epochs = np.array(course["epochs"][1:], dtype=float)
    columns = range(TL.shape[1])
    return {
        "TL/on log epoch": float(np.mean([fits_better(np.log(epochs), epochs, TL[:, l], TL[:, l]) for l in columns])),
        "log S/on epoch": float(np.mean([fits_better(epochs, epochs, S[:, l], 10 ** S[:, l]) for l in columns])),
    }


def compare_courses(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return shapes of growth, the spread of target linearity over layers, and the lead of CIFAR-10 over CIFAR-100.

    Layers and data sets differ before training already, so that target linearity is compared by its rise.
    """
    numbers = {key: value for record in records for key, value in record["numbers"].items()}
    found: dict[str, float] = {}
    for record in records:
        name = record["spec"]["data"]["name"]
        rise = np.array(record["arrays"]["linearity"])[[0, -1]]
        start, end = rise[:, -1] - rise[:, 0]
        found[f"{name}/TL/spread"] = float(end - start)
        found |= {f"{name}/{key}": value for key, value in shapes(record["arrays"]).items()}
    if not {f"{data}/test" for data in DATA} <= set(numbers):
        return found
    leads = ("TL/rise", "test")
    return found | {f"gap/{key}": numbers[f"cifar10/{key}"] - numbers[f"cifar100/{key}"] for key in leads}


def _growth_claims() -> Iterator[Claim]:
    orders = Null(0.0, "no order")
    for data in DATA:
        name = NAMES[data]
        for key, label in (("TL", "target linearity"), ("S", "surrogate")):
            yield at_least(
                f"{data}/{key}/epochs",
                0.8,
                "“both quantities grow throughout training”: at most one pair of measurements in ten is reversed",
                slack=0.2,
                label=f"{name}: order of the {label} over epochs, worst layer",
                # S grows with the square of the weights, whatever they have learned.
                kind="statement" if key == "TL" else "side condition",
                null=orders,
            )
        yield at_least(
            f"{data}/S/layers",
            0.6,
            "ours, after “both increase with layer index”: S grows with the square of the weights, so that an "
            "untrained network whose weights are eight times as large has this order too; one reversed pair of six "
            "gives 2/3",
            slack=0.2,
            label=f"{name}: order of the surrogate over layers at the end",
            kind="side condition",
            null=Null(-1.0, "untrained networks with the weights that they are drawn with"),
        )
        yield positive(
            f"{data}/TL/spread",
            "“both increase with layer index”, beyond the untrained network, where TL may do so too",
            label=f"{name}: target linearity of the last layer minus the first, end minus start",
            kind="side condition",
        )
        yield positive(
            f"{data}/TL/rise",
            "“both quantities grow throughout training”; the start is the untrained network with the same rows",
            label=f"{name}: target linearity of the last layer, end minus start",
            kind="side condition",
        )
        yield positive(
            f"{data}/TL/on log epoch",
            "“TL grows roughly logarithmically”: a rising line in log epoch has an R² of at least 0.9, and a larger "
            "one than a line in epoch; entered after the number was known",
            label=f"{name}: R² of TL on log epoch, with the sign of its slope, the smaller of its excess over 0.9 and "
            "over that on epoch, mean over layers",
        )
        yield positive(
            f"{data}/log S/on epoch",
            "“the surrogate grows roughly exponentially”: a rising line fits log S with an R² of at least 0.9, and "
            "better than it fits S; entered after the number was known",
            label=f"{name}: R² of log S on epoch, with the sign of its slope, the smaller of its excess over 0.9 and "
            "over that of S, mean over layers",
            kind="side condition",
        )


def _lead(why: str) -> Claim:
    return positive(
        "gap/TL/rise",
        f"ours, after {why}; random labels of ten classes rise by as much as the true ones (0.55 and 0.50 in e/fig12 "
        "at small), so that this is no sign of generalisation",
        label="rise of the last layer's TL, CIFAR-10 minus CIFAR-100",
        kind="side condition",
    )


_UNTRAINED = "the untrained network on all rows"


def _level_claims() -> Iterator[Claim]:
    yield at_least(
        "cifar10/TL/last",
        0.5,
        "“exceeds 0.5 for CIFAR-10”",
        label=f"{NAMES['cifar10']}: target linearity of the last layer",
        scales=("paper",),
        kind="printed number",
        paper=0.5,
        null=Null(0.146, _UNTRAINED),
    )
    yield number(
        "cifar100/TL/last",
        0.15,
        0.05,
        "“but only 0.15 for CIFAR-100”: to a third",
        label=f"{NAMES['cifar100']}: target linearity of the last layer",
        scales=("paper",),
        null=Null(0.041, _UNTRAINED),
    )
    for data, test in (("cifar10", 0.5), ("cifar100", 0.2)):
        yield at_least(
            f"{data}/train",
            0.9,
            "“the training accuracy exceeds 0.9”; only at the paper's size, since few rows are learned sooner",
            slack=0.05,
            label=f"{NAMES[data]}: training accuracy",
            scales=("paper",),
            kind="printed number",
            paper=0.9,
            null=Null(1 / {"cifar10": 10, "cifar100": 100}[data], "chance"),
        )
        yield between(
            f"{data}/test",
            test,
            test + 0.05,
            "“50 % in CIFAR-10 and 20 % in CIFAR-100”, elsewhere “over 50 %” and “over 20 %”: up to the next rounding",
            slack=0.03,
            kind="printed number",
            paper=test,
            label=f"{NAMES[data]}: test accuracy",
            scales=("paper",),
            null=Null(1 / {"cifar10": 10, "cifar100": 100}[data], "chance"),
        )
    yield _lead(
        "the last-layer TL “exceeds 0.5 for CIFAR-10 but only 0.15 for CIFAR-100”, beyond the untrained networks"
    )
    yield positive(
        "gap/test",
        "“50% in CIFAR-10 and 20% in CIFAR-100”, beyond chance",
        label="test accuracy, CIFAR-10 minus CIFAR-100",
        scales=("paper",),
        null=Null(0.27, "ridge regression on pixels, 0.41 against 0.14"),
    )


def draw_courses(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw surrogate and target linearity by epoch, one line per layer, one column per data set."""
    sets = list(dict.fromkeys(record["spec"]["data"]["name"] for record in records))
    figure.set_size_inches(3.4 * len(sets) + 1.0, 5.2)
    axes = figure.subplots(2, len(sets), squeeze=False, sharex="col")
    for at, data in enumerate(sets):
        chosen = [record["arrays"] for record in records if record["spec"]["data"]["name"] == data]
        for row, key in enumerate(("surrogate", "linearity")):
            mean = np.mean([arrays[key] for arrays in chosen], axis=0)
            for layer in range(mean.shape[1]):
                colour = style.SERIES[layer % len(style.SERIES)]
                axes[row, at].plot(chosen[0]["epochs"], mean[:, layer], color=colour, label=f"layer {layer + 1}")
            style.declutter(axes[row, at], "y")
        axes[0, at].set_title(NAMES[data])
        axes[1, at].set(xlabel="epoch")
        axes[1, at].set_ylim(bottom=0)
    axes[0, 0].set_ylabel("log₁₀ of the surrogate S")
    axes[1, 0].set_ylabel("target linearity")
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1, 0.5))


def estimate_seconds(spec: LinearityCourse) -> float:
    """Estimate the duration of a course."""
    return training_seconds(spec.data, spec.hidden, spec.width, spec.epochs, spec.points)


def _specs(rows: int, small: dict[str, Any], **paper: Any) -> dict[str, tuple[LinearityCourse, ...]]:
    digits = LinearityCourse(ImageData("digits", 300, 100), **small | {"epochs": 4, "width": 24}, points=5)
    return {
        "smoke": (digits,),
        "small": tuple(LinearityCourse(ImageData(data, rows, 2000, pool=2), **small) for data in DATA),
        "paper": tuple(LinearityCourse(ImageData(data), **paper) for data in DATA),
    }


@experiment(
    "e/fig4",
    "E",
    "Target linearity and its surrogate grow in training and with depth, SGD on CIFAR-10 and CIFAR-100",
    specs=_specs(1000, {"rate": 0.02, "momentum": 0.9, "width": 64, "epochs": 240}),
    seeds={"small": 5, "paper": 3},
    claims=[*_growth_claims(), *_level_claims()],
    setting="our rate and momentum: the printed ones are lost, and with those of the code networks do not memorise",
    draw=draw_courses,
    derive=compare_courses,
    cost=estimate_seconds,
)
def with_sgd(spec: LinearityCourse, seed: int) -> Result:
    """Train by SGD and measure every hidden state along the way."""
    return course_result(spec, seed)


@experiment(
    "e/fig9",
    "E",
    "Target linearity and its surrogate with Adam: the pattern of Fig. 4 again",
    specs=_specs(2000, {"optimizer": "adam", "rate": 1e-3, "width": 128, "epochs": 100}, optimizer="adam", rate=5e-4),
    seeds={"small": 5, "paper": 3},
    claims=[*_growth_claims(), _lead("“the results show a consistent pattern for various optimizers”: that of Fig. 4")],
    small_setting="rate 0.001 in place of the code's 0.0005",
    draw=draw_courses,
    derive=compare_courses,
    cost=estimate_seconds,
)
def with_adam(spec: LinearityCourse, seed: int) -> Result:
    """Train by Adam and measure every hidden state along the way."""
    return course_result(spec, seed)


def course_result(spec: LinearityCourse, seed: int) -> Result:
    """Return the numbers of a course, and the course."""
    course = measure_course(spec, seed)
    return Result({f"{spec.data.name}/{key}": value for key, value in summarise(course).items()}, course)
