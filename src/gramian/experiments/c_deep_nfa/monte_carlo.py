"""Monte Carlo checks of the counter-examples of section 4, of Lemma B.1 and of the scale (B.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from gramian.core import cosine, psd_power
from gramian.experiments import Claim, Null, Result, at_most, between, experiment
from gramian.features import agop, nfm
from gramian.theory import (
    balanced_init,
    balanced_scale,
    imbalance,
    printed,
    relu_pair,
    relu_pair_egop,
    relu_pair_with_silent_neuron,
    ripple,
    ripple_egop,
    uniform_gram_norm,
)


def _law(
    key: str, value: float, tolerance: float, why: str, label: str, null: float, what: str,
    slack: float | None = None, **more: str,
) -> Claim:  # fmt: skip
    """A value that follows from the paper's formulas, up to sampling error."""
    slack = 2 * tolerance if slack is None else slack
    low, high = value - tolerance, value + tolerance
    options = {"label": label, "kind": "proved identity", "slack": slack} | more
    return between(key, low, high, why, null=Null(null, what), **options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Draws:
    """The number of random draws in an average."""

    draws: int


def counterexamples(spec: Draws, seed: int) -> Result:
    """Evaluate section 4: exact fits without alignment, and fits with alignment and a large error, or the reverse."""
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
    "Section 4: cases where the NFA fails, and its missing relation to generalisation",
    specs={"smoke": [Draws(20_000)], "small": [Draws(200_000)], "paper": [Draws(2_000_000)]},
    claims=[
        _law("example 1: error of the fit", 0.0, 1e-12, "the network is the target", "Example 1: error", 0.5, "f = 0"),
        _law(
            "example 1: E[(∂f/∂x₁)²]",
            0.5,
            0.005,
            "sampling error 0.001 at 200,000 draws",
            "Example 1: E_f[1,1]",
            0.0,
            "the indicator as printed",
            misprint="∇f is printed with indicators of x > 1, which is impossible on [−1, 1]²; it should be x > 0",
            printed_key="example 1: E[(∂f/∂x₁)²], indicator as printed",
        ),
        _law(
            "example 1: E[∂f/∂x₁ ∂f/∂x₂]",
            0.25,
            0.005,
            "sampling error 0.001",
            "Example 1: E_f[1,2]",
            0.5,
            "indicators of the same event",
        ),
        at_most(
            "example 1: best alignment over powers",
            0.99999,
            "no positive power gives proportionality; small powers come close since A⁰ is the identity",
            label="Example 1: best alignment over powers 0.05 … 5",
            kind="proved identity",
            null=Null(1.0, "the NFA holds"),
        ),
        _law(
            "silent neuron: alignment with the power 1",
            1.0,
            1e-4,
            "sampling error only",
            "with a silent third neuron: alignment with the power 1",
            0.95,
            "without that neuron",
        ),
        _law(
            "shifted fit: alignment",
            1.0,
            1e-12,
            "the gradient of a constant is zero",
            "f* + 10: alignment",
            0.0,
            "unrelated gradients",
        ),
        _law("shifted fit: mean error", 10.0, 1e-9, "by construction", "f* + 10: mean error", 0.0, "no shift"),
        *(
            _law(
                f"ripple n={n}: alignment",
                (1 + n**4 / 4) ** -0.5,
                0.02 / n,
                "closed form (1 + n⁴/4)^(−1/2) of the printed matrices; sampling error",
                f"(4.1) with n = {n}: alignment of x₂ with the target",
                1.0,
                "alignment that follows the error",
            )
            for n in (2, 4, 8, 16)
        ),
        at_most(
            "ripple n=16: mean error times n",
            1.0,
            "the paper bounds the mean error by 1/n",
            label="(4.1) with n = 16: mean error times n",
            kind="proved identity",
            null=Null(10.2, "the error of n = 1 times 16"),
        ),
    ],
)(counterexamples)


def initialisation(spec: Draws, seed: int) -> Result:
    """Check Lemma B.1 and the scale (B.2) by Monte Carlo."""
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
    claims=[
        *(
            _law(
                f"{name}: E‖WᵀW‖² over the lemma's",
                1.0,
                0.005,
                "sampling error",
                f"Lemma B.1 for {name}",
                null,
                "Gaussian entries of the same variance",
                slack=0.004,
            )
            for name, null in (("W1", 1.0143), ("W2", 1.0094))
        ),
        _law(
            "ratio of the squared Gram norms, corrected",
            1.0,
            0.01,
            "sampling error; (B.2) is chosen so that the ratio is 1",
            "(B.2): E‖W̃₁W̃₁ᵀ‖² / E‖W₂ᵀW₂‖²",
            0.477,
            "(B.2) as printed",
            misprint="(B.2) prints a square root; a squared Gram norm needs a fourth root",
            printed_key="ratio of the squared Gram norms, printed",
        ),
        _law(
            "algorithm 1: largest imbalance",
            0.0,
            1e-12,
            "exact up to rounding",
            "algorithm 1: imbalance",
            1.0,
            "layers drawn independently",
        ),
    ],
)(initialisation)
