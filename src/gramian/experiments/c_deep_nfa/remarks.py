"""Remarks of section 3: networks with one output (to theorem 3.1), and with a head on the linear layers (3.11)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from gramian.core import threads
from gramian.experiments import Null, Result, at_most, between, experiment
from gramian.experiments.c_deep_nfa.proofs import MOMENTS, unbalanced_start
from gramian.theory import gradient_flow, imbalance
from gramian.theory.balanced import end_to_end


@dataclass(frozen=True)
class ScalarOutput:
    """A linear network with one output, from a balanced start (rank 1 in every layer) and from an unbalanced one."""

    depth: int
    time: float = 10.0
    steps: int = 1200
    inputs: int = 8
    width: int = 12
    rows: int = 40


def _rank_one(spec: ScalarOutput, rng: torch.Generator) -> tuple[Tensor, ...]:
    """Balanced weights for one output: ``W_l = s u_l u_{l−1}ᵀ`` with unit vectors and the same s in all layers."""
    sizes = (spec.inputs, *(spec.width,) * (spec.depth - 1), 1)
    units = [torch.randn(size, generator=rng, dtype=torch.float64) for size in sizes]
    units = [u / u.norm() for u in units]
    return tuple(0.8 * upper[:, None] * lower for lower, upper in pairwise(units))


def scalar_output(spec: ScalarOutput, seed: int) -> Result:
    """Follow the ratio of the first two singular values of every layer but the last along the flow."""
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(spec.rows, spec.inputs, generator=rng, dtype=torch.float64)
    Y = X @ torch.randn(spec.inputs, 1, generator=rng, dtype=torch.float64)
    numbers = {}
    sizes = (spec.inputs, *(spec.width,) * (spec.depth - 1), 1)
    with threads(1):
        for name, weights in (("balanced", _rank_one(spec, rng)), ("unbalanced", unbalanced_start(sizes, rng))):
            now, worst = weights, 0.0
            for _ in range(MOMENTS):
                now = gradient_flow(now, X, Y, time=spec.time / MOMENTS, steps=spec.steps // MOMENTS)
                values = [torch.linalg.svdvals(W) for W in now[:-1]]
                worst = max([worst, *(float(v[1] / v[0]) for v in values)])
            numbers[f"L={spec.depth} {name}: second singular value over the first"] = worst
            error = float((X @ end_to_end(now).mT - Y).square().mean() / Y.square().mean())
            numbers[f"L={spec.depth} {name}: error"] = error
    return Result(numbers)


experiment(
    "c/scalar-output",
    "C",
    "Remark to theorem 3.1: with one output, all layers of a balanced network have rank 1 throughout training",
    specs={
        "smoke": [ScalarOutput(2, 2.0, 240)],
        "small": [ScalarOutput(depth) for depth in (2, 3, 4, 5)],
        "paper": [ScalarOutput(depth, 20.0, 9600) for depth in (2, 3, 4, 5)],
    },
    claims=[
        claim
        for depth in (2, 3, 4, 5)
        for claim in (
            at_most(
                f"L={depth} balanced: second singular value over the first",
                1e-8,
                "rank 1 up to the error of the Runge–Kutta steps",
                label=f"L = {depth}: largest second singular value over the first, any layer and time",
                kind="proved identity",
                null=Null(0.3, "an unbalanced start"),
            ),
            at_most(
                f"L={depth} balanced: error",
                0.1,
                "the network must have learned, otherwise the check is empty",
                label=f"L = {depth}: error of the network relative to the target at the end",
                kind="side condition",
                null=Null(1.0, "no training"),
            ),
        )
    ],
    seeds={"small": 5, "paper": 3},
)(scalar_output)


@dataclass(frozen=True)
class HeadFlow:
    """Gradient flow with weight decay of ``aᵀφ(W_L … W₁x + b₁) + b₂`` (3.11) with φ = tanh, by Runge–Kutta steps."""

    depth: int
    decay: float = 0.05
    time: float = 40.0
    steps: int = 1600
    inputs: int = 8
    width: int = 10
    rows: int = 40


def head_flow(spec: HeadFlow, seed: int) -> Result:
    """Fit the rate at which the imbalance of the linear layers decays."""
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(spec.rows, spec.inputs, generator=rng, dtype=torch.float64)
    y = torch.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    linear = unbalanced_start((spec.inputs, *(spec.width,) * spec.depth), rng)
    head = 2 * torch.rand(spec.width, generator=rng, dtype=torch.float64) / spec.width**0.5
    state: tuple[Tensor, ...] = (*linear, head, torch.zeros(spec.width).double(), torch.zeros(1).double())
    first = [float(C.norm()) for C in imbalance(linear)]
    before = _head_loss(state, X, y)
    with threads(1):
        for _ in range(spec.steps):
            state = _runge_kutta(state, X, y, spec.decay, spec.time / spec.steps)
    last = [float(C.norm()) for C in imbalance(state[: spec.depth])]
    rates = [-math.log(now / then) / (2 * spec.decay * spec.time) for then, now in zip(first, last, strict=True)]
    name = f"L={spec.depth}"
    worst = max(rates, key=lambda rate: abs(rate - 1))
    return Result(
        {
            f"{name} rate of the balance over 2λ": worst,
            f"{name} loss at the end over the start": float(_head_loss(state, X, y) / before),
        }
    )


def _head_loss(state: Sequence[Tensor], X: Tensor, y: Tensor) -> Tensor:
    *linear, head, b1, b2 = state
    Z = X
    for W in linear:
        Z = Z @ W.mT
    return ((Z + b1).tanh() @ head + b2 - y).square().mean()


def _runge_kutta(state: tuple[Tensor, ...], X: Tensor, y: Tensor, decay: float, h: float) -> tuple[Tensor, ...]:
    def velocity(at: Sequence[Tensor]) -> tuple[Tensor, ...]:
        leaves = [part.detach().requires_grad_() for part in at]
        with torch.enable_grad():
            slopes = torch.autograd.grad(_head_loss(leaves, X, y), leaves)
        decayed = len(leaves) - 2  # biases have no weight decay
        return tuple(
            -slope - (decay * part.detach() if k < decayed else 0)
            for k, (slope, part) in enumerate(zip(slopes, leaves, strict=True))
        )

    def moved(by: Sequence[Tensor], step: float) -> tuple[Tensor, ...]:
        return tuple(part + step * v for part, v in zip(state, by, strict=True))

    k1 = velocity(state)
    k2 = velocity(moved(k1, h / 2))
    k3 = velocity(moved(k2, h / 2))
    k4 = velocity(moved(k3, h))
    return moved(tuple((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)), h)


experiment(
    "c/remark-3-11",
    "C",
    "Remark (3.11): Lemma 3.2 for the linear layers below a head with a differentiable activation",
    specs={
        "smoke": [HeadFlow(2, steps=200, time=10.0)],
        "small": [HeadFlow(depth) for depth in (2, 3, 4)],
        "paper": [HeadFlow(depth, steps=6400, time=80.0) for depth in (2, 3, 4)],
    },
    claims=[
        claim
        for depth in (2, 3, 4)
        for claim in (
            between(
                f"L={depth} rate of the balance over 2λ",
                0.999,
                1.001,
                "Lemma 3.2 is an equality",
                slack=0.002,
                label=f"L = {depth}: rate of W_l W_lᵀ − W_{{l+1}}ᵀW_{{l+1}} over 2λ, the least exact pair of layers",
                kind="proved identity",
                null=Null(0.0, "a distance that does not decay"),
            ),
            at_most(
                f"L={depth} loss at the end over the start",
                0.9,
                "the network must have moved, otherwise the check is empty",
                label=f"L = {depth}: loss at the end over that at the start",
                kind="side condition",
                null=Null(1.0, "no training"),
            ),
        )
    ],
    seeds={"small": 5, "paper": 3},
)(head_flow)
