"""Tables that are not in memory, as blocks of rows.

A memory-mapped array, a Parquet or Arrow file and a Dask collection have a number of rows and give them in blocks. Work
on all rows is a function that is applied to each block, in order.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from gramian.core.plugins import package_of, plugin
from gramian.core.tiles import spans
from gramian.tables.types import TableLike, TargetLike

BLOCK_ROWS = 2**14
_ARROW_ENDINGS = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a table: an array or frame X, targets and weights if any, and the number of the first row.

    >>> len(Block(np.zeros((3, 2)), np.zeros(3)))
    3
    """

    X: TableLike
    y: TargetLike = None
    weights: Any = None
    start: int = 0

    def __len__(self) -> int:
        return len(self.X)


class Blocks(ABC):
    """Table that is read in blocks of rows."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number of columns, as they are stored."""

    @property
    def remote(self) -> bool:
        """True if other processes process the blocks."""
        return False

    @abstractmethod
    def each(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        """Yield ``function(block)`` for every block, in order; it must pickle, since other processes may call it."""

    def rows(self, indices: NDArray[np.intp]) -> Block:
        """Load the rows with these indices, which must be increasing, in one pass over the table."""
        parts = [part for part in self.each(_Pick(indices)) if len(part)]
        return _joined(parts)

    def whole(self) -> Block:
        """Load all rows."""
        return _joined(list(self.each(_itself)))


@dataclass(frozen=True, eq=False)
class _SlicedBlocks(Blocks):
    """Blocks of a table whose rows can be sliced, and of its targets and weights."""

    X: TableLike
    y: TargetLike = None
    weights: Any = None
    size: int = BLOCK_ROWS

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @abstractmethod
    def dense(self) -> Callable[[slice], NDArray[np.generic]]:
        """Return the function that loads some rows as a dense array."""

    def each(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        load = self.dense()
        for part in spans(self.n_rows, self.size):
            y, weights = (None if values is None else values[part] for values in (self.y, self.weights))
            yield function(Block(load(part), y, weights, part.start))


@dataclass(frozen=True, eq=False)
class ArrayBlocks(_SlicedBlocks):
    """Blocks of an array whose rows can be sliced, such as a memory map, and of its targets and weights.

    >>> blocks = ArrayBlocks(np.arange(6.0).reshape(3, 2), np.arange(3), size=2)
    >>> [float(total) for total in blocks.each(lambda block: block.X.sum())]
    [6.0, 9.0]
    """

    def dense(self) -> Callable[[slice], NDArray[np.generic]]:
        return lambda part: np.array(self.X[part])


@dataclass(frozen=True, eq=False)
class SparseBlocks(_SlicedBlocks):
    """Blocks of a scipy.sparse matrix or array, each as a dense array, and of its targets and weights.

    >>> from scipy.sparse import csr_array
    >>> blocks = SparseBlocks(csr_array(np.eye(3)), size=2)
    >>> [block.X.shape for block in blocks.each(lambda block: block)]
    [(2, 3), (1, 3)]
    """

    def dense(self) -> Callable[[slice], NDArray[np.generic]]:
        rows = self.X.tocsr()  # other formats have no slices of rows
        return lambda part: rows[part].toarray()


def as_blocks(X: TableLike, y: TargetLike = None, weights: Any = None) -> Blocks | None:
    """Return the blocks of a table that is not in memory, or sparse; None for a dense table in memory.

    NumPy memory maps, Parquet and Arrow (a path, or an object of pyarrow), and Dask arrays and frames are recognised.
    The target is an array with one entry per row, or the name of a column of X.

    >>> as_blocks(np.zeros((3, 2))) is None
    True
    """
    if isinstance(X, np.memmap):
        if X.ndim != 2:
            return None  # the validation of X raises the error
        check_rows(len(X), y, weights)
        return ArrayBlocks(X, y, weights)
    if issparse(X):
        return SparseBlocks(X, y, weights) if X.ndim == 2 else None
    if isinstance(X, str | os.PathLike):
        return _from_path(Path(X), y, weights)
    if package_of(X) == "pyarrow":
        from gramian.tables.arrow import ArrowBlocks

        return ArrowBlocks.of(X, y, weights)
    reader = plugin(package_of(X))
    blocks: Blocks | None = None if reader is None else reader.as_blocks(X, y, weights)
    return blocks


def _from_path(path: Path, y: TargetLike, weights: Any) -> Blocks:
    if not path.exists():
        raise ValueError(f"X is the path {str(path)!r}, and there is no such file or folder")
    if path.suffix == ".npy":
        return ArrayBlocks(np.load(path, mmap_mode="r"), y, weights)
    if path.is_dir() or path.suffix in _ARROW_ENDINGS:
        from gramian.tables.arrow import ArrowBlocks

        return ArrowBlocks.of(path, y, weights)
    raise ValueError(
        f"X is the path {str(path)!r}: a table is read from .npy, {', '.join(_ARROW_ENDINGS)} or a folder of those"
    )


def check_rows(n: int, y: TargetLike, weights: Any) -> None:
    """Raise a ValueError if the number of targets or weights differs from the number of rows."""
    if weights is not None and not isinstance(weights, str) and np.ndim(weights) == 0:
        raise ValueError(f"sample_weight must have one entry per row of a table outside memory, got {weights!r}")
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and not isinstance(values, str) and len(values) != n:
            raise ValueError(f"X has {n} rows and {name} has {len(values)}: the numbers must be equal")


def take_rows(values: TableLike, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a frame or array, or some entries of a series, array or list, in the same kind of container.

    >>> take_rows(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if values is None:
        return None  # the reading of the target raises the error
    if isinstance(values, list | tuple):
        return [values[int(row)] for row in rows]
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


@dataclass(frozen=True, eq=False)
class _Pick:
    indices: NDArray[np.intp]

    def __call__(self, block: Block) -> Block:
        low, high = np.searchsorted(self.indices, [block.start, block.start + len(block)])
        at = self.indices[low:high] - block.start
        X = take_rows(block.X, at)
        y, weights = (None if part is None else np.asarray(part)[at] for part in (block.y, block.weights))
        return Block(X, y, weights, int(low))


def _itself(block: Block) -> Block:
    return block


def _joined(parts: list[Block]) -> Block:
    if hasattr(parts[0].X, "iloc"):
        import pandas as pd

        X: TableLike = pd.concat([part.X for part in parts], ignore_index=True)
    else:
        X = np.concatenate([part.X for part in parts])
    y, weights = (
        None if one[0] is None else np.concatenate([np.asarray(value) for value in one])
        for one in ([part.y for part in parts], [part.weights for part in parts])
    )
    return Block(X, y, weights)
