"""Propositions 1, 3, 4 and 5 of paper B: the weight Gram matrix equals the expected gradient outer product."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import threads
from gramian.experiments import Claim, Null, Result, at_most, between, experiment
from gramian.features import agop, nfm
from gramian.report import style
from gramian.theory import (
    ideal_kernel,
    linear_target_kernel,
    printed,
    regression_iterate,
    relu_expected_gop,
    train_two_layer_linear,
    two_step_features,
)

F64 = torch.float64


@dataclass(frozen=True)
class LinearTarget:
    """Rows and columns for the ideal kernel of a linear target."""

    n: int
    d: int


@dataclass(frozen=True)
class ShallowRelu:
    """A first layer of k neurons on d inputs, numbers of draws of the output weights, and of sampled inputs."""

    d: int
    k: int
    draws: tuple[int, ...] = (100, 1_000, 10_000)
    inputs: int = 400_000


@dataclass(frozen=True)
class WideLinear:
    """Training of a two-layer linear network at several widths, averaged over draws of the output weights."""

    n: int
    d: int
    widths: tuple[int, ...]
    steps: tuple[int, ...]
    draws: int = 20
    rate: float = 0.02


def distance(A: Tensor, B: Tensor) -> float:
    """Return ``‖A − B‖ / ‖B‖``.

    >>> distance(torch.tensor([3.0]), torch.tensor([2.0]))
    0.5
    """
    return float((A - B).norm() / B.norm())


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the slope of log y against log x by least squares.

    >>> round(slope([1.0, 10.0, 100.0], [1.0, 0.1, 0.01]), 6)
    -1.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _normal(rng: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=rng, dtype=F64)


@experiment(
    "b/prop1",
    "B",
    "Proposition 1: with M the gradient outer product of a linear target, the linear kernel is the ideal one",
    specs={
        "smoke": (LinearTarget(20, 4),),
        "small": (LinearTarget(200, 30),),
        "paper": (LinearTarget(200, 30),),
    },
    seeds={"small": 5, "paper": 5},
    claims=[
        between(
            "ideal",
            0.0,
            1e-12,
            "an identity, up to rounding",
            label="‖K_M − K*‖ / ‖K*‖, with M by automatic differentiation",
            kind="proved identity",
            null=Null(0.5, "the linear kernel with M = I, at least"),
        )
    ],
)
def ideal(spec: LinearTarget, seed: int) -> Result:
    """Compare ``zᵀMz'`` with ``f(z)f(z')`` on new points, for a random linear target."""
    rng = torch.Generator().manual_seed(seed)
    X, Z, beta = _normal(rng, spec.n, spec.d).requires_grad_(), _normal(rng, spec.n, spec.d), _normal(rng, spec.d)
    (G,) = torch.autograd.grad((X @ beta).sum(), X)
    target = ideal_kernel(Z @ beta, Z @ beta)
    eye = torch.eye(spec.d, dtype=F64)
    return Result(
        {
            "ideal": distance(linear_target_kernel(Z, Z, agop(G[:, None])), target),
            "plain": distance(linear_target_kernel(Z, Z, eye), target),
        }
    )


def both_active(W: Float[Tensor, "k d"]) -> Float[Tensor, "k k"]:
    """Return the probability that two neurons are active, ``½ − θ/(2π)`` for weights at the angle θ, x ~ N(0, I).

    >>> both_active(torch.eye(2))
    tensor([[0.5000, 0.2500],
            [0.2500, 0.5000]])
    """
    U = W / W.norm(dim=1, keepdim=True)
    square = (U[:, None] - U[None]).square().sum(-1)
    theta = 2 * (square.sqrt() / 2).clamp(max=1).arcsin()
    return 0.5 - theta / (2 * math.pi)


def relu_gop(W: Float[Tensor, "k d"], moment: Float[Tensor, "k k"]) -> Float[Tensor, "d d"]:
    """Return ``E_x ∇g∇gᵀ`` of ``g(x) = aᵀ[√(2/k) Wx]₊`` in closed form; ``moment`` is ``aaᵀ`` or a mean of it.

    >>> relu_gop(torch.eye(2), torch.eye(2))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    return 2 / W.shape[0] * W.mT @ (both_active(W) * moment) @ W


def shallow_weights(spec: ShallowRelu, rng: torch.Generator) -> dict[str, tuple[Tensor, Tensor]]:
    """Return W and a of a random network, and of one fitted to ``y = x₁x₂`` by Adam: two named pairs."""
    W, a = _normal(rng, spec.k, spec.d), _normal(rng, spec.k)
    fitted_W, fitted_a = W.clone().requires_grad_(), a.clone().requires_grad_()
    X = _normal(rng, 200, spec.d)
    optimizer = torch.optim.Adam([fitted_W, fitted_a], lr=0.05)
    with torch.enable_grad():
        for _ in range(150):
            optimizer.zero_grad()
            f = ((2 / spec.k) ** 0.5 * X @ fitted_W.mT).relu() @ fitted_a
            (f - X[:, 0] * X[:, 1]).square().mean().backward()
            optimizer.step()
    return {"random": (W, a), "trained": (fitted_W.detach(), fitted_a.detach())}


def fresh_gop(W: Float[Tensor, "k d"], inputs: int, rng: torch.Generator) -> Float[Tensor, "d d"]:
    """Return the mean of ``∇g∇gᵀ`` by automatic differentiation, with new x and a, both normal, in every term.

    >>> fresh_gop(torch.eye(2, dtype=F64), 10, torch.Generator().manual_seed(0)).shape
    torch.Size([2, 2])
    """
    k, d = W.shape
    X, A = _normal(rng, inputs, d).requires_grad_(), _normal(rng, inputs, k)
    with torch.enable_grad():
        (G,) = torch.autograd.grad((((2 / k) ** 0.5 * X @ W.mT).relu() * A).sum(), X)
    return G.mT @ G / inputs


def _shallow_claims() -> Iterator[Claim]:
    own = Null(0.3, "the output weights of the network itself, at least")
    for name in ("random", "trained"):
        yield between(
            f"fresh/{name}",
            0.0,
            0.05,
            "both sides are equal; a mean over 400,000 draws of x and a has an error of about 0.01",
            label=f"‖E∇g∇gᵀ − W₁ᵀW₁/k‖ / ‖W₁ᵀW₁/k‖, ∇g by automatic differentiation, W₁ {name}",
            kind="proved identity",
            null=own,
        )
        yield between(
            f"slope/{name}",
            -0.7,
            -0.3,
            "a mean over m independent draws of a has an error of order m^(−1/2); three sizes leave 0.1 of noise",
            label=f"slope of the distance against the number of normal draws of a, W₁ {name}",
            kind="proved identity",
            null=Null(0.0, "a limit that is not W₁ᵀW₁/k"),
        )
    yield between(
        "sampled",
        0.0,
        0.05,
        "the angles' formula against 100,000 sampled inputs, whose mean has an error of about 0.01",
        label="the closed form over inputs against sampled inputs, W₁ trained",
        kind="side condition",
        null=Null(0.3, "W₁ᵀW₁/k itself, at least"),
    )


@experiment(
    "b/prop3",
    "B",
    "Proposition 3: one hidden layer of any weights, with new output weights",
    specs={
        "smoke": (ShallowRelu(3, 4, (10, 100), 10_000),),
        "small": (ShallowRelu(6, 10),),
        "paper": (ShallowRelu(6, 10),),
    },
    seeds={"small": 10, "paper": 10},
    version=2,  # automatic differentiation in place of a sum over sign vectors, which no off-diagonal entry enters
    claims=[*_shallow_claims()],
)
def shallow(spec: ShallowRelu, seed: int) -> Result:
    """Average the gradient outer product over inputs and output weights, by sampling and in closed form over inputs."""
    rng = torch.Generator().manual_seed(seed)
    numbers: dict[str, float] = {}
    with threads(1):
        for name, (W, a) in shallow_weights(spec, rng).items():
            limit = relu_expected_gop(W)
            found = []
            for count in spec.draws:
                drawn = _normal(rng, count, spec.k)
                found.append(distance(relu_gop(W, drawn.mT @ drawn / count), limit))
            numbers |= {
                f"fresh/{name}": distance(fresh_gop(W, spec.inputs, rng), limit),
                f"slope/{name}": slope(spec.draws, found),
                f"own/{name}": distance(relu_gop(W, torch.outer(a, a)) / a.square().mean(), limit),
            }
        X = _normal(rng, 100_000, spec.d)
        G = (2 / spec.k) ** 0.5 * ((X @ W.mT > 0).to(F64) * a) @ W
        numbers["sampled"] = distance(G.mT @ G / len(G), relu_gop(W, torch.outer(a, a)))
    return Result(numbers)


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
    X = _normal(rng, spec.n, spec.d)
    return X, X @ _normal(rng, spec.d) + 0.5 * _normal(rng, spec.n)


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
        numbers["trajectory"] = trajectory_distance(X, y, _normal(rng, spec.widths[0]), spec.rate, max(spec.steps))
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
                    A = _normal(rng, k)
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
            A = _normal(rng, spec.widths[-1])
            net = train_two_layer_linear(X, y, A, step=spec.rate, steps=2, train_outer=True)
            mean += nfm(net.B) / spec.draws
    return Result(numbers | {"limit": distance(right, mean), "limit/printed": distance(wrong, mean)})
