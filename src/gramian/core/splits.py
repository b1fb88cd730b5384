"""Splits of the training rows: parts to fit candidates to, and other rows to compare them on.

Rows that occur several times in the user's table are one row with several *copies*. Splits are drawn over the copies,
so that a row may be fitted and held out at the same time, as often as it is in the table. Rows of one group, or of one
time, are on the same side of every split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from gramian.core.rows import Rows

FIFTHS = 5
_Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SplitBy:
    """A condition on splits: rows with equal ``codes (n,)`` are on the same side.

    If ``ordered``, held-out rows have larger codes than the rows that are fitted: they come later in time.
    """

    codes: _Indices
    ordered: bool

    @property
    def name(self) -> str:
        """The argument of ``fit`` that it comes from."""
        return "time" if self.ordered else "groups"

    def hold_out(self, count: int, seed: int) -> _Indices:
        """Return about ``count`` rows to hold out of a fit, whole groups or the last ones, and at most half of all.

        They are more than half only where the smallest group, or the last time, has as many rows.
        """
        if not count:
            return np.empty(0, dtype=np.intp)
        rank = self._rank(seed)
        order = np.argsort(rank, kind="stable")
        n, ranks = len(order), rank[order]
        first = self._boundary(ranks, n - min(count, n // 2))
        if n - first > n // 2:  # a large group begins before the middle
            first = min(int(np.searchsorted(ranks, ranks[first], side="right")), n)
        if first < n:
            return np.sort(order[first:])
        last = ranks[-1] if self.ordered else np.bincount(rank).argmin()
        return np.flatnonzero(rank == last)

    def splits(self, count: int, train_rows: int, held_out_rows: int, seed: int) -> Iterator[tuple[_Indices, _Indices]]:
        """Yield rows to fit to and rows to hold out; fewer splits where there are fewer groups or times.

        Every group is held out once, and candidates are screened on the rows of the first split, which are the most.
        Where the other groups have more than ``train_rows`` rows, random rows of them are fitted: a few whole groups
        could be too few rows, or one group alone.
        """
        if self.ordered:
            yield from self._moving_back(count, train_rows, held_out_rows)
            return
        n = len(self.codes)
        bounded = 0 < train_rows * count < n * (count - 1)
        fold = self._balanced(min(count, len(np.unique(self.codes))), seed)
        rng = np.random.default_rng(seed)
        for k in np.argsort(np.bincount(fold), kind="stable"):
            train, held_out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            if bounded:
                train, held_out = _random_part(train, train_rows, rng), _random_part(held_out, held_out_rows or n, rng)
            yield train, held_out

    def _moving_back(self, count: int, train_rows: int, held_out_rows: int) -> Iterator[tuple[_Indices, _Indices]]:
        """Yield the rows before, and those of the last time; then the same of earlier times, no row held out twice."""
        n = len(self.codes)
        size = max(1, min(held_out_rows or n, n // (count + 1)))
        order = np.argsort(self.codes, kind="stable")
        times = self.codes[order]
        end = n
        for _ in range(count):
            start = self._boundary(times, end - size) if end > size else 0
            if not 0 < start < end:
                return
            first = int(np.searchsorted(times, times[max(0, start - train_rows)])) if train_rows else 0
            yield np.sort(order[first:start]), np.sort(order[start:end])
            end = start

    def _rank(self, seed: int) -> _Indices:
        """Return the place of each row's group in a random order, or in time."""
        units, at = np.unique(self.codes, return_inverse=True)
        return at if self.ordered else np.random.default_rng(seed).permutation(len(units))[at]

    def _balanced(self, folds: int, seed: int) -> _Indices:
        """Return a fold for each row, of about equal size: the largest groups first, each to the smallest fold."""
        rank = self._rank(seed)
        sizes, total, fold = np.bincount(rank), np.zeros(folds), np.zeros(rank.max() + 1, dtype=np.intp)
        for unit in np.argsort(-sizes, kind="stable"):
            fold[unit] = total.argmin()
            total[fold[unit]] += sizes[unit]
        return fold[rank]

    @staticmethod
    def _boundary(ranks: _Indices, at: int) -> int:
        """Return the first position of the group at a position of the sorted rows; the next group's if that is 0."""
        first = int(np.searchsorted(ranks, ranks[at]))
        return first if first or at == 0 else int(np.searchsorted(ranks, ranks[at], side="right"))


@dataclass(frozen=True, eq=False)
class RowSplit:
    """Indices of rows to fit to and of rows that are held out, and how many copies of each are (None: one of each)."""

    train: Int[Tensor, " p"]
    held_out: Int[Tensor, " q"]
    train_copies: Float[Tensor, " p"] | None = None
    held_out_copies: Float[Tensor, " q"] | None = None

    def fitted(self, data: Rows) -> Rows:
        """Return the rows to fit to, each with the weight of its copies."""
        return _with_copies(data[self.train.to(data.X.device)], self.train_copies)

    def fitted_weights(self, data: Rows) -> Float[Tensor, " n"] | None:
        """Return the weights of all rows, in which those to fit to have the weight of their copies; None without."""
        weights, train = self.fitted(data).weights, self.train.to(data.X.device)
        return None if weights is None else data.weights_or_ones.index_copy(0, train, weights.to(data.Y))

    def compared(self, data: Rows) -> Rows:
        """Return the held-out rows, each with the weight of its copies."""
        return _with_copies(data[self.held_out.to(data.X.device)], self.held_out_copies)


def draw_splits(
    n: int,
    count: int,
    *,
    train_rows: int = 0,
    held_out_rows: int = 0,
    seed: int = 0,
    strata: NDArray[np.intp] | None = None,
    copies: NDArray[np.intp] | None = None,
    by: SplitBy | None = None,
) -> Iterator[RowSplit]:
    """Yield ``count`` splits: fifths of the rows held out in turn, or parts of ``train_rows`` rows where that is less.

    Parts follow one another in a random order of the rows, and the rows after each part are held out, at most
    ``held_out_rows``. With ``strata`` (labels) every part has its share of each label; groups and times come first.

    >>> rows = [split.held_out for split in draw_splits(10, 5)]
    >>> sorted(torch.cat(rows).tolist()) == list(range(10))
    True
    >>> split = next(draw_splits(100, 3, train_rows=30, held_out_rows=50))
    >>> len(split.train), len(split.held_out)
    (30, 50)
    """
    if by is not None:
        for train, held_out in by.splits(count, train_rows, held_out_rows, seed):
            yield RowSplit(torch.from_numpy(train), torch.from_numpy(held_out))
        return
    owner = np.arange(n) if copies is None else np.repeat(np.arange(n), copies)
    labels = None if strata is None else strata[owner]
    fifths = not train_rows or train_rows * FIFTHS >= len(owner) * (FIFTHS - 1)
    order = _stratified_order(len(owner), seed, labels, interleaved=not fifths)
    total = len(owner)
    for number in range(count):
        if fifths:
            at = np.arange(total)
            train, held_out = order[at % FIFTHS != number], order[at % FIFTHS == number]
        else:
            turned = np.roll(order, -number * train_rows)
            train, held_out = turned[:train_rows], turned[train_rows : train_rows + held_out_rows]
        if copies is None:
            yield RowSplit(torch.from_numpy(np.sort(train)), torch.from_numpy(np.sort(held_out)))
        else:
            (fitted_rows, train_copies), (out_rows, out_copies) = (_counted(owner[part]) for part in (train, held_out))
            yield RowSplit(fitted_rows, out_rows, train_copies, out_copies)


def hold_out(n: int, count: int, seed: int, by: SplitBy | None = None) -> tuple[Int[Tensor, " q"], Int[Tensor, " r"]]:
    """Return rows to hold out of a fit, sorted, and the other rows in random order.

    >>> held_out, others = hold_out(6, 2, seed=0, by=SplitBy(np.array([0, 1, 2, 2, 1, 0]), ordered=True))
    >>> held_out.tolist(), sorted(others.tolist())
    ([2, 3], [0, 1, 4, 5])
    """
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    if by is None:
        return order[:count].sort().values, order[count:]
    held_out = torch.from_numpy(by.hold_out(count, seed))
    return held_out, order[~torch.isin(order, held_out)]


def _stratified_order(n: int, seed: int, labels: _Indices | None, *, interleaved: bool) -> _Indices:
    """Return a random order: sorted by label, or with the labels spread evenly where it is ``interleaved``."""
    order = np.random.default_rng(seed).permutation(n)
    if labels is None:
        return order
    grouped = order[np.argsort(labels[order], kind="stable")]
    if not interleaved:
        return grouped
    sizes = np.bincount(labels)
    within = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # position inside the label's group
    return grouped[np.argsort((within + 0.5) / np.repeat(sizes, sizes), kind="stable")]


def _random_part(rows: _Indices, count: int, rng: np.random.Generator) -> _Indices:
    """Return the rows, or a random part of ``count`` of them in their order where they are more."""
    return rows if len(rows) <= count else np.sort(rng.choice(rows, count, replace=False))


def _counted(owners: _Indices) -> tuple[Tensor, Tensor]:
    rows, counts = np.unique(owners, return_counts=True)
    return torch.from_numpy(rows), torch.from_numpy(counts.astype(np.float64))


def _with_copies(rows: Rows, copies: Float[Tensor, " n"] | None) -> Rows:
    """Return rows of which only some copies are present: weights are proportional to them."""
    if copies is None or rows.copies is None:
        return rows
    copies = copies.to(rows.Y)
    return Rows(rows.X, rows.Y, rows.weights_or_ones * (copies / rows.copies), rows.start, copies, rows.groups)
