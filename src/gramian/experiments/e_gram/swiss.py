"""Fig. 1: the virtual update unrolls a Swiss roll, and the Gram matrix of the first layer follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor, nn

from gramian.core import cosine, threads
from gramian.datasets import swiss_roll
from gramian.experiments import Null, Result, at_least, experiment, positive
from gramian.experiments.e_gram.small_nets import linear_layers, perceptron, short
from gramian.features import nfm, vcs_from_moments
from gramian.nets import target_linearity
from gramian.report import style

FRAMES = (0, 10, 20, 30, 40, 50)
_SHOWN = 300


@dataclass(frozen=True)
class RollTraining:
    """Points on the roll, width of two hidden GELU layers, steps of gradient descent, and the virtual rate per point.

    The authors draw ``X − 700 Σ ∇ₓL`` for 1,000 points and the mean loss, which is 0.7 per point.
    """

    n: int
    width: int = 32
    steps: int = 100
    rate: float = 0.05
    virtual_rate: float = 0.7


@dataclass(frozen=True)
class RollCourse:
    """Points, targets, the virtually updated points and the Gram matrix after each step (0 before the first).

    ``shift`` is the summed virtual covariance shift of the first layer, to first order.
    """

    X: Float[Tensor, "n 2"]
    y: Float[Tensor, " n"]
    virtual: list[Float[Tensor, "n 2"]]
    grams: list[Float[Tensor, "2 2"]]
    shift: Float[Tensor, "2 2"]


def unroll(spec: RollTraining, seed: int, *, frozen: bool = False) -> RollCourse:
    """Train by full-batch gradient descent on the mean squared error, the first layer without bias.

    With ``frozen`` the weights stay as they are drawn, and only the virtual points move: our control.

    >>> course = unroll(RollTraining(20, width=4, steps=3), seed=0)
    >>> len(course.virtual), bool((course.virtual[0] == course.X).all())
    (4, True)
    """
    data = swiss_roll(spec.n, seed=seed)
    X, y = torch.from_numpy(data.X), torch.from_numpy(data.y)
    rng = torch.Generator().manual_seed(seed + 1_000_000)  # not the stream of the points
    model = perceptron((2, spec.width, spec.width, 1), "gelu", rng, dtype=torch.float64)
    first = linear_layers(model)[0]
    first.register_parameter("bias", None)
    optimizer = torch.optim.SGD(model.parameters(), lr=spec.rate)
    virtual, grams, shift = [X], [nfm(first.weight.detach())], torch.zeros(2, 2, dtype=torch.float64)
    with threads(1), torch.enable_grad():
        for _ in range(spec.steps):
            points = X.clone().requires_grad_()
            loss = nn.functional.mse_loss(model(points)[:, 0], y)
            optimizer.zero_grad()
            loss.backward()
            if not frozen:
                optimizer.step()
            gradient = points.grad
            assert gradient is not None
            virtual.append(virtual[-1] - spec.virtual_rate * spec.n * gradient)
            grams.append(nfm(first.weight.detach()))
            # gradients of the mean loss: the sum over rows counts as one sample
            shift += vcs_from_moments(gradient.mT @ X, None, samples=1, step=spec.rate)
    return RollCourse(X, y, virtual, grams, shift)


def linearity_by_frame(course: RollCourse) -> list[float]:
    """Return the target linearity of the virtual points, with an intercept, at every frame of the figure."""
    return [target_linearity(course.virtual[frame], course.y[:, None], ridge=0.0) for frame in FRAMES]


def _scaled(points: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
    low, high = points.amin(0), points.amax(0)
    return (points - low) / (high - low).clamp_min(1e-6)


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    record = next((record for record in records if record["arrays"]), records[0])
    arrays = record["arrays"]
    figure.set_size_inches(2.0 * len(FRAMES), 2.5)
    axes = figure.subplots(1, len(FRAMES))
    start = np.asarray(arrays["frames"][0])
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    for ax, frame, points, gram, found in zip(
        axes, FRAMES, arrays["frames"], arrays["grams"], arrays["linearity"], strict=True
    ):
        values, vectors = np.linalg.eigh(np.asarray(gram))
        half = (vectors * np.sqrt(values.clip(0))) @ circle  # points of xᵀ(WᵀW)⁻¹x = 1
        half *= 0.5 / np.abs(np.asarray(arrays["grams"])).max() ** 0.5
        ax.scatter(*start.T, color=style.GREY, s=4, alpha=0.25, linewidths=0)
        ax.scatter(*np.asarray(points).T, c=arrays["y"], cmap="viridis", s=7, linewidths=0)
        for size in (0.5, 1.0):
            ax.plot(*(start.mean(0)[:, None] + size * half), color=style.ORANGE, linestyle="--", linewidth=1)
        ax.set_title(f"step {frame}: TL {found:.2f}", fontsize=9)
        ax.set(xlim=(-0.25, 1.25), ylim=(-0.25, 1.25), xticks=[], yticks=[], aspect="equal")
    axes[0].set(xlabel="grey: the roll; dashed: WᵀW")


@experiment(
    "e/fig1",
    "E",
    "A Swiss roll under the virtual update: points move until the target is nearly linear in them",
    specs={
        "smoke": (RollTraining(100, steps=50),),
        "small": (RollTraining(1000),),
        "paper": (RollTraining(1000),),
    },
    seeds={"small": 10, "paper": 10},
    claims=[
        positive(
            "beyond frozen",
            "“progressively unrolls Swiss roll data into a linear form”, beyond the virtual points of networks whose "
            "first layer is frozen, so that W₁ᵀW₁ has no part in it",
            label="Target linearity of the virtual points at step 50, trained minus frozen weights",
            null=Null(0.048, "the first layer frozen and the others trained, mean of six seeds"),
        ),
        at_least(
            "end",
            0.9,
            "“a linear form”: nine tenths of the variance at step 50; ours, since frozen weights come near it too",
            slack=0.1,
            label="Target linearity of the virtual points at step 50",
            kind="side condition",
            null=Null(0.062, "the roll itself, mean of ten seeds (0.045 to 0.086)"),
        ),
        at_least(
            "cosine",
            0.95,
            "Theorem 1 over 100 steps, up to the terms of order η²",
            slack=0.03,
            label="Cosine of the summed virtual covariance shift and the change of W₁ᵀW₁",
            kind="proved identity",
            null=Null(0.0, "unrelated matrices"),
        ),
        at_least(
            "moved",
            0.05,
            "the contours of W₁ᵀW₁ “make this evolution visible”: a twentieth of the norm is the least that an eye "
            "sees; entered after the number (0.008) was known, since it is a statement of the text",
            label="Change of W₁ᵀW₁ in 100 steps, relative to its norm",
            null=Null(0.0, "weights that do not move"),
        ),
    ],
    draw=_draw,
    version=2,
)
def swiss(spec: RollTraining, seed: int) -> Result:
    """Train; return the target linearity of the virtual points (with an intercept), and the frames of the figure."""
    course = unroll(spec, seed)
    shown, frozen = (linearity_by_frame(found) for found in (course, unroll(spec, seed, frozen=True)))
    least = [float(np.diff(values).min()) for values in (shown, frozen)]
    numbers = {
        "beyond frozen": shown[-1] - frozen[-1],
        "start": shown[0],
        "end": shown[-1],
        "end/frozen": frozen[-1],
        "least rise": least[0],
        "least rise/frozen": least[1],
        "cosine": cosine(course.shift, course.grams[-1] - course.grams[0]),
        "moved": float((course.grams[-1] - course.grams[0]).norm() / course.grams[0].norm()),
    }
    if seed:
        return Result(numbers, {})
    few = slice(0, _SHOWN)
    arrays = {
        "y": short(course.y[few].tolist(), 3),
        "frames": [[short(row, 3) for row in _scaled(course.virtual[frame])[few].tolist()] for frame in FRAMES],
        "grams": [[short(row) for row in course.grams[frame].tolist()] for frame in FRAMES],
        "linearity": short(shown),
    }
    return Result(numbers, arrays)


@experiment(
    "e/fig1-why",
    "E",
    "The Gram matrix of Fig. 1 hardly moves in 100 steps; in 2,000 it does, and the roll is unrolled long before",
    specs={
        "smoke": (RollTraining(50, steps=100),),
        "small": (RollTraining(1000, steps=2000),),
        "paper": (RollTraining(1000, steps=2000),),
    },
    seeds={"small": 5, "paper": 5},
    claims=[
        at_least(
            "moved",
            0.05,
            "the bound of e/fig1, at twenty times the steps; a trial with seed 100 had 0.17",
            label="Change of W₁ᵀW₁ in 2,000 steps, relative to its norm",
            kind="side condition",
            null=Null(0.0, "weights that do not move"),
        ),
        positive(
            "early",
            "the virtual points move 14,000 times as fast as the weights, so they are unrolled before W₁ᵀW₁ has moved",
            label="Share of the rise of TL that is over when a tenth of the Gram matrix's way is, minus ½",
            kind="side condition",
        ),
    ],
)
def slow_gram(spec: RollTraining, seed: int) -> Result:
    """Train longer; return the way of the Gram matrix, and the target linearity when a tenth of it is over."""
    course = unroll(spec, seed)
    way = [float((gram - course.grams[0]).norm()) for gram in course.grams]
    tenth = next(step for step, moved in enumerate(way) if moved >= 0.1 * way[-1])
    linearity = [target_linearity(course.virtual[step], course.y[:, None], ridge=0.0) for step in (0, tenth)]
    return Result(
        {
            "moved": way[-1] / float(course.grams[0].norm()),
            "tenth": float(tenth),
            "early": (linearity[1] - linearity[0]) / (1 - linearity[0]) - 0.5,
        }
    )
