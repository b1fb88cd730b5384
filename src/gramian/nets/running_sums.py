"""The sums of one layer while the batches are read."""

from __future__ import annotations

import torch
from torch import Tensor

from gramian.nets.layer_forms import Layer
from gramian.nets.moments import FirstMoment, Probes, SecondMoment, choose_side, make_probes
from gramian.nets.options import InspectOptions


class RunningSums:
    """The running sums of one layer."""

    def __init__(
        self,
        layer: Layer,
        options: InspectOptions,
        rng: torch.Generator,
        *,
        halves: int,
        means: int | None,
        loss: bool,
        change: bool,
    ):
        W = layer.weight_matrix()
        g, m, k = W.shape
        side = choose_side(m, k, g, options.max_dim)
        probes: Probes | None = make_probes(m, k, options.sketch, rng) if side == "sketch" else None
        self.probes = probes
        self.agop = tuple(SecondMoment(W, side, probes) for _ in range(halves))
        self.mean = None if means is None else FirstMoment(means, g, m)
        self.loss = SecondMoment(W, side, probes) if loss else None
        self.change = SecondMoment(W, "output") if change and side == "output" else None
        self.gradient: Tensor | None = None
        self.rows = 0
        self.reached = False

    def moments(self) -> list[SecondMoment]:
        """All sums of squares that are measured."""
        return [moment for moment in (*self.agop, self.loss, self.change) if moment is not None]
