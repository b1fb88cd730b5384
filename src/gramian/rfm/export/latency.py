"""Time to predict one row with the exported NumPy predictor, and the number of centres that keeps it below a limit."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gramian.predictor import Predictor
from gramian.rfm.export.description import predictor_of
from gramian.rfm.model import FittedRFM

_REPEATS = 100
"""Repetitions of which the fastest counts: other programs and an interrupt make a call slower, never faster."""
_MARGIN = 0.9
"""Share of the limit that is aimed at, since a second measurement differs from the first."""


def row_seconds(predictor: Predictor, repeats: int = _REPEATS) -> float:
    """Return the processor time of ``predict`` for one row given as an array: the shortest of several calls.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 0]).model_
    >>> 0 < row_seconds(predictor_of(model)) < 0.1
    True
    """
    row = example_row(predictor)
    taken = []
    for _ in range(repeats):
        begin = time.process_time()
        predictor.predict(row)
        taken.append(time.process_time() - begin)
    return min(taken)


def example_row(predictor: Predictor) -> NDArray[np.generic]:
    """Return a row ``(1, d)`` that the predictor accepts: the value of missing numbers, and first levels."""
    row = [
        0.0 if code is None else code.fill if code.kind == "number" else next(iter(code.levels), "")
        for code in predictor.columns
    ]
    numeric = all(isinstance(value, float) for value in row)
    return np.array([row], dtype=np.float64 if numeric else object)


def centers_within(model: FittedRFM, max_latency: float) -> int:
    """Return the largest number of centres with which one row is predicted in less than ``max_latency`` seconds.

    The time is measured on this computer, with the predictor of :mod:`gramian.predictor`, by halving the interval of
    the numbers of centres that come into question. A tenth of the limit is left as a margin. The result is the present
    number of centres where these are predicted with in time.

    Raises
    ------
    ValueError
        If one centre already takes longer: reading the columns of a row takes a time of its own.
    """
    if not max_latency > 0:
        raise ValueError(f"max_latency must be a positive number of seconds, got {max_latency!r}")
    predictor = predictor_of(model)

    def seconds(n: int) -> float:
        sums = [
            replace(part, points=part.points[:, :n].copy(), norms=part.norms[:n].copy(), coef=part.coef[:n].copy())
            for part in predictor.sums
        ]
        return row_seconds(replace(predictor, sums=sums))

    most = max(part.points.shape[1] for part in predictor.sums)
    if seconds(most) <= _MARGIN * max_latency:
        return model.machine.n
    least = seconds(1)
    if least > _MARGIN * max_latency:
        raise ValueError(
            f"one row takes {least * 1e3:.2g} ms with a single centre on this computer, of which max_latency="
            f"{max_latency:g} s leaves no tenth as a margin: raise max_latency to {1.2 * least:.2g} or more"
        )
    low, high = 1, most
    while high - low > max(1, low // 20):
        middle = (low + high) // 2
        if seconds(middle) <= _MARGIN * max_latency:
            low = middle
        else:
            high = middle
    return low
