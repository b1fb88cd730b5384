"""Fig. 12: networks that memorise random labels; target linearity falls with the share of random labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from matplotlib.figure import Figure
from torch import Tensor

from gramian.experiments import Null, Result, at_least, at_most, experiment, negative, positive
from gramian.experiments.e_gram.classifiers import accuracy, layer_linearity, train_classifier, training_seconds
from gramian.experiments.e_gram.image_rows import ImageData, image_rows
from gramian.experiments.e_gram.small_nets import perceptron
from gramian.experiments.e_gram.trends import kendall, measured_epochs
from gramian.report import style

SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
_MIDDLE = 1
"""The second of three hidden layers."""
_CLASSES = 10
_LEARNED = 0.9
"""Training accuracy that counts as high; the paper's value is lost, and this is that of Fig. 4."""
_TRUE_LABELS = (
    "scored on the true test labels: the code randomises those too, and then the accuracy of any network falls with "
    "the share"
)


@dataclass(frozen=True)
class RandomLabels:
    """A training on images of which a share has random labels; the defaults are those of B.8."""

    data: ImageData
    share: float
    rate: float = 0.005
    momentum: float = 0.95
    hidden: int = 3
    width: int = 256
    epochs: int = 200
    batch: int = 64
    points: int = 21


def randomised(y: Int[Tensor, " n"], share: float, classes: int, rng: torch.Generator) -> Int[Tensor, " n"]:
    """Replace each label by a uniform one with probability `share`; the new label may be the old one.

    >>> y = torch.zeros(6, dtype=torch.long)
    >>> bool((randomised(y, 0.0, 10, torch.Generator()) == y).all())
    True
    """
    chosen = torch.rand(len(y), generator=rng) < share
    return torch.where(chosen, torch.randint(classes, (len(y),), generator=rng), y)


def first_epoch(epochs: Sequence[int], train: Sequence[float], level: float = _LEARNED) -> int:
    """Return the first measured epoch with this training accuracy, one more than the last if there is none.

    >>> first_epoch([0, 5, 10], [0.1, 0.92, 0.99]), first_epoch([0, 5, 10], [0.1, 0.2, 0.3])
    (5, 11)
    """
    return next((epoch for epoch, value in zip(epochs, train, strict=True) if value >= level), epochs[-1] + 1)


def _trends(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return orders over the shares of random labels, and differences between shares.

    Labels of which more are random are less linear in the features of an untrained network too, so that target
    linearity (TL) is compared by its rise from the start. ``randomised`` are the numbers of the authors' scoring, on
    test labels of which the same share is random: their mean over the draws of these labels.
    """
    found = {record["spec"]["share"]: record["numbers"] for record in records}
    if set(found) != set(SHARES):
        return {}
    arrays = {record["spec"]["share"]: record["arrays"] for record in records}
    at = {key: {p: found[p][f"{p}/{key}"] for p in SHARES} for key in ("train", "test", "TL", "TL at start", "late")}
    rise = {p: at["TL"][p] - at["TL at start"][p] for p in SHARES}
    scored = {p: (1 - p) * at["test"][p] + p / _CLASSES for p in SHARES}
    trends = {
        "rise/order": _order(rise.values()),
        "rise/drop": rise[0.0] - rise[0.75],
        "train/order": _order(at["train"].values()),
        "train/lowest": min(at["train"].values()),
        "time/order": _order(first_epoch(arrays[p]["epochs"], arrays[p]["train"]) for p in SHARES),
        "middle/gap/order": _order(_halfway(arrays[p]["train"]) - _halfway(arrays[p]["test"]) for p in SHARES),
        "middle/late": at["late"][1.0] - at["late"][0.0],
    }
    for layer in (0, 1):
        curves = [[layers[layer] for layers in arrays[p]["linearity"]] for p in SHARES]
        trends[f"rise/order/layer {layer + 1}"] = _order(curve[-1] - curve[0] for curve in curves)
    for suffix, test in (("", at["test"]), ("/randomised", scored)):
        gap = {p: at["train"][p] - test[p] for p in SHARES}
        trends |= {
            f"test/order{suffix}": _order(test.values()),
            f"gap/rise{suffix}": gap[0.75] - gap[0.0],
            f"gap and rise{suffix}": kendall(list(gap.values()), list(rise.values())),
        }
    return trends


def _order(values: Iterable[float]) -> float:
    return kendall(list(SHARES), list(values))


def _halfway(curve: Sequence[float]) -> float:
    return curve[len(curve) // 2]


def _draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    shares = sorted({record["spec"]["share"] for record in records})
    figure.set_size_inches(9.6, 3.0)
    left, middle, right = figure.subplots(1, 3)
    mean = {
        key: [np.mean([r["arrays"][key][-1] for r in records if r["spec"]["share"] == p]) for p in shares]
        for key in ("train", "test")
    }
    last = [np.mean([r["arrays"]["linearity"][-1][-1] for r in records if r["spec"]["share"] == p]) for p in shares]
    left.plot(shares, mean["train"], "o-", color=style.BLUE, label="training accuracy")
    left.plot(shares, mean["test"], "o-", color=style.ORANGE, label="test accuracy")
    left.plot(shares, last, "o--", color=style.GREEN, label="TL, last layer")
    left.set(xlabel="share of random labels", ylim=(0, 1.05), title="at the end")
    left.legend(loc="center right", bbox_to_anchor=(1, 0.47))
    colours = [style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.PURPLE, style.GREY]
    for ax, layer, title in ((middle, _MIDDLE, "TL, middle layer"), (right, -1, "TL, last layer")):
        for p, colour in zip(shares, colours, strict=False):
            chosen = [record["arrays"] for record in records if record["spec"]["share"] == p]
            curve = np.mean([np.array(arrays["linearity"])[:, layer] for arrays in chosen], axis=0)
            ax.plot(chosen[0]["epochs"], curve, color=colour, label=f"{p:g}")
        ax.set(xlabel="epoch", title=title)
        ax.set_ylim(bottom=0)
    right.legend(title="random labels", loc="center left", bbox_to_anchor=(1, 0.5))
    for ax in (left, middle, right):
        style.declutter(ax, "y")


def _cost(spec: RandomLabels) -> float:
    return training_seconds(spec.data, spec.hidden, spec.width, spec.epochs, spec.points)


def _specs(data: ImageData, shares: Sequence[float] = SHARES, **more: Any) -> tuple[RandomLabels, ...]:
    return tuple(RandomLabels(data, share, **more) for share in shares)


@experiment(
    "e/fig12",
    "E",
    "Random labels: test accuracy and the last layer's target linearity fall with their share",
    specs={
        "smoke": _specs(ImageData("digits", 200, 100), (0.0, 1.0), width=16, epochs=4, points=3),
        "small": _specs(ImageData("cifar10", 1000, 2000, pool=2), width=128, rate=0.02, epochs=300),
        "paper": _specs(ImageData("cifar10")),
    },
    seeds={"small": 5, "paper": 3},
    claims=[
        at_most(
            "test/order",
            -0.8,
            "“the test accuracy decreases more rapidly” as the share increases; one reversed pair of 15 gives −0.87",
            slack=0.2,
            label="order of test accuracy over the share of random labels",
            null=Null(0.0, "no order"),
            setting=_TRUE_LABELS,
            printed_key="test/order/randomised",
        ),
        negative(
            "rise/order",
            "“increasing the random label probability leads to … a decrease in last-layer TL”, beyond the start",
            label="order of the rise of the last layer's TL over the share of random labels",
        ),
        *(
            negative(
                f"rise/order/layer {layer}",
                "“TL in other layers also decreases over this range”, beyond the start",
                label=f"order of the rise of layer {layer}'s TL over the share of random labels",
            )
            for layer in (1, 2)
        ),
        positive(
            "rise/drop",
            "“TL also decreases substantially”, beyond the start; above some share, whose value the export has lost, "
            "it remains the same",
            label="rise of the last layer's TL, no random labels minus a share of 0.75",
        ),
        positive(
            "gap/rise",
            "“leads to … a larger generalization error”",
            label="training minus test accuracy, a share of 0.75 minus no random labels",
            setting=_TRUE_LABELS,
            printed_key="gap/rise/randomised",
        ),
        negative(
            "gap and rise",
            "“the alignment between decreasing TL and an increasing generalization gap”, beyond the untrained network",
            label="order of the rise of TL over the generalisation gap",
            setting=_TRUE_LABELS,
            printed_key="gap and rise/randomised",
        ),
        negative(
            "train/order",
            "“the overall training accuracy decreases” with the share, up to one that is lost; at small all labels "
            "are memorised by the choice of the setting",
            label="order of the training accuracy at the end over the share of random labels",
            scales=("paper",),
        ),
        positive(
            "time/order",
            "“higher values of p require more training time to reach high training accuracy”",
            label="order of the first epoch with a training accuracy of 0.9 over the share of random labels",
        ),
        positive(
            "middle/gap/order",
            "“during the middle stages of training, the generalization gap is larger for higher p”: half of the epochs",
            label="order of training minus test accuracy after half of the epochs over the share of random labels",
            setting=_TRUE_LABELS,
        ),
        at_least(
            "train/lowest",
            0.9,
            "ours: “to allow sufficient memorization”; the paper's value is lost, 0.9 is that of Fig. 4",
            slack=0.1,
            label="lowest training accuracy of all shares",
            kind="side condition",
            null=Null(0.1, "chance"),
        ),
        positive(
            "middle/late",
            "“slow early increases followed by sudden changes” for large shares, “rapid early increases” for others",
            label="increase of the middle layer's TL in the second half of training, all labels random minus none",
        ),
    ],
    draw=_draw,
    derive=_trends,
    small_setting="rate 0.02 in place of 0.005",
    cost=_cost,
)
def random_labels(spec: RandomLabels, seed: int) -> Result:
    """Train on images of which a share has random labels, and measure every hidden state along the way."""
    rng = torch.Generator().manual_seed(seed)
    rows = image_rows(spec.data, rng)
    model = perceptron((rows.X.shape[1], *[spec.width] * spec.hidden, rows.classes), "gelu", rng)
    y = randomised(rows.y, spec.share, rows.classes, rng)
    optimizer = torch.optim.SGD(model.parameters(), lr=spec.rate, momentum=spec.momentum)
    epochs = measured_epochs(spec.epochs, spec.points)
    arrays: dict[str, Any] = {"epochs": epochs, "linearity": [], "train": [], "test": []}

    def watch(epoch: int) -> None:
        if epoch in epochs:
            arrays["linearity"].append(layer_linearity(model, rows.X, y, rows.classes)[0])
            arrays["train"].append(accuracy(model, rows.X, y))
            arrays["test"].append(accuracy(model, rows.X_test, rows.y_test))

    train_classifier(model, rows.X, y, optimizer, epochs=spec.epochs, batch=spec.batch, rng=rng, watch=watch)
    middle = [layers[_MIDDLE] for layers in arrays["linearity"]]
    numbers = {
        "train": arrays["train"][-1],
        "test": arrays["test"][-1],
        "TL": arrays["linearity"][-1][-1],
        "TL at start": arrays["linearity"][0][-1],
        "late": middle[-1] - middle[len(middle) // 2],
    }
    return Result({f"{spec.share}/{key}": value for key, value in numbers.items()}, arrays)
