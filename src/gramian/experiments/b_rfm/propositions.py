"""Propositions 1 and 3 of paper B: the weight Gram matrix equals the expected gradient outer product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import threads
from gramian.experiments import Claim, Null, Result, between, experiment
from gramian.features import agop
from gramian.theory import ideal_kernel, linear_target_kernel, relu_expected_gop, relu_gop

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


def normal(rng: torch.Generator, *shape: int) -> Tensor:
    """Draw from N(0, 1) in double precision."""
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
    X, Z, beta = normal(rng, spec.n, spec.d).requires_grad_(), normal(rng, spec.n, spec.d), normal(rng, spec.d)
    (G,) = torch.autograd.grad((X @ beta).sum(), X)
    target = ideal_kernel(Z @ beta, Z @ beta)
    eye = torch.eye(spec.d, dtype=F64)
    return Result(
        {
            "ideal": distance(linear_target_kernel(Z, Z, agop(G[:, None])), target),
            "plain": distance(linear_target_kernel(Z, Z, eye), target),
        }
    )


def shallow_weights(spec: ShallowRelu, rng: torch.Generator) -> dict[str, tuple[Tensor, Tensor]]:
    """Return W and a of a random network, and of one fitted to ``y = x₁x₂`` by Adam: two named pairs."""
    W, a = normal(rng, spec.k, spec.d), normal(rng, spec.k)
    fitted_W, fitted_a = W.clone().requires_grad_(), a.clone().requires_grad_()
    X = normal(rng, 200, spec.d)
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
    X, A = normal(rng, inputs, d).requires_grad_(), normal(rng, inputs, k)
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
                drawn = normal(rng, count, spec.k)
                found.append(distance(relu_gop(W, drawn.mT @ drawn / count), limit))
            numbers |= {
                f"fresh/{name}": distance(fresh_gop(W, spec.inputs, rng), limit),
                f"slope/{name}": slope(spec.draws, found),
                f"own/{name}": distance(relu_gop(W, torch.outer(a, a)) / a.square().mean(), limit),
            }
        X = normal(rng, 100_000, spec.d)
        G = (2 / spec.k) ** 0.5 * ((X @ W.mT > 0).to(F64) * a) @ W
        numbers["sampled"] = distance(G.mT @ G / len(G), relu_gop(W, torch.outer(a, a)))
    return Result(numbers)
