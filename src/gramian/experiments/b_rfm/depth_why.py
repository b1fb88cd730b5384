"""Test of an explanation of Fig. 10, where the kernel on W₁ᵀW₁ is behind the networks: its lead along training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gramian.core import threads
from gramian.experiments import Result, experiment, positive
from gramian.experiments.b_rfm.depth import DepthSweep, depth_rows
from gramian.experiments.b_rfm.low_rank_fits import first_gram, network, r2, share
from gramian.experiments.b_rfm.machines import ridge_fit
from gramian.experiments.stacked import Descent, Stack
from gramian.kernels import as_metric
from gramian.report import style


@dataclass(frozen=True)
class AlongTraining:
    """The first depth of a sweep, and the numbers of epochs after which its network is looked at."""

    sweep: DepthSweep
    epochs: tuple[int, ...]


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(4.8, 3.2)
    ax = figure.subplots()
    epochs = records[0]["spec"]["epochs"]
    for key, words, colour in (
        ("nn", "network", style.ORANGE),
        ("train", "network, training rows", style.GREY),
        ("laplace+w", "Laplace + W₁ᵀW₁", style.PURPLE),
    ):
        values = np.array([[record["numbers"][f"{key}/{e}"] for e in epochs] for record in records])
        ax.errorbar(epochs, values.mean(0), values.std(0), fmt="o-", color=colour, capsize=2, label=words, markersize=4)
    ax.set(xscale="log", xlabel="epochs", ylabel="R²")
    ax.set_xticks(epochs, [str(e) for e in epochs])
    ax.set_xticks([], minor=True)
    ax.legend(frameon=False, fontsize=8)
    style.finish(ax, "y")


_SMALL = AlongTraining(DepthSweep(True, 20, (2,), 256), (10, 30, 100))


@experiment(
    "b/fig10-why",
    "B",
    "Explanation of Fig. 10 at depth 2: the kernel on W₁ᵀW₁ leads early in training, and the network overtakes it",
    specs={
        "smoke": (AlongTraining(DepthSweep(True, 6, (2,), 16, n=80, epochs=4), (2, 4)),),
        "small": (_SMALL,),
        "paper": (),
    },
    seeds={"small": 5},
    claims=[
        positive(
            "lead/10",
            "if the sign depends on how far the network is trained, the kernel leads after a tenth of the epochs",
            label="Depth 2, after 10 epochs: test R² of Laplace + W₁ᵀW₁ minus the network",
            kind="side condition",
            scales=("small",),
        ),
        positive(
            "fall",
            "if the sign depends on how far the network is trained, the lead falls as training continues",
            label="Depth 2: lead of Laplace + W₁ᵀW₁ after 10 epochs minus that after 100",
            kind="side condition",
            scales=("small",),
        ),
    ],
    draw=_draw,
    cost=lambda spec: 3 + spec.sweep.epochs * spec.sweep.n / spec.sweep.batch * 1e-3,
)
def along_training(spec: AlongTraining, seed: int) -> Result:
    """Train one network on batches; return R² of it and of the kernel on its first layer along training."""
    sweep = spec.sweep
    X, Y, X_test, Y_test = depth_rows(sweep, seed)
    numbers: dict[str, float] = {}

    def watch(epoch: int, stack: Stack) -> None:
        gram = first_gram(stack)
        machine = ridge_fit(X, Y, metric=as_metric(gram))
        numbers[f"nn/{epoch}"] = r2(stack.outputs(X_test.float())[0], Y_test)
        numbers[f"train/{epoch}"] = r2(stack.outputs(X.float())[0], Y)
        numbers[f"laplace+w/{epoch}"] = r2(machine.predict(X_test, batch_invariant=False), Y_test)
        numbers[f"lead/{epoch}"] = numbers[f"laplace+w/{epoch}"] - numbers[f"nn/{epoch}"]
        numbers[f"share/{epoch}"] = share(gram, 4)

    with threads(1):
        network(
            X, Y, (sweep.width,) * sweep.depths[0], Descent(sweep.rate), epochs=sweep.epochs, seed=seed,
            first_std=1e-3, batch=sweep.batch, watch=watch, watch_at=spec.epochs,
        )  # fmt: skip
    numbers["fall"] = numbers[f"lead/{min(spec.epochs)}"] - numbers[f"lead/{max(spec.epochs)}"]
    return Result(numbers)
