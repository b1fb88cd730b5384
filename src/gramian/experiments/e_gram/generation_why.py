"""Explanation of a difference in Fig. 10: the latent space of a β-VAE with low β in a longer training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from gramian.experiments import Null, Result, at_least, experiment, positive
from gramian.experiments.e_gram.generation import VAETraining, estimate_seconds, train_and_measure
from gramian.experiments.e_gram.image_rows import NAMES, ImageData
from gramian.experiments.e_gram.trends import kendall
from gramian.report import style

_TIMES = 8
"""Steps of these trainings, as a multiple of those of e/fig10."""
_IN_FIG10 = {"mnist": -0.7, "cifar10": 0.4}
"""Orders of target linearity over epochs in e/fig10 at small, with β = 0.05."""


def late_part(epochs: Sequence[int], linearity: Sequence[float]) -> dict[str, float]:
    """Return order and rise of target linearity after the first eighth of the epochs.

    >>> late_part([0, 1, 2, 4, 8], [0.9, 0.1, 0.2, 0.3, 0.4])["order"]
    1.0
    """
    first = next(at for at, epoch in enumerate(epochs) if epoch * _TIMES >= epochs[-1])
    after, values = epochs[first:], linearity[first:]
    return {
        "order": kendall(after, values),
        "rise": float(values[-1] - values[0]),
        "over start": float(values[-1] - linearity[0]),
    }


def _draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    sets = list(dict.fromkeys(record["spec"]["data"]["name"] for record in records))
    figure.set_size_inches(3.6 * len(sets), 2.9)
    for ax, data in zip(figure.subplots(1, len(sets), squeeze=False, sharey=True)[0], sets, strict=True):
        chosen = [record["arrays"] for record in records if record["spec"]["data"]["name"] == data]
        for arrays in chosen:
            ax.plot(arrays["epochs"], arrays["linearity"], color=style.BLUE, linewidth=1.0)
        ax.axvline(chosen[0]["epochs"][-1] / _TIMES, color=style.GREY, linewidth=0.8, linestyle=":")
        ax.set(xlabel="epoch (dotted: steps of e/fig10)", ylabel="target linearity of μ(x)", title=NAMES[data])
        style.declutter(ax, "y")


def _small(name: str) -> VAETraining:
    return VAETraining(
        ImageData(name, 1000, 500, pool=2), 0.05, width=128, rate=1e-3, epochs=288, points=17, measured=1000
    )


@experiment(
    "e/fig10-why",
    "E",
    "Explanation of target linearity at low β, which does not rise steadily: a training with eight times the steps",
    specs={
        "smoke": (VAETraining(ImageData("digits", 200, 50), 0.05, width=16, latent=4, rate=1e-3, epochs=8, points=9),),
        "small": (_small("mnist"), _small("cifar10")),
        "paper": (
            VAETraining(ImageData("mnist"), 0.05, epochs=80, points=17),
            VAETraining(ImageData("cifar10"), 0.05, epochs=240, points=17),
        ),
    },
    seeds={"small": 5, "paper": 3},
    claims=[
        claim
        for data, found in _IN_FIG10.items()
        for claim in (
            at_least(
                f"{data}/order",
                0.8,
                "if e/fig10 has too few steps, linearity rises steadily after them; the bound is that of e/fig10",
                slack=0.2,
                label=f"{NAMES[data]}, β = 0.05: order of target linearity over epochs, after the steps of e/fig10",
                kind="side condition",
                null=Null(found, "as within the steps of e/fig10"),
            ),
            positive(
                f"{data}/rise",
                "if e/fig10 has too few steps, linearity is higher after eight times as many",
                label=f"{NAMES[data]}, β = 0.05: target linearity at the end minus that after the steps of e/fig10",
                kind="side condition",
                null=Null({"mnist": 0.032, "cifar10": 0.0}[data], "the untrained encoder, or no change"),
            ),
        )
    ],
    draw=_draw,
    cost=estimate_seconds,
)
def longer_training(spec: VAETraining, seed: int) -> Result:
    """Train a β-VAE as in e/fig10 with eight times the steps, and look at the part after the steps of e/fig10."""
    _, _, found = train_and_measure(spec, seed)
    numbers = late_part(found["epochs"], found["linearity"])
    return Result({f"{spec.data.name}/{key}": value for key, value in numbers.items()}, found)
