"""Order and shape of short curves: Kendall's rank correlation, the fit of a straight line, and where to measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def measured_epochs(last: int, points: int) -> list[int]:
    """Return whole epochs from 0 to the last at equal distances, at most ``points`` of them.

    >>> measured_epochs(10, 5), measured_epochs(2, 5)
    ([0, 2, 5, 8, 10], [0, 1, 2])
    """
    return sorted({round(last * i / (points - 1)) for i in range(points)})


def kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Return the share of pairs in the same order minus that in the opposite order; equal values count as neither.

    >>> kendall([1, 2, 3], [10, 30, 20])
    0.3333333333333333
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    i, j = np.triu_indices(len(a), 1)
    return float(np.mean(np.sign(a[j] - a[i]) * np.sign(b[j] - b[i])))


def straightness(x: ArrayLike, y: ArrayLike) -> float:
    """Return the coefficient of determination of the line through the points by least squares.

    >>> straightness([0, 1, 2], [1, 3, 5])
    1.0
    """
    return float(np.corrcoef(np.asarray(x, dtype=float), np.asarray(y, dtype=float))[0, 1] ** 2)


def fits_better(x: ArrayLike, other: ArrayLike, y: ArrayLike, z: ArrayLike, least: float = 0.9) -> float:
    """Return a number that is positive if y rises with x nearly on a line, and nearer to one than z with ``other``.

    A fit is :func:`straightness` with the sign of the slope, so that a falling curve has a negative one. The number is
    the smaller of the first fit minus ``least`` and the first fit minus the second.

    >>> round(fits_better([0, 1, 2], [1, 10, 100], [0, 1, 2], [0, 1, 2]), 4)
    0.1
    >>> fits_better([0, 1, 2], [1, 10, 100], [2, 1, 0], [2, 1, 0]) < -1
    True
    """
    first, second = (_signed(a, b) for a, b in ((x, y), (other, z)))
    return min(first - least, first - second)


def _signed(x: ArrayLike, y: ArrayLike) -> float:
    slope = np.polyfit(np.asarray(x, dtype=float), np.asarray(y, dtype=float), 1)[0]
    return float(np.sign(slope)) * straightness(x, y)


def hump(values: Sequence[float]) -> float:
    """Return the highest value between 15 and 65 % of the depth minus the higher of the first and the last one.

    >>> hump([0.5, 0.6, 0.7, 0.6, 0.5, 0.4]) > 0 > hump([0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    True
    """
    last = len(values) - 1
    middle = [value for layer, value in enumerate(values) if 0.15 * last <= layer <= 0.65 * last]
    return max(middle) - max(values[0], values[-1])


def learned_hump(pretrained: Sequence[float], random: Sequence[float]) -> float:
    """Return the smaller of :func:`hump` of the pre-trained profile and its excess over that of the random one.

    A random profile that sinks in the middle makes no hump.

    >>> round(learned_hump([0.5, 0.6, 0.7, 0.6, 0.5, 0.4], [0.3] * 6), 3)
    0.2
    """
    return min(hump(pretrained), hump(pretrained) - hump(random))
