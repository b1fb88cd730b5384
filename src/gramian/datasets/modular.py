"""Modular arithmetic as a table of one-hot pairs (paper D, section 4.3): the task on which kernel machines grok."""

from __future__ import annotations

import math

import numpy as np
import torch

from gramian.datasets.base import Dataset, Seed, Split, at_least, generator


def modular_arithmetic(p: int = 61, operation: str = "+", fraction: float = 0.5, seed: Seed = 0) -> Dataset:
    """All pairs (a, b) of residues with the label ``(a op b) mod p``, and a random split of them.

    Row (a, b) is ``x = e_a ⊕ e_b``: a one in column a and a one in column p + b. ``a / b`` is the c with ``b c = a``;
    it needs a prime p and leaves out b = 0, so its table has p (p − 1) rows instead of p².

    Parameters
    ----------
    p : int
        Modulus, at least 2; 61 in the paper.
    operation : "+", "-", "*" or "/"
    fraction : float
        Share of the table in the training part, strictly between 0 and 1.
    seed : int or torch.Generator
        For the split; the table itself has nothing random.

    Returns
    -------
    Dataset
        ``X (n, 2p)``, int64 labels ``y (n,)``, one of ``splits``.

    >>> data = modular_arithmetic(p=5, operation="-", fraction=0.6)
    >>> data.X[1].astype(int), int(data.y[1])
    (array([1, 0, 0, 0, 0, 0, 1, 0, 0, 0]), 4)
    >>> len(data.splits[0].train), len(data.splits[0].test)
    (15, 10)
    """
    at_least(2, p=p)
    if operation not in ("+", "-", "*", "/"):
        raise ValueError(f'operation must be "+", "-", "*" or "/", got {operation!r}')
    if operation == "/" and any(p % q == 0 for q in range(2, math.isqrt(p) + 1)):
        raise ValueError(f"p must be a prime for division, got {p}")
    a, b = (part.ravel() for part in np.meshgrid(np.arange(p), np.arange(p), indexing="ij"))
    if operation == "/":
        a, b = a[b > 0], b[b > 0]
    n = len(a)
    train = round(fraction * n)
    if not 0 < train < n:
        raise ValueError(f"fraction must leave rows on both sides of the split, got {fraction!r} of {n} rows")
    X = np.zeros((n, 2 * p))
    X[np.arange(n), a] = 1
    X[np.arange(n), p + b] = 1
    order = torch.randperm(n, generator=generator(seed)).numpy()
    return Dataset(
        X=X,
        y=_apply(operation, a, b, p).astype(np.int64),
        feature_names=tuple(f"a={i}" for i in range(p)) + tuple(f"b={i}" for i in range(p)),
        description=f"(a {operation} b) mod {p}, one-hot pairs, {train} of {n} rows to train on",
        splits=(Split(np.sort(order[:train]), np.sort(order[train:])),),
    )


def _apply(operation: str, a: np.ndarray, b: np.ndarray, p: int) -> np.ndarray:
    if operation == "+":
        return (a + b) % p
    if operation == "-":
        return (a - b) % p
    if operation == "*":
        return (a * b) % p
    inverse = np.array([0] + [pow(i, -1, p) for i in range(1, p)])
    return (a * inverse[b]) % p
