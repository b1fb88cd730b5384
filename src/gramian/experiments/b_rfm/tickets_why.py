"""Test of an explanation of the many pixels that RFM-T keeps: no small part decides, and with a mark one does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.core import threads
from gramian.datasets import mark_class
from gramian.datasets.composed import WHITE
from gramian.experiments.b_rfm.grokking import PLANE, TRUCK
from gramian.experiments.b_rfm.machines import learn
from gramian.experiments.b_rfm.picture_data import tensors, two_classes
from gramian.experiments.b_rfm.shared_features import RIDGE, THRESHOLD
from gramian.experiments.claims import Null, between
from gramian.experiments.registry import Result, experiment
from gramian.report import style
from gramian.rfm.training.thresholded import select_columns

_CORNER = (1, 1)


@dataclass(frozen=True)
class MarkSizes:
    """Planes and trucks with a square of ``sizes`` rows and columns, white on trucks and black on planes; 0 is none."""

    data: str
    rows: int
    side: int
    sizes: tuple[int, ...]


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(4.2, 3.0)
    ax = figure.subplots()
    for record in records:
        share, kept = (100 * np.asarray(record["arrays"][key]) for key in ("share", "kept"))
        ax.semilogy(share, kept, "o", color=style.BLUE, markersize=4, alpha=0.7)
        ax.semilogy(share[1:], share[1:], "_", color=style.ORANGE, markersize=14)
    ax.set(xlabel="columns of the mark (%; 0 is no mark)", ylabel="columns kept (%)")
    ax.set_title("kept (dots), columns of the mark (dashes)", fontsize=9)
    style.declutter(ax, "both")


@experiment(
    "b/fig6-why",
    "B",
    "RFM-T keeps few columns where a small part decides, and many of the same pictures where none does",
    specs={
        "smoke": (MarkSizes("made", 30, 16, (0, 3)),),
        "small": (MarkSizes("cifar10", 200, 48, (0, 5, 10)),),
        "paper": (MarkSizes("cifar10", 200, 96, (0, 5, 10)),),
    },
    seeds={"small": 5, "paper": 5},
    claims=[
        *(
            between(
                f"ratio/{size}",
                0.8,
                1.1,
                "a mark decides alone, so that its columns and hardly any others are kept",
                label=f"Columns kept over columns of a square mark of {size} × {size} pixels",
                kind="side condition",
                null=Null(null, "28 % kept whatever decides, the mean of the four pairs of b/fig6"),
            )
            for size, null in ((5, 25.8), (10, 6.5))
        ),
    ],
    draw=_draw,
    cost=lambda spec: 4.0 * len(spec.sizes) * (spec.side / 48) ** 2 + 8,
)
def mark_sizes(spec: MarkSizes, seed: int) -> Result:
    """Train an RFM of one round for each size of the mark; return the share of columns above the threshold."""
    shares, kept = [], []
    for size in spec.sizes:
        rng = torch.Generator().manual_seed(seed)
        pictures = two_classes(spec.data, "train", (PLANE, TRUCK), (spec.rows, spec.rows), rng, spec.side)
        if size:
            pictures = mark_class(pictures, TRUCK, np.ones((size, size), bool), _CORNER, WHITE)
        X, Y, _ = tensors(pictures, (PLANE, TRUCK))
        with threads(1):
            *_, machine = learn(X, Y, RIDGE, 1)
        kept.append(float(select_columns(machine.metric.diagonal(), THRESHOLD).double().mean()))
        shares.append(size**2 / spec.side**2)
    numbers = {f"kept/{size}": k for size, k in zip(spec.sizes, kept, strict=True)}
    numbers |= {f"ratio/{size}": k / s for size, k, s in zip(spec.sizes, kept, shares, strict=True) if size}
    return Result(numbers, {"share": shares, "kept": kept})
