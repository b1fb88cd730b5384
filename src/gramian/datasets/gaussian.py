"""Tasks on Gaussian inputs: a function of one direction (paper B), a product behind a gate, a staircase (paper E)."""

from __future__ import annotations

import numpy as np

from gramian.datasets.base import Dataset, Seed, at_least, axes, generator, names, nonnegative, normal


def hermite_index(n: int = 1000, d: int = 10, seed: Seed = 0) -> Dataset:
    """Paper B, Fig. 16d: ``x ~ N(0, I_d)``, ``y = He₂(uᵀx) + He₄(uᵀx)`` for a random unit vector u.

    With the probabilists' polynomials ``He₂(t) = t² − 1``, ``He₄(t) = t⁴ − 6t² + 3``; since ``He_k' = k He_{k−1}`` and
    ``E[He_k²] = k!``, the slope has ``E[(2 He₁ + 4 He₃)²] = 4 + 16 · 6 = 100`` and ``EGOP = 100 u uᵀ``.

    Parameters
    ----------
    n, d : int
        Rows and columns; the paper trains on 1,000 rows of 10.
    seed : int or torch.Generator
        Draws u first, then the rows: one generator for a training and a test call would give two different u, so draw
        both parts at once and cut.

    Returns
    -------
    Dataset
        ``X (n, d)``, ``y (n,)``, ``subspace (d, 1)`` = u, ``egop (d, d)``.

    >>> data = hermite_index(n=3, d=4, seed=0)
    >>> t = data.X @ data.subspace[:, 0]
    >>> bool(np.allclose(data.y, t**4 - 5 * t**2 + 2))
    True
    """
    at_least(1, n=n, d=d)
    rng = generator(seed)
    u = normal(rng, d)
    u /= np.linalg.norm(u)
    X = normal(rng, n, d)
    t = X @ u
    return Dataset(
        X=X,
        y=(t**2 - 1) + (t**4 - 6 * t**2 + 3),
        feature_names=names(d),
        description=f"y = He2(u·x) + He4(u·x), x normal in {d} dimensions, u a random unit vector",
        subspace=u[:, None],
        egop=100 * np.outer(u, u),
    )


def gated_product(n: int = 4000, d: int = 20, std: float = 0.5, seed: Seed = 0) -> Dataset:
    """``y = x₀ x₁ · 1[x₅ > 0]`` with ``x ~ N(0, std² I_d)``: two smooth directions and one gate among noise columns.

    The target jumps where x₅ = 0 and x₀x₁ ≠ 0, so its expected gradient outer product is infinite along x₅ and ``egop``
    is None; away from the jump it is ``½ std² diag(1, 1, 0, …)``. The relevant subspace is spanned by x₀, x₁ and x₅.

    Parameters
    ----------
    n, d : int
        Rows and columns (at least 6).
    std : float
        Standard deviation of the inputs.
    seed : int or torch.Generator

    Returns
    -------
    Dataset
        ``X (n, d)``, ``y (n,)``, ``subspace (d, 3)``.

    >>> data = gated_product(n=100, seed=0)
    >>> bool((data.y[data.X[:, 5] <= 0] == 0).all())
    True
    """
    at_least(1, n=n)
    at_least(6, d=d)
    nonnegative(std=std)
    X = std * normal(generator(seed), n, d)
    return Dataset(
        X=X,
        y=X[:, 0] * X[:, 1] * (X[:, 5] > 0),
        feature_names=names(d),
        description=f"y = x0·x1 where x5 > 0 and else 0, x normal with standard deviation {std:g} in {d} dimensions",
        subspace=axes((0, 1, 5), d),
    )


def staircase(n: int = 1000, d: int = 10, degree: int = 4, seed: Seed = 0) -> Dataset:
    """``y = x₀ + x₀x₁ + x₀x₁x₂ + … + x₀⋯x_{k−1}`` with ``x ~ N(0, I_d)`` and k the degree (paper E, Fig. 8).

    Each step multiplies the last monomial by one more coordinate. Column i is in ``k − i`` monomials; its derivatives
    of different monomials are uncorrelated and have variance 1, and those of two columns are odd in one of them, so
    ``EGOP = diag(k, k − 1, …, 1, 0, …)``.

    Parameters
    ----------
    n, d : int
        Rows and columns; the paper takes 1,000 rows of 10.
    degree : int
        Number of monomials k, at most d; 4 in the paper.
    seed : int or torch.Generator

    Returns
    -------
    Dataset
        ``X (n, d)``, ``y (n,)``, ``subspace (d, k)``, ``egop (d, d)``.

    >>> data = staircase(n=50, d=6, degree=2, seed=0)
    >>> bool(np.allclose(data.y, data.X[:, 0] * (1 + data.X[:, 1])))
    True
    >>> np.diag(data.egop).tolist()
    [2.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    at_least(1, n=n, d=d, degree=degree)
    if degree > d:
        raise ValueError(f"degree must be at most d = {d}, got {degree}")
    X = normal(generator(seed), n, d)
    basis = axes(tuple(range(degree)), d)
    return Dataset(
        X=X,
        y=X[:, :degree].cumprod(axis=1).sum(axis=1),
        feature_names=names(d),
        description=f"y = x0 + x0·x1 + … with {degree} monomials, x normal in {d} dimensions",
        subspace=basis,
        egop=basis @ np.diag(np.arange(degree, 0.0, -1.0)) @ basis.T,
    )
