"""Theorem 1: the Gram matrix of any first layer is the expected gradient outer product of wide random upper layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.core import threads
from gramian.experiments import Claim, Null, Result, at_most, between, experiment
from gramian.experiments.b_rfm.propositions import ShallowRelu, distance, shallow_weights, slope
from gramian.report import style
from gramian.theory import deep_relu_gop, relu_expected_gop


@dataclass(frozen=True)
class DeepRelu:
    """A network with this number of hidden layers; the first has k₁ fixed neurons, the others are random and wide."""

    depth: int
    widths: tuple[int, ...]
    d: int = 8
    first: int = 24
    points: int = 8
    draws: int = 4


_WIDTHS = (256, 1024, 4096)
_DEPTHS = (1, 2, 3, 4)


def _claims() -> Iterator[Claim]:
    for name in ("random", "trained"):
        yield between(
            f"{name}/depth=1",
            0.0,
            1e-5,
            "an identity at any width, in single precision",
            label=f"depth 1, W₁ {name}: ‖E∇g∇gᵀ − W₁ᵀW₁/k₁‖ / ‖W₁ᵀW₁/k₁‖",
            kind="proved identity",
            null=Null(0.3, "a multiple of the identity, at least"),
        )
        for depth in _DEPTHS[1:]:
            yield between(
                f"{name}/depth={depth}/slope",
                -0.7,
                -0.3,
                "the distance must fall like k^(−1/2); three widths and four draws leave about 0.1",
                label=f"depth {depth}, W₁ {name}: slope of the distance against the width of the upper layers",
                kind="proved identity",
                null=Null(0.0, "another limit"),
            )
            yield at_most(
                f"{name}/depth={depth}/4096",
                0.2,
                "each upper layer adds the noise of a Wishart matrix of k/2 rows, √(2(d + 1)/k) = 0.07",
                label=f"depth {depth}, W₁ {name}: distance at the width 4,096",
                kind="proved identity",
                null=Null(0.3, "a multiple of the identity, at least"),
            )


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(6.6, 3.4)
    axes = figure.subplots(1, 2, sharey=True)
    depths = sorted({record["spec"]["depth"] for record in records} - {1})
    for ax, name in zip(axes, ("random", "trained"), strict=True):
        for depth, colour in zip(depths, style.SERIES, strict=False):
            chosen = [record for record in records if record["spec"]["depth"] == depth]
            widths = chosen[0]["spec"]["widths"]
            values = np.array([[r["numbers"][f"{name}/depth={depth}/{k}"] for k in widths] for r in chosen])
            ax.plot(widths, values.mean(0), "o-", color=colour, label=f"{depth} hidden layers")
        ax.plot(widths, 4 / np.sqrt(widths), "--", color=style.GREY, label="slope −½")
        ax.set(xscale="log", yscale="log", xlabel="width of the upper layers", title=f"W₁ {name}")
        ax.set_xticks(widths, [f"{k:,}" for k in widths])
        ax.set_xticks([], minor=True)
        style.finish(ax, "both")
    axes[0].set_ylabel("‖E∇g∇gᵀ − W₁ᵀW₁/k₁‖ / ‖W₁ᵀW₁/k₁‖")
    axes[0].legend(frameon=False, fontsize=8)
    style.finish(axes[0], "both")


_SMALL = tuple(DeepRelu(depth, _WIDTHS) for depth in _DEPTHS)


@experiment(
    "b/theorem1",
    "B",
    "Theorem 1: the Gram matrix of the first layer of deep networks with random upper layers",
    specs={
        "smoke": (DeepRelu(1, (16,)), DeepRelu(2, (32, 128), points=4, draws=2)),
        "small": _SMALL,
        "paper": _SMALL,
    },
    seeds={"small": 5, "paper": 5},
    claims=[*_claims()],
    draw=_draw,
)
def deep(spec: DeepRelu, seed: int) -> Result:
    """Average the gradient outer product over draws of the upper layers, at each width."""
    rng = torch.Generator().manual_seed(seed)
    numbers: dict[str, float] = {}
    with threads(1):
        for name, (wide, _) in shallow_weights(ShallowRelu(spec.d, spec.first), rng).items():
            W = wide.float()
            limit = relu_expected_gop(W)
            numbers[f"{name}/depth={spec.depth}/identity"] = distance(
                torch.eye(spec.d) * limit.diagonal().mean(), limit
            )
            means = []
            for width in spec.widths:
                found = []
                for _ in range(spec.draws):
                    X = torch.randn(spec.points, spec.d, generator=rng)
                    found.append(distance(deep_relu_gop(X, W, spec.depth, width, rng), limit))
                means.append(float(np.mean(found)))
                numbers[f"{name}/depth={spec.depth}/{width}"] = means[-1]
            if spec.depth == 1:
                numbers[f"{name}/depth=1"] = max(means)
            else:
                numbers[f"{name}/depth={spec.depth}/slope"] = slope(spec.widths, means)
    return Result(numbers)
