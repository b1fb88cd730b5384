"""From a table that is not in memory to rows a machine can be fitted to, in three readings.

First labels or the size of targets, then means and deviations of columns, then the rows themselves: encoded,
standardised, in the working format; in a file that is mapped into memory, or on the workers of a cluster.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from gramian.core.rows import MemoryRows, Rows, RowSource
from gramian.rfm.data import Array, Scaler, check_finite
from gramian.rfm.targets import TargetTransform
from gramian.tables import TableEncoder, encode_labels, label_codes, read_target
from gramian.tables.blocks import Block, Blocks


@runtime_checkable
class Target(Protocol):
    """How targets become numbers ``(b, c)``."""

    def codes(self, y: Any) -> Array:
        """The numbers a machine is fitted to, before they are centred and scaled."""

    def weights(self, y: Any, weights: Any) -> Array | None:
        """The weights of rows with these targets."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """Targets of a regression, on the scale that is fitted."""

    transform: TargetTransform

    def codes(self, y: Any) -> Array:
        """See :meth:`Target.codes`."""
        values = read_target(y)
        return self.transform.apply(values).reshape(len(values), -1)

    def weights(self, y: Any, weights: Any) -> Array | None:
        """See :meth:`Target.weights`."""
        return None if weights is None else np.asarray(weights, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Labels:
    """Classes as ±1 for two and one-hot for more; ``factors`` are class weights."""

    classes: NDArray[Any]
    factors: Array | None = None

    def codes(self, y: Any) -> Array:
        """See :meth:`Target.codes`."""
        labels = label_codes(y, self.classes)
        if len(self.classes) == 2:
            return np.where(labels == 1, 1.0, -1.0)[:, None]
        return np.eye(len(self.classes))[labels]

    def weights(self, y: Any, weights: Any) -> Array | None:
        """See :meth:`Target.weights`."""
        own = None if weights is None else np.asarray(weights, dtype=np.float64)
        if self.factors is None:
            return own
        factors = self.factors[label_codes(y, self.classes)]
        return factors if own is None else own * factors


@dataclass(frozen=True, eq=False)
class Reading:
    """Raw columns to numbers: what an encoder that was fitted to some rows makes of others."""

    encoder: TableEncoder | None
    means: Array
    names: NDArray[Any] | None

    def __call__(self, X: Any) -> Array:
        """Encoded rows (b, d) without gaps: where some rows had none, the mean stands for what is missing."""
        if self.encoder is not None:
            rows: Array = self.encoder.transform(X)
        else:
            rows = np.asarray(X, dtype=np.float64)
            check_finite(rows, self.names)
        return np.where(np.isnan(rows), self.means, rows)


@dataclass(frozen=True, eq=False)
class Sums:
    """Weight, first and second moments about a point, smallest and largest: of encoded columns and target codes."""

    weight: float
    first: Array
    second: Array
    low: Array
    high: Array
    digest: str

    def scaler(self, about: Array, columns: slice, center: bool, scale: bool) -> Scaler:
        """The scaler :meth:`Scaler.fit` would give, from sums."""
        mean = self.first / self.weight
        spread = np.sqrt(np.maximum(self.second / self.weight - mean**2, 0.0))
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        constant = (self.high - self.low <= 4 * np.finfo(float).eps * size) | (spread == 0)
        middle = np.where(constant, self.low, mean + about)[columns]
        spread = np.where(constant, np.where(size > 0, size, 1.0), spread)[columns]
        return Scaler(middle if center else np.zeros_like(middle), spread if scale else np.ones_like(spread))


@dataclass(frozen=True, eq=False)
class _Summing:
    reading: Reading
    target: Target
    about: Array

    def __call__(self, block: Block) -> Sums:
        Z = np.hstack([self.reading(block.X), self.target.codes(block.y)])
        w = self.target.weights(block.y, block.weights)
        if w is not None and not (np.isfinite(w).all() and (w > 0).all()):
            raise ValueError("sample_weight must be positive and finite in every row: leave rows of weight 0 out")
        w = np.ones(len(Z)) if w is None else w
        shifted = Z - self.about
        sha = hashlib.sha256(Z.tobytes())
        sha.update(w.tobytes())
        return Sums(float(w.sum()), w @ shifted, w @ shifted**2, Z.min(axis=0), Z.max(axis=0), sha.hexdigest())


def sums_of(blocks: Blocks, reading: Reading, target: Target, about: Array) -> Sums:
    """Sums over all rows, and a digest of them in their order."""
    total: Sums | None = None
    for one in blocks.each(_Summing(reading, target, about)):
        if total is None:
            total = one
            continue
        total = Sums(
            total.weight + one.weight,
            total.first + one.first,
            total.second + one.second,
            np.minimum(total.low, one.low),
            np.maximum(total.high, one.high),
            hashlib.sha256((total.digest + one.digest).encode()).hexdigest(),
        )
    assert total is not None
    return total


@dataclass(frozen=True, eq=False)
class Prepare:
    """A raw block to rows as a machine sees them."""

    reading: Reading
    target: Target
    scaler: Scaler
    target_scaler: Scaler
    dtype: torch.dtype

    def __call__(self, block: Block) -> Rows:
        """Encoded, standardised rows in the working format, with targets and weights in the wide one."""
        weights = self.target.weights(block.y, block.weights)
        return Rows(
            torch.as_tensor(self.scaler.apply(self.reading(block.X)), dtype=self.dtype),
            torch.from_numpy(self.target_scaler.apply(self.target.codes(block.y))),
            None if weights is None else torch.from_numpy(weights),
            block.start,
        )


@contextmanager
def rows_of(blocks: Blocks, prepare: Prepare, folder: Path | None = None, *, here: bool = False) -> Iterator[RowSource]:
    """The prepared rows, to be read again and again: on the cluster, or in a temporary file mapped into memory.

    That file lies in ``folder`` or where the system puts such files, and goes away; ``here`` wants no cluster.
    """
    spread = None if here else getattr(blocks, "source", None)
    source = None if spread is None else spread(prepare)
    if source is not None:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="gramian-", dir=folder) as scratch:
        yield MemoryRows(_written(blocks, prepare, Path(scratch)))


def _written(blocks: Blocks, prepare: Prepare, folder: Path) -> Rows:
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


def labels_of(blocks: Blocks) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """All labels, sorted, and how many rows have each."""
    found = list(blocks.each(_distinct))
    classes, codes = encode_labels(np.concatenate([labels for labels, _ in found]))
    return classes, np.bincount(codes, np.concatenate([counts for _, counts in found])).astype(np.intp)


def _distinct(block: Block) -> tuple[NDArray[Any], NDArray[np.intp]]:
    classes, codes = encode_labels(block.y)
    return classes, np.bincount(codes, minlength=len(classes))
