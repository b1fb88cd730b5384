"""Gradients of a machine by several workers: a sum over rows, so each takes some of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.pool import Pool
from gramian.rfm.machine import KernelMachine

_LEAST_ROWS = 512
"""Rows a worker should get: for fewer it costs more to ask."""
_MOST_PARTS = 32


@dataclass(frozen=True, eq=False)
class SpreadMachine:
    """A machine as an update sees it (:class:`gramian.features.updates.Source`), its moments summed by a pool.

    >>> from gramian.core.pool import Serial
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> operator = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]]))
    >>> machine = KernelMachine(operator, torch.ones(2, 1))
    >>> SpreadMachine(machine, Serial()).moments()[0]
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
        """``Σ g gᵀ``, mean gradient and total weight over the training rows, or some of them."""
        chosen = torch.arange(self.n) if rows is None else rows.cpu().sort().values
        parts = min(_MOST_PARTS, len(chosen) // _LEAST_ROWS)
        if parts < 2:
            return self.machine.moments(rows)
        found = dict(self.pool.run(_moments, self.machine, list(chosen.chunk(parts))))
        each = [found[i] for i in range(len(found))]  # in their order: the same sum, whoever is done first
        count = sum(weight for _, _, weight in each)
        mean = torch.stack([mean * weight for _, mean, weight in each]).sum(dim=0) / count
        return torch.stack([second for second, _, _ in each]).sum(dim=0), mean, count

    def fact(self) -> Float[Tensor, "d d"]:
        """The FACT matrix of the machine."""
        return self.machine.fact()

    def matrix(self) -> Float[Tensor, "d d"]:
        """The feature matrix M it was fitted with."""
        return self.machine.matrix()


def _moments(machine: KernelMachine, rows: Int[Tensor, " m"]) -> tuple[Tensor, Tensor, float]:
    return machine.moments(rows)
