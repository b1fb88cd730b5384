"""Fig. 11: deep linear networks, where ``W₁ᵀW₁`` equals ``AGOP^{1/L}`` and FACT needs no exponent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import cosine, psd_power, threads
from gramian.experiments import Null, Result, at_least, at_most, between, experiment
from gramian.features import nfm
from gramian.report import style
from gramian.theory import end_to_end, linear_agop

_POWERS = (0.125, 0.2, 0.25, 1 / 3, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Linear:
    """An L-layer linear network on ``y = W*x``; the defaults are the sizes of appendix C."""

    depth: int
    width: int = 512
    epochs: int = 5000
    n: int = 5000
    d: int = 10
    c: int = 5
    batch: int = 128
    rate: float = 5e-3
    weight_decay: float = 1e-2


def train(spec: Linear, rng: torch.Generator) -> tuple[list[Tensor], Tensor, Tensor]:
    """Train by SGD on the mean squared error; return the weights, and the inputs and targets of all rows.

    Batches enter only through their moments ``XᵀX`` and ``YᵀX``, so that a step costs products with d or c columns
    instead of a batch; the step itself is the same.

    >>> weights, X, Y = train(Linear(2, width=8, epochs=1, n=256), torch.Generator().manual_seed(0))
    >>> [tuple(W.shape) for W in weights]
    [(8, 10), (5, 8)]
    """
    sizes = (spec.d, *[spec.width] * (spec.depth - 1), spec.c)
    X = torch.randn(spec.n, spec.d, generator=rng)
    Y = X @ torch.randn(spec.c, spec.d, generator=rng).mT
    weights = [torch.empty(b, a).uniform_(-(a**-0.5), a**-0.5, generator=rng) for a, b in pairwise(sizes)]
    for _ in range(spec.epochs):
        for rows in torch.randperm(spec.n, generator=rng).split(spec.batch):
            x, y = X[rows], Y[rows]
            forward = [torch.eye(spec.d)]
            for W in weights:
                forward.append(W @ forward[-1])
            slope = 2 / y.numel() * (forward[-1] @ (x.mT @ x) - y.mT @ x)
            for index in reversed(range(spec.depth)):
                W = weights[index]
                gradient = slope @ forward[index].mT
                slope = W.mT @ slope
                W.mul_(1 - spec.rate * spec.weight_decay).sub_(gradient, alpha=spec.rate)
    return weights, X, Y


def singular_spread(weights: Sequence[Tensor], rank: int) -> float:
    """Return the largest relative difference between leading singular values of two layers: 0 if balanced.

    >>> singular_spread([torch.eye(3), 1.1 * torch.eye(3)], 2)
    0.0952...
    """
    values = torch.stack([torch.linalg.svdvals(W)[:rank] for W in weights])
    return float(((values.amax(0) - values.amin(0)) / values.mean(0)).max())


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(5.6, 3.4)
    ax = figure.subplots()
    for depth, colour in zip(sorted({r["spec"]["depth"] for r in records}), style.SERIES, strict=False):
        chosen = [r for r in records if r["spec"]["depth"] == depth]
        mean = np.mean([r["arrays"]["agop"] for r in chosen], axis=0)
        ax.plot(_POWERS, mean, "o-", color=colour, markersize=3, label=f"AGOPˢ, L = {depth}")
        ax.axhline(np.mean([r["numbers"][f"fact/{depth}"] for r in chosen]), color=colour, linestyle=":", linewidth=1)
        ax.axvline(1 / depth, color=colour, linewidth=0.6, alpha=0.5)
    ax.set(xlabel="power s (thin lines: 1/L; dotted: FACT)", ylabel="cosine with W₁ᵀW₁")
    ax.legend(frameon=False, fontsize=8)
    style.declutter(ax, "y")


_DEPTHS = (2, 3, 4, 5)


@experiment(
    "d/fig11",
    "D",
    "Deep linear networks: W₁ᵀW₁ equals AGOP^(1/L), and FACT for every depth",
    specs={
        "smoke": (Linear(2, width=32, epochs=20, n=500), Linear(3, width=32, epochs=20, n=500)),
        "small": tuple(Linear(depth, width=128, epochs=5000, batch=512) for depth in _DEPTHS),
        "paper": tuple(Linear(depth) for depth in _DEPTHS),
    },
    seeds={"small": 5, "paper": 1},
    claims=[
        claim
        for depth in _DEPTHS
        for claim in (
            at_least(
                f"fact/{depth}",
                0.999,
                "“FACT has cosine similarity ≥ 0.999”",
                slack=0.004,
                label=f"L = {depth}: cosine of FACT with W₁ᵀW₁",
                kind="printed number",
                null=Null(0.25, "an untrained network"),
            ),
            at_least(
                f"agop/{depth}",
                0.99,
                "AGOP^(1/L) “has cosine similarity close to 1”",
                slack=0.01,
                label=f"L = {depth}: cosine of AGOP^(1/L) with W₁ᵀW₁",
                null=Null(0.74, "an untrained network"),
            ),
            at_most(
                f"balanced/{depth}",
                0.05,
                "“the singular values of all of the weight matrices are identical”, up to the noise of the batches",
                slack=0.05,
                label=f"L = {depth}: largest difference of singular values between layers",
                null=Null(1.2, "an untrained network"),
            ),
            between(
                f"best/{depth}",
                1 / depth - 0.02,
                1 / depth + 0.02,
                "the next exponents on the grid are 0.05 to 0.25 away, so that this is the point 1/L itself",
                label=f"L = {depth}: the power of AGOP with the largest cosine",
                null=Null(0.125, "an untrained network"),
            ),
        )
    ],
    small_setting="batches of 512 in place of 128",
    draw=_draw,
    cost=lambda spec: 2.5e-4 * spec.depth * spec.epochs * spec.n / spec.batch,
)
def deep_linear(spec: Linear, seed: int) -> Result:
    """Train one depth, and compute the cosines with ``W₁ᵀW₁``."""
    with threads(1):
        weights, X, Y = train(spec, torch.Generator().manual_seed(seed))
        weights = [W.double() for W in weights]
        X, Y = X.double(), Y.double()
        gradient = end_to_end(weights[1:]).mT @ (2 / Y.numel() * (end_to_end(weights) @ (X.mT @ X) - Y.mT @ X))
    W = weights[0]
    gram, agop = nfm(W), linear_agop(weights)
    F = -(W.mT @ gradient) / spec.weight_decay
    curve = [cosine(gram, psd_power(agop, s)) for s in _POWERS]
    depth = spec.depth
    numbers = {
        f"fact/{depth}": cosine(gram, F),
        f"agop/{depth}": cosine(gram, psd_power(agop, 1 / depth)),
        f"balanced/{depth}": singular_spread(weights, spec.c),
        f"best/{depth}": _POWERS[int(np.argmax(curve))],
    }
    return Result(numbers, {"agop": curve})
