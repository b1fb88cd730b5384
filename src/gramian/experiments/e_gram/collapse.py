"""Proposition 2: neural collapse makes the surrogate as large as its norm allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from torch import Tensor, nn

from gramian.core import threads
from gramian.datasets import mnist
from gramian.experiments import Null, Result, at_least, between, experiment, negative, positive
from gramian.experiments.e_gram.small_nets import layer_inputs, linear_layers, perceptron, short
from gramian.nets import FeatureMoments, neural_collapse
from gramian.report import style

_CLASSES = 10


@dataclass(frozen=True)
class CollapseTraining:
    """Rows of MNIST (or the digits of scikit-learn), width of two hidden ReLU layers, epochs of SGD."""

    rows: int
    data: str = "mnist"
    width: int = 128
    epochs: int = 60
    batch: int = 64
    rate: float = 0.05


def saturation(Z: Float[Tensor, "n m"], Y: Float[Tensor, "n c"]) -> float:
    """Return ``tr(YᵀGY) / (‖G‖‖YYᵀ‖)`` for ``G = ZZᵀ``, columns of both centred: at most 1, with 1 for ``G ∝ YYᵀ``.

    >>> Y = torch.eye(3).repeat(2, 1)
    >>> round(saturation(2 * Y, Y), 6)
    1.0
    """
    Z, Y = (A - A.mean(0) for A in (Z, Y))
    return float((Z.mT @ Y).square().sum() / ((Z.mT @ Z).norm() * (Y.mT @ Y).norm()))


def simplex(rows: int, rng: torch.Generator, spread: float = 0.0) -> tuple[Tensor, Tensor]:
    """Return features at the corners of a simplex in 16 dimensions, with noise of this size, and one-hot targets."""
    labels = torch.arange(rows) % _CLASSES
    basis = torch.linalg.qr(torch.randn(16, _CLASSES, generator=rng, dtype=torch.float64))[0]
    corners = (torch.eye(_CLASSES, dtype=torch.float64) - 1 / _CLASSES) @ basis.mT
    noise = torch.randn(rows, 16, generator=rng, dtype=torch.float64)
    return corners[labels] + spread * noise, nn.functional.one_hot(labels, _CLASSES).double()


@lru_cache(maxsize=1)
def _pixels(name: str) -> tuple[Tensor, Tensor]:
    if name == "digits":
        pixels, labels = load_digits(return_X_y=True)
        return torch.as_tensor(pixels / 16).float(), torch.as_tensor(labels).long()
    data = mnist()
    return torch.as_tensor(data.X).float(), torch.as_tensor(data.y).long()


def collapse_course(spec: CollapseTraining, seed: int) -> dict[str, list[float]]:
    """Train on the squared loss of centred one-hot targets; return saturation of G and NC1 by epoch.

    ``features`` has ``G = HHᵀ`` of the last hidden layer, ``outputs`` ``G = HWᵀWHᵀ`` with the readout W.
    """
    X, labels = _pixels(spec.data)
    rng = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(X), generator=rng)[: spec.rows]
    X, Y = X[rows], nn.functional.one_hot(labels[rows], _CLASSES).float()
    centred = Y - Y.mean(0)
    model = perceptron((X.shape[1], spec.width, spec.width, _CLASSES), "relu", rng)
    optimizer = torch.optim.SGD(model.parameters(), lr=spec.rate, momentum=0.9, fused=True)
    course: dict[str, list[float]] = {"features": [], "outputs": [], "nc1": []}
    with threads(1), torch.enable_grad():
        for epoch in range(spec.epochs + 1):
            if epoch % max(1, spec.epochs // 20) == 0:
                with torch.no_grad():
                    H = layer_inputs(model, X)[0][-1]
                    moments = FeatureMoments(spec.width, _CLASSES)
                    moments.add(H, Y)
                    course["nc1"].append(neural_collapse(moments)["nc1"])
                    course["features"].append(saturation(H.double(), Y.double()))
                    W = linear_layers(model)[-1].weight
                    course["outputs"].append(saturation((H @ W.mT).double(), Y.double()))
            if epoch == spec.epochs:
                break
            for batch in torch.randperm(len(X), generator=rng).split(spec.batch):
                optimizer.zero_grad()
                (model(X[batch]) - centred[batch]).square().sum(1).mean().backward()
                optimizer.step()
    return course


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(7.2, 3.0)
    left, right = figure.subplots(1, 2)
    for index, record in enumerate(records):
        course, spec = record["arrays"], record["spec"]
        epochs = np.arange(len(course["nc1"])) * max(1, spec["epochs"] // 20)
        for key, label, colour in (
            ("outputs", "G = HWᵀWHᵀ", style.BLUE),
            ("features", "G = HHᵀ", style.ORANGE),
        ):
            left.plot(epochs, course[key], color=colour, label=label if index == 0 else None)
            right.plot(course["nc1"], course[key], ".", color=colour)
    left.set(xlabel="epoch", ylabel="S / (‖G‖‖YYᵀ‖)", ylim=(0, 1.03))
    right.set(xlabel="NC1", xscale="log", ylim=(0, 1.03))
    left.legend()
    for ax in (left, right):
        style.declutter(ax, "y")


@experiment(
    "e/prop2",
    "E",
    "Neural collapse saturates the surrogate: exactly on a simplex, and increasingly in training on MNIST",
    specs={
        "smoke": (CollapseTraining(300, data="digits", width=32, epochs=10),),
        "small": (CollapseTraining(2000),),
        "paper": (CollapseTraining(2000),),
    },
    seeds={"small": 5, "paper": 5},
    claims=[
        between(
            "simplex",
            1 - 1e-10,
            1 + 1e-10,
            "NC1 and NC2 exactly: the maximum of Lemma 5 is reached",
            label="S / (‖G‖‖YYᵀ‖) of a simplex",
            kind="proved identity",
            null=Null(0.9, "the simplex with noise"),
        ),
        between(
            "lemma 5",
            0.0,
            1.0 + 1e-10,
            "tr(YᵀGY) ≤ ‖G‖‖YYᵀ‖",
            label="Largest S / (‖G‖‖YYᵀ‖) over training and noisy simplices",
            kind="proved identity",
            null=Null(1.1, "an inequality that fails by a tenth"),
        ),
        positive(
            "rise",
            "ours, after “a maximally linearized representation”: the ratio rises; interpolation alone suffices for it",
            label="Rise of S / (‖G‖‖YYᵀ‖) in training, G = HWᵀWHᵀ",
            kind="side condition",
        ),
        at_least(
            "end",
            0.95,
            "ours, after “precisely what saturates the surrogate”: within 5 %, as by interpolation alone",
            slack=0.05,
            label="S / (‖G‖‖YYᵀ‖) at the end, G = HWᵀWHᵀ",
            kind="side condition",
            null=Null(0.5, "half the maximum"),
        ),
        negative(
            "nc1",
            "ours: the condition NC1 of the proposition is approached in training",
            label="Change of log₁₀ NC1 in training",
            kind="side condition",
            null=Null(0.0, "an untrained network"),
        ),
        negative(
            "together",
            "ours, after the proposition: the nearer to collapse, the nearer to the maximum",
            label="Correlation over epochs of S / (‖G‖‖YYᵀ‖), G = HHᵀ, with log NC1",
            kind="side condition",
            null=Null(0.0, "curves without a relation; any two curves that rise and fall throughout are below 0 too"),
        ),
    ],
    draw=_draw,
    cost=lambda spec: 1.2e-8 * spec.rows * spec.epochs * spec.width * 10,
)
def collapse(spec: CollapseTraining, seed: int) -> Result:
    """Check the simplex; then train, and compare the surrogate with its maximum and with NC1."""
    rng = torch.Generator().manual_seed(seed)
    exact = saturation(*simplex(200, rng))
    noisy = [saturation(*simplex(200, rng, spread)) for spread in (0.05, 0.2, 1.0)]
    course = collapse_course(spec, seed)
    logs = np.log10(course["nc1"])
    numbers = {
        "simplex": exact,
        "lemma 5": max([*noisy, *course["features"], *course["outputs"]]),
        "rise": course["outputs"][-1] - course["outputs"][0],
        "end": course["outputs"][-1],
        "nc1": float(logs[-1] - logs[0]),
        "together": float(np.corrcoef(course["features"], logs)[0, 1]),
    }
    return Result(numbers, {key: short(values) for key, values in course.items()})
