"""Theorems 3.1 and 3.2, checked by integrating the gradient flow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import psd_power
from gramian.experiments import Null, Result, at_least, between, experiment
from gramian.experiments.c_deep_nfa.setting import DEPTHS
from gramian.features import nfm
from gramian.report.style import GREY, SERIES, declutter
from gramian.theory import balanced_init, gradient_flow, imbalance, linear_agop, nfa_gap

MOMENTS = 12
STILL = Null(0.0, "a distance that does not decay")


@dataclass(frozen=True)
class Flow:
    """Gradient flow of a linear network on a linear task, by Runge–Kutta steps."""

    depth: int
    decay: float
    time: float
    steps: int
    inputs: int = 8
    width: int = 12
    outputs: int = 10
    rows: int = 40


def _task(spec: Flow, rng: torch.Generator) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    X = torch.randn(spec.rows, spec.inputs, generator=rng, dtype=torch.float64)
    map_ = torch.randn(spec.inputs, spec.outputs, generator=rng, dtype=torch.float64)
    return X, X @ map_ / spec.inputs**0.5, (spec.inputs, *(spec.width,) * (spec.depth - 1), spec.outputs)


def balanced_flow(spec: Flow, seed: int) -> Result:
    """Check theorem 3.1: from a balanced start ``W₁ᵀW₁ = A^{1/L}`` at all times."""
    rng = torch.Generator().manual_seed(seed)
    X, Y, widths = _task(spec, rng)
    weights, gaps = balanced_init(widths, rng), []
    start = linear_agop(weights)
    for _ in range(MOMENTS):
        weights = gradient_flow(weights, X, Y, time=spec.time / MOMENTS, steps=spec.steps // MOMENTS)
        gaps.append(nfa_gap(weights))
    moved = float((linear_agop(weights) - start).norm() / start.norm())
    name = f"L={spec.depth}"
    return Result({f"{name} largest gap": max(gaps), f"{name} change of the AGOP": moved}, {name: gaps})


def _unbalanced(widths: Sequence[int], rng: torch.Generator) -> tuple[Tensor, ...]:
    return tuple((2 * torch.rand(m, d, generator=rng, dtype=torch.float64) - 1) / d**0.5 for d, m in pairwise(widths))


def conserved_flow(spec: Flow, seed: int) -> Result:
    """Check Lemma 3.1 from an unbalanced start: ``W_lW_lᵀ − W_{l+1}ᵀW_{l+1}`` does not change along the flow."""
    rng = torch.Generator().manual_seed(seed)
    X, Y, widths = _task(spec, rng)
    start = _unbalanced(widths, rng)
    weights = gradient_flow(start, X, Y, time=spec.time, steps=spec.steps)
    pairs = zip(imbalance(weights), imbalance(start), strict=True)
    name = f"L={spec.depth}"
    moved = float((linear_agop(weights) - linear_agop(start)).norm() / linear_agop(start).norm())
    changed = max(float((now - before).norm() / before.norm()) for now, before in pairs)
    return Result({f"{name} change of the imbalance": changed, f"{name} change of the AGOP": moved})


def decayed_flow(spec: Flow, seed: int) -> Result:
    """Check theorem 3.2: from any start the distance of A from ``(W₁ᵀW₁)^L`` decays as ``e^{−2λt}``."""
    rng = torch.Generator().manual_seed(seed)
    X, Y, widths = _task(spec, rng)
    weights = _unbalanced(widths, rng)
    times, distances, roots, balances = [], [], [], []
    for k in range(MOMENTS):
        weights = gradient_flow(
            weights, X, Y, time=spec.time / MOMENTS, steps=spec.steps // MOMENTS, weight_decay=spec.decay
        )
        times.append(spec.time * (k + 1) / MOMENTS)
        A, G = linear_agop(weights), nfm(weights[0])
        distances.append(float((A - G.matrix_power(spec.depth)).norm()))
        roots.append(float((psd_power(A, 1 / spec.depth) - G).norm()))
        balances.append(max(float(C.norm()) for C in imbalance(weights)))
    name = f"L={spec.depth}"
    numbers = {
        f"{name} rate of the balance over 2λ": _rate(times, balances) / (2 * spec.decay),
        f"{name} rate of the AGOP over 2λ": _rate(times, distances) / (2 * spec.decay),
        f"{name} rate of the root over 2λ/L": _rate(times, roots) / (2 * spec.decay / spec.depth),
        f"{name} last distance over first": distances[-1] / distances[0],
    }
    return Result(numbers, {name: {"time": times, "distance": distances, "root": roots, "decay": spec.decay}})


def _rate(times: Sequence[float], values: Sequence[float]) -> float:
    """Fit ``c e^{−rt}`` to the later half of the values and return r; the theorem is asymptotic."""
    half = len(times) // 2
    t = torch.tensor(times[half:], dtype=torch.float64)
    v = torch.tensor(values[half:], dtype=torch.float64).log()
    t = t - t.mean()
    return -float((t * (v - v.mean())).sum() / t.square().sum())


def draw_decay(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the distance against λt, one line per depth, with the rate of the theorem."""
    ax = figure.subplots()
    for colour, depth in zip(SERIES, DEPTHS, strict=False):
        curves = [r["arrays"][f"L={depth}"] for r in records if f"L={depth}" in r["arrays"]]
        for place, curve in enumerate(curves):
            x = [curve["decay"] * t for t in curve["time"]]
            relative = [v / curve["distance"][0] for v in curve["distance"]]
            ax.plot(x, relative, color=colour, alpha=0.8, linewidth=1.2, label=None if place else f"L = {depth}")
    top = max((r["arrays"][k]["decay"] * r["arrays"][k]["time"][-1] for r in records for k in r["arrays"]), default=1.0)
    line = [0.05 * top, top]
    ax.plot(line, [math.exp(-2 * (t - line[0])) for t in line], color=GREY, linestyle=":", label=r"$e^{-2\lambda t}$")
    ax.set_yscale("log")
    ax.set_xlabel("λt")
    ax.set_ylabel("distance of A from $(W_1^T W_1)^L$, first = 1")
    ax.legend(fontsize=8)
    declutter(ax, "y")


experiment(
    "c/theorem-3-1",
    "C",
    "Theorem 3.1: under gradient flow from a balanced start the first layer is the L-th root of the AGOP",
    specs={
        "smoke": [Flow(depth, 0.0, 2.0, 240) for depth in (2, 3)],
        "small": [Flow(depth, 0.0, 10.0, 2400) for depth in DEPTHS],
        "paper": [Flow(depth, 0.0, 20.0, 9600) for depth in DEPTHS],
    },
    claims=[
        claim
        for depth in DEPTHS
        for claim in (
            between(
                f"L={depth} largest gap",
                0.0,
                1e-4,
                "equality; the L-th root of small eigenvalues amplifies rounding of 1e-15 to 1e-15^(1/L)",
                slack=1e-3,
                label=f"L = {depth}: largest relative distance along the flow",
                scales=("smoke", "small", "paper"),
                kind="proved identity",
                null=Null(0.5, "another power of the AGOP"),
            ),
            at_least(
                f"L={depth} change of the AGOP",
                0.5,
                "the network must have moved, otherwise the check is empty",
                label=f"L = {depth}: relative change of the AGOP",
                kind="side condition",
                null=Null(0.0, "no training"),
            ),
        )
    ],
    seeds={"small": 5},
)(balanced_flow)

experiment(
    "c/theorem-3-2",
    "C",
    "Theorem 3.2: with weight decay the NFA is approached as exp(−2λt) from any start",
    specs={
        "smoke": [Flow(2, 0.2, 12.0, 240)],
        "small": [Flow(depth, 0.05, 60.0, 2400) for depth in DEPTHS],
        "paper": [Flow(depth, 0.01, 400.0, 12_000) for depth in DEPTHS],
    },
    claims=[
        claim
        for depth in DEPTHS
        for claim in (
            between(
                f"L={depth} rate of the balance over 2λ",
                0.999,
                1.001,
                "Lemma 3.2 is an equality",
                slack=0.002,
                label=f"L = {depth}: fitted rate of W_l W_lᵀ − W_{{l+1}}ᵀW_{{l+1}} over 2λ",
                scales=("smoke", "small", "paper"),
                kind="proved identity",
                null=STILL,
            ),
            at_least(
                f"L={depth} rate of the AGOP over 2λ",
                0.99,
                "the theorem is an upper bound: the distance decays at least this fast; the fit over finite times "
                "may be off by a per cent",
                label=f"L = {depth}: fitted rate of ‖A − (W₁ᵀW₁)^L‖ over 2λ",
                kind="proved identity",
                null=STILL,
            ),
            at_least(
                f"L={depth} rate of the root over 2λ/L",
                0.99,
                "Corollary 3.1 is an upper bound: the root decays at least this fast; the fit over finite "
                "times may be off by a per cent",
                label=f"L = {depth}: fitted rate of ‖A^(1/L) − W₁ᵀW₁‖ over 2λ/L",
                kind="proved identity",
                null=STILL,
            ),
        )
    ],
    seeds={"small": 5},
    draw=draw_decay,
)(decayed_flow)

experiment(
    "c/lemma-3-1",
    "C",
    "Lemma 3.1 from unbalanced starts: gradient flow conserves the imbalance of adjacent layers",
    specs={
        "smoke": [Flow(2, 0.0, 2.0, 240)],
        "small": [Flow(depth, 0.0, 10.0, 2400) for depth in DEPTHS],
        "paper": [Flow(depth, 0.0, 20.0, 9600) for depth in DEPTHS],
    },
    claims=[
        claim
        for depth in DEPTHS
        for claim in (
            between(
                f"L={depth} change of the imbalance",
                0.0,
                1e-6,
                "equality, up to the error of the Runge–Kutta steps",
                slack=1e-5,
                label=f"L = {depth}: largest relative change of W_l W_lᵀ − W_{{l+1}}ᵀW_{{l+1}} along the flow",
                kind="proved identity",
                null=Null(0.63, "the flow with weight decay 0.05: 1 − exp(−2λt)"),
            ),
            at_least(
                f"L={depth} change of the AGOP",
                0.5,
                "the network must have moved, otherwise the check is empty",
                label=f"L = {depth}: relative change of the AGOP",
                kind="side condition",
                null=Null(0.0, "no training"),
            ),
        )
    ],
    seeds={"small": 5},
)(conserved_flow)
