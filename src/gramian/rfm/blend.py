"""A weighted average of kernel machines on the same rows: what the estimators predict with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.rfm.machine import KernelMachine, sampled_agop
from gramian.rfm.tree import TreeMachine


@dataclass(frozen=True, eq=False)
class Blend:
    """``f(x) = Σ_k share_k f_k(x)``, the shares summing to 1. One machine is a blend of itself.

    All machines stand on the same rows, so the prediction is still one sum over training rows:
    ``f(x) = Σⱼ Σ_k share_k α_kj k_k(x, xⱼ)``.

    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> one = KernelMachine(KernelOperator(Gaussian(1.0), torch.zeros(1, 1)), torch.ones(1, 1))
    >>> Blend((one, one), (0.25, 0.75)).predict(torch.zeros(1, 1))
    tensor([[1.]], dtype=torch.float64)
    """

    machines: tuple[KernelMachine | TreeMachine, ...]
    shares: tuple[float, ...]

    @property
    def best(self) -> KernelMachine | TreeMachine:
        """The machine that was best on held-out rows: the first."""
        return self.machines[0]

    def mean(self, part: Callable[[KernelMachine | TreeMachine], Tensor]) -> Tensor:
        """``Σ_k share_k part(machine_k)``, for anything that is linear in the machines."""
        parts = [share * part(machine) for machine, share in zip(self.machines, self.shares, strict=True)]
        return torch.stack(parts).sum(dim=0)

    def predict(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m c"]:
        """``f(X)``; each row is the same whatever batch it is in."""
        return self.mean(lambda machine: machine.predict(X))

    def gradient(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m c d"]:
        """``∂f_c/∂x`` at new rows."""
        return self.mean(lambda machine: machine.gradient(X))

    def row_parts(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m n c"]:
        """What each training row adds to ``f(X)``; the sum over rows is the prediction."""
        return self.mean(lambda machine: machine.row_parts(X))

    @cached_property
    def agop(self) -> Float[Tensor, "d d"]:
        """Average gradient outer product of f over the training rows; of a blend, over at most 2,000 random ones."""
        first = self.machines[0]
        if len(self.machines) == 1:
            return first.agop
        return sampled_agop(self.gradient, first.X, first.weights)

    def __getstate__(self) -> dict[str, object]:
        return {"machines": self.machines, "shares": self.shares}
