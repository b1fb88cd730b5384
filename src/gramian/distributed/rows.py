"""Rows on the workers of a cluster, as a :class:`~gramian.core.rows.RowSource`.

Functions are sent to the blocks, and the results are sums, or a few numbers per row. The workers add up the sums in a
tree whose shape does not depend on the order of completion: the same blocks give the same bits.

A block is processed by the worker that holds it, so that rows travel once. Without this rule Dask moves a block where
that is cheaper than moving the function, and idle workers take blocks from busy ones: a fit sends its rows many times.
The rule is strict, and a task of a lost worker would wait for it for ever; so a fit that waits looks for lost workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from distributed import Future, wait
from jaxtyping import Int
from torch import Tensor

from gramian.core.rows import Rows, add_wide

_FAN = 8
"""Number of partial sums that one task adds."""
_FUNCTIONS = 4
_PATIENCE = 2.0
"""Seconds of waiting after which a source asks whether the workers of its blocks are still there."""


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
    _homes: list[str] = field(default_factory=list)
    """Address of the worker that holds each block; empty while it is not known."""

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

        def total(parts: list[Future[Any]]) -> list[Future[Any]]:
            while len(parts) > 1:
                parts = [client.submit(_sum, parts[i : i + _FAN], pure=False) for i in range(0, len(parts), _FAN)]
            return parts

        work, given = self._sent(function), client.submit(tuple, args, pure=False)
        found: tuple[Tensor, ...] = self._each(_part, [(work, given)] * len(self.blocks), total)[0]
        return found

    def map(self, function: Callable[..., Tensor], *args: Any) -> Tensor:
        """See :meth:`gramian.core.rows.RowSource.map`."""
        work, given = self._sent(function), self.blocks[0].client.submit(tuple, args, pure=False)
        return torch.cat(self._each(_values, [(work, given)] * len(self.blocks)))

    def _each(
        self,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...] | None],
        then: Callable[[list[Future[Any]]], list[Future[Any]]] = list,
    ) -> list[Any]:
        """Return the results of a function of each block and its arguments, computed where the block is.

        Blocks without arguments (None) are left out. ``then`` makes tasks of the results, whose values are returned
        instead.
        """
        client = self.blocks[0].client
        while True:
            homes = self._homes or self._find_homes()
            parts = [
                client.submit(function, block, *given, workers=[home], pure=False)
                for block, home, given in zip(self.blocks, homes, arguments, strict=True)
                if given is not None
            ]
            last = then(parts)
            if self._finished(last):
                results: list[Any] = client.gather(last)
                return results
            self._homes.clear()

    def _find_homes(self) -> list[str]:
        """Find the worker that holds each block, after all blocks have been computed; raise the error of one if any."""
        client = self.blocks[0].client
        while True:
            with client.as_current():  # wait() knows no other client
                wait(self.blocks)  # type: ignore[no-untyped-call]
            for block in self.blocks:
                if block.status == "error":
                    block.result()  # raises the error
            holders = client.who_has(self.blocks)
            homes = [min(holders.get(block.key) or [""]) for block in self.blocks]
            if "" not in homes:  # else one was lost since then
                self._homes[:] = homes
                return self._homes

    def _finished(self, last: list[Future[Any]]) -> bool:
        """Wait for all tasks or for an error of one; return False if the worker of a block was lost meanwhile."""
        client = self.blocks[0].client
        while True:
            try:
                with client.as_current():
                    wait(last, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
            except TimeoutError:
                if any(task.status == "error" for task in last):
                    return True
                present = client.nthreads()
                if not set(self._homes) <= present.keys():
                    return False
            else:
                return True

    def _sent(self, function: Any) -> Future[Any]:
        """Put a function on the cluster; the last few are held there, since they are used repeatedly."""
        future = self.hold(function)
        self._functions[future.key] = future
        while len(self._functions) > _FUNCTIONS:
            del self._functions[next(iter(self._functions))]
        return future

    def take(self, indices: Int[Tensor, " m"]) -> Rows:
        """See :meth:`gramian.core.rows.RowSource.take`."""
        order = torch.argsort(indices, stable=True)
        ordered = indices[order]
        ends = torch.tensor(self.lengths).cumsum(0)
        cuts = torch.searchsorted(ordered, ends).tolist()
        wanted: list[tuple[Tensor] | None] = []
        begin, start = 0, 0
        for cut, length in zip(cuts, self.lengths, strict=True):
            wanted.append((ordered[begin:cut] - start,) if cut > begin else None)
            begin, start = cut, start + length
        found: list[Rows] = self._each(_pick, wanted)
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order))
        weights = None if found[0].weights is None else torch.cat([r.weights for r in found if r.weights is not None])
        return Rows(torch.cat([r.X for r in found]), torch.cat([r.Y for r in found]), weights)[back]

    def load(self) -> Rows:
        """Return all rows, in the memory of this process."""
        return self.take(torch.arange(self.n_rows))


def _part(block: Rows, function: Callable[..., tuple[Tensor, ...]], args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    return add_wide(None, function(block, *args))


def _sum(parts: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    total = None
    for part in parts:
        total = add_wide(total, part)
    assert total is not None
    return total


def _values(block: Rows, function: Callable[..., Tensor], args: tuple[Any, ...]) -> Tensor:
    return function(block, *args)


def _pick(block: Rows, indices: Tensor) -> Rows:
    return block[indices]
