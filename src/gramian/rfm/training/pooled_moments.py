"""Moments of a machine's gradients, summed by the workers of a pool: each takes some of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.pool import Pool
from gramian.rfm.machine import KernelMachine

_MIN_ROWS = 512
"""Rows of a worker's part, at least: for fewer rows the transfer costs more than the sum."""
_MAX_PARTS = 32


@dataclass(frozen=True, eq=False)
class PooledMachine:
    """A machine as an update sees it (:class:`gramian.features.updates.Source`), its moments summed by a pool.

    >>> from gramian.core.pool import Serial
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> operator = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]]))
    >>> PooledMachine(KernelMachine(operator, torch.ones(2, 1)), Serial()).moments()[0]
    tensor([[0.7358]], dtype=torch.float64)
    """

    machine: KernelMachine
    pool: Pool

    @property
    def n(self) -> int:
        """Number of training rows."""
        return self.machine.n

    def moments(
        self, rows: Int[Tensor, " m"] | None = None
    ) -> tuple[Float[Tensor, "d d"], Float[Tensor, "c d"], float]:
        """Return ``Σ g gᵀ``, mean gradient and total weight over the training rows, or some of them."""
        selected = torch.arange(self.n) if rows is None else rows.cpu().sort().values
        parts = min(_MAX_PARTS, len(selected) // _MIN_ROWS)
        if parts < 2:
            return self.machine.moments(rows)
        found = dict(self.pool.run(_moments, self.machine, list(selected.chunk(parts))))
        each = [found[i] for i in range(len(found))]  # summed in order, whichever part is finished first
        count = sum(weight for _, _, weight in each)
        mean = torch.stack([mean * weight for _, mean, weight in each]).sum(dim=0) / count
        return torch.stack([second for second, _, _ in each]).sum(dim=0), mean, count

    def few_gradients(
        self, rows: Int[Tensor, " m"] | None = None
    ) -> tuple[Float[Tensor, "m c d"], Float[Tensor, " m"]] | None:
        """Return the gradients themselves, where they are few; they are computed here."""
        return self.machine.few_gradients(rows)

    def fact(self) -> Float[Tensor, "d d"]:
        """Return the FACT matrix of the machine."""
        return self.machine.fact()

    def matrix(self) -> Float[Tensor, "d d"]:
        """Return the feature matrix M the machine was fitted with."""
        return self.machine.matrix()


def _moments(machine: KernelMachine, rows: Int[Tensor, " m"]) -> tuple[Tensor, Tensor, float]:
    return machine.moments(rows)
