"""Dask arrays and frames as blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dask.array
import numpy as np
from dask.base import compute, is_dask_collection
from dask.delayed import delayed

from gramian.core.rows import Rows, RowSource
from gramian.distributed.cluster import current
from gramian.distributed.rows import ClusterRows
from gramian.tables.blocks import Block, Blocks
from gramian.tables.types import TableLike, TargetLike


@dataclass(frozen=True, eq=False)
class DaskBlocks(Blocks):
    """Partitions of a Dask array or frame, with their targets and weights.

    With a client the workers compute and process the partitions; without one this process does, one at a time.
    """

    columns: int
    parts: tuple[Any, ...]
    """A delayed :class:`Block` for each partition, without the number of its first row."""
    known: list[int] | None = None
    """Number of rows in each partition, if the collection knows it."""

    @cached_property
    def lengths(self) -> list[int]:
        """Number of rows in each partition."""
        if self.known is not None:
            return self.known
        return [int(n) for n in self._on_each(_length, [0] * len(self.parts))]

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    @property
    def n_columns(self) -> int:
        return self.columns

    @property
    def remote(self) -> bool:
        """True if workers process the blocks."""
        return current() is not None

    @property
    def starts(self) -> list[int]:
        """Number of the first row of each partition."""
        return [0, *np.cumsum(self.lengths)[:-1].tolist()]

    def each(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        full = [i for i, n in enumerate(self.lengths) if n]
        starts = self.starts
        return self._on_each(function, [starts[i] for i in full], [self.parts[i] for i in full])

    def source(self, prepare: Callable[[Block], Rows]) -> RowSource | None:
        """Return the prepared rows, held by the workers; None without a cluster."""
        cluster = current()
        if cluster is None:
            return None
        client, work = cluster.client, cluster.held(prepare)
        full = [i for i, n in enumerate(self.lengths) if n]
        raw = client.compute([self.parts[i] for i in full])  # type: ignore[no-untyped-call]
        starts = self.starts
        blocks = [client.submit(_at, work, part, starts[i], pure=False) for part, i in zip(raw, full, strict=True)]
        one = client.submit(_first_row, blocks[0]).result()
        return ClusterRows.of(blocks, one, [self.lengths[i] for i in full], cluster.held)

    def _on_each(self, function: Callable[[Block], Any], starts: list[int], parts: Any = None) -> Iterator[Any]:
        parts = self.parts if parts is None else parts
        cluster = current()
        if cluster is None:
            for part, start in zip(parts, starts, strict=True):
                yield _at(function, part.compute(), start)
            return
        client, work = cluster.client, cluster.held(function)
        raw = client.compute(list(parts))  # type: ignore[no-untyped-call]
        futures = [client.submit(_at, work, part, start, pure=False) for part, start in zip(raw, starts, strict=True)]
        while futures:  # one by one, so that results accumulate neither here nor on the workers
            yield futures[0].result()
            futures.pop(0)


def as_blocks(X: TableLike, y: TargetLike = None, weights: Any = None) -> DaskBlocks:
    """Return the blocks of a Dask array or frame; y and weights are collections, arrays, or names of its columns."""
    frame = "dataframe" in type(X).__module__
    if not frame and not isinstance(X, dask.array.Array):
        raise ValueError(f"X is a {type(X).__name__} of dask: pass an array or a frame")
    if not frame and X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X needs rows and columns")
    names = []
    for what, values in (("y", y), ("sample_weight", weights)):
        if isinstance(values, str):
            if not frame or values not in X.columns:
                raise ValueError(f"{what}={values!r} is no column of X")
            names.append(values)
    tables = X.to_delayed() if frame else X.rechunk({1: -1}).to_delayed()[:, 0]
    tables = list(np.ravel(tables))
    lengths = None if frame or np.isnan(X.chunks[0]).any() else [int(n) for n in X.chunks[0]]
    if lengths is None and any(_in_memory(values) for values in (y, weights)):
        lengths = [int(n) for n in compute(*[delayed(len)(table) for table in tables])]  # type: ignore[no-untyped-call]
    columns = [_pieces(values, tables, lengths, what) for values, what in ((y, "y"), (weights, "sample_weight"))]
    make = delayed(_block, pure=True)
    return DaskBlocks(
        int(X.shape[1]),
        tuple(make(table, *rest, names) for table, *rest in zip(tables, *columns, strict=True)),
        lengths,
    )


def _in_memory(values: Any) -> bool:
    return values is not None and not isinstance(values, str) and not is_dask_collection(values)


def _pieces(values: Any, tables: list[Any], lengths: list[int] | None, what: str) -> list[Any]:
    if values is None or isinstance(values, str):
        return [values] * len(tables)
    if is_dask_collection(values):
        pieces = list(np.ravel(values.to_delayed()))
        if len(pieces) != len(tables):
            raise ValueError(
                f"X has {len(tables)} partitions and {what} has {len(pieces)}: they must have the same partitions "
                f"({what}.rechunk or {what}.repartition)"
            )
        return pieces
    assert lengths is not None
    values = np.asarray(values)
    if len(values) != sum(lengths):
        raise ValueError(f"X has {sum(lengths)} rows and {what} has {len(values)}: the numbers must be equal")
    ends = np.cumsum(lengths)
    return [values[end - n : end] for end, n in zip(ends, lengths, strict=True)]


def _block(X: TableLike, y: TargetLike, weights: Any, names: list[str]) -> Block:
    columns = [np.asarray(X[part]) if isinstance(part, str) else part for part in (y, weights)]
    for what, part in zip(("y", "sample_weight"), columns, strict=True):
        if part is not None and len(part) != len(X):
            raise ValueError(
                f"a partition of X has {len(X)} rows and that of {what} has {len(part)}: they must be equal"
            )
    table = X.drop(columns=names) if names else X
    y, weights = (None if part is None else np.asarray(part) for part in columns)
    return Block(table, y, weights)


def _at(function: Callable[[Block], Any], block: Block, start: int) -> Any:
    return function(Block(block.X, block.y, block.weights, start))


def _length(block: Block) -> int:
    return len(block)


def _first_row(rows: Rows) -> Rows:
    return Rows(rows.X[:1], rows.Y[:1])
