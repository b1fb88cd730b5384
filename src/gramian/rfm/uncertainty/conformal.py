"""Intervals and prediction sets with a stated coverage, from errors on held-out rows."""

from __future__ import annotations

import math

import numpy as np

from gramian.tables.scaling import Array


def check_coverage(coverage: float) -> float:
    """Return a number strictly between 0 and 1, or raise a ValueError."""
    if not (isinstance(coverage, int | float | np.number) and 0 < coverage < 1):
        raise ValueError(f"coverage must be a number between 0 and 1 such as 0.9, got {coverage!r}")
    return float(coverage)


def conformal_quantile(scores: Array, weights: Array, coverage: float, copies: Array | None = None) -> float:
    """Return the smallest q such that a new score is at most q with probability ``coverage``, for exchangeable rows.

    With m equal weights it is the ``⌈(m + 1)·coverage⌉``-th smallest score: the new row counts as one more, of any
    size. It is infinity where the scores are too few for this coverage. ``copies (m,)`` are the numbers of rows that
    each score stands for; one each by default.

    >>> conformal_quantile(np.arange(1.0, 10.0), np.ones(9), 0.8)
    8.0
    >>> conformal_quantile(np.arange(3.0), np.ones(3), 0.9)
    inf
    >>> conformal_quantile(np.arange(3.0), np.full(3, 10.0), 0.9, copies=np.full(3, 10.0))
    2.0
    """
    order = np.argsort(scores)
    mass = np.cumsum(weights[order])
    rows = len(scores) if copies is None else copies.sum()
    needed = coverage * (mass[-1] + mass[-1] / rows)
    at = int(np.searchsorted(mass, needed * (1 - 1e-12)))
    return float(scores[order[at]]) if at < len(scores) else math.inf
