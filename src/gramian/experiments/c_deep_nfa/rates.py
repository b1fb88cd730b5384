"""Rates of alignment compared between figures: Adam (Fig. 5), a Gaussian link (Fig. 6), linear networks (Fig. 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.figure import Figure

from gramian.experiments import Result, experiment, positive
from gramian.experiments.c_deep_nfa.setting import DEPTHS, LAST_EPOCHS, PAPER_EPOCHS, StackTraining, fit
from gramian.report.style import BLUE, ORANGE, declutter

MOMENTS = 24


@dataclass(frozen=True)
class RateComparison:
    """Two trainings of networks of several depths, of which the paper says that the first aligns faster."""

    name: str
    faster: StackTraining
    slower: StackTraining
    depths: tuple[int, ...] = DEPTHS


def closed_share(alignments: Sequence[float]) -> float:
    """Return the share ``(ρ(t) − ρ(0)) / (1 − ρ(0))`` of the initial gap that is closed, mean over training.

    >>> closed_share([0.8, 0.9, 1.0])
    0.5
    """
    start = alignments[0]
    return sum((rho - start) / (1 - start) for rho in alignments) / len(alignments)


def compare_rates(spec: RateComparison, seed: int) -> Result:
    """Train both, and return the mean over depths of the difference of their closed shares."""
    arrays: dict[str, Any] = {}
    shares = {}
    for which, training in (("faster", spec.faster), ("slower", spec.slower)):
        lines = []
        for depth in spec.depths:
            course = fit(replace(training, depth=depth), seed, MOMENTS)
            lines.append([row[0] for row in course.alignments])
        shares[which] = sum(closed_share(line) for line in lines) / len(lines)
        arrays[which] = {"epoch": course.epochs, "alignment": [sum(v) / len(v) for v in zip(*lines, strict=True)]}
    numbers = {f"{spec.name}: {which}": share for which, share in shares.items()}
    numbers[f"{spec.name}: faster minus slower"] = shares["faster"] - shares["slower"]
    return Result(numbers, arrays)


def _draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    names = list(dict.fromkeys(record["spec"]["name"] for record in records))
    figure.set_size_inches(3.0 * len(names) + 0.6, 3.0)
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        shown = [record for record in records if record["spec"]["name"] == name]
        for which, colour, legend in (("faster", BLUE, _LEGENDS[name][0]), ("slower", ORANGE, _LEGENDS[name][1])):
            for place, record in enumerate(shown):
                curve = record["arrays"][which]
                ax.plot(curve["epoch"], curve["alignment"], color=colour, alpha=0.7, label=None if place else legend)
        ax.set_title(name, fontsize=9)
        ax.set_xlabel("epoch")
        ax.legend(fontsize=8, frameon=False)
        declutter(ax, "y")
    figure.supylabel("alignment, mean over depths", fontsize=9)


_SAME = "linear, same rate"
_LEGENDS = {
    "Adam": ("SGD with momentum", "Adam"),
    "Gauss": ("ReLU link", "Gaussian link"),
    "linear": ("with a ReLU layer", "fully linear"),
    _SAME: ("with a ReLU layer", "fully linear"),
}


def _comparisons(epochs: int, tail: int, rates: Mapping[str, float], full: int) -> list[RateComparison]:
    """Return the three comparisons; `full` is the number of epochs of gradient descent without batches."""

    def training(optimiser: str, rate: float, decay: float, **more: Any) -> StackTraining:
        return StackTraining(5, optimiser, 2, rate, **({"epochs": epochs, "tail": tail} | more), decays=(decay,))

    return [
        RateComparison("Adam", training("sgdm", rates["sgd"], 1e-2), training("adam", rates["sgd"], 1e-2)),
        RateComparison(
            "Gauss",
            training("gdm", rates["gd"], 1e-3, epochs=full),
            training("gdm", rates["gd"], 1e-3, epochs=full, link="gauss"),
        ),
        RateComparison(
            "linear",
            training("sgd", rates["sgd"], 1e-2),
            training("sgd", rates["linear"], 1e-2, link="identity", head=False),
        ),
    ]


def _cost(spec: RateComparison) -> float:
    seconds = {"gdm": 2e-3, "sgd": 1e-2, "sgdm": 1e-2, "adam": 1.5e-2}
    return len(spec.depths) * sum(seconds[t.optimiser] * t.epochs for t in (spec.faster, spec.slower))


_SMALL = {"sgd": 3e-4, "gd": 1e-3, "linear": 3e-3}
_FULL = PAPER_EPOCHS + LAST_EPOCHS

experiment(
    "c/rates",
    "C",
    "Comparisons between figures: Adam against SGD with momentum, Gaussian against ReLU link, linear networks",
    specs={
        "smoke": [replace(c, depths=(2,)) for c in _comparisons(6, 2, _SMALL, 40)],
        "small": [replace(c, depths=(2, 4)) for c in _comparisons(120, 12, _SMALL, 3000)],
        "paper": _comparisons(_FULL, LAST_EPOCHS, {"sgd": 1e-4, "gd": 1e-3, "linear": 1e-3}, _FULL),
    },
    claims=[
        positive(
            "Adam: faster minus slower",
            "“at a slightly slower rate” for Adam than for SGD with momentum, “when λ = 10^{-2}”",
            label="Fig. 5 against Fig. 3, λ = 0.01: closed share of SGD with momentum minus Adam",
            scales=("paper",),
        ),
        positive(
            "Gauss: faster minus slower",
            "“the alignment is slower for the Gauss function than the ReLU link function”",
            label="Fig. 6 against the ReLU link, gdm, λ = 0.001: closed share of the ReLU link minus the Gaussian link",
            scales=("paper",),
        ),
        positive(
            "linear: faster minus slower",
            "“compared to Figure 3 (a) … although with slightly slower convergence”, each at its printed rate: "
            "that of Fig. 7 is ten times as large",
            label="Fig. 7 against Fig. 3a, λ = 0.01: closed share of networks with a ReLU layer minus linear ones",
            small_setting="rates 3e-4 and 3e-3 in place of 1e-4 and 1e-3",
        ),
    ],
    seeds={"smoke": 1, "small": 5, "paper": 1},
    draw=_draw,
    cost=_cost,
)(compare_rates)


def _same_rate(epochs: int, tail: int, rate: float) -> RateComparison:
    """Return the last comparison with the rate of the network with a ReLU layer for both."""
    shared = StackTraining(5, "sgd", 2, rate, epochs, (1e-2,), tail=tail)
    return RateComparison(_SAME, shared, replace(shared, link="identity", head=False))


experiment(
    "c/rates-why",
    "C",
    "Explanation of Fig. 7 against Fig. 3a: fully linear networks at the rate of networks with a ReLU layer",
    specs={
        "smoke": [replace(_same_rate(6, 2, 3e-4), depths=(2,))],
        "small": [replace(_same_rate(120, 12, 3e-4), depths=(2, 4))],
        "paper": [_same_rate(_FULL, LAST_EPOCHS, 1e-4)],
    },
    claims=[
        positive(
            f"{_SAME}: faster minus slower",
            "if the rate of Fig. 7, ten times that of Fig. 3, is why linear networks align faster here, they align "
            "more slowly at the same rate",
            label="Explanation: closed share of networks with a ReLU layer minus linear ones, at the same rate",
            scales=("paper",),
            kind="side condition",
        )
    ],
    seeds={"smoke": 1, "small": 5, "paper": 1},
    draw=_draw,
    cost=_cost,
)(compare_rates)
