"""The theorems, section 4's counter-examples and Lemma B.1, each as a number that can be checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import cosine, psd_power
from gramian.experiments import Result, between, experiment, number
from gramian.experiments.c_deep_nfa.setting import DEPTHS
from gramian.features import agop, nfm
from gramian.report.style import GREY, SERIES, declutter
from gramian.theory import (
    balanced_init,
    balanced_scale,
    gradient_flow,
    imbalance,
    linear_agop,
    nfa_gap,
    printed,
    relu_pair,
    relu_pair_egop,
    relu_pair_with_silent_neuron,
    ripple,
    ripple_egop,
    uniform_gram_norm,
)

MOMENTS = 12


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
    """Theorem 3.1: from a balanced start ``W₁ᵀW₁ = A^{1/L}`` at all times."""
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


def decayed_flow(spec: Flow, seed: int) -> Result:
    """Theorem 3.2: from any start the distance of A from ``(W₁ᵀW₁)^L`` falls as ``e^{−2λt}``."""
    rng = torch.Generator().manual_seed(seed)
    X, Y, widths = _task(spec, rng)
    weights: tuple[Tensor, ...] = tuple(
        (2 * torch.rand(m, d, generator=rng, dtype=torch.float64) - 1) / d**0.5 for d, m in pairwise(widths)
    )
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
    """The rate r of a fit ``c e^{−rt}`` to the later half of the values, which is what an asymptotic law speaks of."""
    half = len(times) // 2
    t = torch.tensor(times[half:], dtype=torch.float64)
    v = torch.tensor(values[half:], dtype=torch.float64).log()
    t = t - t.mean()
    return -float((t * (v - v.mean())).sum() / t.square().sum())


def draw_decay(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """The distance against λt, one line per depth, beside the slope of the theorem."""
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
    expected=[
        claim
        for depth in DEPTHS
        for claim in (
            between(
                f"L={depth} largest gap",
                0.0,
                1e-4,
                "equality; the L-th root of a matrix with small eigenvalues turns rounding of 1e-15 into 1e-15^(1/L)",
                slack=1e-3,
                label=f"L = {depth}: largest relative distance along the flow",
                scales=("smoke", "small", "paper"),
            ),
            between(
                f"L={depth} change of the AGOP",
                0.5,
                math.inf,
                "the network must have moved for the theorem to say anything",
                label=f"L = {depth}: relative change of the AGOP",
            ),
        )
    ],
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
    expected=[
        claim
        for depth in DEPTHS
        for claim in (
            number(
                f"L={depth} rate of the balance over 2λ",
                1.0,
                1e-3,
                "Lemma 3.2 is an equality",
                label=f"L = {depth}: fitted rate of W_l W_lᵀ − W_{{l+1}}ᵀW_{{l+1}} over 2λ",
                scales=("smoke", "small", "paper"),
            ),
            number(
                f"L={depth} rate of the AGOP over 2λ",
                1.0,
                0.1,
                "the theorem bounds the distance; the fitted rate is at least 2λ, and 2λ once the network rests",
                label=f"L = {depth}: fitted rate of ‖A − (W₁ᵀW₁)^L‖ over 2λ",
            ),
            between(
                f"L={depth} rate of the root over 2λ/L",
                0.95,
                math.inf,
                "Corollary 3.1 is an upper bound: the root falls at least this fast",
                slack=0.1,
                label=f"L = {depth}: fitted rate of ‖A^(1/L) − W₁ᵀW₁‖ over 2λ/L",
            ),
        )
    ],
    draw=draw_decay,
)(decayed_flow)


@dataclass(frozen=True)
class Draws:
    """How many random draws an average has."""

    draws: int


def counterexamples(spec: Draws, seed: int) -> Result:
    """Section 4: networks that fit exactly and do not align, and fits that align and are bad, or the reverse."""
    rng = torch.Generator().manual_seed(seed)
    X = 2 * torch.rand(spec.draws, 2, generator=rng, dtype=torch.float64) - 1
    net, target = relu_pair(), X.relu().sum(1)
    A = agop(net.gradients(X))
    powers = [0.05 * k for k in range(1, 101)]
    silent = relu_pair_with_silent_neuron()
    numbers = {
        "example 1: error of the fit": float((net(X) - target).abs().max()),
        "example 1: E[(∂f/∂x₁)²]": float(A[0, 0]),
        "example 1: E[∂f/∂x₁ ∂f/∂x₂]": float(A[0, 1]),
        "example 1: E[(∂f/∂x₁)²], indicator as printed": float((X[:, 0] > 1).double().mean()),
        "example 1: best alignment over powers": max(
            cosine(nfm(net.W), psd_power(relu_pair_egop(), s)) for s in powers
        ),
        "example 1: alignment with the power 1": cosine(nfm(net.W), A),
        "silent neuron: alignment with the power 1": cosine(nfm(silent.W), agop(silent.gradients(X))),
    }
    shift, leaf = 10.0, X.clone().requires_grad_()
    shifted = net(leaf) + shift
    (gradient,) = torch.autograd.grad(shifted.sum(), leaf)
    numbers["shifted fit: alignment"] = cosine(agop(gradient[:, None]), A)
    numbers["shifted fit: mean error"] = float((shifted.detach() - target).abs().mean())
    line = torch.diag(torch.tensor([0.0, 1.0], dtype=torch.float64))
    Z = X * math.pi
    for n in (2, 4, 8, 16):
        gradient = torch.stack([-n * torch.sin(n**2 * Z[:, 0]), torch.ones(len(Z), dtype=torch.float64)], 1)
        measured = agop(gradient[:, None])
        numbers[f"ripple n={n}: alignment"] = cosine(measured, line)
        numbers[f"ripple n={n}: alignment, closed form"] = cosine(ripple_egop(n), line)
        numbers[f"ripple n={n}: mean error times n"] = n * float((ripple(Z, n) - Z[:, 1]).abs().mean())
    return Result(numbers)


experiment(
    "c/counterexamples",
    "C",
    "Section 4: where the NFA fails, and what it does not say about generalisation",
    specs={"smoke": [Draws(20_000)], "small": [Draws(200_000)], "paper": [Draws(2_000_000)]},
    expected=[
        number("example 1: error of the fit", 0.0, 1e-12, "the network is the target", label="Example 1: error"),
        number(
            "example 1: E[(∂f/∂x₁)²]",
            0.5,
            0.005,
            "sampling error 0.001 at 200,000 draws",
            label="Example 1: E_f[1,1]",
            misprint="∇f is printed with indicators of x > 1, which never happens on [−1, 1]²; it is x > 0",
            printed_key="example 1: E[(∂f/∂x₁)²], indicator as printed",
        ),
        number("example 1: E[∂f/∂x₁ ∂f/∂x₂]", 0.25, 0.005, "sampling error 0.001", label="Example 1: E_f[1,2]"),
        between(
            "example 1: best alignment over powers",
            0.0,
            0.99999,
            "no positive power gives proportionality; small powers come near since A⁰ is the identity",
            label="Example 1: best alignment over powers 0.05 … 5",
        ),
        number(
            "silent neuron: alignment with the power 1",
            1.0,
            1e-4,
            "sampling error only",
            label="with a silent third neuron: alignment with the power 1",
        ),
        number("shifted fit: alignment", 1.0, 1e-12, "a constant has no gradient", label="f* + 10: alignment"),
        number("shifted fit: mean error", 10.0, 1e-9, "by construction", label="f* + 10: mean error"),
        *(
            number(
                f"ripple n={n}: alignment",
                (1 + n**4 / 4) ** -0.5,
                0.02 / n,
                "closed form (1 + n⁴/4)^(−1/2) of the printed matrices; sampling error",
                label=f"(4.1) with n = {n}: alignment of x₂ with the target",
            )
            for n in (2, 4, 8, 16)
        ),
        between(
            "ripple n=16: mean error times n",
            0.0,
            1.0,
            "the paper bounds the mean error by 1/n",
            label="(4.1) with n = 16: mean error times n",
        ),
    ],
)(counterexamples)


def initialisation(spec: Draws, seed: int) -> Result:
    """Lemma B.1 and the scale (B.2) by Monte Carlo."""
    rng = torch.Generator().manual_seed(seed)
    d1, d2, d3 = 20, 64, 64
    numbers, norms = {}, {}
    for name, (m, d) in {"W1": (d2, d1), "W2": (d3, d2)}.items():
        total = 0.0
        for _ in range(spec.draws):
            W = (2 * torch.rand(m, d, generator=rng, dtype=torch.float64) - 1) / d**0.5
            total += float((W.mT @ W).square().sum())
        norms[name] = total / spec.draws
        numbers[f"{name}: E‖WᵀW‖² over the lemma's"] = norms[name] / uniform_gram_norm(m, d)
    for name, scale in (("corrected", balanced_scale(d1, d2, d3)), ("printed", printed.balanced_scale(d1, d2, d3))):
        numbers[f"ratio of the squared Gram norms, {name}"] = scale**4 * norms["W1"] / norms["W2"]
    weights = balanced_init((d1, d2, d3, d3), rng)
    numbers["algorithm 1: largest imbalance"] = max(float(C.norm()) for C in imbalance(weights))
    return Result(numbers)


experiment(
    "c/lemma-b1",
    "C",
    "Lemma B.1, the scale (B.2) of a balanced start, and algorithm 1",
    specs={"smoke": [Draws(50)], "small": [Draws(2000)], "paper": [Draws(10_000)]},
    expected=[
        number(f"{name}: E‖WᵀW‖² over the lemma's", 1.0, 0.005, "sampling error", label=f"Lemma B.1 for {name}")
        for name in ("W1", "W2")
    ]
    + [
        number(
            "ratio of the squared Gram norms, corrected",
            1.0,
            0.01,
            "sampling error; (B.2) is made for a ratio of 1",
            label="(B.2): E‖W̃₁W̃₁ᵀ‖² / E‖W₂ᵀW₂‖²",
            misprint="(B.2) prints a square root; a squared Gram norm grows with the fourth power: a fourth root",
            printed_key="ratio of the squared Gram norms, printed",
        ),
        number("algorithm 1: largest imbalance", 0.0, 1e-12, "exact up to rounding", label="algorithm 1: imbalance"),
    ],
)(initialisation)
