"""Proposition 1: after a step on one sample the hidden state moves where the virtual update points, and no further."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import threads
from gramian.experiments import Claim, Null, Result, at_least, between, experiment, positive
from gramian.experiments.e_gram.small_nets import ACTIVATIONS

LIPSCHITZ = {"tanh": 1.0, "relu": 1.0, "gelu": 1.12891}
"""Largest slope of each activation; that of GELU is at z = √2, rounded up."""


@dataclass(frozen=True)
class SampleSteps:
    """Number of samples, inputs and outputs of the layer; norm of the input; sizes of the steps."""

    samples: int
    d: int = 20
    width: int = 64
    rates: tuple[float, ...] = (1e-3, 1e-1, 1.0)


def move(
    activation: str, spec: SampleSteps, rate: float, norm: float, rng: torch.Generator
) -> tuple[Float[Tensor, "s m"], Float[Tensor, "s m"], Float[Tensor, "s m"]]:
    """Return the actual shift, the virtual shift and the pre-activations of one layer, one step per sample.

    The layer is ``h = φ(Wx)`` with ``‖x‖ = norm``, the loss the square of ``a·tanh(Vh) − y``; only W is trained.

    >>> actual, virtual, z = move("tanh", SampleSteps(2), 0.1, 1.0, torch.Generator().manual_seed(0))
    >>> actual.shape == virtual.shape == z.shape
    True
    """
    draw = {"generator": rng, "dtype": torch.float64}
    X = torch.randn(spec.samples, spec.d, **draw)  # type: ignore[call-overload]
    X = norm * X / X.norm(dim=1, keepdim=True)
    W = 2 * torch.randn(spec.width, spec.d, **draw)  # type: ignore[call-overload]
    V = torch.randn(spec.width, spec.width, **draw) / spec.width**0.5  # type: ignore[call-overload]
    a, y = torch.randn(spec.width, **draw), torch.randn(spec.samples, **draw)  # type: ignore[call-overload]
    phi = ACTIVATIONS[activation]()
    with torch.enable_grad():
        weights = W.expand(spec.samples, -1, -1).clone().requires_grad_()  # each sample trains its own copy
        z = torch.einsum("smd,sd->sm", weights, X)
        h = phi(z)
        loss = (torch.tanh(h @ V.mT) @ a - y).square().sum()
        gradient, at_state = torch.autograd.grad(loss, [weights, h])
    moved = phi(torch.einsum("smd,sd->sm", weights.detach() - rate * gradient, X))
    return moved - h.detach(), -rate * at_state, z.detach()


_NAMES = {"tanh": "tanh", "relu": "ReLU", "gelu": "GELU"}


def _claims() -> Iterator[Claim]:
    for activation, name in _NAMES.items():
        yield between(
            f"ratio/{activation}",
            0.0,
            1.0 + 1e-9,
            "|h⁺ − h| ≤ L²·|virtual update| for every entry, with ‖x‖ = 1; active ReLU units attain it, up to rounding",
            label=f"{name}: largest |h⁺ − h| / (L²·|virtual update|)",
            kind="proved identity",
            null=Null(9.0, "the same with ‖x‖ = 3, where the condition fails"),
        )
    yield between(
        "equal/tanh",
        1.0,
        1.0,
        "φ is increasing",
        label="tanh: share of entries that move in the direction of the virtual update",
        kind="proved identity",
        null=Null(0.5, "random signs"),
    )
    yield between(
        "equal/relu/active",
        1.0,
        1.0,
        "φ is increasing where the unit is active; what the paper says of an inactive one depends on a convention that "
        "the export has lost",
        label="ReLU: share of entries of active units that move in the direction of the virtual update",
        kind="proved identity",
        null=Null(0.5, "random signs"),
    )
    yield between(
        "opposite/relu",
        0.0,
        0.0,
        "φ does not decrease, so no unit moves against its virtual update",
        label="ReLU: share of entries that move against the virtual update",
        kind="proved identity",
        null=Null(0.5, "random signs"),
    )
    yield positive(
        "opposite/gelu",
        "ours: GELU decreases below −0.75, so the sign may fail there; a check that cannot fail would be none",
        label="GELU: share of entries that move against the virtual update",
        kind="side condition",
    )
    yield at_least(
        "ratio/relu/norm 3",
        1.5,
        "ours: without ‖x‖ ≤ 1 the bound must be able to fail",
        label="ReLU with ‖x‖ = 3: largest |h⁺ − h| / |virtual update|",
        kind="side condition",
        null=Null(1.0, "the bound holds all the same"),
    )


@experiment(
    "e/prop1",
    "E",
    "Actual and virtual update of a hidden state: the same sign, and a bound of the size",
    specs={"smoke": (SampleSteps(20),), "small": (SampleSteps(200),), "paper": (SampleSteps(2000),)},
    seeds={"small": 5, "paper": 5},
    claims=[*_claims()],
)
def virtual_updates(spec: SampleSteps, seed: int) -> Result:
    """Take one step per sample and rate with each activation."""
    rng = torch.Generator().manual_seed(seed)
    numbers: dict[str, float] = {}
    with threads(1):
        for activation in _NAMES:
            shifts = [move(activation, spec, rate, 1.0, rng) for rate in spec.rates]
            actual, virtual, z = (torch.cat(parts) for parts in zip(*shifts, strict=True))
            # Where rounding hides a shift of a saturated unit there is no sign to compare.
            seen = (actual != 0) if activation == "tanh" else torch.ones_like(actual, dtype=torch.bool)
            same = actual.sign() == virtual.sign()
            numbers |= {
                f"ratio/{activation}": _ratio(actual, virtual, LIPSCHITZ[activation]),
                f"equal/{activation}": float(same[seen].double().mean()),
                f"opposite/{activation}": float((actual.sign() * virtual.sign() < 0).double().mean()),
            }
            if activation == "relu":
                numbers["equal/relu/active"] = float(same[z > 0].double().mean())
        actual, virtual, _ = move("relu", spec, 1e-3, 3.0, rng)
        numbers["ratio/relu/norm 3"] = _ratio(actual, virtual, 1.0)
    return Result(numbers)


def _ratio(actual: Tensor, virtual: Tensor, lipschitz: float) -> float:
    """Return the largest ``|actual| / (L²|virtual|)``, with the rounding of a difference of states taken off."""
    rounding = 4 * torch.finfo(actual.dtype).eps * 10
    return float(((actual.abs() - rounding).clamp_min(0) / (lipschitz**2 * virtual.abs())).max())
