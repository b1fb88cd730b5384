"""Order of merged rows, classes and groups that is the same whatever the classes and groups are called.

Splits are drawn from the order of rows and classes. With names that sort otherwise, the same table must have the same
splits, so that classes and groups are numbered by their rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gramian.core.splits import SplitBy
from gramian.tables.merging import MergedRows
from gramian.tables.scaling import Array
from gramian.tables.values import Codes


def order_without_names(
    rows: MergedRows, split_by: SplitBy | None, *, classify: bool
) -> tuple[MergedRows, Codes | None, SplitBy | None]:
    """Return the rows in an order without names, the strata of a classification, and groups that are renumbered.

    ``rows`` are in the order of :func:`~gramian.tables.merging.merge_rows`, and ``split_by`` has a code for each row of
    the user's table. Codes of times have their own order, which stays.
    """
    strata = None
    if classify:
        place = _places(rows.X)
        strata = rank_labels(rows.y.astype(np.intp), place, rows.copies)
        order = np.lexsort((strata, place))
        rows, strata = rows[order], strata[order]
    if split_by is None:
        return rows, strata, None
    codes = split_by.codes[rows.index]
    if not split_by.ordered:
        place = _places(np.column_stack([rows.X, rows.y]))
        codes = rank_labels(codes, place, rows.copies)
        order = np.lexsort((codes, place))
        rows, codes, strata = rows[order], codes[order], None if strata is None else strata[order]
    return rows, strata, replace(split_by, codes=codes)


def rank_labels(labels: Codes, place: Codes, copies: Array | None) -> Codes:
    """Return the rank of each row's label: labels of more rows come first, of equally many those with earlier rows.

    ``place (n,)`` numbers the rows; ``copies (n,)`` counts the rows of the table that each stands for (None: one).

    >>> rank_labels(np.array([0, 1, 1, 2]), np.arange(4), None)
    array([1, 0, 0, 2])
    """
    counts = np.ones(len(labels)) if copies is None else copies
    found, at = np.unique(labels, return_inverse=True)
    order = np.lexsort((counts, place, at))
    # The order of such bytes is that of the pairs of place and copies, one after another.
    pairs = np.stack([place[order], counts[order]], axis=1).astype(">i8")
    parts = np.split(pairs, np.cumsum(np.bincount(at))[:-1])
    keys = [(-size, part.tobytes()) for size, part in zip(np.bincount(at, counts), parts, strict=True)]
    rank = np.empty(len(found), dtype=np.intp)
    rank[sorted(range(len(found)), key=keys.__getitem__)] = np.arange(len(found))
    return rank[at]


def _places(rows: NDArray[np.float64]) -> Codes:
    """Return the number of each of some sorted rows, the same for equal ones."""
    new = (rows[1:] != rows[:-1]).any(axis=1)
    return np.concatenate([[0], np.cumsum(new)])
