"""A curve that is rolled up in the plane: the Swiss roll (paper E)."""

from __future__ import annotations

import numpy as np
import torch

from gramian.datasets.base import Array, Dataset, Seed, at_least, generator, nonnegative, normal


def swiss_roll(n: int = 1000, noise: float = 0.0, seed: Seed = 0) -> Dataset:
    """Points on the spiral ``(t cos t, t sin t)`` with ``t = 3π/2 · (1 + 2u)``, u uniform; the target is the angle t.

    Paper E, Fig. 1: the two columns in which a Swiss roll is curled. Columns and target are scaled to [0, 1] by their
    smallest and largest value, so a straight line through y is what an unrolled curve would show.

    Parameters
    ----------
    n : int
        Rows, at least 2.
    noise : float
        Standard deviation of noise added to both columns before they are scaled; the spiral itself reaches from
        −11 to 14.
    seed : int or torch.Generator

    Returns
    -------
    Dataset
        ``X (n, 2)`` and ``y (n,)``, both in [0, 1].

    >>> data = swiss_roll(n=100, seed=0)
    >>> data.X.min(), data.X.max(), data.y.min(), data.y.max()
    (np.float64(0.0), np.float64(1.0), np.float64(0.0), np.float64(1.0))
    """
    at_least(2, n=n)
    nonnegative(noise=noise)
    rng = generator(seed)
    u = torch.rand(n, dtype=torch.float64, generator=rng).numpy()
    t = 1.5 * np.pi * (1 + 2 * u)
    X = np.stack([t * np.cos(t), t * np.sin(t)], axis=1)
    if noise:
        X = X + noise * normal(rng, n, 2)
    return Dataset(
        X=_scaled(X),
        y=_scaled(t),
        feature_names=("t·cos t", "t·sin t"),
        description="the angle t along the spiral (t cos t, t sin t), one and a half turns, all scaled to [0, 1]",
    )


def _scaled(values: Array) -> Array:
    low, high = values.min(axis=0), values.max(axis=0)
    scaled: Array = (values - low) / (high - low)
    return scaled
