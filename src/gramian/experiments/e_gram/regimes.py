"""Fig. 8: the moving target in the rich and the lazy regime, on a staircase function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import threads
from gramian.datasets import staircase
from gramian.experiments import Claim, Null, Result, at_most, between, experiment, positive
from gramian.experiments.e_gram.small_nets import short
from gramian.report import style
from gramian.theory import MovingTarget, moving_target

_RIDGE = 0.01
_PARTS = {
    "gap": ("‖y − f*‖", style.BLUE),
    "chase": ("‖ŷ − f*‖", style.ORANGE),
    "error": ("‖y − ŷ‖", style.GREEN),
}


@dataclass(frozen=True)
class StaircaseTraining:
    """A network of one width on n rows of the staircase; full-batch gradient descent, measured every few epochs."""

    width: int
    n: int = 1000
    epochs: int = 2000
    every: int = 50
    rate: float = 0.01

    @property
    def name(self) -> str:
        """The width, and the number of rows where it is not the paper's."""
        return f"{self.width}" if self.n == 1000 else f"{self.width}, n = {self.n}"


def initial(spec: StaircaseTraining, d: int, rng: torch.Generator) -> list[Tensor]:
    """Draw ``W ~ N(0, 1/fan-in)`` for three layers without bias.

    >>> [tuple(W.shape) for W in initial(StaircaseTraining(4), 10, torch.Generator().manual_seed(0))]
    [(4, 10), (4, 4), (1, 4)]
    """
    shapes = ((spec.width, d), (spec.width, spec.width), (1, spec.width))
    return [(torch.randn(*shape, generator=rng) / shape[1] ** 0.5).requires_grad_() for shape in shapes]


def forward(weights: Sequence[Tensor], X: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n k"], Float[Tensor, "n 1"]]:
    """Return the features that the last layer reads, and the output divided by the root of the width."""
    H = X
    for W in weights[:-1]:
        H = torch.relu(H @ W.mT)
    return H, H @ weights[-1].mT / weights[-1].shape[1] ** 0.5


def train(spec: StaircaseTraining, seed: int) -> tuple[list[MovingTarget], float]:
    """Train by full-batch gradient descent on the mean squared error; return the measurements and ``‖y‖``.

    >>> splits, size = train(StaircaseTraining(8, n=20, epochs=4, every=2), seed=0)
    >>> len(splits), all(split.error <= split.bound * (1 + 1e-6) for split in splits)
    (3, True)
    """
    data = staircase(spec.n, seed=seed)
    X, y = torch.from_numpy(data.X).float(), torch.from_numpy(data.y).float()[:, None]
    weights = initial(spec, X.shape[1], torch.Generator().manual_seed(seed + 1_000_000))  # not the stream of the rows
    splits = []
    with threads(1), torch.enable_grad():
        for epoch in range(spec.epochs + 1):
            H, F = forward(weights, X)
            if epoch % spec.every == 0:
                splits.append(moving_target(H.detach(), y, F.detach(), _RIDGE))
            gradients = torch.autograd.grad((F - y).square().mean(), weights)
            with torch.no_grad():
                for W, gradient in zip(weights, gradients, strict=True):
                    W -= spec.rate * gradient
    return splits, float(y.norm())


def compare_widths(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return differences between widths, from the records of one seed."""
    numbers = {key: value for record in records for key, value in record["numbers"].items()}
    wanted = {
        "drop: 32 - 512": ("drop/32", "drop/512"),
        "drop: 128 - 512": ("drop/128", "drop/512"),
        "drop: 32 - 1024": ("drop/32", "drop/1024"),
        "error: 512 - 32": ("end/512", "end/32"),
        "error: 1024 - 32": ("end/1024", "end/32"),
        "drop: 32 - 256, n = 4000": ("drop/32, n = 4000", "drop/256, n = 4000"),
        "drop: 32 - 512, n = 4000": ("drop/32, n = 4000", "drop/512, n = 4000"),
    }
    return {key: numbers[a] - numbers[b] for key, (a, b) in wanted.items() if a in numbers and b in numbers}


_FIXED = Null(1.0, "features that stay as they are")
_BOTH, _PAPER = ("small", "paper"), ("paper",)


def _claims() -> Iterator[Claim]:
    for width, gap, chase in ((32, 0.76, 0.49), (128, 0.83, 0.61)):
        yield at_most(
            f"gap/{width}",
            0.9,
            f"“both terms decrease substantially”: by a tenth or more; in the authors' picture to {gap}",
            slack=0.05,
            label=f"Width {width}: ‖y − f*‖ at the end over that at the start",
            null=_FIXED,
        )
        yield at_most(
            f"chase/{width}",
            0.6,
            f"“both terms decrease substantially”: by two fifths or more; in the authors' picture to {chase}",
            slack=0.1,
            label=f"Width {width}: ‖ŷ − f*‖ at the end over that at the start",
            null=Null(0.73, "random features of width 32 with a trained readout"),
        )
    for few, many, equal, scales in ((32, 512, 0.145, _BOTH), (128, 512, 0.069, _BOTH), (32, 1024, 0.235, _PAPER)):
        yield positive(
            f"drop: {few} - {many}",
            "“as width grows, this gap flattens”: its decrease is smaller in the wider network, which has a smaller "
            "gap at the start, by more than an equal share of both gaps",
            label=f"Decrease of ‖y − f*‖/‖y‖, width {few} minus width {many}",
            scales=scales,
            null=Null(equal, "the same relative decrease at both widths"),
        )
    for many, scales in ((512, _BOTH), (1024, _PAPER)):
        yield positive(
            f"error: {many} - 32",
            "“the rich regime achieves a lower final” error",
            label=f"Final ‖y − ŷ‖/‖y‖, width {many} minus width 32",
            scales=scales,
        )
    yield at_most(
        "largest gap/1024",
        0.15,
        "ours, after “stays near zero throughout training”: the features of an untrained network pass, with 0.04 to "
        "0.05, since 1,024 columns fit 1,000 rows nearly",
        label="Width 1024: largest ‖y − f*‖/‖y‖ in training",
        kind="side condition",
        null=Null(0.8, "width 32 at the start, which has fewer features than rows"),
        scales=_PAPER,
    )
    yield at_most(
        "share/1024",
        0.15,
        "ours, after ‖ŷ − f*‖ “alone drives the decrease”: a term that is near zero from the start cannot decrease, "
        "with random features neither",
        label="Width 1024: decrease of ‖y − f*‖ over the decrease of ‖y − ŷ‖",
        kind="side condition",
        null=Null(0.5, "both terms decrease by as much; random features that do not move have 0 and pass"),
        scales=_PAPER,
    )
    for width in (32, 128, 512):
        yield between(
            f"excess/{width}",
            0.0,
            1e-5,
            "the triangle inequality, at the precision of float32",
            label=f"Width {width}: largest excess of ‖y − ŷ‖ over the sum of the two terms, relative",
            kind="proved identity",
            null=Null(0.1, "another decomposition"),
        )
    for width, equal, scales in ((256, 0.055, _BOTH), (512, 0.079, _PAPER)):
        yield positive(
            f"drop: 32 - {width}, n = 4000",
            "ours: with enough rows at both widths the decrease must still be smaller in the wider network if the "
            "wide one is lazy",
            label=f"n = 4,000: decrease of ‖y − f*‖/‖y‖, width 32 minus width {width}",
            kind="side condition",
            scales=scales,
            null=Null(equal, "the same relative decrease at both widths"),
        )


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    shown = [record for record in records if record["seed"] == 0]
    figure.set_size_inches(max(4.0, 2.2 * len(shown)), 3.0)
    axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for ax, record in zip(axes, shown, strict=True):
        spec = record["spec"]
        epochs = np.arange(len(record["arrays"]["gap"])) * spec["every"]
        for part, (label, colour) in _PARTS.items():
            ax.plot(epochs, record["arrays"][part], color=colour, label=label)
        ax.set_title(f"width {spec['width']:,}\n(n = {spec['n']:,})", fontsize=9)
        ax.set(xlabel="epoch")
        style.declutter(ax, "y")
    axes[0].set(ylabel="norm, relative to ‖y‖", ylim=(0, 1.35))
    axes[0].legend(fontsize=8, loc="upper right")


@experiment(
    "e/fig8",
    "E",
    "Lazy and rich regimes: a staircase function, the best linear predictor f* of the features, and width",
    specs={
        "smoke": (StaircaseTraining(8, n=100, epochs=100),),
        "small": (
            *(StaircaseTraining(width) for width in (32, 128, 512)),
            *(StaircaseTraining(width, n=4000) for width in (32, 256)),
        ),
        "paper": (
            *(StaircaseTraining(width) for width in (32, 128, 512, 1024)),
            *(StaircaseTraining(width, n=4000) for width in (32, 256, 512)),
        ),
    },
    seeds={"small": 5, "paper": 5},
    claims=[*_claims()],
    draw=_draw,
    derive=compare_widths,
    cost=lambda spec: 2e-10 * spec.epochs * spec.n * spec.width * (spec.width + 200),
)
def regimes(spec: StaircaseTraining, seed: int) -> Result:
    """Train one width; return the parts of the error over training, relative to the targets' norm."""
    splits, size = train(spec, seed)
    parts = {part: np.array([getattr(split, part) for split in splits]) / size for part in _PARTS}
    excess = max(split.error / split.bound - 1 for split in splits)
    drops = {part: float(values[0] - values[-1]) for part, values in parts.items()}
    numbers = {
        "gap": float(parts["gap"][-1] / parts["gap"][0]),
        "chase": float(parts["chase"][-1] / parts["chase"][0]),
        "drop": drops["gap"],
        "share": drops["gap"] / drops["error"],
        "end": float(parts["error"][-1]),
        "largest gap": float(parts["gap"].max()),
        "excess": max(0.0, excess),
    }
    arrays = {part: short(values.tolist()) for part, values in parts.items()}
    return Result({f"{key}/{spec.name}": value for key, value in numbers.items()}, arrays)
