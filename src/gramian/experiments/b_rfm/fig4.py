"""Fig. 4: RFM, Laplace kernel and NTK on the UCI data sets, in the paper's protocol and with M of training rows only.

The second removes a part of the protocol's leak: M is learned without test rows, and ridge, number of rounds and form
of M are still tuned with rows of which many are test rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from gramian.bench.uci_protocol import evaluate, evaluate_without_leak
from gramian.core import threads
from gramian.experiments import Claim, Null, Result, at_least, experiment, number, positive, unavailable
from gramian.experiments.uci_sets import BUILT_IN, LARGE_SETS, SMALL_SETS, UCI_SETS, read_uci
from gramian.report import style

_METHODS = {"rfm": "paper-rfm", "laplace": "paper-laplace", "ntk": "paper-ntk"}
_NAMES = {"rfm": "RFM", "laplace": "Laplace ridge regression", "ntk": "NTK ridge regression"}
_TWO_FILES = """
    spect spectf monks-3 monks-1 hayes-roth monks-2 audiology-std image-segmentation horse-colic soybean
    conn-bench-vowel-deterding hill-valley annealing thyroid optical statlog-landsat
"""
"""Data sets of at most 5,000 rows with a second file, which are not among the 90 of Fig. 4b."""
_NINETY = frozenset(UCI_SETS) - frozenset(LARGE_SETS) - frozenset(_TWO_FILES.split())
_HONEST = "honest/"
_NO_RELATION = 0.22
"""A rank correlation over 81 unrelated pairs stays below this with 97.5 %."""


@dataclass(frozen=True)
class UciComparison:
    """One data set, all three methods."""

    name: str


@dataclass(frozen=True)
class UciOfAll(UciComparison):
    """One data set of the whole list, in which the averages over all of it are judged."""


def over_sets(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return numbers about all data sets: rank correlations, sets that choose round 0, averages if none is missing."""
    found = [record["numbers"] for record in records]
    numbers: dict[str, float] = {"round 0": float(sum(f["round"] == 0 for f in found)), "sets": float(len(found))}
    decrease = [f["decrease"] for f in found]
    if len(found) > 2 and len(set(decrease)) > 1:
        for size in ("rows", "columns"):
            numbers[f"correlation with {size}"] = float(spearmanr([f[size] for f in found], decrease).statistic)
    names = {record["spec"]["name"] for record in records}
    if names >= _NINETY:
        small = [record["numbers"] for record in records if record["spec"]["name"] in _NINETY]
        for method in _METHODS:
            numbers[f"90/{method}"] = float(np.mean([f[method] for f in small]))
    if names == set(UCI_SETS):
        for method in _METHODS:
            numbers[f"all/{method}"] = float(np.mean([f[method] for f in found]))
        numbers["all/round 0"] = numbers["round 0"]
    return numbers


def _claims() -> Iterator[Claim]:
    every = (
        "ties in the grid and the order of columns change an average over 120 sets by 0.3; miniboone is missing: 0.1"
    )
    rivals = {"rfm": Null(83.76, "Laplace"), "laplace": Null(82.7, "NTK"), "ntk": Null(79.37, "the neural net")}
    for method, value in (("rfm", 85.39), ("laplace", 83.76), ("ntk", 82.70)):
        yield number(
            f"all/{method}", value, 0.4, every, label=f"Fig. 4a, {_NAMES[method]}: average accuracy over 120 sets (%)",
            scales=("paper",), null=rivals[method], deterministic=True,
        )  # fmt: skip
    yield number(
        "all/round 0", 45, 6, "the standard deviation of a count of this size is 5; ties decide some of them",
        label="sets on which round 0, the Laplace kernel, is chosen, of 120 (45 of 121 printed)",
        scales=("paper",), null=Null(24, "a random choice among five rounds"), deterministic=True,
    )  # fmt: skip
    lacking = "needs the scores of the 179 methods of Fernández-Delgado et al. on all sets"
    for method, values in (
        ("rfm", (92.56, 85.96, 97.36, 17.79)),
        ("laplace", (90.08, 74.38, 95.95, 28.48)),
        ("ntk", (85.95, 68.60, 94.84, 33.55)),
    ):
        for key, value in zip(("P90", "P95", "PMA", "Friedman rank"), values, strict=True):
            yield unavailable(f"all/{method}/{key}", lacking, paper=value, label=f"Fig. 4a, {_NAMES[method]}: {key}")
    for key, value in zip(("P90", "P95", "PMA", "Friedman rank"), (92.22, 85.56, 97.22, 16.47), strict=True):
        yield unavailable(f"90/rfm/{key}", lacking, paper=value, label=f"Fig. 4b, RFM: {key}")
    yield number(
        "90/rfm", 83.21, 0.3, "as for Fig. 4a, without the missing set; `gramian bench` had given 83.12 before",
        label="Fig. 4b, RFM: average accuracy over the 90 sets of at most 5,000 rows (%)", scales=("paper",),
        null=Null(82.25, "the best of the others, H-γ-exp. SVM"), deterministic=True,
    )  # fmt: skip
    part = "a sign over data sets: those of at most 1,100 rows, or all 120"
    pairs = {"rfm-laplace": "RFM minus Laplace", "rfm-ntk": "RFM minus NTK", "laplace-ntk": "Laplace minus NTK"}
    for pair, title in pairs.items():
        yield positive(pair, "the order of Fig. 4a: " + part, label=f"{title}: mean difference of accuracy (%)")
    yield positive(
        "honest/rfm-laplace",
        "the order should not depend on the leak: " + part,
        label="RFM minus Laplace (%), M learned without test rows; settings tuned with some of them",
        kind="side condition",
    )
    for size, title in (("rows", "the number of rows"), ("columns", "the number of columns")):
        yield at_least(
            f"correlation with {size}",
            _NO_RELATION,
            "“sizable improvement in relative error for larger datasets and those with higher dimensional data”: "
            "beyond the 97.5 % point of no relation",
            label=f"Fig. 4c and d: rank correlation of the relative decrease of the error with {title}",
            null=Null(0.0, "no relation"),
            deterministic=True,
        )


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(8.6, 3.4)
    bars, scatter, wide = figure.subplots(1, 3, width_ratios=(1.2, 1, 1))
    for side, (prefix, colour, label) in enumerate(
        (
            ("", style.BLUE, "the paper's protocol"),
            (_HONEST, style.ORANGE, "M without test rows, settings with some"),
        )
    ):
        means = [np.mean([r["numbers"][f"{prefix}{m}"] for r in records]) for m in _METHODS]
        bars.barh(np.arange(3) + 0.2 - 0.4 * side, means, 0.36, color=colour, label=label)
    bars.set_yticks(range(3), ["RFM", "Laplace", "NTK"])
    bars.invert_yaxis()
    bars.set(xlabel=f"mean accuracy, {len(records)} sets (%)", xlim=(60, 100))
    bars.legend(frameon=False, fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1))
    for ax, size in ((scatter, "rows"), (wide, "columns")):
        ax.axhline(0, color=style.GREY, linewidth=0.8)
        x = [r["numbers"][size] for r in records]
        ax.plot(x, [r["numbers"]["decrease"] for r in records], "o", color=style.BLUE, markersize=3, alpha=0.7)
        ax.set(xscale="log", xlabel=size, ylim=(-110, 110))
    scatter.set_ylabel("decrease of the error (%)")
    for ax, grid in ((bars, "x"), (scatter, "y"), (wide, "y")):
        style.finish(ax, grid)  # type: ignore[arg-type]


def _cost(spec: UciComparison) -> float:
    """Estimate the seconds of a data set: 25 core-hours for the three largest, six for the other large ones."""
    if spec.name in UCI_SETS[-3:]:
        return 30_000.0
    if spec.name in LARGE_SETS:
        return 2_000.0
    return 4.0 if spec.name in (BUILT_IN, *SMALL_SETS) else 120.0


@experiment(
    "b/fig4",
    "B",
    "Fig. 4: accuracy on 120 UCI data sets of RFM, Laplace kernel and NTK; M learned with and without test rows",
    specs={
        "smoke": (UciComparison("iris (scikit-learn)"),),
        "small": tuple(UciComparison(name) for name in SMALL_SETS),
        "paper": tuple(UciOfAll(name) for name in UCI_SETS),
    },
    seeds={"smoke": 1, "small": 1, "paper": 1},
    claims=[*_claims()],
    draw=_draw,
    derive=over_sets,
    cost=_cost,
)
def comparison(spec: UciComparison, seed: int) -> Result:
    """Evaluate the three methods on one data set, M learned with and without test rows, in per cent."""
    data = read_uci(spec.name)
    numbers: dict[str, float] = {}
    with threads(1):
        for name, method in _METHODS.items():
            outcome = evaluate(data, method)
            numbers[name] = 100 * outcome.score
            without = outcome.scores
            if name == "rfm":
                numbers["round"] = float(outcome.choice.round)
                without = evaluate_without_leak(data, method, outcome.choice)
            numbers[f"{_HONEST}{name}"] = 100 * float(np.mean(without))
    for prefix in ("", _HONEST):
        for one, other in (("rfm", "laplace"), ("rfm", "ntk"), ("laplace", "ntk")):
            numbers[f"{prefix}{one}-{other}"] = numbers[f"{prefix}{one}"] - numbers[f"{prefix}{other}"]
    error = 100 - numbers["laplace"]
    # Equal accuracies must tie in the ranks, so the rounding of means is removed.
    numbers["decrease"] = round(100 * numbers["rfm-laplace"] / error, 6) if error > 1e-9 else 0.0
    return Result(numbers | {"rows": float(len(data.X)), "columns": float(data.X.shape[1])})
