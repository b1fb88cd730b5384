"""Nodes and weights for integrals over an interval."""

from __future__ import annotations

from functools import cache

import numpy as np


@cache
def gauss_legendre(nodes: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return Gauss–Legendre nodes and weights on [0, 1]; cached, since computing hundreds takes longer than using them.

    >>> gauss_legendre(1)
    ((0.5,), (1.0,))
    """
    t, w = np.polynomial.legendre.leggauss(nodes)
    return tuple(((t + 1) / 2).tolist()), tuple((w / 2).tolist())
