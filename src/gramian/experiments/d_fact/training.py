"""Networks of paper D (appendix B): ReLU networks trained to interpolation with weight decay, and their measurement.

Training uses one thread on every computer: sums divided among threads round differently, and 200 epochs amplify the
difference. On one thread the fused SGD of torch is as fast as a hand-written loop, since matrix products dominate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gramian.core import pearson, threads
from gramian.experiments.d_fact.images import CLASSES, images
from gramian.features import fact_symmetric
from gramian.nets import InspectOptions, inspect

FORWARD = ("fact", "fact_polar", "agop", "agop_half", "enfa", "enfa_half")
"""Compared with ``WᵀW``: F, (F Fᵀ)^½, AGOP, AGOP^½, eNFA, eNFA^½."""
BACKWARD = ("bfact", "bfact_polar", "bagop", "bagop_half", "benfa", "benfa_half")
"""The corresponding matrices at the layer's output, compared with ``WWᵀ``."""


@dataclass(frozen=True)
class ImageTraining:
    """A network, its data and its training; the defaults are those of appendix B.

    ``hidden`` is the number of hidden layers, ``rows`` the number of images (None for all).
    """

    record_name: ClassVar[str] = "Training"

    data: str
    rows: int | None
    hidden: int = 3
    width: int = 1024
    weight_decay: float = 1e-4
    epochs: int = 200
    batch: int = 64
    rate: float = 0.1
    momentum: float = 0.9
    pool: int = 1


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained network, its training rows, and the mean loss of each epoch."""

    model: nn.Sequential
    X: Float[Tensor, "n d"]
    Y: Float[Tensor, "n c"]
    losses: tuple[float, ...]


def mlp(sizes: tuple[int, ...], rng: torch.Generator) -> nn.Sequential:
    """Make a ReLU network with torch's initialisation ``U(±1/√fan-in)`` of weights and biases, drawn from ``rng``.

    >>> mlp((4, 8, 2), torch.Generator().manual_seed(0))
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): ReLU()
      (2): Linear(in_features=8, out_features=2, bias=True)
    )
    """
    modules: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layer = nn.utils.skip_init(nn.Linear, fan_in, fan_out)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.uniform_(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in), generator=rng)
        modules += [layer, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def train(
    training: ImageTraining,
    seed: int,
    watch: Callable[[int, TrainedNetwork], None] | None = None,
) -> TrainedNetwork:
    """Train by SGD on the mean squared error (over rows and outputs), with a cosine schedule of the learning rate.

    Parameters
    ----------
    training : ImageTraining
    seed : int
        Seed of the rows, the weights and the order of the batches.
    watch : function, optional
        Called with the number of finished epochs (0 before the first) and the network at that time.

    >>> run = train(ImageTraining("digits", 64, hidden=1, width=16, epochs=2), seed=0)
    >>> len(run.losses), run.losses[1] < run.losses[0]
    (2, True)
    """
    rng = torch.Generator().manual_seed(seed)
    X, Y = images(training.data, training.rows, rng, training.pool)
    model = mlp((X.shape[1], *[training.width] * training.hidden, CLASSES), rng)
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=training.rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        fused=True,
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, training.epochs)
    losses: list[float] = []
    with threads(1), torch.enable_grad():
        for epoch in range(training.epochs):
            if watch is not None:
                watch(epoch, TrainedNetwork(model, X, Y, tuple(losses)))
            total = torch.zeros(())
            for rows in torch.randperm(len(X), generator=rng).split(training.batch):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(X[rows]), Y[rows])
                loss.backward()
                optimizer.step()
                total += loss.detach() * len(rows)
            schedule.step()
            losses.append(float(total) / len(X))
        trained = TrainedNetwork(model, X, Y, tuple(losses))
        if watch is not None:
            watch(training.epochs, trained)
    return trained


def correlations(
    trained: TrainedNetwork, weight_decay: float, layers: int | None = 1, *, backward: bool = False
) -> dict[str, tuple[float, ...]]:
    """Compute the Pearson correlation of each matrix of :data:`FORWARD` with ``WᵀW``, one value per layer.

    With ``backward`` also those of :data:`BACKWARD` with ``WWᵀ``. ``layers`` is the number of layers from the first;
    None takes all, the last included.

    >>> run = train(ImageTraining("digits", 64, hidden=1, width=16, epochs=2), seed=0)
    >>> found = correlations(run, 1e-4, layers=None, backward=True)
    >>> len(found), len(found["fact"])
    (12, 2)
    """
    names = [name for name, module in trained.model.named_modules() if isinstance(module, nn.Linear)][:layers]
    with threads(1):
        report = inspect(
            trained.model,
            (trained.X, trained.Y),
            "mse",
            layers=names,
            weight_decay=weight_decay,
            options=InspectOptions(geometry=False),
        )
        found: dict[str, list[float]] = {key: [] for key in FORWARD + (BACKWARD if backward else ())}
        for name in names:
            for key in found:
                base, _, how = key.partition("_")
                nfm = "bnfm" if key.startswith("b") else "nfm"
                if how == "polar":  # (F Fᵀ)^{1/2}, from the singular values
                    F = torch.from_numpy(report.matrix(name, base))
                    value = pearson(torch.from_numpy(report.matrix(name, nfm)), fact_symmetric(F))
                else:
                    value = report.similarity(name, nfm, base, power=0.5 if how == "half" else 1.0, measure="pearson")
                found[key].append(value)
    return {key: tuple(values) for key, values in found.items()}
