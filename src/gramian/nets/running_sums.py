"""The sums of one layer while the batches are read."""

from __future__ import annotations

import torch
from torch import Tensor

from gramian.nets.layer_forms import Layer
from gramian.nets.moments import FirstMoment, Probes, SecondMoment, choose_side, make_probes
from gramian.nets.options import KERNEL_COLUMNS, LOSS_COLUMNS, InspectOptions


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
        initial: Tensor | None = None,
    ):
        W = layer.weight_matrix()
        g, m, k = W.shape
        side = choose_side(m, k, g, options.max_dim, kernel=options.wants(*KERNEL_COLUMNS))
        probes: Probes | None = make_probes(m, k, options.sketch, rng) if side == "sketch" else None
        self.probes = probes
        self.agop = tuple(SecondMoment(W, side, probes) for _ in range(halves))
        self.mean = None if means is None else FirstMoment(means, g, m)
        self.loss = SecondMoment(W, side, probes) if loss and options.wants(*LOSS_COLUMNS) else None
        self.change: SecondMoment | None = None
        self.untrained: SecondMoment | None = None
        if initial is not None and side == "output" and options.wants("centered"):
            self.change = SecondMoment(W, "output")
        if initial is not None and side != "sketch" and options.wants("untrained"):
            self.untrained = SecondMoment(initial.to(W), side)
        self.gradient: Tensor | None = None
        self.rows = 0
        self.reached = False

    def add_output(
        self, output: int, half: int, rows: list[Tensor], initial: list[Tensor] | None, *, paired: bool
    ) -> None:
        """Add the gradients of one output, or of one projection, and those with the initial weights.

        Where rows are ``paired`` with those of the initial weights, their change is added too.
        """
        for D in rows:
            self.agop[half].add(D)
            if self.mean is not None:
                self.mean.add(output, D)
        for D in initial or ():
            if self.untrained is not None:
                self.untrained.add(D)
        if initial is not None and paired and self.change is not None:
            for D, D0 in zip(rows, initial, strict=True):
                self.change.add(D - D0)
        self.reached |= bool(rows)

    def add_loss(self, rows: list[Tensor]) -> None:
        """Add the gradients of the loss."""
        if self.loss is not None:
            for D in rows:
                self.loss.add(D)

    def moments(self) -> list[SecondMoment]:
        """All sums of squares that are measured."""
        return [moment for moment in (*self.agop, self.loss, self.change, self.untrained) if moment is not None]
