"""Rows on the workers of a cluster, as a :class:`~gramian.core.rows.RowSource`.

Functions are sent to the blocks, and the results are sums, or a few numbers per row. The workers add up the sums in a
tree whose shape does not depend on the order of completion: the same blocks give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from distributed import Future
from jaxtyping import Int
from torch import Tensor

from gramian.core.rows import Rows, add_wide

_FAN = 8
"""Number of partial sums that one task adds."""
_FUNCTIONS = 4


@dataclass(frozen=True, eq=False)
class ClusterRows:
    """Blocks of training rows held by workers.

    Parameters
    ----------
    blocks : list of Future of Rows
        The blocks, in the order of rows.
    lengths : list of int
        Number of rows in each.
    n_columns, n_outputs : int
    dtype : torch.dtype
    hold : callable
        Function that puts a value on the cluster: :meth:`gramian.distributed.cluster.Cluster.held`.
    """

    blocks: list[Future[Rows]]
    lengths: list[int]
    n_columns: int
    n_outputs: int
    dtype: torch.dtype
    hold: Callable[[Any], Future[Any]]
    _functions: dict[Any, Future[Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, blocks: Sequence[Future[Rows]], one: Rows, lengths: Sequence[int], hold: Callable[[Any], Future[Any]]
    ) -> ClusterRows:
        """Make a source from futures of blocks; ``one`` are rows of the same shape and format."""
        return cls(list(blocks), list(lengths), one.X.shape[1], one.Y.shape[1], one.X.dtype, hold)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.lengths)

    @property
    def device(self) -> torch.device:
        """Device of the results, which are in the memory of this process."""
        return torch.device("cpu")

    def reduce(self, function: Callable[..., tuple[Tensor, ...]], *args: Any) -> tuple[Tensor, ...]:
        """See :meth:`gramian.core.rows.RowSource.reduce`."""
        client = self.blocks[0].client
        work, given = self._sent(function), client.submit(tuple, args, pure=False)
        parts = [client.submit(_part, work, block, given, pure=False) for block in self.blocks]
        while len(parts) > 1:
            parts = [client.submit(_sum, parts[i : i + _FAN], pure=False) for i in range(0, len(parts), _FAN)]
        total: tuple[Tensor, ...] = parts[0].result()
        return total

    def map(self, function: Callable[..., Tensor], *args: Any) -> Tensor:
        """See :meth:`gramian.core.rows.RowSource.map`."""
        client = self.blocks[0].client
        work, given = self._sent(function), client.submit(tuple, args, pure=False)
        parts = [client.submit(_values, work, block, given, pure=False) for block in self.blocks]
        return torch.cat(client.gather(parts))

    def _sent(self, function: Any) -> Future[Any]:
        """Put a function on the cluster; the last few are held there, since they are used repeatedly."""
        future = self.hold(function)
        self._functions[future.key] = future
        while len(self._functions) > _FUNCTIONS:
            del self._functions[next(iter(self._functions))]
        return future

    def take(self, indices: Int[Tensor, " m"]) -> Rows:
        """See :meth:`gramian.core.rows.RowSource.take`."""
        client = self.blocks[0].client
        order = torch.argsort(indices, stable=True)
        ordered = indices[order]
        ends = torch.tensor(self.lengths).cumsum(0)
        cuts = torch.searchsorted(ordered, ends).tolist()
        futures, begin, start = [], 0, 0
        for block, cut, length in zip(self.blocks, cuts, self.lengths, strict=True):
            if cut > begin:
                futures.append(client.submit(_pick, block, ordered[begin:cut] - start, pure=False))
            begin, start = cut, start + length
        found: list[Rows] = client.gather(futures)
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order))
        weights = None if found[0].weights is None else torch.cat([r.weights for r in found if r.weights is not None])
        return Rows(torch.cat([r.X for r in found]), torch.cat([r.Y for r in found]), weights)[back]

    def load(self) -> Rows:
        """Return all rows, in the memory of this process."""
        return self.take(torch.arange(self.n_rows))


def _part(function: Callable[..., tuple[Tensor, ...]], block: Rows, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    return add_wide(None, function(block, *args))


def _sum(parts: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    total = None
    for part in parts:
        total = add_wide(total, part)
    assert total is not None
    return total


def _values(function: Callable[..., Tensor], block: Rows, args: tuple[Any, ...]) -> Tensor:
    return function(block, *args)


def _pick(block: Rows, indices: Tensor) -> Rows:
    return block[indices]
