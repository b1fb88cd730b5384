"""Fig. 13 and 14: target linearity of a network that groks ``(x + y) mod 61``, by weight decay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import nn

from gramian.core import threads
from gramian.datasets import modular_arithmetic
from gramian.experiments import Claim, Null, Result, at_least, experiment, negative, positive
from gramian.experiments.e_gram.classifiers import accuracy
from gramian.experiments.e_gram.grokking_curves import GENERALISED, compare_decays, curves_of, smooth
from gramian.experiments.e_gram.small_nets import layer_inputs, perceptron, short
from gramian.nets import target_linearity
from gramian.report import style


@dataclass(frozen=True)
class ModularTraining:
    """Addition mod p from a fraction of the table, with one weight decay of AdamW; measured every few epochs."""

    decay: float
    p: int = 61
    fraction: float = 0.7
    width: int = 256
    epochs: int = 500
    every: int = 10
    batch: int = 32
    rate: float = 1e-3


@dataclass(frozen=True)
class GrokkingCourse:
    """Measurements by epoch: accuracies, and the target linearity of each hidden layer on the training rows."""

    epochs: tuple[int, ...]
    train: tuple[float, ...]
    test: tuple[float, ...]
    linearity: tuple[tuple[float, ...], ...]


def train(spec: ModularTraining, seed: int) -> GrokkingCourse:
    """Train three hidden ReLU layers by AdamW (β₂ = 0.98) on the cross-entropy.

    >>> course = train(ModularTraining(0.5, p=5, width=8, epochs=2, every=1), seed=0)
    >>> course.epochs, len(course.linearity[0])
    ((0, 1, 2), 3)
    """
    data = modular_arithmetic(spec.p, "+", spec.fraction, seed)
    rows, others = (torch.from_numpy(part) for part in data.splits[0])
    X, y = torch.from_numpy(data.X).float(), torch.from_numpy(data.y)
    rng = torch.Generator().manual_seed(seed)
    model = perceptron((2 * spec.p, *[spec.width] * 3, spec.p), "relu", rng)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=spec.rate, betas=(0.9, 0.98), weight_decay=spec.decay, fused=True
    )
    Y = nn.functional.one_hot(y[rows], spec.p).double()
    found: list[tuple[int, float, float, tuple[float, ...]]] = []
    with threads(1), torch.enable_grad():
        for epoch in range(spec.epochs + 1):
            if epoch % spec.every == 0:
                with torch.no_grad():
                    inputs, _ = layer_inputs(model, X[rows])
                    linear = tuple(target_linearity(H, Y, ridge=0.0, center=False) for H in inputs[1:])
                    scores = (accuracy(model, X[part], y[part]) for part in (rows, others))
                    found.append((epoch, *scores, linear))  # type: ignore[arg-type]
            if epoch == spec.epochs:
                break
            for batch in rows[torch.randperm(len(rows), generator=rng)].split(spec.batch):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(X[batch]), y[batch]).backward()
                optimizer.step()
    epochs, fitted, unseen, linearity = zip(*found, strict=True)
    return GrokkingCourse(epochs, fitted, unseen, linearity)


def summary(course: GrokkingCourse) -> dict[str, float]:
    """Return the numbers of a course between memorisation (training 99 %) and grokking (test 90 %, or the end)."""
    curves = curves_of(vars(course))
    second, last, gap, start, end = curves.second, curves.last, curves.gap, curves.start, curves.end
    fifth = len(last) // 5
    late, before = last[-fifth:].mean(), last[-2 * fifth : -fifth].mean()
    between = slice(start, end + 1)
    found = {
        "test": float(np.mean(course.test[-fifth:])),
        "delay": float(course.epochs[end] - course.epochs[start]),
        "grokked": float(course.epochs[end]),
        "rise/last": float(last[end] - last[start]),
        "rise/second": float(second[end] - second[start]),
        "gap": float(gap[end] - gap[start]),
        "late": float(abs(late - before) / (last.max() - last[0])),
    }
    if end > start + 1:
        found["follow"] = float(np.corrcoef(gap[between], curves.error[between])[0, 1])
    return found


_SEEN = "; a trial of 200 epochs with seed 100 and decays 0, 0.25 and 1 had been seen"
_GROKKING = (0.25, 0.5, 0.75)


def _claims() -> Iterator[Claim]:
    for decay in _GROKKING:
        scales = ("small", "paper") if decay == 0.5 else ("paper",)
        yield at_least(
            f"test/{decay:g}",
            GENERALISED,
            f"“grokking emerges”: most pairs that were never shown are right at the end{_SEEN}",
            slack=0.05,
            label=f"λ = {decay:g}: test accuracy, last fifth of training",
            null=Null(1 / 61, "chance"),
            scales=scales,
        )
        yield negative(
            f"gap/{decay:g}",
            f"“the gap between the second and last layers … narrows”{_SEEN}",
            label=f"λ = {decay:g}: change of the gap TL₃ − TL₂ from 99 % training to 90 % test accuracy, or to the end",
            scales=scales,
        )
        yield negative(
            f"late/{decay:g} - late/0",
            "“then saturates in the final stage of training”, more than without weight decay, where TL saturates "
            "without grokking; entered after the number was known",
            label=f"λ = {decay:g}: change of the last layer's TL in the last fifth of training, of its whole rise, "
            "minus that with λ = 0",
            scales=("paper",),
        )
        yield positive(
            f"following/{decay:g}",
            f"Fig. 14: “a similar decreasing pattern at the onset of grokking”{_SEEN}",
            label=f"λ = {decay:g}: correlation over epochs of TL₃ − TL₂ with the generalisation error, from 99 % "
            "training to 90 % test accuracy, of seeds with six measurements or more there",
            scales=scales,
        )
    yield positive(
        "sharp/0.25",
        "“as grokking emerges, the TL of the second layer … increases sharply”: faster than before; with other λ the "
        "test accuracy is beyond 10 % at memorisation",
        label="λ = 0.25: rise of layer 2's TL per 100 epochs from 10 to 90 % test accuracy, minus that from 99 % "
        "training to 10 % test accuracy, of seeds with two steps in both",
        scales=("paper",),
    )
    yield positive(
        "test/0.5 - test/0",
        "weight decay “is known to control the timing of grokking”: without it there is none in 500 epochs",
        label="Test accuracy with λ = 0.5 minus that without weight decay",
    )
    yield positive(
        "earlier",
        "weight decay “is known to control the timing of grokking”",
        label="Epochs by which λ = 0.75 groks before λ = 0.25",
        scales=("paper",),
    )
    yield positive(
        "rise/last/0",
        "ours: a rise after memorisation is no sign of grokking if it also occurs without; seen in the trial",
        label="λ = 0, no grokking: rise of the last layer's TL from 99 % training accuracy to the end",
        kind="side condition",
    )
    yield positive(
        "rise/second/0",
        "ours: nor is a rise of layer 2 by itself",
        label="λ = 0, no grokking: rise of layer 2's TL from 99 % training accuracy to the end",
        kind="side condition",
    )
    yield positive(
        "gap/0",
        "ours: a narrowing gap is a sign of grokking only if it does not narrow without; seen in the trial",
        label="λ = 0, no grokking: change of the gap TL₃ − TL₂ from 99 % training accuracy to the end",
        kind="side condition",
    )


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    shown = [record for record in records if record["seed"] == 0]
    figure.set_size_inches(2.6 * len(shown), 5.2)
    axes = figure.subplots(2, len(shown), squeeze=False, sharex=True, sharey="row")
    for (above, below), record in zip(axes.T, shown, strict=True):
        arrays = record["arrays"]
        epochs, train, test = (np.asarray(arrays[name]) for name in ("epochs", "train", "test"))
        for layer, colour in zip(range(3), style.SERIES, strict=False):
            curve = smooth(np.asarray(arrays["linearity"])[:, layer])
            above.plot(epochs, curve, color=colour, label=f"TL, layer {layer + 1}")
        above.plot(epochs, train, color=style.GREY, linestyle=":", label="training accuracy")
        above.plot(epochs, test, color=style.INK, linestyle="--", label="test accuracy")
        above.set_title(f"λ = {record['spec']['decay']:g}")
        linear = np.asarray(arrays["linearity"])
        below.plot(epochs, smooth(linear[:, 2] - linear[:, 1]), color=style.PURPLE, label="TL₃ − TL₂")
        below.plot(epochs, train - test, color=style.INK, linestyle="--", label="generalisation error")
        below.set(xlabel="epoch")
        for ax in (above, below):
            style.declutter(ax, "y")
    axes[0, 0].set(ylabel="target linearity, accuracy", ylim=(0, 1.05))
    axes[0, 0].legend(fontsize=7, loc="upper right", bbox_to_anchor=(1.0, 0.95))
    axes[1, 0].legend(fontsize=7, loc="center right")


@experiment(
    "e/fig13",
    "E",
    "Grokking (x + y) mod 61: target linearity by layer and weight decay (Fig. 13), and its gap (Fig. 14)",
    specs={
        "smoke": (ModularTraining(0.5, p=11, width=32, epochs=30, every=2),),
        "small": (ModularTraining(0.0, epochs=250), ModularTraining(0.5, epochs=250)),
        "paper": tuple(ModularTraining(decay) for decay in (0.0, *_GROKKING)),
    },
    seeds={"small": 5, "paper": 5},
    claims=[*_claims()],
    draw=_draw,
    derive=compare_decays,
    setting="AdamW, as in the authors' code, in place of Adam",
    cost=lambda spec: 0.12 * spec.epochs,
)
def grokking(spec: ModularTraining, seed: int) -> Result:
    """Train with one weight decay; return linearity between memorisation and grokking."""
    course = train(spec, seed)
    arrays = {
        "epochs": list(course.epochs),
        "train": short(course.train),
        "test": short(course.test),
        "linearity": [short(values) for values in course.linearity],
    }
    return Result({f"{key}/{spec.decay:g}": value for key, value in summary(course).items()}, arrays)
