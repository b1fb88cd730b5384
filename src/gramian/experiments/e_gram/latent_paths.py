"""Fig. 5: interpolation in the latent space of a β-VAE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from gramian.experiments import Null, Result, at_least, experiment, negative
from gramian.experiments.e_gram.generation import (
    BETAS,
    COLOURS,
    NO_ORDER,
    SMALL,
    SMALL_RATE,
    VAETraining,
    better_than_mean,
    by_beta,
    estimate_seconds,
    small_images,
    train_and_measure,
    training_specs,
)
from gramian.experiments.e_gram.image_rows import ImageData, ImageRows
from gramian.experiments.e_gram.trends import kendall
from gramian.experiments.e_gram.vae import interpolation_error
from gramian.report import style

_DIGITS = (2, 8)
"""Classes between which Fig. 5 interpolates."""


def mean_image_error(rows: ImageRows, first: Tensor, second: Tensor, weights: Tensor) -> float:
    """Return the mean squared error between the mean image and mixtures of pictures: interpolation by a constant."""
    mean = rows.X.mean(0)
    return float(np.mean([float((mean - ((1 - w) * first + w * second)).square().mean()) for w in weights]))


def ends_and_middle(curve: Sequence[float]) -> tuple[float, float]:
    """Return the mean of the two ends of a curve, and of its middle: one value, or two if their number is even.

    >>> ends_and_middle([1.0, 5.0, 7.0, 3.0])
    (2.0, 6.0)
    """
    last = len(curve) - 1
    return (curve[0] + curve[-1]) / 2, (curve[last // 2] + curve[-(-last // 2)]) / 2


def compare_interpolations(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return orders over target linearity and over β, of the networks that beat the mean image (:func:`compare_betas`).

    At its ends an interpolation is a reconstruction. In the middle it is not, but even a linear decoder has a lower
    error there: its two residuals average out. So the middle is compared between networks, and not with the ends.
    """
    data = records[0]["spec"]["data"]["name"] if records else ""
    linearity, error = (by_beta(records, data, key) for key in ("TL", "interpolation"))
    if set(linearity) != set(BETAS):
        return {}
    learned = better_than_mean(records, data)
    found = {"better": float(len(learned))}
    if len(learned) > 1:
        curves = {record["spec"]["beta"]: record["arrays"]["interpolation"] for record in records}
        parts = [ends_and_middle(curves[beta]) for beta in learned]
        TL, errors = [linearity[beta] for beta in learned], [error[beta] for beta in learned]
        found["error/order"] = kendall(learned, errors)
        found["error and TL"] = kendall(TL, errors)
        found["ends and TL"] = kendall(TL, [ends for ends, _ in parts])
        found["middle and TL"] = kendall(TL, [middle for _, middle in parts])
    return found


def _draw_interpolations(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(8.2, 3.0)
    left, right = figure.subplots(1, 2)
    betas = sorted({record["spec"]["beta"] for record in records})
    for beta, colour in zip(betas, COLOURS, strict=False):
        chosen = [record["arrays"] for record in records if record["spec"]["beta"] == beta]
        mean = np.mean([arrays["interpolation"] for arrays in chosen], axis=0)
        left.plot(chosen[0]["weights"], mean, color=colour, label=f"β = {beta:g}")
        points = np.array([[arrays["linearity"][-1], np.mean(arrays["interpolation"])] for arrays in chosen])
        right.plot(points[:, 0], points[:, 1], "o", color=colour, markersize=4)
    left.set(xlabel="mixing weight", ylabel="error of the interpolation", title="from 2 to 8")
    left.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    right.set(xlabel="target linearity of μ(x)", ylabel="mean error of the interpolation")
    for ax in (left, right):
        ax.set_ylim(bottom=0)
        style.declutter(ax, "y")


@experiment(
    "e/fig5",
    "E",
    "Interpolation in the latent space of a β-VAE: its error at the ends and in the middle, and target linearity",
    specs={
        "smoke": training_specs(
            {ImageData("digits", 200, 100): 4}, (0.05, 10.0), width=16, latent=4, rate=1e-3, points=3
        ),
        "small": training_specs({small_images("mnist"): 12}, **SMALL | {"points": 2}),
        "paper": training_specs({ImageData("mnist"): 10}, points=2),
    },
    seeds={"small": 5, "paper": 3},
    claims=[
        negative(
            "middle and TL",
            "“whenever … the latent code admits high TL with respect to the inputs, the decoder can interpolate "
            "linearly”: the higher TL, the nearer is the picture half-way to the mixture; random projections with a "
            "least-squares decoder have this order too",
            label="order over target linearity of the error half-way between two pictures, of the β that beat the mean "
            "image",
            scales=("paper",),
            kind="side condition",
        ),
        negative(
            "ends and TL",
            "ours: at the ends nothing is interpolated, so that this order is that of reconstruction errors",
            label="order over target linearity of the error at the two ends, of the β that beat the mean image",
            scales=("paper",),
            kind="side condition",
        ),
        negative(
            "error and TL",
            "ours: the mean over mixing weights follows the ends, and says nothing about the linearity of the path",
            label="order over target linearity of the mean interpolation error, of the β that beat the mean image",
            scales=("paper",),
            kind="side condition",
        ),
        at_least(
            "error/order",
            0.6,
            "ours: target linearity falls with β (B.6), so the error rises; three of 15 pairs reversed: 0.6",
            slack=0.2,
            label="order of the interpolation error over the β that beat the mean image",
            scales=("paper",),
            null=NO_ORDER,
            kind="side condition",
        ),
        at_least(
            "better",
            5,
            "ours: as in e/fig10, an order over β compares networks that have learned",
            label="number of the six β whose interpolation error is below that of the mean image",
            scales=("paper",),
            kind="side condition",
            null=Null(0.0, "networks that have learned nothing but the mean image"),
        ),
    ],
    version=2,
    small_setting=SMALL_RATE,
    draw=_draw_interpolations,
    derive=compare_interpolations,
    cost=estimate_seconds,
)
def interpolation(spec: VAETraining, seed: int) -> Result:
    """Train a β-VAE, and interpolate between test pictures of two classes."""
    vae, rows, found = train_and_measure(spec, seed)
    first, second = (rows.X_test[rows.y_test == digit] for digit in _DIGITS)
    pairs = min(len(first), len(second))
    weights = torch.linspace(0, 1, 10)
    errors = interpolation_error(vae, first[:pairs], second[:pairs], weights)
    error = float(np.mean(errors))
    structure = 1 - error / mean_image_error(rows, first[:pairs], second[:pairs], weights)
    numbers = {"TL": found["linearity"][-1], "interpolation": error, "structure": structure}
    arrays = {"weights": weights.tolist(), "interpolation": errors, "linearity": found["linearity"]}
    return Result({f"{spec.data.name}/{spec.beta:g}/{key}": value for key, value in numbers.items()}, arrays)
