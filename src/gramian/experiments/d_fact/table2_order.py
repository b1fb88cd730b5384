"""Explanation of Table 2 at n = 1,000: FACT is below the roots if training stops before the learning rate is 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gramian.experiments import Null, Result, between, experiment, positive
from gramian.experiments.d_fact.stationary import relative_gradient
from gramian.experiments.d_fact.training import ImageTraining, TrainedNetwork, correlations, train
from gramian.report import style

_SHOWN = {"fact": "FACT", "fact_polar": "√(FACT·FACTᵀ)", "agop_half": "√AGOP", "enfa_half": "√eNFA"}


@dataclass(frozen=True)
class Stops:
    """A training that is measured after shares of its epochs, at each of which it might have been stopped."""

    training: ImageTraining
    shares: tuple[float, ...] = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(5.2, 3.4)
    ax = figure.subplots()
    shares = 100 * np.asarray(records[0]["spec"]["shares"])
    for (name, title), colour in zip(_SHOWN.items(), style.SERIES, strict=False):
        lines = np.asarray([record["arrays"][name] for record in records])
        ax.plot(shares, lines.mean(0), "o-", color=colour, markersize=4, label=title)
    ax.set(xlabel="share of the 200 epochs after which training stops (%)", ylabel="Pearson correlation with W₁ᵀW₁")
    ax.legend(frameon=False, fontsize=8)
    style.declutter(ax, "y")


_SMALL = ImageTraining("mnist", 1000, width=256, weight_decay=1e-3)


@experiment(
    "d/table2-order-why",
    "D",
    "Explanation of Table 2 at n = 1,000: the order of FACT and the roots depends on where training stops",
    specs={
        "smoke": (Stops(ImageTraining("digits", 128, hidden=2, width=24, weight_decay=1e-3, epochs=20)),),
        "small": (Stops(_SMALL),),
        "paper": (Stops(ImageTraining("mnist", 1000, weight_decay=1e-3)),),
    },
    seeds={"smoke": 1, "small": 5, "paper": 1},
    claims=[
        between(
            "0.8: FACT minus the lesser root",
            -0.5,
            0.0,
            "the paper's order, if the cause is a rate that is not yet 0: the rest of the gradient is noise of the "
            "batches, which lowers FACT and not the roots",
            null=Null(-0.77, "an untrained network"),
            label="Explanation: stopped after 80 % of the epochs: FACT minus the lesser of √AGOP and √eNFA",
            kind="side condition",
        ),
        positive(
            "1: FACT minus the lesser root",
            "our order in d/table2, at the end of the schedule",
            label="Explanation: at the end of the schedule: FACT minus the lesser of √AGOP and √eNFA",
            kind="side condition",
        ),
    ],
    draw=_draw,
)
def stops(spec: Stops, seed: int) -> Result:
    """Train once and measure the first layer at every stop."""
    made = spec.training
    at = {round(share * made.epochs): share for share in spec.shares}
    found: dict[float, dict[str, float]] = {}

    def watch(epoch: int, now: TrainedNetwork) -> None:
        if epoch in at:
            values = {name: values[0] for name, values in correlations(now, made.weight_decay).items()}
            found[at[epoch]] = values | {"unrest": relative_gradient(now, made.weight_decay)}

    train(made, seed, watch)
    lesser = {share: min(values["agop_half"], values["enfa_half"]) for share, values in found.items()}
    numbers = {f"{share:g}: FACT minus the lesser root": found[share]["fact"] - lesser[share] for share in spec.shares}
    numbers |= {f"{share:g}: unrest": found[share]["unrest"] for share in spec.shares}
    numbers |= {f"{share:g}: {name}": found[share][name] for share in spec.shares for name in _SHOWN}
    numbers["change of the lesser root"] = abs(lesser[1.0] - lesser[0.8])
    return Result(numbers, {name: [found[share][name] for share in spec.shares] for name in _SHOWN})
