"""An explanation of differences in Fig. 9: growth before and after the training labels are memorised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gramian.experiments import Null, Result, at_least, at_most, experiment, positive
from gramian.experiments.e_gram.image_rows import ImageData
from gramian.experiments.e_gram.linearity import LinearityCourse, estimate_seconds, measure_course, summarise
from gramian.report import style

_MEMORISED = 0.99
"""Training accuracy from which the labels count as memorised."""


def cut(course: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a course at the first measurement at which the labels are memorised; that one is in both parts.

    A course that never gets there is returned whole, with its last measurement as the second part.

    >>> before, after = cut({"epochs": [0, 1, 2], "train": [0.1, 1.0, 1.0]})
    >>> before["epochs"], after["epochs"]
    ([0, 1], [1, 2])
    """
    reached = [at for at, value in enumerate(course["train"]) if value >= _MEMORISED]
    at = reached[0] if reached else len(course["train"]) - 1
    return {key: of[: at + 1] for key, of in course.items()}, {key: of[at:] for key, of in course.items()}


def _draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(7.2, 3.0)
    left, right = figure.subplots(1, 2)
    for number, record in enumerate(records):
        arrays = record["arrays"]
        memorised = cut(arrays)[0]["epochs"][-1]
        for ax, key in ((left, "linearity"), (right, "surrogate")):
            for layer, colour in zip((0, -1), (style.BLUE, style.PURPLE), strict=True):
                label = None if number else "first layer" if layer == 0 else "last layer"
                curve = np.array(arrays[key])[1:, layer]
                ax.plot(arrays["epochs"][1:], curve, color=colour, label=label, linewidth=1.0)
            ax.axvline(memorised, color=style.GREY, linewidth=0.8, linestyle=":")
    left.set(xlabel="epoch (dotted: labels memorised)", ylabel="target linearity")
    left.set_ylim(bottom=0)
    right.set(xlabel="epoch", ylabel="log₁₀ of the surrogate S")
    left.legend(loc="lower right")
    for ax in (left, right):
        style.declutter(ax, "y")


@experiment(
    "e/fig9-why",
    "E",
    "Why target linearity on CIFAR-100 does not grow throughout training with Adam: growth ends with memorisation",
    specs={
        "smoke": (LinearityCourse(ImageData("digits", 200, 50), "adam", 0.01, width=16, epochs=6, points=7),),
        "small": (
            LinearityCourse(ImageData("cifar100", 2000, 500, pool=2), "adam", 1e-3, width=128, epochs=60, points=31),
        ),
        "paper": (LinearityCourse(ImageData("cifar100"), "adam", 1e-3, points=51),),
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
    draw=_draw,
    cost=estimate_seconds,
)
def before_and_after(spec: LinearityCourse, seed: int) -> Result:
    """Train by Adam as in e/fig9, and compare growth before and after the training labels are memorised."""
    course = measure_course(spec, seed)
    before, after = cut(course)
    data = spec.data.name
    numbers = {f"{data}/memorised": float(before["epochs"][-1])}
    for name, part in (("until", before), ("after", after)):
        if len(part["epochs"]) > 3:
            found = summarise(part)
            numbers |= {f"{data}/{name}/{key}": found[key] for key in ("TL/epochs", "S/epochs", "S/exponential")}
    return Result(numbers, course)
