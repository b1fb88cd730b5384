"""Fig. 10: target linearity of the latent space of a β-VAE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.experiments import Claim, Null, Result, at_least, at_most, experiment, positive
from gramian.experiments.e_gram.image_rows import NAMES, ImageData, ImageRows, image_rows
from gramian.experiments.e_gram.trends import kendall, measured_epochs
from gramian.experiments.e_gram.vae import (
    BetaVAE,
    latent_linearity,
    reconstruction_error,
    train_vae,
)
from gramian.report import style

BETAS = (0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
_LOW, _HIGH = (0.05, 0.1), (1.0, 5.0, 10.0)
COLOURS = (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.PURPLE, style.GREY)
NO_ORDER = Null(0.0, "no order")


@dataclass(frozen=True)
class VAETraining:
    """A β-VAE, its images and its training; the defaults are those of B.6."""

    data: ImageData
    beta: float
    width: int = 512
    latent: int = 32
    rate: float = 1e-4
    epochs: int = 10
    batch: int = 128
    points: int = 11
    measured: int = 10_000


def train_and_measure(spec: VAETraining, seed: int) -> tuple[BetaVAE, ImageRows, dict[str, Any]]:
    """Train, and return the model, its images, and by epoch target linearity and the error of test images."""
    rng = torch.Generator().manual_seed(seed)
    rows = image_rows(spec.data, rng)
    vae = BetaVAE(rows.X.shape[1], spec.width, spec.latent, rng)
    epochs = measured_epochs(spec.epochs, spec.points)
    found: dict[str, Any] = {"epochs": epochs, "linearity": [], "error": []}

    def watch(epoch: int) -> None:
        if epoch in epochs:
            found["linearity"].append(latent_linearity(vae, rows.X[: spec.measured]))
            found["error"].append(reconstruction_error(vae, rows.X_test))

    train_vae(vae, rows.X, beta=spec.beta, rate=spec.rate, epochs=spec.epochs, batch=spec.batch, rng=rng, watch=watch)
    return vae, rows, found


def by_beta(records: Sequence[Mapping[str, Any]], data: str, key: str) -> dict[float, float]:
    """Return a number of one data set by β."""
    of_set = {r["spec"]["beta"]: r["numbers"] for r in records if r["spec"]["data"]["name"] == data}
    return {beta: of_set[beta][f"{data}/{beta:g}/{key}"] for beta in sorted(of_set)}


def better_than_mean(records: Sequence[Mapping[str, Any]], data: str) -> list[float]:
    """Return the β whose error is below that of the mean image: the others have not learned, whatever their order."""
    return [beta for beta, structure in by_beta(records, data, "structure").items() if structure > 0]


def compare_betas(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the orders of target linearity and error over β, and the difference of their growth, by data set.

    An order is that of the networks which are better than the mean image; ``better`` is their number.
    """
    found: dict[str, float] = {}
    for data in dict.fromkeys(record["spec"]["data"]["name"] for record in records):
        linearity, error, rise = (by_beta(records, data, key) for key in ("TL", "error", "rise"))
        if set(linearity) == set(BETAS):
            learned = better_than_mean(records, data)
            found[f"{data}/better"] = float(len(learned))
            found[f"{data}/rise"] = rise[0.05] - rise[5.0]
            if len(learned) > 1:
                found[f"{data}/TL/order"] = kendall(learned, [linearity[beta] for beta in learned])
                found[f"{data}/error/order"] = kendall(learned, [error[beta] for beta in learned])
    return found


def _draw_betas(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    sets = list(dict.fromkeys(record["spec"]["data"]["name"] for record in records))
    betas = sorted({record["spec"]["beta"] for record in records})
    figure.set_size_inches(3.4 * len(sets) + 1.2, 5.2)
    axes = figure.subplots(2, len(sets), squeeze=False, sharex="col")
    for at, data in enumerate(sets):
        for beta, colour in zip(betas, COLOURS, strict=False):
            chosen = [r["arrays"] for r in records if r["spec"]["data"]["name"] == data and r["spec"]["beta"] == beta]
            for row, key in enumerate(("linearity", "error")):
                mean = np.mean([arrays[key] for arrays in chosen], axis=0)
                axes[row, at].plot(chosen[0]["epochs"], mean, color=colour, label=f"β = {beta:g}")
        axes[0, at].set_title(NAMES[data])
        axes[1, at].set_xlabel("epoch")
        for row in (0, 1):
            axes[row, at].set_ylim(bottom=0)
            style.declutter(axes[row, at], "y")
    axes[0, 0].set_ylabel("target linearity of μ(x)")
    axes[1, 0].set_ylabel("reconstruction error")
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1, 0.5))


def _beta_claims() -> Iterator[Claim]:
    for data in ("mnist", "cifar10"):
        name = NAMES[data]
        # At small most networks on MNIST are worse than the mean image, so that they are not compared there.
        scales = ("paper",) if data == "mnist" else ("small", "paper")
        yield at_most(
            f"{data}/TL/order",
            -0.6,
            "“lower β values … exhibit higher TL”; three reversed pairs of 15 give −0.6",
            slack=0.2,
            label=f"{name}: order of target linearity over the β that beat the mean image",
            scales=scales,
            null=NO_ORDER,
        )
        yield at_least(
            f"{data}/error/order",
            0.6,
            "lower values of β “achieve significantly lower reconstruction errors”; three of 15 pairs reversed: 0.6",
            slack=0.2,
            label=f"{name}: order of the reconstruction error over the β that beat the mean image",
            scales=scales,
            null=NO_ORDER,
        )
        yield at_least(
            f"{data}/better",
            5,
            "ours: an order over β compares networks that have learned; one of six may collapse to the mean image",
            label=f"{name}: number of the six β whose reconstruction error is below that of the mean image",
            kind="side condition",
            null=Null(0.0, "networks that have learned nothing but the mean image"),
        )
        for beta in _LOW:
            yield at_least(
                f"{data}/{beta:g}/steady",
                0.8,
                "“for low β values (0.05, 0.1), TL steadily increases throughout training”: one pair in ten reversed",
                slack=0.2,
                label=f"{name}, β = {beta:g}: order of target linearity over epochs, from the first",
                null=NO_ORDER,
            )
        for beta in _HIGH:
            yield at_least(
                f"{data}/{beta:g}/rise",
                -0.01,
                "“moderate to high values (1.0, 5.0, 10.0) maintain relatively stable or slightly increasing TL”: a "
                "fall by at most a hundredth",
                label=f"{name}, β = {beta:g}: increase of target linearity after the first measurement",
                scales=scales,
                null=Null(-0.027, "MNIST, β = 0.05, at small: neither stable nor increasing"),
            )
        yield positive(
            f"{data}/rise",
            "ours: linearity “steadily increases” for low β and is “relatively stable” for high ones, so that it rises "
            "more for low ones",
            label=f"{name}: increase of target linearity after the first measurement, β = 0.05 minus β = 5",
            scales=scales,
            kind="side condition",
        )


def estimate_seconds(spec: VAETraining) -> float:
    """Estimate the duration from the operations of a row, and of a measurement."""
    rows = spec.data.rows or 55_000
    pixels = (784 if spec.data.name == "mnist" else 3072) / spec.data.pool**2
    weights = 2 * (pixels * spec.width + spec.width**2 + 2 * spec.width * spec.latent)
    measurement = 2 * min(rows, spec.measured) * pixels**2 / 1.5e10
    return 6 * weights * rows * spec.epochs / 3e10 + spec.points * measurement


def training_specs(
    data: Mapping[ImageData, int], betas: Sequence[float] = BETAS, **more: Any
) -> tuple[VAETraining, ...]:
    """Return a training for every β on each set of images, with its number of epochs."""
    return tuple(VAETraining(images, beta, epochs=epochs, **more) for images, epochs in data.items() for beta in betas)


SMALL: dict[str, Any] = {"width": 128, "rate": 1e-3, "measured": 2000}
SMALL_RATE = "rate 0.001 in place of 0.0001"


def small_images(name: str) -> ImageData:
    """Return the images of the scale small: 3,000 rows, averaged over squares of 2 × 2 pixels."""
    return ImageData(name, 3000, 1000, pool=2)


@experiment(
    "e/fig10",
    "E",
    "β-VAE: target linearity of the latent space falls and the reconstruction error rises with β",
    specs={
        "smoke": training_specs(
            {ImageData("digits", 200, 50): 4}, (0.05, 10.0), width=16, latent=4, rate=1e-3, points=3
        ),
        "small": training_specs({small_images("mnist"): 12, small_images("cifar10"): 12}, **SMALL),
        "paper": training_specs({ImageData("mnist"): 10, ImageData("cifar10"): 30}),
    },
    seeds={"small": 5, "paper": 3},
    claims=[*_beta_claims()],
    small_setting=SMALL_RATE,
    draw=_draw_betas,
    derive=compare_betas,
    cost=estimate_seconds,
)
def latent_space(spec: VAETraining, seed: int) -> Result:
    """Train a β-VAE and measure its latent space along the way."""
    _, rows, found = train_and_measure(spec, seed)
    epochs, linearity = np.array(found["epochs"]), np.array(found["linearity"])
    variance = float((rows.X_test - rows.X.mean(0)).square().mean())
    numbers = {
        "TL": linearity[-1],
        "TL at start": linearity[0],
        "rise": linearity[-1] - linearity[1],
        "steady": kendall(epochs[1:], linearity[1:]),
        "error": found["error"][-1],
        "structure": 1 - found["error"][-1] / variance,
    }
    return Result({f"{spec.data.name}/{spec.beta:g}/{key}": float(value) for key, value in numbers.items()}, found)
