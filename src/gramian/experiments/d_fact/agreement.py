"""Section 5 and the introduction: the features of NFA-RFM and FACT-RFM are highly correlated in most settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.core import pearson, threads
from gramian.experiments import Null, Result, at_least, experiment
from gramian.experiments.d_fact.kernel_rounds import UPDATES, learn
from gramian.experiments.uci_sets import BUILT_IN, SMALL_SETS, read_uci
from gramian.kernels import Laplace
from gramian.report import style

_HIGH = 0.9


@dataclass(frozen=True)
class SharedTable:
    """One UCI data set, all of its rows, three rounds of each method with a Laplace kernel."""

    name: str
    rounds: int = 3
    ridge: float = 1e-2
    bandwidth: float = 10.0


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(5.2, 3.0)
    ax = figure.subplots()
    values = sorted(record["numbers"]["correlation"] for record in records)
    ax.plot(np.arange(len(values)) + 1, values, "o", color=style.BLUE, markersize=3)
    ax.axhline(_HIGH, color=style.GREY, linestyle=":")
    ax.set(xlabel="data set, by correlation", ylabel="correlation of the two M", ylim=(min(0.0, *values), 1.03))
    style.declutter(ax, "y")


@experiment(
    "d/agreement",
    "D",
    "Features of NFA-RFM and FACT-RFM on UCI data: the correlation of the two matrices M",
    specs={
        "smoke": (SharedTable(BUILT_IN),),
        "small": tuple(SharedTable(name) for name in SMALL_SETS[:45]),
        "paper": tuple(SharedTable(name) for name in SMALL_SETS),
    },
    claims=[
        at_least(
            "high",
            0.5,
            "“the features learned by both algorithms are highly correlated in most settings”: at least 0.9 on more "
            "than half of the data sets",
            label="Share of the data sets on which both M have a Pearson correlation of at least 0.9",
            null=Null(0.0, "unrelated features"),
        ),
        at_least(
            "above untrained",
            0.1,
            "the identity, from which both start, explains less of each M than the other M does: a visible difference",
            label="Correlation of the two M minus the larger of those with the identity, mean over data sets",
            kind="side condition",
            null=Null(0.0, "features that have only their start in common"),
        ),
    ],
    seeds={"smoke": 1, "small": 1, "paper": 1},
    draw=_draw,
)
def agreement(spec: SharedTable, seed: int) -> Result:
    """Train both methods on one data set and correlate their matrices."""
    data = read_uci(spec.name)
    X = torch.from_numpy(np.asarray(data.X, dtype=np.float64))
    labels = torch.from_numpy(np.unique(data.y, return_inverse=True)[1])
    Y = torch.nn.functional.one_hot(labels).double()
    found = []
    with threads(1):
        for update in (UPDATES["nfa"], UPDATES["fact"]):
            *_, machine = learn(Laplace(spec.bandwidth), update, X, Y - Y.mean(0), spec.ridge, spec.rounds)
            found.append(machine.matrix())
    one, other = found
    eye = torch.eye(len(one), dtype=one.dtype)
    correlation = pearson(one, other)
    start = max(pearson(one, eye), pearson(other, eye))
    return Result(
        {"correlation": correlation, "high": float(correlation >= _HIGH), "above untrained": correlation - start}
    )
