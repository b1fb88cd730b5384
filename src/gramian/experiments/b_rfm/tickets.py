"""Fig. 6: thresholded RFMs (RFM-T), a kernel trained again on the few pixels with the largest entries of diag M."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import threads
from gramian.datasets import unit_rows
from gramian.experiments.b_rfm.grokking import Marked, marked_rows
from gramian.experiments.b_rfm.machines import learn
from gramian.experiments.b_rfm.picture_data import tensors, two_classes
from gramian.experiments.b_rfm.picture_models import predictor, refit_accuracy, scores
from gramian.experiments.b_rfm.shared_features import NAMES, RIDGE, STAND_IN, THRESHOLD
from gramian.experiments.claims import Claim, Null, at_least, at_most, positive, unavailable
from gramian.experiments.registry import Result, experiment
from gramian.report import style
from gramian.rfm.training.thresholded import select_columns

_CELEBA = {
    "glasses": (0.0142, 0.9092, 0.9406),
    "mustache": (0.0166, 0.8815, 0.9132),
    "goatee": (0.0340, 0.8940, 0.9119),
    "eyebrows": (0.0144, 0.7436, 0.7811),
    "rosy cheeks": (0.0243, 0.8666, 0.8872),
    "smiling": (0.0176, 0.8962, 0.9124),
}
"""Share of pixels kept, accuracy of RFM and of RFM-T, as printed."""


@dataclass(frozen=True)
class Ticket:
    """A task: two classes of a set, or planes and trucks with a star (``pair`` None); rows and test per class."""

    data: str
    pair: tuple[int, int] | None
    rows: int
    test: int
    side: int

    @property
    def key(self) -> str:
        """Name of the task in keys of numbers."""
        return "star" if self.pair is None else f"{self.data}/{self.pair[0]}-{self.pair[1]}"


def ticket_rows(spec: Ticket, seed: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor], Tensor | None]:
    """Return training rows with one-hot targets, test rows with classes, and the known columns of the star."""
    if spec.pair is None:
        few = max(10, round(spec.rows * 53 / 500))
        marked = Marked("text", spec.data, spec.side, spec.test, 1, RIDGE, spec.rows, few)
        (X, Y, _), test, mask = marked_rows(marked, seed)
        return (X, Y), test, mask
    rng = torch.Generator().manual_seed(seed)
    parts = []
    for split, count in (("train", spec.rows), ("test", spec.test)):
        X, Y, y = tensors(two_classes(spec.data, split, spec.pair, (count, count), rng, spec.side), spec.pair)
        parts.append((torch.from_numpy(unit_rows(X.numpy())), Y, y))
    (X, Y, _), (X_test, _, y_test) = parts
    return (X, Y), (X_test, y_test), None


def _claims() -> tuple[Claim, ...]:
    missing = "CelebA is not among the available data; pairs of classes replace its attributes"
    claims: list[Claim] = []
    for task, (kept, before, after) in _CELEBA.items():
        for key, value in (("kept", kept), ("RFM", before), ("RFM-T", after)):
            claims.append(unavailable(f"celeba/{task}/{key}", missing, paper=value, label=f"CelebA, {task}: {key}"))
    tasks = {f"{data}/{a}-{b}": words for data in ("mnist", "cifar10") for (a, b), words in NAMES[data].items()}
    for key, words in (tasks | {"star": "planes and trucks with a star"}).items():
        stand_in = "planes and trucks with a star in place of CelebA" if key == "star" else STAND_IN
        claims += [
            positive(
                f"{key}/gain over both",
                "“a consistent increase in performance” by pruning, which as many random or all pixels with M = I "
                "must not give",
                label=f"{words}: accuracy of RFM-T minus the best of RFM, Laplace kernel, and as many random pixels",
                setting=stand_in,
            ),
            positive(
                f"{key}/chosen", "ours: the pixels must matter, as many random ones do worse",
                label=f"{words}: accuracy of RFM-T minus that on as many random pixels",
                kind="side condition",
            ),
            at_most(
                f"{key}/kept", 0.05, "“we prune over 95 % of pixels”", slack=0.05,
                label=f"{words}: share of pixels kept", null=Null(1.0, "equal entries of diag M"), setting=stand_in,
            ),
        ]  # fmt: skip
    claims += [
        at_least(
            "star/precision", 0.95, "a side condition where the answer is known: what is kept belongs to the star",
            slack=0.05, null=Null(0.012, "random columns, at 48 × 48"), label="Star: share of kept pixels in the star",
            kind="side condition",
        ),
        at_least(
            "star/accuracy", 0.99, "a side condition: the star alone tells the class", slack=0.02,
            null=Null(0.5, "chance"), label="Star: test accuracy of RFM-T", kind="side condition",
        ),
    ]  # fmt: skip
    return tuple(claims)


def gains(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return what RFM-T gains over the best of RFM, Laplace kernel, and Laplace kernel on as many random pixels."""
    found = {}
    for record in records:
        task, numbers = record["arrays"]["task"], record["numbers"]
        found[f"{task}/gain over both"] = numbers[f"{task}/accuracy"] - max(
            numbers[f"{task}/{rival}"] for rival in ("rfm", "laplace", "random")
        )
    return found


def draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    """Draw accuracies of the three kernels for each task."""
    keys = list(dict.fromkeys(record["arrays"]["task"] for record in records))
    figure.set_size_inches(1.5 * len(keys) + 1.5, 3.0)
    ax = figure.subplots()
    names = {"laplace": "all pixels, M = I", "rfm": "RFM", "accuracy": "RFM-T", "random": "as many random pixels"}
    colours = (style.GREY, style.BLUE, style.ORANGE, style.SKY)
    for offset, ((name, label), colour) in enumerate(zip(names.items(), colours, strict=True)):
        for at, key in enumerate(keys):
            found = [100 * r["numbers"][f"{key}/{name}"] for r in records if r["arrays"]["task"] == key]
            ax.bar(at + 0.2 * (offset - 1.5), np.mean(found), 0.18, color=colour, label=label if at == 0 else None)
    kept = [np.mean([r["numbers"][f"{key}/kept"] for r in records if r["arrays"]["task"] == key]) for key in keys]
    labels = [f"{key}\nkept {100 * share:.2g} %" for key, share in zip(keys, kept, strict=True)]
    ax.set(xticks=range(len(keys)), ylabel="test accuracy (%)", ylim=(45, 101))
    ax.set_xticklabels(labels, fontsize=8)
    ax.legend(frameon=False, fontsize=7, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.14))
    style.declutter(ax, "y")


_PAIRS = tuple((data, pair) for data in ("mnist", "cifar10") for pair in NAMES[data])


@experiment(
    "b/fig6",
    "B",
    "Lottery tickets: a kernel trained again on the few pixels that the RFM names",
    specs={
        "smoke": (Ticket("made", (0, 4), 30, 20, 16), Ticket("made", None, 50, 20, 16)),
        "small": (
            *(Ticket(data, pair, 800, 500, 28 if data == "mnist" else 16) for data, pair in _PAIRS),
            Ticket("cifar10", None, 500, 200, 48),
        ),
        "paper": (
            *(Ticket(data, pair, 4000, 800, 28 if data == "mnist" else 32) for data, pair in _PAIRS),
            Ticket("cifar10", None, 500, 800, 96),
        ),
    },
    seeds={"small": 5, "paper": 5},
    claims=_claims(),
    draw=draw,
    derive=gains,
    cost=lambda spec: 2e-10 * (8 * spec.rows**3 + 4 * spec.rows * (3 * spec.side**2) ** 2) + 10,
)
def tickets(spec: Ticket, seed: int) -> Result:
    """Train an RFM of one round, keep its largest pixels, and train a Laplace kernel on them again."""
    rows, test, known = ticket_rows(spec, seed)
    with threads(1):
        plain, machine = learn(*rows, RIDGE, 1)
        kept = select_columns(machine.metric.diagonal(), THRESHOLD)
        order = torch.randperm(len(kept), generator=torch.Generator().manual_seed(seed))
        numbers = {
            "laplace": scores(predictor(plain), *test),
            "rfm": scores(predictor(machine), *test),
            "accuracy": refit_accuracy(kept, rows, test, RIDGE),
            "random": refit_accuracy(kept[order], rows, test, RIDGE),
            "kept": float(kept.double().mean()),
        }
    numbers["gain"] = numbers["accuracy"] - numbers["rfm"]
    numbers["chosen"] = numbers["accuracy"] - numbers["random"]
    if known is not None:
        numbers["precision"] = float(known[kept].double().mean())
    return Result({f"{spec.key}/{name}": value for name, value in numbers.items()}, {"task": spec.key})
