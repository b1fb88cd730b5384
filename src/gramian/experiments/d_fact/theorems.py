"""Theorems of paper D: FACT at a stationary point, its relation to the covariance shift, FACT of kernel machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import threads
from gramian.experiments import Claim, Null, Result, at_least, between, experiment
from gramian.experiments.claims import Kind
from gramian.features import (
    agop_from_moments,
    backward_fact,
    fact,
    fact_symmetric,
    nfm,
    virtual_covariance_shift,
)
from gramian.kernels import ExponentialDot, KernelOperator, as_metric
from gramian.rfm import KernelMachine
from gramian.theory.lbfgs import LBFGS


@dataclass(frozen=True)
class Law:
    """Sizes of the network and the data for the check of the identities, in float64."""

    n: int
    d: int
    width: int
    weight_decay: float = 1e-2
    steps: int = 3000


@dataclass(frozen=True)
class Ridge:
    """Sizes of the kernel regression for the check of the closed forms."""

    n: int
    d: int
    ridge: float = 1e-2


@dataclass(frozen=True)
class FirstLayer:
    """The first layer of a network: weights, inputs, and the gradients of each row's loss at its input and output."""

    W: Float[Tensor, "m d"]
    H: Float[Tensor, "n d"]
    at_input: Float[Tensor, "n d"]
    at_output: Float[Tensor, "n m"]


def relative(A: Tensor, B: Tensor) -> float:
    """Return ``‖A − B‖ / ‖B‖``.

    >>> relative(torch.tensor([3.0]), torch.tensor([2.0]))
    0.5
    """
    return float((A - B).norm() / B.norm())


def fitted(spec: Law, rng: torch.Generator, steps: int) -> FirstLayer:
    """Fit ``f = a·tanh(Wx)`` by L-BFGS on the mean of ``½(f − y)²`` plus ``(λ/2)‖θ‖²``, with at most this many steps.

    >>> fitted(Law(20, 3, 4), torch.Generator().manual_seed(0), steps=2).W.shape
    torch.Size([4, 3])
    """
    draw = {"generator": rng, "dtype": torch.float64}
    X = torch.randn(spec.n, spec.d, **draw)  # type: ignore[call-overload]
    y = torch.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    W = torch.randn(spec.width, spec.d, **draw).div(spec.d**0.5).requires_grad_()  # type: ignore[call-overload]
    a = torch.randn(spec.width, **draw).div(spec.width**0.5).requires_grad_()  # type: ignore[call-overload]

    def loss() -> Tensor:
        error = torch.tanh(X @ W.mT) @ a - y
        return error.square().mean() / 2 + spec.weight_decay / 2 * (W.square().sum() + a.square().sum())

    LBFGS([W, a], loss, max_steps=steps, history=30).run()
    W, a = W.detach(), a.detach()
    T = torch.tanh(X @ W.mT)
    at_output = (T @ a - y)[:, None] * (1 - T.square()) * a
    return FirstLayer(W, X, at_output @ W, at_output)


_EXACT = "an identity, up to rounding"


def _equal(key: str, most: float, why: str, label: str, kind: Kind = "proved identity", **more: str) -> Claim:
    """Two matrices that a theorem calls equal; unrelated ones have a relative distance of about 1."""
    return between(key, 0.0, most, why, label=label, kind=kind, null=Null(1.0, "unrelated matrices"), **more)  # type: ignore[arg-type]


def negative_parts(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the negative part of the smallest eigenvalue, which is 0 for a positive semi-definite matrix."""
    return {
        f"negative part{end}": max(0.0, -record["numbers"][f"least-eigenvalue{end}"])
        for record in records
        for end in ("", "/printed", "/tanh")
    }


@experiment(
    "d/theorem-3-1",
    "D",
    "FACT and its backward form at a stationary point; sym(FACT) = VCS/(2ηλ), which no paper states",
    specs={"smoke": (Law(60, 4, 6, steps=300),), "small": (Law(200, 6, 12),), "paper": (Law(500, 10, 32),)},
    claims=[
        _equal("fact", 1e-4, "Theorem 3.1 at the accuracy of the optimiser", "‖FACT − WᵀW‖ / ‖WᵀW‖, converged"),
        _equal("bfact", 1e-4, "Theorem A.1 at the accuracy of the optimiser", "‖bFACT − WWᵀ‖ / ‖WWᵀ‖, converged"),
        _equal(
            "polar", 1e-4, "Remark 3.3 at the accuracy of the optimiser", "‖(FACT·FACTᵀ)^½ − WᵀW‖ / ‖WᵀW‖, converged"
        ),
        at_least(
            "early/fact",
            0.1,
            "the theorem holds at stationary points only",
            label="‖FACT − WᵀW‖ / ‖WᵀW‖, early in training",
            kind="side condition",
            null=Null(0.0, "an identity at any weights"),
        ),
        _equal(
            "early/vcs",
            1e-12,
            _EXACT,
            "sym(FACT) against VCS/(2ηλ) at first order, early in training",
            kind="side condition",
        ),
        _equal("vcs", 1e-12, _EXACT, "sym(FACT) against VCS/(2ηλ) at first order, converged", kind="side condition"),
        _equal(
            "shift",
            1e-4,
            "Theorem 3.1 at the accuracy of the optimiser",
            "VCS/(2ηλ) against WᵀW, converged",
            kind="side condition",
        ),
    ],
    seeds={"small": 5},
)
def stationarity(spec: Law, seed: int) -> Result:
    """Check the identities after three steps and after convergence."""
    step = 0.1
    numbers: dict[str, float] = {}
    with threads(1):
        for prefix, steps in (("early/", 3), ("", spec.steps)):
            layer = fitted(spec, torch.Generator().manual_seed(seed), steps)
            F = fact(layer.at_input, layer.H, spec.weight_decay)
            shift = virtual_covariance_shift(layer.at_input, layer.H, step, first_order=True) / (
                2 * step * spec.weight_decay
            )
            gram = nfm(layer.W)
            numbers |= {
                f"{prefix}fact": relative(F, gram),
                f"{prefix}vcs": relative(shift, fact_symmetric(F, "average")),
            }
        B = backward_fact(layer.at_output, layer.H @ layer.W.mT, spec.weight_decay)
        numbers |= {
            "bfact": relative(B, nfm(layer.W.mT)),
            "polar": relative(fact_symmetric(F), gram),
            "shift": relative(shift, gram),
        }
    return Result(numbers)


@experiment(
    "d/prop-5-1",
    "D",
    "AGOP and FACT of inner-product kernel machines in closed form, and their dual coefficients",
    specs={"smoke": (Ridge(20, 3),), "small": (Ridge(60, 5),), "paper": (Ridge(200, 10),)},
    claims=[
        _equal("agop", 1e-10, _EXACT, "AGOP against the proposition's sum"),
        _equal("fact", 1e-10, _EXACT, "FACT·M against the proposition's sum"),
        _equal("f1", 1e-10, _EXACT, "FACT from its definition against Lemma F.1"),
        _equal(
            "f2",
            1e-10,
            _EXACT,
            "αᵢ against −ℓ′ᵢ/(nλ) (Lemma F.2)",
            misprint="(K + λI)⁻¹ as printed; the lemma needs (K + nλI)⁻¹, as in Algorithm 1",
            printed_key="f2/printed",
        ),
        _equal(
            "negative part",
            1e-10,
            "“positive semi-definite when the function k is non-increasing” should be: when k is a power series with "
            "non-negative coefficients, such as exp(t); then the matrix k′(xᵢᵀMxⱼ) is positive semi-definite",
            "Negative part of the smallest eigenvalue of FACT·M relative to the largest, k = exp(t)",
            misprint=(
                "“non-increasing” should be a power series with non-negative coefficients: with k = exp(−t) the matrix "
                "has negative eigenvalues"
            ),
            printed_key="negative part/printed",
        ),
        at_least(
            "negative part/tanh",
            0.01,
            "a non-decreasing k is not enough: tanh(t) has negative coefficients, and the matrix negative eigenvalues",
            label="Negative part of the smallest eigenvalue of FACT·M relative to the largest, k = tanh(t)",
            kind="side condition",
            null=Null(0.0, "a positive semi-definite matrix"),
        ),
    ],
    derive=negative_parts,
    version=2,
)
def closed_forms(spec: Ridge, seed: int) -> Result:
    """Compute the matrices of a kernel ridge regression by definition and by the paper's sums."""
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(spec.n, spec.d, generator=rng, dtype=torch.float64) / spec.d**0.5
    Y = torch.stack([torch.sin(3 * X[:, 0]), X[:, 1] * X[:, 2]], dim=1)
    G = torch.randn(spec.d, spec.d, generator=rng, dtype=torch.float64)
    M = G @ G.mT / spec.d
    n, lam = spec.n, spec.ridge
    kernel = ExponentialDot()
    operator = KernelOperator(kernel, X, as_metric(M))
    K = operator.matmul(torch.eye(n, dtype=torch.float64))
    eye = torch.eye(n, dtype=torch.float64)
    coef, wrong = (torch.linalg.solve(K + ridge * eye, Y) for ridge in (n * lam, lam))
    machine = KernelMachine(operator, coef)
    products = X @ M @ X.mT
    slope = kernel.slope(products)
    pairs = coef @ coef.mT
    MX = X @ M
    tau = slope @ slope / n
    second, mean, count = machine.moments()
    gradients = machine.gradient(X)  # (n, c, d)
    by_definition = fact(torch.einsum("nc,ncd->nd", K @ coef - Y, gradients), X, lam)
    return Result(
        {
            "agop": relative(MX.mT @ (tau * pairs) @ MX, agop_from_moments(second, mean, count)),
            "fact": relative(MX.mT @ (slope * pairs) @ MX, machine.fact() @ M),
            "f1": relative(by_definition, machine.fact()),
            "f2": relative(-(K @ coef - Y) / (n * lam), coef),
            "f2/printed": relative(-(K @ wrong - Y) / (n * lam), wrong),
            "least-eigenvalue": _spectrum(slope * pairs, MX),
            "least-eigenvalue/printed": _spectrum(-torch.exp(-products) * pairs, MX),
            "least-eigenvalue/tanh": _spectrum((1 - torch.tanh(products).square()) * pairs, MX),
        }
    )


def _spectrum(weights: Float[Tensor, "n n"], MX: Float[Tensor, "n d"]) -> float:
    """Return the smallest eigenvalue of ``M Xᵀ(weights)X M`` relative to the largest in absolute value."""
    values = torch.linalg.eigvalsh(MX.mT @ weights @ MX)
    return float(values.min() / values.abs().max())
