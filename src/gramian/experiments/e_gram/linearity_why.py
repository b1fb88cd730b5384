"""Explanations of differences in Fig. 4 and 9: growth before and after a training accuracy, and smaller steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gramian.experiments import Null, Result, at_least, at_most, experiment, positive
from gramian.experiments.e_gram.image_rows import NAMES, ImageData
from gramian.experiments.e_gram.linearity import (
    DATA,
    LinearityCourse,
    course_result,
    estimate_seconds,
    measure_course,
    summarise,
)
from gramian.report import style

_MEMORISED = 0.99
"""Training accuracy from which the labels count as memorised."""


_HALF = 0.5
"""Training accuracy at which the first phase of SGD ends."""


def cut(course: Mapping[str, Any], reached: float = _MEMORISED) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a course at the first measurement with a training accuracy; that measurement is in both parts.

    A course that never gets there is returned whole, with its last measurement as the second part.

    >>> before, after = cut({"epochs": [0, 1, 2], "train": [0.1, 1.0, 1.0]})
    >>> before["epochs"], after["epochs"]
    ([0, 1], [1, 2])
    """
    found = [at for at, value in enumerate(course["train"]) if value >= reached]
    at = found[0] if found else len(course["train"]) - 1
    return {key: of[: at + 1] for key, of in course.items()}, {key: of[at:] for key, of in course.items()}


def _draw(records: Sequence[Mapping[str, Any]], figure: Figure, reached: float, text: str) -> None:
    sets = list(dict.fromkeys(record["spec"]["data"]["name"] for record in records))
    figure.set_size_inches(7.2, 2.9 * len(sets))
    for pair, data in zip(figure.subplots(len(sets), 2, squeeze=False), sets, strict=True):
        chosen = [record["arrays"] for record in records if record["spec"]["data"]["name"] == data]
        for number, arrays in enumerate(chosen):
            end = cut(arrays, reached)[0]["epochs"][-1]
            for ax, key in zip(pair, ("linearity", "surrogate"), strict=True):
                for layer, colour in zip((0, -1), (style.BLUE, style.PURPLE), strict=True):
                    label = None if number else "first layer" if layer == 0 else "last layer"
                    curve = np.array(arrays[key])[:, layer]
                    ax.plot(arrays["epochs"], curve, color=colour, label=label, linewidth=1.0)
                ax.axvline(end, color=style.GREY, linewidth=0.8, linestyle=":")
        pair[0].set(xlabel=f"epoch (dotted: {text})", ylabel="target linearity", title=NAMES[data])
        pair[0].set_ylim(bottom=0)
        pair[1].set(xlabel="epoch", ylabel="log₁₀ of the surrogate S")
        pair[1].legend(loc="lower right")
        for ax in pair:
            style.declutter(ax, "y")


def _parts(spec: LinearityCourse, seed: int, reached: float) -> Result:
    course = measure_course(spec, seed)
    before, after = cut(course, reached)
    data = spec.data.name
    numbers = {f"{data}/reached": float(before["epochs"][-1])}
    for name, part in (("until", before), ("after", after)):
        # A line through two points says nothing, and the first measurement is left out.
        if len(part["epochs"]) > 3:
            found = summarise(part)
            numbers |= {f"{data}/{name}/{key}": found[key] for key in ("TL/epochs", "S/epochs", "S/exponential")}
    return Result(numbers, course)


@experiment(
    "e/fig9-why",
    "E",
    "Explanation of target linearity on CIFAR-100, which falls late with Adam: before and after memorisation",
    specs={
        "smoke": (LinearityCourse(ImageData("digits", 200, 50), "adam", 0.01, width=16, epochs=6, points=7),),
        "small": (
            LinearityCourse(ImageData("cifar100", 2000, 500, pool=2), "adam", 1e-3, width=128, epochs=60, points=31),
        ),
        "paper": (LinearityCourse(ImageData("cifar100"), "adam", 5e-4, points=51),),
    },
    seeds={"small": 5, "paper": 3},
    claims=[
        at_least(
            "cifar100/until/TL/epochs",
            0.8,
            "until the labels are memorised, target linearity grows in every layer as the paper says",
            slack=0.1,
            label="CIFAR-100: order of target linearity over epochs until memorisation, worst layer",
            kind="side condition",
            null=Null(0.38, "as over all of training in e/fig9"),
        ),
        at_most(
            "cifar100/after/TL/epochs",
            0.3,
            "after it the worst layer no longer grows",
            slack=0.1,
            label="CIFAR-100: order of target linearity over epochs after memorisation, worst layer",
            kind="side condition",
            null=Null(0.8, "growth as before"),
        ),
        positive(
            "cifar100/until/S/exponential",
            "until the labels are memorised, a line fits log S better than S",
            label="CIFAR-100: R² of log S on epoch minus that of S until memorisation, mean over layers",
            kind="side condition",
        ),
    ],
    draw=partial(_draw, reached=_MEMORISED, text="labels memorised"),
    cost=estimate_seconds,
)
def adam_until_memorised(spec: LinearityCourse, seed: int) -> Result:
    """Train by Adam as in e/fig9, and compare growth before and after the training labels are memorised."""
    return _parts(spec, seed, _MEMORISED)


def _sgd(data: ImageData, **more: Any) -> LinearityCourse:
    return LinearityCourse(data, rate=0.02, momentum=0.9, **more)


@experiment(
    "e/fig4-why",
    "E",
    "Explanation of the surrogate's growth with SGD, not exponential over all of training: the first phase",
    specs={
        "smoke": (_sgd(ImageData("digits", 200, 50), width=16, epochs=6, points=7),),
        "small": tuple(_sgd(ImageData(data, 1000, 500, pool=2), width=64, epochs=120, points=41) for data in DATA),
        "paper": tuple(LinearityCourse(ImageData(data), points=51) for data in DATA),
    },
    seeds={"small": 5, "paper": 3},
    claims=[
        positive(
            f"{data}/until/S/exponential",
            "until half of the training rows are learned, a line fits log S better than S",
            label=f"{NAMES[data]}: R² of log S on epoch minus that of S in the first phase, mean over layers",
            kind="side condition",
        )
        for data in DATA
    ],
    draw=partial(_draw, reached=_HALF, text="half of the labels learned"),
    cost=estimate_seconds,
)
def sgd_until_half(spec: LinearityCourse, seed: int) -> Result:
    """Train by SGD as in e/fig4, and compare growth before and after half of the training rows are learned."""
    return _parts(spec, seed, _HALF)


_FIG_4 = {"cifar10": {"TL/epochs": -0.14}, "cifar100": {"TL/epochs": -0.54, "train": 0.70}}
"""Numbers of e/fig4 at the paper's size, mean over three seeds."""


@experiment(
    "e/fig4-rate-why",
    "E",
    "Explanation of Fig. 4 at the paper's size, where networks do not memorise: steps a quarter as large",
    specs={
        "smoke": (LinearityCourse(ImageData("digits", 200, 50), momentum=0.8, width=16, epochs=6, points=7),),
        "small": (),
        "paper": tuple(LinearityCourse(ImageData(data), momentum=0.8) for data in DATA),
    },
    seeds={"paper": 1},
    claims=[
        at_least(
            "cifar100/train",
            0.9,
            "if the steps are too large, a momentum of 0.8, that of the authors' code, reaches the printed accuracy",
            slack=0.05,
            label="CIFAR-100: training accuracy at the end, momentum 0.8 in place of 0.95",
            scales=("paper",),
            kind="side condition",
            null=Null(_FIG_4["cifar100"]["train"], "e/fig4"),
        ),
        *(
            at_least(
                f"{data}/TL/epochs",
                0.8,
                "if the steps are too large, target linearity grows in every layer with smaller ones",
                slack=0.2,
                label=f"{NAMES[data]}: order of target linearity over epochs, worst layer, momentum 0.8, not 0.95",
                scales=("paper",),
                kind="side condition",
                null=Null(_FIG_4[data]["TL/epochs"], "e/fig4"),
            )
            for data in DATA
        ),
    ],
    draw=partial(_draw, reached=_MEMORISED, text="labels memorised"),
    cost=estimate_seconds,
)
def with_smaller_steps(spec: LinearityCourse, seed: int) -> Result:
    """Train by SGD as in e/fig4 with another momentum, and measure every hidden state along the way."""
    return course_result(spec, seed)
