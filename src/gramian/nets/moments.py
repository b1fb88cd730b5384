"""Streamed sums over the rows of a layer, in float64: memory does not grow with the number of samples.

A batch is summed in the model's own precision (float32 products are fast), batches are added in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Side = Literal["output", "input", "sketch"]

BUFFER_ROWS = 2048  # rows gathered before a product: one long product is faster than many short ones


@dataclass(frozen=True)
class Probes:
    """Random directions for a layer too wide for dense matrices: Ω (k, q) on its input side, Ω' (m, q) on its output.

    ``A Ω`` is stored instead of A: ``⟨A, B⟩`` is estimated without bias by ``(1/q) Σ (Aω)·(Bω)``, and A itself
    by Nyström's factor.
    """

    input: Float[Tensor, "k q"]
    output: Float[Tensor, "m q"]


def make_probes(m: int, k: int, q: int, rng: torch.Generator) -> Probes:
    """Independent ±1 directions on both sides.

    >>> make_probes(3, 2, 4, torch.Generator().manual_seed(0)).input.shape
    torch.Size([2, 4])
    """
    return Probes(signs((k, q), rng), signs((m, q), rng))


def signs(shape: tuple[int, ...], rng: torch.Generator) -> Tensor:
    """Random ±1 in float64.

    >>> signs((1000,), torch.Generator().manual_seed(0)).abs().sum()
    tensor(1000., dtype=torch.float64)
    """
    return torch.randint(0, 2, shape, generator=rng).double().mul_(2).sub_(1)


@dataclass(frozen=True, eq=False)
class MomentSum:
    """A finished sum ``Σ d dᵀ`` in float64, and the side of the layer on which it is stored."""

    side: Side
    total: Tensor


class SecondMoment:
    """``Σ d dᵀ`` over the rows d of a layer's output gradients, on the cheaper side.

    ``side="output"`` stores ``Σ d dᵀ (g, m, m)``; ``"input"`` stores ``Σ (Wᵀd)(Wᵀd)ᵀ (g, k, k)``; ``"sketch"``
    stores ``Σ d dᵀP (m, 2q)`` with ``P = [WΩ, Ω']``, from which both sides follow.

    >>> W = torch.eye(2, dtype=torch.float64)[None]
    >>> moment = SecondMoment(W, "output")
    >>> moment.add(torch.ones(5, 1, 2))
    >>> moment.finish()
    >>> moment.total[0]
    tensor([[5., 5.],
            [5., 5.]], dtype=torch.float64)
    """

    def __init__(self, W: Float[Tensor, "g m k"], side: Side, probes: Probes | None = None):
        self.side, self.probes = side, probes
        groups, m, k = W.shape
        if side == "sketch":
            if probes is None or groups != 1:
                raise ValueError("a sketch needs probes, and one group")
            wide = W[0].double().cpu() @ probes.input
            self._map: Tensor | None = torch.cat([wide, probes.output], 1).to(W)
            shape: tuple[int, ...] = (1, m, self._map.shape[1])
        else:
            self._map = W if side == "input" else None
            d = m if side == "output" else k
            shape = (groups, d, d)
        self.total = torch.zeros(shape, dtype=torch.float64)
        self._batch: Tensor | None = None
        self._waiting: list[Tensor] = []

    def add(self, D: Float[Tensor, "rows g m"]) -> None:
        """Add rows; they count once :meth:`flush` is called."""
        D = _working(D)
        self._waiting.append(D)
        if sum(rows.shape[0] for rows in self._waiting) >= BUFFER_ROWS:
            self._drain()

    def flush(self) -> None:
        """Add the batch to the float64 total."""
        self._drain()
        if self._batch is not None:
            self.total += self._batch.cpu()  # widened on the way, without a float64 copy of the batch
            self._batch.zero_()

    def finish(self) -> None:
        """Release the working buffers; the total is then symmetric bit for bit, unless it is a sketch."""
        self.flush()
        if self.side != "sketch":
            groups, d, _ = self.total.shape
            for i, j in _blocks(d) if groups == 1 else [(0, d)]:
                square = self.total[:, i:j, i:j]
                square.copy_((square + square.mT) / 2)
                self.total[:, j:, i:j] = self.total[:, i:j, j:].mT
        self._batch = self._map = None

    def finished(self) -> MomentSum:
        """The sum as a value, after :meth:`finish`."""
        self.finish()
        return MomentSum(self.side, self.total)

    def _drain(self) -> None:
        if not self._waiting:
            return
        D = self._waiting[0] if len(self._waiting) == 1 else torch.cat(self._waiting)
        self._waiting = []
        if self._batch is None:
            self._batch = D.new_zeros(self.total.shape)
        if self._map is not None:
            mapped = (D.transpose(0, 1) @ self._map.to(D)).transpose(0, 1)
            if self.side == "sketch":
                self._batch[0].addmm_(D[:, 0].mT, mapped[:, 0])
                return
            D = mapped
        if D.shape[1] > 1:
            self._batch.baddbmm_(D.permute(1, 2, 0), D.transpose(0, 1))
            return
        rows = D[:, 0]
        for i, j in _blocks(rows.shape[1]):
            self._batch[0, i:j, i:].addmm_(rows[:, i:j].mT, rows[:, i:])


class FirstMoment:
    """``Σ d`` over rows for each output, which centring subtracts.

    >>> moment = FirstMoment(2, 1, 3)
    >>> moment.add(1, torch.ones(5, 1, 3))
    >>> moment.total[1]
    tensor([[5., 5., 5.]], dtype=torch.float64)
    """

    def __init__(self, outputs: int, groups: int, m: int):
        self.total = torch.zeros(outputs, groups, m, dtype=torch.float64)

    def add(self, output: int, D: Float[Tensor, "rows g m"]) -> None:
        """Add the rows of one output."""
        self.total[output] += _working(D).sum(0).double().cpu()


def _blocks(d: int) -> list[tuple[int, int]]:
    """Column blocks of a symmetric product: each is multiplied with itself and the later ones; the rest is mirrored."""
    size = d if d < 512 else -(-d // 4)
    return [(i, min(i + size, d)) for i in range(0, d, size)]


def _working(D: Tensor) -> Tensor:
    # Sums of half-precision products would lose everything after a few hundred rows.
    return D if D.dtype in (torch.float32, torch.float64) else D.float()


def choose_side(m: int, k: int, groups: int, max_dim: int, *, kernel: bool = True) -> Side:
    """The side on which a layer's sums are stored: the output if it fits, else the input, else a sketch.

    Where no column needs the ``kernel`` on the output side, it is the smaller one.

    >>> choose_side(10, 1000, 1, 4096), choose_side(30000, 768, 1, 4096), choose_side(9000, 9000, 1, 4096)
    ('output', 'input', 'sketch')
    >>> choose_side(3072, 768, 1, 4096, kernel=False)
    'input'
    """
    if groups > 1 or (m <= max_dim and (kernel or m <= k)):
        return "output"
    return "input" if k <= max_dim else "sketch"
