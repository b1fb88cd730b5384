"""Tasks on the corners of a cube: a product of two coordinates (paper B), a sparse parity (paper D)."""

from __future__ import annotations

import math

import numpy as np
import torch

from gramian.datasets.base import Dataset, Seed, at_least, axes, generator, names, nonnegative, normal, signs


def low_rank_product(n: int = 1000, d: int = 30, noise: float = 0.1, seed: Seed = 0) -> Dataset:
    """Paper B, Fig. 16a: ``z`` uniform on {−1, 1}^d, ``x = z + noise · N(0, I)``, ``y = z₀ z₁``.

    The expected gradient outer product is that of the polynomial ``f(x) = x₀ x₁`` over the noisy inputs, where
    ``∇f = (x₁, x₀, 0, …)`` and so ``EGOP = (1 + noise²) diag(1, 1, 0, …, 0)``. That of the best predictor
    ``E[y | x] = tanh(x₀/noise²) tanh(x₁/noise²)`` is proportional to it.

    Parameters
    ----------
    n, d : int
        Rows and columns; the paper trains on 1,000 rows of 30.
    noise : float
        Standard deviation of the noise on the inputs, which the paper does not state.
    seed : int or torch.Generator

    Returns
    -------
    Dataset
        ``X (n, d)``, ``y (n,)`` in {−1, 1}, ``subspace (d, 2)``, ``egop (d, d)``.

    >>> data = low_rank_product(n=4, seed=0)
    >>> bool((data.y == np.sign(data.X[:, 0] * data.X[:, 1])).all())
    True
    """
    at_least(1, n=n)
    at_least(2, d=d)
    nonnegative(noise=noise)
    rng = generator(seed)
    z = signs(rng, n, d)
    basis = axes((0, 1), d)
    return Dataset(
        X=z + noise * normal(rng, n, d),
        y=z[:, 0] * z[:, 1],
        feature_names=names(d),
        description=f"y = z0·z1, x = z + {noise:g}·N(0, I), z uniform on the corners of a {d}-dimensional cube",
        subspace=basis,
        egop=(1 + noise**2) * basis @ basis.T,
    )


def sparse_parity(n: int = 500, d: int = 50, k: int = 2, seed: Seed = 0, support: tuple[int, ...] = ()) -> Dataset:
    """Paper D, section 4.3: x uniform on {−1/√d, 1/√d}^d, label 1 where ``∏_{i∈S} x_i > 0`` and else 0, ``|S| = k``.

    As a polynomial in x the label is ``f(x) = ½(1 + ∏_{i∈S} √d x_i)``, with ``∂f/∂x_j = ½ √d ∏_{i∈S, i≠j} √d x_i``.
    Products of signs over two different sets average to 0, so ``EGOP = (d/4) diag(1_S)``.

    Parameters
    ----------
    n, d : int
        Rows and columns; the paper takes d = 50 with n = 500 (k = 2), 5,000 (k = 3), 50,000 (k = 4).
    k : int
        Size of the support, which is drawn at random ...
    seed : int or torch.Generator
    support : tuple of int
        ... unless its coordinates are named here (k is then ignored). Rows drawn with one seed do not depend on it.

    Returns
    -------
    Dataset
        ``X (n, d)``, int64 labels ``y (n,)``, ``subspace (d, k)``, ``egop (d, d)``.

    >>> data = sparse_parity(n=100, d=10, support=(7, 3), seed=0)
    >>> np.flatnonzero(np.diag(data.egop))
    array([3, 7])
    """
    at_least(1, n=n, d=d, k=k)
    rng = generator(seed)
    order = torch.randperm(d, generator=rng).tolist()
    if not support:
        if k > d:
            raise ValueError(f"k must be at most d = {d}, got {k}")
        support = tuple(order[:k])
    if len(set(support)) != len(support) or not all(0 <= i < d for i in support):
        raise ValueError(f"support must hold different column numbers from 0 to {d - 1}, got {support!r}")
    support = tuple(sorted(support))
    s = signs(rng, n, d)
    basis = axes(support, d)
    return Dataset(
        X=s / math.sqrt(d),
        y=(s[:, list(support)].prod(axis=1) > 0).astype(np.int64),
        feature_names=names(d),
        description=f"parity of the columns {', '.join(map(str, support))} of {d}, inputs ±1/√{d}",
        subspace=basis,
        egop=d / 4 * basis @ basis.T,
    )
