"""Tasks on Gaussian inputs: a function of one direction (paper B), a product behind a gate."""

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
