"""Theorem 4 and Lemma 4: linear regions on segments, and the surrogate by layer in a network that interpolates."""

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
from gramian.experiments import Null, Result, at_least, at_most, between, experiment, positive
from gramian.experiments.e_gram.small_nets import layer_inputs, linear_layers, perceptron, short
from gramian.features import agop, nfm
from gramian.nets import surrogate, target_linearity
from gramian.report import style
from gramian.theory.linear_regions import segment_path


@dataclass(frozen=True)
class Interpolation:
    """Rows on the unit sphere, inputs and width of four ReLU layers without bias; steps of Adam, number of segments."""

    n: int
    d: int
    width: int
    steps: int
    segments: int = 60


@dataclass(frozen=True)
class Profile:
    """Numbers of each layer's input: log S of ``HWᵀ``, TL, cosine of WᵀW and AGOP, crossings, worst Lemma 4."""

    surrogate: tuple[float, ...]
    linearity: tuple[float, ...]
    nfa: tuple[float, ...]
    crossings: tuple[float, ...]
    lemma: float


def task(spec: Interpolation, rng: torch.Generator) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
    """Return rows of length 1 and labels ±1, ``sign(x₁x₂ + x₃x₄/2)``, minus their mean."""
    X = torch.randn(spec.n, spec.d, generator=rng, dtype=torch.float64)
    X = X / X.norm(dim=1, keepdim=True)
    y = torch.sign(X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] / 2)
    return X, y - y.mean()


def measure(model: nn.Sequential, X: Tensor, y: Tensor, segments: int, rng: torch.Generator) -> Profile:
    """Measure every layer; the crossings are those of segments between random pairs of the layer's inputs."""
    with torch.enable_grad():
        inputs, output = layer_inputs(model, X.detach().requires_grad_())
        gradients = torch.autograd.grad(output.sum(), inputs)
    weights = [layer.weight.detach() for layer in linear_layers(model)]
    pairs = torch.randint(len(X), (segments, 2), generator=rng)
    counts, worst = [], 0.0
    for depth, H in enumerate(H.detach() for H in inputs):
        paths = [segment_path(weights[depth:], H[i], H[j]) for i, j in pairs.tolist()]
        counts.append(float(np.mean([path.crossings for path in paths])))
        tolerance = 1e-12 * float(output.detach().abs().max())
        worst = max([worst, *(max(0.0, path.remainder - tolerance) / path.bound for path in paths if path.crossings)])
    targets = y[:, None]
    return Profile(
        surrogate=tuple(
            float(np.log(surrogate(H.detach() @ W.mT, targets))) for H, W in zip(inputs, weights, strict=True)
        ),
        linearity=tuple(target_linearity(H.detach(), targets, 0.0, center=False) for H in inputs),
        nfa=tuple(cosine(nfm(W), agop(G[:, None])) for W, G in zip(weights, gradients, strict=True)),
        crossings=tuple(counts),
        lemma=worst,
    )


def interpolate(model: nn.Sequential, X: Tensor, y: Tensor, steps: int) -> float:
    """Train by full-batch Adam with a rate that falls to 0; return the largest error relative to the targets."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            (model(X)[:, 0] - y).square().mean().backward()
            optimizer.step()
            schedule.step()
        return float((model(X)[:, 0] - y).detach().abs().max() / y.abs().max())


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(8.4, 2.9)
    panels = {
        "surrogate": "log S",
        "linearity": "target linearity",
        "nfa": "cosine of WᵀW and AGOP",
        "crossings": "crossings per segment",
    }
    for ax, (key, title) in zip(figure.subplots(1, 4), panels.items(), strict=True):
        for when, colour in (("start", style.GREY), ("end", style.BLUE)):
            for index, record in enumerate(records):
                values = record["arrays"][when][key]
                label = {"start": "untrained", "end": "interpolating"}[when] if index == 0 else None
                ax.plot(range(1, len(values) + 1), values, "o-", color=colour, markersize=3, alpha=0.7, label=label)
        ax.set_title(title, fontsize=9)
        ax.set(xlabel="layer", xticks=range(1, len(values) + 1))
        style.declutter(ax, "y")
        if key == "surrogate":
            ax.legend(fontsize=7)


@experiment(
    "e/theorem4",
    "E",
    "Depth in a network that interpolates: the surrogate grows with the layer; linear regions on segments (Lemma 4)",
    specs={
        "smoke": (Interpolation(30, 5, 8, 100, segments=10),),
        "small": (Interpolation(100, 10, 32, 1500),),
        "paper": (Interpolation(100, 10, 32, 1500),),
    },
    seeds={"small": 5, "paper": 5},
    claims=[
        between(
            "lemma 4",
            0.0,
            1.0,
            "|f(x′) − ∇f(x)ᵀx′| ≤ crossings × largest jump × ‖x′ − x‖",
            label="Largest ratio of both sides, all layers, untrained and trained",
            kind="proved identity",
            null=Null(2.0, "a bound that fails by a factor of 2"),
        ),
        at_most(
            "interpolation",
            0.05,
            "“assume the network interpolates”: every label is met within 5 %",
            label="Largest error of a label",
            kind="side condition",
            null=Null(1.0, "the prediction 0"),
        ),
        positive(
            "surrogate/least",
            "the theorem's lower bound grows with the layer, and S “correspondingly grows with depth”",
            label="Smallest increase of log S from one layer to the next",
        ),
        positive(
            "linearity/least",
            "an interpolating network “sequentially linearizes input data toward the target”",
            label="Smallest increase of TL from one layer to the next",
        ),
        positive(
            "surrogate/gain",
            "ours: the profile must be a result of training, not of random layers",
            label="Increase of log S from the first to the last layer, trained minus untrained",
            kind="side condition",
        ),
        at_least(
            "nfa/least",
            0.7,
            "“under the Neural Feature Ansatz” WᵀW ∝ AGOP: ours, to see whether the premise holds",
            slack=0.1,
            label="Smallest cosine of WᵀW and AGOP over the layers, trained",
            kind="side condition",
            null=Null(0.37, "untrained networks: 0.33 to 0.37"),
        ),
    ],
    draw=_draw,
    cost=lambda spec: 2e-3 * spec.steps + 0.02 * spec.segments,
)
def layer_profile(spec: Interpolation, seed: int) -> Result:
    """Train to interpolation; measure every layer before and after."""
    rng = torch.Generator().manual_seed(seed)
    X, y = task(spec, rng)
    model = perceptron((spec.d, *[spec.width] * 3, 1), "relu", rng, bias=False, dtype=torch.float64)
    with threads(1):
        start = measure(model, X, y, spec.segments, rng)
        error = interpolate(model, X, y, spec.steps)
        end = measure(model, X, y, spec.segments, rng)
    gains = [p.surrogate[-1] - p.surrogate[0] for p in (start, end)]
    numbers = {
        "lemma 4": max(start.lemma, end.lemma),
        "interpolation": error,
        "surrogate/least": float(np.diff(end.surrogate).min()),
        "linearity/least": float(np.diff(end.linearity).min()),
        "surrogate/gain": gains[1] - gains[0],
        "crossings/least": float(-np.diff(end.crossings).max()),
        "nfa/least": min(end.nfa),
    }
    keys = ("surrogate", "linearity", "nfa", "crossings")
    arrays = {
        when: {key: short(getattr(profile, key)) for key in keys} for when, profile in (("start", start), ("end", end))
    }
    return Result(numbers, arrays)
