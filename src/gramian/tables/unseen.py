"""Levels in later rows that no training row has."""

from __future__ import annotations

import numpy as np

from gramian.tables.columns import read_columns
from gramian.tables.encoder import TableEncoder
from gramian.tables.types import TableLike
from gramian.tables.values import read_levels


def unseen_levels(encoder: TableEncoder | None, X: TableLike) -> dict[str, dict[str, int]]:
    """Count the rows of X with a level that the encoder does not know: ``{column: {level: rows}}``, most rows first.

    Such a row is encoded as ``other``, or as a level without a column of its own. Of a column with more levels than
    ``max_categories``, the encoder stores the levels of two or more training rows; a level of a single one is new, too.
    Columns without new levels are left out; without an encoder all columns are numbers, and there are none.

    >>> encoder = TableEncoder().fit([["red", 1.0], ["blue", 2.0], ["red", 4.0]])
    >>> unseen_levels(encoder, [["green", 1.0], ["red", 3.0], ["green", 2.0], [None, 2.0]])
    {'x0': {'green': 2}}
    """
    if encoder is None:
        return {}
    found: dict[str, dict[str, int]] = {}
    for record, column in zip(encoder.records_, read_columns(X), strict=True):
        if record.encoding is None or not record.encoding.has_levels:
            continue
        levels = read_levels(column.values)
        rows = np.bincount(levels.codes[levels.codes >= 0], minlength=len(levels.texts))
        known = record.encoding.knows(levels.texts)
        new = {text: int(n) for text, n, old in zip(levels.texts, rows, known, strict=True) if n and not old}
        if new:
            found[record.name] = dict(sorted(new.items(), key=lambda item: (-item[1], item[0])))
    return found
