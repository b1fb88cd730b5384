"""Propositions 4 and 5 of paper B: features of wide linear networks of two layers during training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import threads
from gramian.experiments import Claim, Null, Result, at_most, between, experiment
from gramian.experiments.b_rfm.propositions import F64, distance, normal, slope
from gramian.features import nfm
from gramian.report import style
from gramian.theory import printed, regression_iterate, train_two_layer_linear, two_step_features


@dataclass(frozen=True)
class WideLinear:
    """Training of a two-layer linear network at several widths, averaged over draws of the output weights."""

    n: int
    d: int
    widths: tuple[int, ...]
    steps: tuple[int, ...]
    draws: int = 20
    rate: float = 0.02


def _wide_claims(steps: Sequence[int], widths: Sequence[int], most: float) -> Iterator[Claim]:
    for t in steps:
        yield between(
            f"slope/t={t}",
            -1.3,
            -0.35,
            "ours, the limit has no rate in print: k^(−1/2) or faster; the mean over 20 draws of A leaves 0.1",
            label=f"t = {t}: slope of ‖BᵀB − ∇f∇fᵀ‖ / ‖∇f∇fᵀ‖ against the width",
            kind="side condition",
            null=Null(0.0, "a distance that does not vanish"),
        )
        yield at_most(
            f"distance/t={t}/k={widths[-1]}",
            most,
            "‖A‖²/k differs from 1 by √(2/k) = 0.0045 at k = 100,000, and the two sides by a multiple of that",
            label=f"t = {t}, k = {widths[-1]:,}: ‖BᵀB − ∇f∇fᵀ‖ / ‖∇f∇fᵀ‖",
            kind="proved identity",
            null=Null(1.0, "unrelated matrices"),
        )


def _wide_problem(spec: WideLinear, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    X = normal(rng, spec.n, spec.d)
    return X, X @ normal(rng, spec.d) + 0.5 * normal(rng, spec.n)


def _draw_widths(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(5.2, 3.6)
    ax = figure.subplots()
    widths = records[0]["spec"]["widths"]
    for t, colour in zip(records[0]["spec"]["steps"], style.SERIES, strict=False):
        values = np.array([[r["numbers"][f"distance/t={t}/k={k}"] for k in widths] for r in records])
        ax.plot(widths, values.mean(0), "o-", color=colour, label=f"{t} step{'s' if t > 1 else ''}")
    ax.plot(widths, np.sqrt(2 / np.array(widths)), "--", color=style.GREY, label="√(2/k)")
    ax.set(xscale="log", yscale="log", xlabel="width k", ylabel="‖BᵀB − ∇f∇fᵀ‖ / ‖∇f∇fᵀ‖")
    ax.legend(frameon=False, fontsize=8)
    style.finish(ax, "both")


_WIDTHS = (1_000, 10_000, 100_000)
_STEPS = (1, 2, 5, 20)


@experiment(
    "b/prop4",
    "B",
    "Proposition 4: a wide linear network of which the first layer is trained from zero",
    specs={
        "smoke": (WideLinear(20, 3, (100, 1_000), (1, 5), 5),),
        "small": (WideLinear(20, 5, _WIDTHS, _STEPS),),
        "paper": (WideLinear(20, 5, _WIDTHS, _STEPS),),
    },
    seeds={"small": 5, "paper": 5},
    version=2,  # the trajectory
    claims=[
        # ∇f∇fᵀ is ‖A‖²/k times BᵀB at every t, so that one t says all.
        *_wide_claims(_STEPS[-1:], _WIDTHS, 0.02),
        between(
            "trajectory",
            0.0,
            1e-10,
            "gradient descent on B as in the proof, which is that of linear regression along A; up to rounding",
            label="largest distance over t of B by automatic differentiation from A uᵀ/√k, u of linear regression",
            kind="proved identity",
            null=Null(0.003, "the limit u, with 1 in place of ‖A‖²/k, at k = 1,000 and at least"),
        ),
    ],
    draw=_draw_widths,
)
def first_layer(spec: WideLinear, seed: int) -> Result:
    """Train the first layer at each width, and average the distance of the two matrices over draws of A."""
    rng = torch.Generator().manual_seed(seed)
    X, y = _wide_problem(spec, rng)
    numbers = _distances(spec, X, y, rng, train_outer=False)
    with threads(1):
        numbers["trajectory"] = trajectory_distance(X, y, normal(rng, spec.widths[0]), spec.rate, max(spec.steps))
    return Result(numbers)


def trajectory_distance(X: Tensor, y: Tensor, A: Tensor, rate: float, steps: int) -> float:
    """Return the largest relative distance of B along gradient descent from its closed form ``A uᵀ/√k``.

    The gradient of ``½ Σ (yᵢ − A B xᵢ/√k)²`` is that of automatic differentiation; u is gradient descent for linear
    regression, whose outputs are scaled by ``‖A‖²/k``.

    >>> trajectory_distance(torch.eye(2, dtype=F64), torch.ones(2, dtype=F64), torch.ones(4, dtype=F64), 0.1, 3) < 1e-12
    True
    """
    k, farthest = len(A), 0.0
    B = torch.zeros(k, X.shape[1], dtype=F64)
    for t in range(1, steps + 1):
        with torch.enable_grad():
            B = B.detach().requires_grad_()
            loss = (y - X @ (B.mT @ A) / k**0.5).square().sum() / 2
            (slope_of_loss,) = torch.autograd.grad(loss, B)
        B = B.detach() - rate * slope_of_loss
        u = regression_iterate(X, y, rate, t, float(A @ A) / k)
        farthest = max(farthest, distance(B, torch.outer(A, u) / k**0.5))
    return farthest


def _distances(spec: WideLinear, X: Tensor, y: Tensor, rng: torch.Generator, train_outer: bool) -> dict[str, float]:
    numbers: dict[str, float] = {}
    with threads(1):
        for t in spec.steps:
            means = []
            for k in spec.widths:
                total = 0.0
                for _ in range(spec.draws):
                    A = normal(rng, k)
                    net = train_two_layer_linear(X, y, A, step=spec.rate, steps=t, train_outer=train_outer)
                    g = net.gradient()
                    total += distance(nfm(net.B), torch.outer(g, g)) / spec.draws
                means.append(total)
                numbers[f"distance/t={t}/k={k}"] = total
            numbers[f"slope/t={t}"] = slope(spec.widths, means)
    return numbers


_LIMIT = "4η²M + η²XXᵀMXXᵀ is printed; the limit is 4M − 2η(MXXᵀ + XXᵀM) + η²XXᵀMXXᵀ"


@experiment(
    "b/prop5",
    "B",
    "Proposition 5: a wide linear network of which both layers are trained for two steps; its printed limit",
    specs={
        "smoke": (WideLinear(20, 3, (100, 1_000), (2,), 5),),
        "small": (WideLinear(20, 5, _WIDTHS, (2,)),),
        "paper": (WideLinear(20, 5, _WIDTHS, (2,)),),
    },
    seeds={"small": 5, "paper": 5},
    claims=[
        *_wide_claims((2,), _WIDTHS, 0.02),
        between(
            "limit",
            0.0,
            0.02,
            "a mean over draws at the largest width: √(2/k) = 0.0045 for one of them",
            label="BᵀB at the largest width against its limit: relative distance",
            kind="proved identity",
            null=Null(0.5, "the formula as printed, at least"),
            misprint=_LIMIT,
            printed_key="limit/printed",
        ),
    ],
    draw=_draw_widths,
)
def two_layers(spec: WideLinear, seed: int) -> Result:
    """Train both layers for two steps, and compare the Gram matrix with the gradient and with the closed limit."""
    rng = torch.Generator().manual_seed(seed)
    X, y = _wide_problem(spec, rng)
    numbers = _distances(spec, X, y, rng, train_outer=True)
    right, wrong = two_step_features(X, y, spec.rate), printed.two_step_features(X, y, spec.rate)
    mean = torch.zeros_like(right)
    with threads(1):
        for _ in range(spec.draws):
            A = normal(rng, spec.widths[-1])
            net = train_two_layer_linear(X, y, A, step=spec.rate, steps=2, train_outer=True)
            mean += nfm(net.B) / spec.draws
    return Result(numbers | {"limit": distance(right, mean), "limit/printed": distance(wrong, mean)})
