"""A forward and backward pass through a stack of networks, written by hand with buffers that are reused.

Reusing the buffers matters as much as the arithmetic: allocating half a megabyte in every step costs more than the
product that is written into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

# Rows times units of one group of networks: half a megabyte of float32, which fits in the cache of one core.
BLOCK = 2**17


@dataclass(frozen=True)
class LayerTensors:
    """Weights ``(B, d_l, d_{l+1})`` and biases ``(B, 1, d_{l+1})`` of a stack, or their gradients."""

    weights: Sequence[Tensor]
    biases: Sequence[Tensor | None]


@dataclass(frozen=True)
class _Part:
    """A group of networks of the stack: views of their parameters and gradients, and buffers for their units."""

    nets: slice
    E: Tensor
    D: Tensor
    upper: LayerTensors
    dupper: LayerTensors
    H: list[Tensor]
    dH: list[Tensor]


class StackPass:
    """Gradients of a stack on a given number of rows.

    The first `first` layers are multiplied together before any row is used; their product is one matrix E with the bias
    as its last row, for which rows get an additional entry 1.

    Parameters
    ----------
    values, gradients : LayerTensors
    relu : sequence of bool
        For each layer but the last, True if a ReLU follows it.
    first : int
        Number of leading layers that are multiplied together; at least 1.
    rows : int
    """

    def __init__(
        self, values: LayerTensors, gradients: LayerTensors, relu: Sequence[bool], first: int, rows: int
    ) -> None:
        self.values, self.gradients, self.relu, self.first = values, gradients, [*relu, False], first
        V = values.weights
        B, d = V[0].shape[:2]
        self.widths = [W.shape[2] for W in V[first - 1 :]]
        self.offset = values.biases[first - 1] is not None
        self.products = [V[0], *(V[0].new_empty(B, d, W.shape[2]) for W in V[1:first])]
        self.E = V[0].new_empty(B, d + self.offset, self.widths[0])
        self.D = torch.empty_like(self.E)
        size = min(B, max(1, BLOCK // (rows * max(self.widths))))
        H = [V[0].new_empty(size, rows, k) for k in self.widths]
        dH = [torch.empty_like(h) for h in H]
        self.parts = [self._part(slice(start, min(start + size, B)), H, dH) for start in range(0, B, size)]

    def _part(self, nets: slice, H: list[Tensor], dH: list[Tensor]) -> _Part:
        count, first = nets.stop - nets.start, self.first

        def cut(blocks: LayerTensors) -> LayerTensors:
            biases = [None if b is None else b[nets] for b in blocks.biases[first:]]
            return LayerTensors([V[nets] for V in blocks.weights[first:]], biases)

        upper, dupper = cut(self.values), cut(self.gradients)
        memory = ([h[:count] for h in H], [h[:count] for h in dH])
        return _Part(nets, self.E[nets], self.D[nets], upper, dupper, *memory)

    def rows(self, X: Tensor) -> Tensor:
        """Return the rows in the form of :meth:`run`: with a 1 at the end where the first layer has a bias."""
        return torch.cat([X, X.new_ones(len(X), 1)], 1) if self.offset else X

    def run(self, X: Tensor, Y: Tensor, loss: str) -> None:
        """Compute the gradients of every network's loss on rows from :meth:`rows`."""
        self._multiply()
        for part in self.parts:
            self._part_backward(part, X.expand(len(part.E), -1, -1), Y[part.nets], loss)
        self._spread()

    def _multiply(self) -> None:
        for (before, product), V in zip(pairwise(self.products), self.values.weights[1:], strict=False):
            torch.bmm(before, V, out=product)
        d = self.products[-1].shape[1]
        self.E[:, :d].copy_(self.products[-1])
        bias = self.values.biases[self.first - 1]
        if bias is not None:
            self.E[:, d:].copy_(bias)

    def _spread(self) -> None:
        """Compute the gradient of each factor from that of the product: ``(factors before)ᵀ D (factors after)ᵀ``."""
        d = self.products[-1].shape[1]
        db = self.gradients.biases[self.first - 1]
        if db is not None:
            db.copy_(self.D[:, d:])
        D = self.D[:, :d]
        for l in range(self.first - 1, 0, -1):
            torch.bmm(self.products[l - 1].mT, D, out=self.gradients.weights[l])
            D = torch.bmm(D, self.values.weights[l].mT)
        self.gradients.weights[0].copy_(D)

    def _part_backward(self, part: _Part, X: Tensor, Y: Tensor, loss: str) -> None:
        H, dH, relu = part.H, part.dH, self.relu[self.first - 1 :]
        torch.bmm(X, part.E, out=H[0])
        if relu[0]:
            H[0].relu_()
        for l, (V, b) in enumerate(zip(part.upper.weights, part.upper.biases, strict=True)):
            _multiply_into(H[l + 1], H[l], V)
            if b is not None:
                H[l + 1].add_(b)
            if relu[l + 1]:
                H[l + 1].relu_()
        output_gradient(H[-1], Y, loss, dH[-1])
        for l in range(len(H) - 1, 0, -1):
            V = part.upper.weights[l - 1]
            _multiply_into(part.dupper.weights[l - 1], H[l - 1].mT, dH[l])
            db = part.dupper.biases[l - 1]
            if db is not None:
                torch.sum(dH[l], 1, keepdim=True, out=db)
            if V.shape[2] == 1:
                torch.mul(dH[l], V.mT, out=dH[l - 1])
            else:
                torch.bmm(dH[l], V.mT, out=dH[l - 1])
            if relu[l - 1]:
                torch.ops.aten.threshold_backward.grad_input(dH[l - 1], H[l - 1], 0, grad_input=dH[l - 1])
        torch.bmm(X.mT, dH[0], out=part.D)


def _multiply_into(out: Tensor, A: Tensor, B: Tensor) -> None:
    """Write ``A B`` into `out`; a product of one column is written as a row, which is three to six times as fast."""
    if B.shape[2] == 1:
        torch.bmm(B.mT, A.mT, out=out.mT)
    else:
        torch.bmm(A, B, out=out)


def output_gradient(F: Tensor, Y: Tensor, loss: str, out: Tensor) -> None:
    """Write ``∂L/∂F`` into ``out``, for the mean over rows (and over outputs, for the squared loss)."""
    if loss == "squared":
        torch.sub(F, Y, out=out).mul_(2 / (F.shape[1] * F.shape[2]))
        return
    torch.softmax(F, 2, out=out)
    out.scatter_add_(2, Y[..., None], out.new_full((1, 1, 1), -1.0).expand(*Y.shape, 1))
    out.mul_(1 / F.shape[1])
