"""Figure 6: alignment during training on a Gaussian link, where weight decay and momentum decide what is learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gramian.experiments import Claim, Null, at_least, at_most, experiment
from gramian.experiments.c_deep_nfa.curves import FULL, Curves, draw, estimate_seconds, run


def gained(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the shares of variance explained with momentum minus without, and with less decay minus with more."""
    numbers = {name: value for record in records for name, value in record["numbers"].items()}
    found = {}
    for plain, momentum in (("gd", "gdm"), ("sgd", "sgdm")):
        for depth in (2, 5):
            without, by_momentum = (f"gauss {name} λ=0.001 L={depth} explained" for name in (plain, momentum))
            if without in numbers and by_momentum in numbers:
                share = numbers[by_momentum] - numbers[without]
                found[f"gauss {plain} λ=0.001 L={depth}: explained by momentum"] = share
        little, much = (numbers.get(f"gauss {momentum} λ={decay} L=5 explained") for decay in ("0.001", "0.01"))
        if little is not None and much is not None:
            found[f"gauss {momentum} L=5: explained, less by λ=0.01"] = little - much
    return found


def _gauss_claims() -> Iterator[Claim]:
    """Yield the claims of figure 6; those of SGD are judged at the paper's size, where alone it runs."""
    for plain, momentum, scales in (("gd", "gdm", ("small", "paper")), ("sgd", "sgdm", ("paper",))):
        for depth in (2, 5):
            yield at_most(
                f"gauss {momentum} λ=0.01 L={depth} first layer",
                0.5,
                "with λ = 0.01 the weights tend to zero",
                slack=0.5,
                label=f"{momentum}, L = {depth}, λ = 0.01: norm of the first layer at the end",
                scales=scales,
                null=Null(4.6, "the initial norm"),
            )
        yield at_least(
            f"gauss {momentum} L=5: explained, less by λ=0.01",
            0.3,
            "with λ = 0.01 the target is not learned, with λ = 0.001 it is: three tenths of the variance",
            slack=0.1,
            label=f"{momentum}, L = 5: share of variance explained with λ = 0.001 minus that with λ = 0.01",
            scales=scales,
            null=Null(0.0, "a network that learns with neither"),
        )
        yield at_least(
            f"gauss {momentum} λ=0.001 L=2 explained",
            0.5,
            "with momentum the target is learned: most of its variance",
            slack=0.3,
            label=f"{momentum}, L = 2, λ = 0.001: share of variance explained",
            scales=scales,
            null=Null(0.0, "an untrained network"),
        )
        for depth in (2, 5):
            yield at_least(
                f"gauss {plain} λ=0.001 L={depth}: explained by momentum",
                0.3,
                "'for both GD and SGD, momentum is required to successfully learn the target function': three tenths "
                "of the variance are explained with momentum only",
                slack=0.1,
                label=f"{plain}, L = {depth}, λ = 0.001: share of variance explained with momentum minus without",
                scales=scales,
                null=Null(0.0, "momentum without effect, or no training"),
            )


experiment(
    "c/fig6",
    "C",
    "Alignment during training on a Gaussian link, by decay and optimiser",
    specs={
        "smoke": [Curves(("gd", "gdm"), (1e-2, 1e-2), (60, 60), (1e-3, 1e-2), (2, 3), link="gauss", tail=5)],
        "small": [Curves(("gd", "gdm"), (1e-2, 1e-2), (3000, 3000), (1e-3, 1e-2), (2, 5), link="gauss")],
        "paper": [
            Curves(("gd", "gdm"), (1e-3, 1e-3), (FULL, FULL), (1e-5, 1e-4, 1e-3, 1e-2), link="gauss"),
            Curves(("sgd", "sgdm"), (1e-4, 1e-4), (FULL, FULL), (1e-5, 1e-4, 1e-3, 1e-2), link="gauss"),
        ],
    },
    claims=[*_gauss_claims()],
    seeds={"smoke": 1, "small": 5, "paper": 1},
    draw=draw,
    derive=gained,
    cost=estimate_seconds,
    small_setting="rate 0.01 in place of 0.001",
)(run)
