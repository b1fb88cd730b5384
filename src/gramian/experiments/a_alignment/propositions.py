"""Numerical checks of propositions 2, 3, 4 and 10 of paper A and of the traces of its appendix E."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from gramian.core import haar
from gramian.experiments.a_alignment.network import agop_of, chain_task, descend, draw_weights, evaluate
from gramian.experiments.claims import Claim, Null, between
from gramian.experiments.registry import Result, experiment
from gramian.theory import (
    data_moments,
    early_agop,
    early_alignment,
    early_nfm,
    expected_early_agop,
    expected_early_nfm,
    first_denominator,
    label_moment,
    numerator,
    predicted_alignment,
    printed,
    sample_quadratic,
    second_denominator,
    weight_moments,
)

_TWICE = Null(2.0, "the second derivative without its factor 1/2")
_OTHER = Null(1.0, "an unrelated matrix")


def _identity(key: str, label: str) -> Claim:
    why = "an identity, up to rounding in float64"
    return between(key, 0, 1e-10, why, label=label, kind="proved identity", null=_OTHER)


@dataclass(frozen=True)
class Identities:
    """A two-hidden-layer ReLU network at its initialisation and a short time after."""

    n: int = 256
    d: int = 32
    width: int = 256
    scale: float = 1.0
    time: float = 1e-4


def _apart(A: Tensor, B: Tensor) -> float:
    """``‖A − B‖ / ‖B‖``."""
    return float((A - B).norm() / B.norm())


@experiment(
    "a/prop2-4",
    "A",
    "Propositions 2, 3 and 4: the decompositions of NFM and AGOP",
    specs={
        "smoke": (Identities(32, 8, 16),),
        "small": (Identities(),),
        "paper": (Identities(n=1024, d=128, width=1024),),
    },
    seeds={"paper": 3},
    claims=(
        _identity("prop2_layer1", "‖AGOP − WᵀKW‖/‖AGOP‖, AGOP by automatic differentiation"),
        _identity("prop2_layer2", "‖AGOP − WᵀKW‖/‖AGOP‖ in layer 2"),
        between("prop3_nfm", 0.99, 1.01, "a difference quotient at time 1e-4 has an error of that order",
                label="(W̄ᵀW̄)/t² over ẆᵀẆ", slack=0.02, kind="proved identity", null=_TWICE),
        between("prop3_agop", 0.99, 1.01, "a difference quotient at time 1e-4 has an error of that order",
                label="(W̄ᵀKW̄)/t² over ẆᵀKẆ", slack=0.02, kind="proved identity", null=_TWICE),
        between("prop3_nfm_order", 1.7, 2.3, "the remainder is of first order in t: halving t halves it",
                label="relative error of (W̄ᵀW̄)/t² at t over that at t/2", slack=0.5, kind="proved identity",
                null=Null(1.0, "an error that does not depend on t")),
        _identity("prop4_nfm", "‖ẆᵀẆ − XᵀL̇𝒦L̇X‖ relative"),
        _identity("prop4_agop", "‖ẆᵀKẆ − XᵀL̇𝒦²L̇X‖ relative"),
    ),
)  # fmt: skip
def identities(spec: Identities, seed: int) -> Result:
    """Check propositions 2 (any time), 3 (a short time after initialisation) and 4 (at initialisation)."""
    rng = torch.Generator().manual_seed(seed)
    task = chain_task(spec.n, spec.d, 5, 0.0, rng, tests=1)
    start = draw_weights(spec.d, spec.width, (spec.scale, 1.0, 1.0), rng)
    seen = evaluate(start, task.X)
    numbers: dict[str, float] = {}
    for layer in (0, 1):
        G = _input_gradients(start[layer:], seen.inputs[layer])
        numbers[f"prop2_layer{layer + 1}"] = _apart(agop_of(start[layer], seen.tangents[layer]), G.mT @ G)

    J, slope = seen.tangents[0], (seen.f - task.y)[:, None] / spec.n
    velocity = -(slope * J).mT @ task.X
    nfm, agop = velocity.mT @ velocity, agop_of(velocity, J)
    LX, dual = slope * task.X, J @ J.mT
    numbers |= {
        "prop4_nfm": _apart(LX.mT @ dual @ LX, nfm),
        "prop4_agop": _apart(LX.mT @ dual @ dual @ LX, agop),
    }
    errors = []
    for time in (spec.time, spec.time / 2):
        *_, (_, weights, late) = descend(start, task.X, task.y, time / 20, 20)  # gradient flow, by twenty short steps
        moved = (weights[0] - start[0]) / time
        errors.append(_apart(moved.mT @ moved, nfm))
        numbers |= {
            "prop3_nfm": float((moved.mT @ moved).trace() / nfm.trace()),
            "prop3_agop": float(agop_of(moved, late.tangents[0]).trace() / agop.trace()),
        }
    numbers["prop3_nfm_order"] = errors[0] / errors[1]
    return Result(numbers)


def _input_gradients(weights: tuple[Tensor, ...], H: Tensor) -> Tensor:
    """Compute ``∂f/∂h`` of the layers above by automatic differentiation, without tangents."""
    H = H.detach().clone().requires_grad_()
    Z = H
    for i, W in enumerate(weights):
        Z = Z @ W.mT
        Z = Z.relu() if i + 1 < len(weights) else Z
    (gradient,) = torch.autograd.grad(Z.sum(), H)
    return gradient


@dataclass(frozen=True)
class Expectation:
    """Averages over random quadratic networks on one data set, in a dimension small enough for averages to converge."""

    n: int = 12
    d: int = 4
    width: int = 6
    draws: int = 20000


@experiment(
    "a/prop10",
    "A",
    "Proposition 10: the expected early NFM and AGOP",
    specs={
        "smoke": (Expectation(draws=500),),
        "small": (Expectation(),),
        "paper": (Expectation(), Expectation(n=64, d=16, width=64, draws=5000)),
    },
    seeds={"small": 5},
    claims=(
        between("nfm", 0, 0.05, "20,000 draws leave noise of about 2 %", label="‖mean ẆᵀẆ − S²‖ relative", slack=0.05,
                kind="proved identity", null=_OTHER),
        between(
            "agop", 0, 0.08, "20,000 draws of a product of four Gaussians leave noise of about 4 %", slack=0.08,
            kind="proved identity", null=Null(0.78, "the formula as printed"),
            label="‖mean ẆᵀKẆ − formula‖ relative, k = 6",
            misprint="the printed formula omits pairs of different neurons and the 1/k: 3 tr(B) S² + 6 SBS for "
            "(1 + 5/k) SBS + (3/k) tr(B) S²", printed_key="agop_printed",
        ),
        between(
            "agop_wide", 0, 0.08, "5,000 draws", label="‖mean ẆᵀKẆ − formula‖ relative, k = 64", slack=0.08,
            kind="proved identity", null=Null(0.96, "the formula as printed"),
            scales=("paper",), misprint="as above", printed_key="agop_wide_printed",
        ),
    ),
)  # fmt: skip
def expectation(spec: Expectation, seed: int) -> Result:
    """Average both matrices over networks, and compare with the corrected and the printed formula."""
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(spec.n, spec.d, generator=rng, dtype=torch.float64)
    y = torch.randn(spec.n, generator=rng, dtype=torch.float64)
    nfm, agop = torch.zeros(2, spec.d, spec.d, dtype=torch.float64)
    for _ in range(spec.draws):
        R = sample_quadratic(spec.d, spec.width, rng).weight_kernel()
        nfm += early_nfm(X, y, R) / spec.draws
        agop += early_agop(X, y, R) / spec.draws
    end = "" if spec.width < 10 else "_wide"
    return Result(
        {
            f"nfm{end}": _apart(nfm, expected_early_nfm(X, y)),
            f"agop{end}": _apart(agop, expected_early_agop(X, y, spec.width)),
            f"agop{end}_printed": _apart(agop, printed.expected_early_agop(X, y)),
        }
    )


@dataclass(frozen=True)
class Traces:
    """Isotropic data with Gaussian labels and one network under Haar rotations; ``size = n = d = k``."""

    size: int = 1200
    rotations: int = 4


_FREE = "freeness holds up to terms of order 1/n in the mean; averaging over rotations leaves a few per mille"


def _free(key: str, tolerance: float, label: str, null: Null, **more: str) -> Claim:
    return between(
        key, 1 - tolerance, 1 + tolerance, _FREE, slack=2 * tolerance, label=label, null=null, kind="proved identity",
        **more,
    )  # fmt: skip


@experiment(
    "a/appendix-e",
    "A",
    "Appendix E: the traces of the early alignment by free probability",
    specs={"smoke": (Traces(80, 2),), "small": (Traces(300, 8),), "paper": (Traces(),)},
    seeds={"paper": 10},
    claims=(
        _free("numerator", 0.02, "(20) over tr(ARARBR)", Null(0.57, "(19) as printed"),
              misprint="(19) prints tr(R)³ for tr(R³) in its last term", printed_key="numerator_printed"),
        _free("first", 0.02, "(22) over tr(ARAR)", Null(0.5, "one of its two terms")),
        _free("second", 0.03, "(28) over tr(ARBRARBR)", Null(0.87, "(28) as printed"),
              misprint="(28) ends with tr[Ā]² tr[B²] tr[R²]² for tr[Ā²] tr[B]² tr[R²]²", printed_key="second_printed"),
        _free("isotropic", 0.03, "(6) over tr(ARARR), XᵀX = I", Null(0.76, "the larger of its two terms")),
        between("alignment", -0.005, 0.005, "the mean over rotations at n = 1,200 has an error of a few per mille",
                slack=0.01, label="predicted minus observed alignment", kind="proved identity",
                null=Null(0.08, "(28) as printed"),
                misprint="(28) as above; as printed the alignment is too high", printed_key="alignment_printed"),
        between("exponents", 0.99, 1.01, "the ratio of predicted and observed alignment", slack=0.02,
                label="(10) over the observed alignment", kind="proved identity", null=Null(1900.0, "(10) as printed"),
                misprint="(10) has the exponents −1/2 below the bar, so the denominators multiply",
                printed_key="exponents_printed"),
    ),
)  # fmt: skip
def traces(spec: Traces, seed: int) -> Result:
    """Divide each trace by its formula, averaged over rotations of the weights."""
    rng = torch.Generator().manual_seed(seed)
    size = spec.size
    X = torch.randn(size, size, generator=rng, dtype=torch.float64) / size**0.5
    y = torch.randn(size, generator=rng, dtype=torch.float64)
    R = sample_quadratic(size, size, rng).weight_kernel()
    D, w = data_moments(X, y), weight_moments(R)
    seen = _observed(X, y, R, spec.rotations, rng)
    orthogonal = haar(size, rng)  # XᵀX = I
    alone, alone_seen = data_moments(orthogonal, y), _observed(orthogonal, y, R, spec.rotations, rng)
    numbers = {
        "numerator": numerator(D, w) / seen["numerator"],
        "numerator_printed": printed.numerator(D, w) / seen["numerator"],
        "first": first_denominator(D, w) / seen["first"],
        "second": second_denominator(D, w) / seen["second"],
        "second_printed": printed.second_denominator(D, w) / seen["second"],
        "isotropic": (alone.a**2 * w.r3 + w.r1 * w.r2 * alone.aa) / alone_seen["numerator"],
        "alignment": predicted_alignment(D, w) - seen["alignment"],
        "alignment_printed": printed.alignment(D, w) - seen["alignment"],
        "exponents": predicted_alignment(D, w) / seen["alignment"],
        "exponents_printed": printed.alignment_exponents(D, w) / seen["alignment"],
    }
    return Result(numbers)


def _observed(X: Tensor, y: Tensor, R: Tensor, rotations: int, rng: torch.Generator) -> Mapping[str, float]:
    S, B = label_moment(X, y), X.mT @ X
    A = S @ S
    total = dict.fromkeys(("numerator", "first", "second", "alignment"), 0.0)
    for _ in range(rotations):
        # A rotation does not change the moments of R; freeness is a statement about the mean over rotations.
        U = haar(len(R), rng)
        rotated = U @ R @ U.mT
        AR, BR = A @ rotated, B @ rotated
        ARBR = AR @ BR
        seen = {
            "numerator": float((AR @ AR * BR.mT).sum()) / len(R),
            "first": float((AR * AR.mT).sum()) / len(R),
            "second": float((ARBR * ARBR.mT).sum()) / len(R),
            "alignment": early_alignment(X, y, rotated),
        }
        total = {key: value + seen[key] / rotations for key, value in total.items()}
    return total
