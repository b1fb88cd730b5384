"""Standardised rows of tables that are not in memory, in three passes over their blocks.

The first pass finds the labels, the second the means and standard deviations of columns. The third writes the rows,
encoded, standardised and in the working format, to a memory-mapped file or to the workers of a cluster.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gramian.core.rows import MemoryRows, Rows, RowSource
from gramian.tables.blocks import Block, Blocks
from gramian.tables.labels import encode_labels
from gramian.tables.preprocessing import TableReader
from gramian.tables.scaling import Array, Scaler
from gramian.tables.targets import Target


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Weight, first and second moments about a point, minimum and maximum of encoded columns and target codes.

    ``digest`` identifies the rows in their order.
    """

    weight: float
    first: Array
    second: Array
    low: Array
    high: Array
    digest: str

    def scaler(self, about: Array, columns: slice, center: bool, scale: bool) -> Scaler:
        """Return the scaler that :meth:`Scaler.fit` would give for these columns."""
        mean = self.first / self.weight
        spread = np.sqrt(np.maximum(self.second / self.weight - mean**2, 0.0))
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        constant = (self.high - self.low <= 4 * np.finfo(float).eps * size) | (spread == 0)
        middle = np.where(constant, self.low, mean + about)[columns]
        spread = np.where(constant, np.where(size > 0, size, 1.0), spread)[columns]
        return Scaler(middle if center else np.zeros_like(middle), spread if scale else np.ones_like(spread))


@dataclass(frozen=True, eq=False)
class _SumBlock:
    reader: TableReader
    means: Array
    target: Target
    about: Array

    def __call__(self, block: Block) -> ColumnSums:
        Z = np.hstack([self.reader.encode_block(block.X, self.means), self.target.codes(block.y)])
        w = positive_weights(self.target.weights(block.y, block.weights), len(Z))
        shifted = Z - self.about
        sha = hashlib.sha256(Z.tobytes())
        sha.update(w.tobytes())
        return ColumnSums(float(w.sum()), w @ shifted, w @ shifted**2, Z.min(axis=0), Z.max(axis=0), sha.hexdigest())


def positive_weights(weights: Any, n: int) -> Array:
    """Return the weights of n streamed rows, ones without any; raise a ValueError unless they are positive.

    >>> positive_weights(None, 2)
    array([1., 1.])
    """
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(w).all() and (w > 0).all()):
        raise ValueError("sample_weight must be positive and finite in every row: leave rows of weight 0 out")
    return w


def sum_columns(blocks: Blocks, reader: TableReader, means: Array, target: Target, about: Array) -> ColumnSums:
    """Compute the sums over all rows, with a digest of the rows in their order."""
    total: ColumnSums | None = None
    for one in blocks.each(_SumBlock(reader, means, target, about)):
        if total is None:
            total = one
            continue
        total = ColumnSums(
            total.weight + one.weight,
            total.first + one.first,
            total.second + one.second,
            np.minimum(total.low, one.low),
            np.maximum(total.high, one.high),
            hashlib.sha256((total.digest + one.digest).encode()).hexdigest(),
        )
    assert total is not None, "a table has rows"
    return total


@dataclass(frozen=True, eq=False)
class PrepareBlock:
    """Map from a raw block to standardised rows in the working format."""

    reader: TableReader
    means: Array
    target: Target
    scaler: Scaler
    target_scaler: Scaler
    dtype: torch.dtype

    def __call__(self, block: Block) -> Rows:
        """Return standardised rows in the working format, with targets and weights in float64."""
        weights = self.target.weights(block.y, block.weights)
        return Rows(
            torch.as_tensor(self.scaler.transform(self.reader.encode_block(block.X, self.means)), dtype=self.dtype),
            torch.from_numpy(self.target_scaler.transform(self.target.codes(block.y))),
            None if weights is None else torch.from_numpy(weights),
            block.start,
        )


@contextmanager
def prepared_rows(
    blocks: Blocks, prepare: PrepareBlock, folder: Path | None = None, *, local: bool = False
) -> Iterator[RowSource]:
    """Yield the prepared rows as a source: on the cluster that holds the blocks, or in a memory-mapped file.

    The file is temporary, in ``folder`` or in the system's temporary folder. With ``local`` no cluster is used.
    """
    distribute = None if local else getattr(blocks, "source", None)
    source = None if distribute is None else distribute(prepare)
    if source is not None:
        yield source
        return
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gramian-", dir=folder) as scratch:
        yield MemoryRows(_write_rows(blocks, prepare, Path(scratch)))


def _write_rows(blocks: Blocks, prepare: PrepareBlock, folder: Path) -> Rows:
    maps: list[Any] = []
    for rows in blocks.each(prepare):
        parts = [rows.X, rows.Y] if rows.weights is None else [rows.X, rows.Y, rows.weights]
        if not maps:
            maps = [
                np.lib.format.open_memmap(
                    folder / f"{i}.npy", "w+", part.numpy().dtype, (blocks.n_rows, *part.shape[1:])
                )
                for i, part in enumerate(parts)
            ]
        for whole, part in zip(maps, parts, strict=True):
            whole[rows.start : rows.start + len(rows)] = part.numpy()
    X, Y, *weights = [torch.from_numpy(whole) for whole in maps]
    return Rows(X, Y, weights[0] if weights else None)


def count_labels(blocks: Blocks) -> tuple[NDArray[Any], Array]:
    """Return all labels, sorted, and the total weight of the rows with each (their number without weights)."""
    found = list(blocks.each(_count_block))
    classes, codes = encode_labels(np.concatenate([labels for labels, _ in found]))
    return classes, np.bincount(codes, np.concatenate([counts for _, counts in found])).astype(np.float64)


def _count_block(block: Block) -> tuple[NDArray[Any], Array]:
    classes, codes = encode_labels(block.y)
    weights = np.ones(len(codes)) if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    return classes, np.bincount(codes, weights, minlength=len(classes)).astype(np.float64)
