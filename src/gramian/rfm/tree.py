"""A tree of kernel machines: each leaf has its own machine, fitted to the rows of its part of space.

A row descends the tree along one direction after the other. In a band around each threshold it follows both branches,
with shares that change linearly across the band, so the prediction is continuous:
``f(x) = Σ_l s_l(x) f_l(x)`` with ``Σ_l s_l = 1``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core import wide_dtype
from gramian.core.quadrature import gauss_legendre
from gramian.core.tiles import rowwise_matmul, spans
from gramian.kernels import Kernel, Metric
from gramian.rfm.machine import KernelMachine, sampled_agop

_ROWS = 128
"""Rows whose shares are differentiated at a time: there is a number per row, leaf and column."""


@dataclass(frozen=True, eq=False)
class Splits:
    """The inner nodes of a binary tree, the root first.

    Attributes
    ----------
    directions : Tensor (s, d)
    thresholds, widths : Tensor (s,)
        A row with ``x·v`` below ``threshold − width`` goes left, above ``threshold + width`` right, in between both.
    children : Tensor of int (s, 2)
        Left and right: the number of another node, or ``−1 − l`` for leaf l.

    >>> one = Splits(torch.ones(1, 1), torch.zeros(1), torch.ones(1), torch.tensor([[-1, -2]]))
    >>> one.shares(torch.tensor([[-2.0], [0.5]]))
    tensor([[1.0000, 0.0000],
            [0.2500, 0.7500]], dtype=torch.float64)
    """

    directions: Float[Tensor, "s d"]
    thresholds: Float[Tensor, " s"]
    widths: Float[Tensor, " s"]
    children: Int[Tensor, "s 2"]

    @property
    def n_leaves(self) -> int:
        """Number of leaves: one more than nodes."""
        return len(self.thresholds) + 1

    def shares(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m l"]:
        """Return the share ``s_l(x)`` of each leaf in the prediction of each row."""
        right, _ = self._rights(X)
        out = right.new_zeros(len(X), self.n_leaves)
        for leaf, path in self._paths():
            out[:, leaf] = torch.stack([self._share(right, step) for step in path]).prod(dim=0)
        return out

    def share_gradients(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m l d"]:
        """Return ``∂s_l/∂x``, which is nonzero in bands only."""
        right, slope = self._rights(X)
        out = right.new_zeros(len(X), self.n_leaves, X.shape[1])
        directions = self.directions.to(right.dtype)
        for leaf, path in self._paths():
            shares = torch.stack([self._share(right, step) for step in path])
            for i, (node, side) in enumerate(path):
                others = torch.cat([shares[:i], shares[i + 1 :]]).prod(dim=0)
                rate = others * slope[:, node] * (1 if side else -1)
                out[:, leaf] += rate[:, None] * directions[node]
        return out

    def _rights(self, X: Float[Tensor, "m d"]) -> tuple[Float[Tensor, "m s"], Float[Tensor, "m s"]]:
        """Return the share of the right branch at each node, and its derivative along the node's direction."""
        wide = wide_dtype(X.device)
        past = rowwise_matmul(X.to(wide), self.directions.to(wide).mT.contiguous()) - self.thresholds.to(wide)
        widths = self.widths.to(wide)
        soft = widths > 0
        ramp = past / (2 * torch.where(soft, widths, 1)) + 0.5
        right = torch.where(soft, ramp.clamp(0, 1), (past > 0).to(wide))
        inside = soft & (ramp > 0) & (ramp < 1)
        return right, torch.where(inside, 1 / (2 * torch.where(soft, widths, 1)), 0.0)

    def _share(self, right: Float[Tensor, "m s"], step: tuple[int, int]) -> Float[Tensor, " m"]:
        node, side = step
        return right[:, node] if side else 1 - right[:, node]

    def _paths(self) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield for each leaf the nodes on the path to it, and the side taken at each."""
        open_: list[tuple[int, list[tuple[int, int]]]] = [(0, [])]
        children = self.children.tolist()
        while open_:
            node, path = open_.pop()
            for side, child in enumerate(children[node]):
                way = [*path, (node, side)]
                if child < 0:
                    yield -1 - child, way
                else:
                    open_.append((child, way))


@dataclass(frozen=True, eq=False)
class TreeMachine:
    """A fitted function with one kernel machine per leaf.

    Attributes
    ----------
    splits : Splits
    leaves : tuple of KernelMachine
    rows : tuple of Tensor of int
        The training rows of each leaf; rows in bands belong to several leaves.
    metric : Metric
        The features that all leaves share; where leaves have their own, the mean of these, weighted by their rows.

    >>> from gramian.kernels import Gaussian, Identity, KernelOperator
    >>> def leaf(at, value):
    ...     operator = KernelOperator(Gaussian(1.0), torch.tensor([[at]]))
    ...     return KernelMachine(operator, torch.tensor([[value]]))
    >>> splits = Splits(torch.ones(1, 1), torch.zeros(1), torch.ones(1), torch.tensor([[-1, -2]]))
    >>> rows = torch.tensor([0]), torch.tensor([1])
    >>> tree = TreeMachine(splits, (leaf(-2.0, 1.0), leaf(2.0, 3.0)), rows, Identity(1))
    >>> tree.predict(torch.tensor([[-2.0], [2.0]])).squeeze()
    tensor([1., 3.], dtype=torch.float64)
    """

    splits: Splits
    leaves: tuple[KernelMachine, ...]
    rows: tuple[Int[Tensor, " _"], ...]
    metric: Metric

    @property
    def kernel(self) -> Kernel:
        """The kernel of the largest leaf; those of the others differ in the bandwidth."""
        return max(self.leaves, key=lambda leaf: leaf.n).kernel

    @property
    def n(self) -> int:
        """Number of training rows in the leaves."""
        return 1 + max(int(rows.max()) for rows in self.rows)

    @cached_property
    def X(self) -> Float[Tensor, "n d"]:
        """Training rows, in their order."""
        # A leaf may have needed a wider format than the others.
        dtype = reduce(torch.promote_types, (leaf.X.dtype for leaf in self.leaves))
        out = self.leaves[0].X.new_zeros(self.n, self.leaves[0].X.shape[1], dtype=dtype)
        for leaf, rows in zip(self.leaves, self.rows, strict=True):
            out[rows.to(out.device)] = leaf.X.to(dtype)
        return out

    @property
    def weights(self) -> Float[Tensor, " n"] | None:
        """Weights of the training rows; None where all count the same."""
        out = torch.ones(self.n, dtype=wide_dtype(self.X.device), device=self.X.device)
        for leaf, rows in zip(self.leaves, self.rows, strict=True):
            if leaf.weights is None:
                return None
            out[rows.to(out.device)] = leaf.weights.to(out.dtype)
        return out

    def predict(self, X: Float[Tensor, "m d"], *, batch_invariant: bool = True) -> Float[Tensor, "m c"]:
        """Return ``f(X)``; only leaves with a share in a row are evaluated."""
        out = torch.zeros(len(X), self.leaves[0].coef.shape[1], dtype=wide_dtype(X.device), device=X.device)
        for block in spans(len(X), 2**16):
            shares = self.splits.shares(X[block])
            for leaf, share in zip(self.leaves, shares.mT, strict=True):
                at = share.nonzero().squeeze(1)
                if len(at):
                    out[block][at] += share[at, None] * leaf.predict(X[block][at], batch_invariant=batch_invariant).to(
                        out.dtype
                    )
        return out

    def gradient(self, X: Float[Tensor, "m d"], by_input: bool = True) -> Float[Tensor, "m c d"]:
        """``∂f_c/∂x = Σ_l s_l ∂f_l/∂x + f_l ∂s_l/∂x``."""
        wide = wide_dtype(X.device)
        out = torch.zeros(len(X), self.leaves[0].coef.shape[1], X.shape[1], dtype=wide, device=X.device)
        for block in spans(len(X), _ROWS):
            here, shares, rates = X[block], self.splits.shares(X[block]), self.splits.share_gradients(X[block])
            for index, leaf in enumerate(self.leaves):
                at = shares[:, index].nonzero().squeeze(1)
                if not len(at):
                    continue
                slopes, values = leaf.gradient(here[at], by_input).to(wide), leaf.predict(here[at]).to(wide)
                out[block][at] += shares[at, index, None, None] * slopes + values[:, :, None] * rates[at, index, None]
        return out.to(X.dtype)

    def mean_gradient(self, ends: Float[Tensor, "2 d"], output: int, nodes: int) -> Float[Tensor, " d"]:
        """The gradient averaged along the line between two rows, at Gauss–Legendre nodes."""
        t, w = (ends.new_tensor(part) for part in gauss_legendre(nodes))
        G = self.gradient(torch.lerp(ends[0], ends[1], t[:, None]))[:, output]
        return (w @ G).to(wide_dtype(ends.device))

    def similarity(self, x: Float[Tensor, "1 d"], rows: Int[Tensor, " k"]) -> Float[Tensor, " k"]:
        """Normalised kernel values of training rows, each leaf's times its share; rows of other leaves have 0."""
        out = torch.zeros(len(rows), dtype=wide_dtype(x.device), device=x.device)
        for leaf, own, share in zip(self.leaves, self.rows, self.splits.shares(x)[0], strict=True):
            if share > 0:
                place = torch.full((self.n,), -1, device=x.device)
                place[own.to(x.device)] = torch.arange(len(own), device=x.device)
                here = place[rows] >= 0
                out[here] += share * leaf.similarity(x, place[rows[here]])
        return out

    @cached_property
    def agop(self) -> Float[Tensor, "d d"]:
        """Average gradient outer product of f over at most 2,000 random training rows."""
        return sampled_agop(self.gradient, self.X, self.weights)

    def matrix(self) -> Float[Tensor, "d d"]:
        """The feature matrix M."""
        return self.metric.matrix()

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in ("splits", "leaves", "rows", "metric")}
