"""Training rows that may not be in memory: the operations that a large fit needs.

Work on all rows of a large training set (normal equations, gradients, statistics) is a sum over blocks of rows,
:meth:`RowSource.reduce`, or a result for each row, :meth:`RowSource.map`; a few rows, such as centres, come from
:meth:`RowSource.take`. Any data source with these three methods can be trained on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gramian.core.hardware import wide_dtype
from gramian.core.tiles import spans

BLOCK_ROWS = 8192
"""Rows of a block in memory: enough for a product to use all threads, few compared with the other operand's rows."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in numbers: inputs, centred and scaled targets, and weights.

    They are a whole training set, or a block of a larger one that begins at row ``start`` of it. ``copies`` counts how
    often each row is in the user's table, where that is not once for all. Rows with equal ``groups`` are left out of a
    fit together.

    >>> Rows(torch.zeros(3, 2), torch.ones(3, 1)).total_weight
    3.0
    """

    X: Float[Tensor, "n d"]
    Y: Float[Tensor, "n c"]
    weights: Float[Tensor, " n"] | None = None
    start: int = 0
    copies: Float[Tensor, " n"] | None = None
    groups: Int[Tensor, " n"] | None = None

    def __len__(self) -> int:
        return self.X.shape[0]

    def __getitem__(self, rows: Tensor) -> Rows:
        own = (self.weights, self.copies, self.groups)
        weights, copies, groups = (None if part is None else part[rows] for part in own)
        return Rows(self.X[rows], self.Y[rows], weights, copies=copies, groups=groups)

    @property
    def total_weight(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self) if self.weights is None else self.weights.sum())

    @property
    def n_copies(self) -> int:
        """The number of rows of the user's table: equal ones are merged."""
        return len(self) if self.copies is None else int(self.copies.sum())

    @property
    def weights_or_ones(self) -> Float[Tensor, " n"]:
        """The weights of the rows, or ones where there are none, in the format of Y."""
        return torch.ones_like(self.Y[:, 0]) if self.weights is None else self.weights.to(self.Y)

    @property
    def shares(self) -> Float[Tensor, " n"]:
        """Weights of the rows as parts of their sum, in the format of Y."""
        return self.weights_or_ones / self.weights_or_ones.sum()


@runtime_checkable
class RowSource(Protocol):
    """Rows of a training set that may not be in memory.

    A function passed to :meth:`reduce` or :meth:`map` is called with a block (:class:`Rows`) followed by ``args``. It
    must not change the block, nor depend on how rows are cut into blocks. The data of the function object (centres, a
    metric) may be large and stay the same from call to call, so that a source on a cluster sends them once; ``args``
    are small and may change.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows n."""

    @property
    def n_columns(self) -> int:
        """Number of input columns d."""

    @property
    def n_outputs(self) -> int:
        """Number of target columns c."""

    @property
    def dtype(self) -> torch.dtype:
        """Format of X in the blocks; Y and the weights are wide."""

    @property
    def device(self) -> torch.device:
        """Device of the blocks, and of the results of all three methods."""

    def reduce(self, function: Callable[..., tuple[Tensor, ...]], *args: Any) -> tuple[Tensor, ...]:
        """Return ``Σ function(block, *args)`` over all blocks, tensor by tensor, summed in the wide format."""

    def map(self, function: Callable[..., Tensor], *args: Any) -> Tensor:
        """Return ``function(block, *args)``, one row per row of a block, for all rows in their order: ``(n, …)``."""

    def take(self, indices: Int[Tensor, " m"]) -> Rows:
        """Return the rows with these indices, in this order."""

    def load(self) -> Rows:
        """Return all rows, in memory."""


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """:class:`RowSource` over tensors in memory.

    Parameters
    ----------
    rows : Rows
    block : int
        Number of rows in a block.

    >>> source = MemoryRows(Rows(torch.ones(5, 2), torch.ones(5, 1)), block=2)
    >>> source.reduce(lambda block: (block.X.mT @ block.Y,))[0].squeeze()
    tensor([5., 5.], dtype=torch.float64)
    >>> source.map(lambda block, factor: factor * block.X[:, 0], 3.0)
    tensor([3., 3., 3., 3., 3.])
    """

    rows: Rows
    block: int = BLOCK_ROWS

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def n_columns(self) -> int:
        return self.rows.X.shape[1]

    @property
    def n_outputs(self) -> int:
        return self.rows.Y.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        return self.rows.X.dtype

    @property
    def device(self) -> torch.device:
        return self.rows.X.device

    def reduce(self, function: Callable[..., tuple[Tensor, ...]], *args: Any) -> tuple[Tensor, ...]:
        total: tuple[Tensor, ...] | None = None
        for part in spans(self.n_rows, self.block):
            total = add_wide(total, function(self._at(part), *args))
        assert total is not None, "a training set has rows"
        return total

    def map(self, function: Callable[..., Tensor], *args: Any) -> Tensor:
        return torch.cat([function(self._at(part), *args) for part in spans(self.n_rows, self.block)])

    def take(self, indices: Int[Tensor, " m"]) -> Rows:
        return self.rows[indices.to(self.device)]

    def load(self) -> Rows:
        return self.rows

    def _at(self, part: slice) -> Rows:
        X, Y, weights = self.rows.X, self.rows.Y, self.rows.weights
        return Rows(X[part], Y[part], None if weights is None else weights[part], part.start)


@dataclass(frozen=True, eq=False)
class _View(ABC):
    """:class:`RowSource` of a selection from each block of another source."""

    source: RowSource

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    @property
    def n_columns(self) -> int:
        return self.source.n_columns

    @property
    def n_outputs(self) -> int:
        return self.source.n_outputs

    @property
    def dtype(self) -> torch.dtype:
        return self.source.dtype

    @property
    def device(self) -> torch.device:
        return self.source.device

    @property
    @abstractmethod
    def select(self) -> Callable[[Rows], Rows]:
        """Function from a block to its selected part; it holds no source, since it may be sent to other processes."""

    def reduce(self, function: Callable[..., tuple[Tensor, ...]], *args: Any) -> tuple[Tensor, ...]:
        return self.source.reduce(_OnSelection(function, self.select), *args)

    def map(self, function: Callable[..., Tensor], *args: Any) -> Tensor:
        return self.source.map(_OnSelection(function, self.select), *args)

    @abstractmethod
    def take(self, indices: Int[Tensor, " m"]) -> Rows:
        """Return the rows with these indices, in this order."""

    def load(self) -> Rows:
        return self.take(torch.arange(self.n_rows))


@dataclass(frozen=True, eq=False)
class SelectedRows(_View):
    """Some rows of a source, such as the training rows of a split.

    Parameters
    ----------
    source : RowSource
    index : Tensor of int (k,)
        Selected rows, in increasing order.

    >>> source = MemoryRows(Rows(torch.arange(5.0)[:, None], torch.ones(5, 1)), block=2)
    >>> SelectedRows(source, torch.tensor([1, 4])).map(lambda block: block.X[:, 0])
    tensor([1., 4.])
    """

    index: Int[Tensor, " k"]

    @property
    def n_rows(self) -> int:
        return len(self.index)

    @cached_property  # so that a cluster gets one and the same object in every step of a solver
    def select(self) -> Callable[[Rows], Rows]:
        if 2 * len(self.index) <= self.source.n_rows:
            return _SelectRows(self.index)
        left_out = torch.ones(self.source.n_rows, dtype=torch.bool)
        left_out[self.index] = False
        return _LeaveOutRows(left_out.nonzero().squeeze(1))  # it may be sent to every worker of a cluster

    def take(self, indices: Int[Tensor, " m"]) -> Rows:
        return self.source.take(self.index[indices.cpu()])


@dataclass(frozen=True, eq=False)
class SelectedColumns(_View):
    """Some columns of a source.

    Parameters
    ----------
    source : RowSource
    chosen : Tensor of bool (d,)
        True for the selected columns.

    >>> source = MemoryRows(Rows(torch.eye(2), torch.ones(2, 1)))
    >>> SelectedColumns(source, torch.tensor([False, True])).take(torch.arange(2)).X
    tensor([[0.],
            [1.]])
    """

    chosen: Bool[Tensor, " d"]

    @property
    def n_columns(self) -> int:
        return int(self.chosen.sum())

    @property
    def select(self) -> Callable[[Rows], Rows]:
        return _SelectColumns(self.chosen)

    def take(self, indices: Int[Tensor, " m"]) -> Rows:
        return self.select(self.source.take(indices))


@dataclass(frozen=True, eq=False)
class _SelectRows:
    index: Int[Tensor, " k"]

    def __call__(self, block: Rows) -> Rows:
        ends = torch.tensor([block.start, block.start + len(block)])
        first, last = torch.searchsorted(self.index, ends).tolist()
        here = block[(self.index[first:last] - block.start).to(block.X.device)]
        return Rows(here.X, here.Y, here.weights, first)


@dataclass(frozen=True, eq=False)
class _LeaveOutRows:
    left_out: Int[Tensor, " k"]

    def __call__(self, block: Rows) -> Rows:
        ends = torch.tensor([block.start, block.start + len(block)])
        first, last = torch.searchsorted(self.left_out, ends).tolist()
        used = torch.ones(len(block), dtype=torch.bool)
        used[self.left_out[first:last] - block.start] = False
        here = block[used.to(block.X.device)]
        return Rows(here.X, here.Y, here.weights, block.start - first)


@dataclass(frozen=True, eq=False)
class _SelectColumns:
    chosen: Bool[Tensor, " d"]

    def __call__(self, block: Rows) -> Rows:
        return Rows(block.X[:, self.chosen.to(block.X.device)], block.Y, block.weights, block.start)


@dataclass(frozen=True, eq=False)
class _OnSelection:
    """A function of blocks, applied to the selected part of each."""

    function: Callable[..., Any]
    select: Callable[[Rows], Rows]

    def __call__(self, block: Rows, *args: Any) -> Any:
        return self.function(self.select(block), *args)


def add_wide(total: tuple[Tensor, ...] | None, parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Add a block's tensors to a sum in the wide format, in place; None is the empty sum.

    >>> add_wide(None, (torch.ones(1),))
    (tensor([1.], dtype=torch.float64),)
    """
    if total is None:
        # A copy even where the format is wide already: the function may still hold the tensor it returned.
        return tuple(part.to(wide_dtype(part.device), copy=True) for part in parts)
    for whole, part in zip(total, parts, strict=True):
        whole += part
    return total
