"""Theorem 3.4 in its limit: the correlation of AGOP^s with ``WᵀW`` vanishes as ε^min(2s, 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.core import cosine, psd_power, threads
from gramian.experiments import Null, Result, at_least, at_most, experiment
from gramian.report import style
from gramian.theory import Separation, minimise, minimum_norm_network, random_start

_POWERS = (0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Limit:
    """The parameters of the proof, τ = ε³ and p = ε⁸, at several ε; λ → 0 first, as λ = ε³²p is below rounding.

    With `starts` > 0 the same network is also found by L-BFGS at λ = `decay`·p and the largest ε.
    """

    epsilons: tuple[float, ...] = (0.1, 0.05, 0.02, 0.01)
    starts: int = 3
    largest: float = 0.5
    decay: float = 1e-5


def limit_cosines(epsilon: float) -> dict[float, float]:
    """Return the cosine of ``AGOP^s`` with ``WᵀW`` by power s, for the smallest network that is the target exactly.

    >>> cosines = limit_cosines(0.01)
    >>> cosines[1.0] < 1e-3 < cosines[0.5] < 0.02
    True
    """
    task = Separation(tau=epsilon**3, p=epsilon**8)
    a, W = minimum_norm_network(task.target_form())
    M = task.feature_matrices(a, W)
    return {power: cosine(psd_power(M["agop"], power), M["nfm"]) for power in _POWERS}


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(4.8, 3.4)
    ax = figure.subplots()
    arrays = records[0]["arrays"]
    for power, colour in zip(_POWERS, style.SERIES, strict=False):
        ax.plot(arrays["epsilon"], arrays[f"{power:g}"], "o-", color=colour, markersize=4, label=f"s = {power:g}")
    ax.plot(arrays["epsilon"], arrays["epsilon"], ":", color=style.GREY, label="ε")
    ax.set(xscale="log", yscale="log", xlabel="ε (τ = ε³, p = ε⁸, λ → 0)", ylabel="cosine of AGOP^s with WᵀW")
    ax.legend(frameon=False, fontsize=8)
    style.declutter(ax, "y")


@experiment(
    "d/theorem-3-4",
    "D",
    "Theorem 3.4 in the limit ε → 0: the AGOP becomes uncorrelated with the features",
    specs={"smoke": (Limit((0.02, 0.01), starts=0),), "small": (Limit(starts=1),), "paper": (Limit(),)},
    claims=[
        *(
            at_least(
                f"order/{power:g}",
                min(2 * power, 2) - 0.02,
                "the proof bounds the correlation from above by a multiple of ε^(2s) + ε², for ε → 0; the last two ε "
                "are finite",
                slack=0.02,
                label=f"s = {power:g}: slope of log correlation against log ε",
                kind="proved identity",
                deterministic=True,
                null=Null(0.0, "a correlation that does not vanish"),
            )
            for power in _POWERS
        ),
        at_most(
            "last/0.25",
            0.2,
            "“can be taken arbitrarily small”: for the smallest power that is shown, at ε = 0.01",
            label="s = 0.25, ε = 0.01: cosine of AGOP^s with WᵀW",
            deterministic=True,
            null=Null(0.57, "the cosine of WᵀW with the projector on x₁ and x₂ of equal norm, about"),
        ),
        at_most(
            "descent",
            0.02,
            "the minimiser at λ = 1e-5 p is close to that of the limit λ → 0",
            label="ε = 0.5: distance of the cosine (s = 1) of the network found by L-BFGS from that in closed form",
            kind="side condition",
            null=Null(0.3, "an unrelated cosine"),
        ),
    ],
    seeds={"small": 5, "paper": 5},
    draw=_draw,
)
def vanishing(spec: Limit, seed: int) -> Result:
    """Evaluate the closed form at every ε, fit the orders, and compare the largest ε with training."""
    with threads(1):
        found = {epsilon: limit_cosines(epsilon) for epsilon in spec.epsilons}
        numbers = {}
        for power in _POWERS:
            logs = np.log([[epsilon, found[epsilon][power]] for epsilon in spec.epsilons[-2:]])
            numbers[f"order/{power:g}"] = float((logs[1, 1] - logs[0, 1]) / (logs[1, 0] - logs[0, 0]))
            numbers[f"last/{power:g}"] = found[spec.epsilons[-1]][power]
        if spec.starts:
            task = Separation(tau=spec.largest**3, p=spec.largest**8, weight_decay=spec.decay * spec.largest**8)
            rng = torch.Generator().manual_seed(seed)
            best = min((minimise(task, random_start(rng)) for _ in range(spec.starts)), key=lambda run: run.loss)
            M = task.feature_matrices(best.a, best.W)
            numbers["descent"] = abs(cosine(M["agop"], M["nfm"]) - limit_cosines(spec.largest)[1.0])
    arrays: dict[str, Any] = {f"{power:g}": [found[e][power] for e in spec.epsilons] for power in _POWERS}
    return Result(numbers, arrays | {"epsilon": list(spec.epsilons)})
