"""The result of every dataset function, and the helpers that they share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

Array = NDArray[np.float64]
Seed = int | torch.Generator
"""An integer, or a generator whose state advances; never torch's global one."""


class Split(NamedTuple):
    """Row indices of a training part and a test part."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, targets, and known facts about the function between them.

    Parameters
    ----------
    X : ndarray (n, d)
        Inputs. Raw tables are pandas frames (:func:`diamonds`), sentences an array (n,) of strings (:func:`sst2`).
    y : ndarray (n,)
        float64 values for regression, int64 labels for classification.
    feature_names : tuple of d strings
    description : str
    subspace : ndarray (d, k), optional
        Orthonormal basis of the directions the target depends on.
    egop : ndarray (d, d), optional
        Expected gradient outer product ``E[∇f(x) ∇f(x)ᵀ]`` of the true target, where it exists.
    splits : tuple of Split
        Training and test rows, where the task or its authors name them.
    tuning : Split, optional
        The authors' rows for choosing hyperparameters (training, validation).
    image_shape : tuple of int, optional
        Height, width and, for colour, channels of one row.

    >>> Dataset(np.zeros((2, 1)), np.zeros(2), ("a",), "two equal rows").splits
    ()
    """

    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    description: str
    subspace: Float[np.ndarray, "d k"] | None = None
    egop: Float[np.ndarray, "d d"] | None = None
    splits: tuple[Split, ...] = ()
    tuning: Split | None = None
    image_shape: tuple[int, ...] | None = None


def generator(seed: Seed) -> torch.Generator:
    """The generator itself, or a private one seeded with the integer.

    >>> generator(3).initial_seed()
    3
    """
    return seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)


def normal(rng: torch.Generator, *shape: int) -> Array:
    """Standard normal draws in float64.

    >>> normal(generator(0), 2, 3).shape
    (2, 3)
    """
    return torch.randn(*shape, dtype=torch.float64, generator=rng).numpy()


def signs(rng: torch.Generator, *shape: int) -> Array:
    """Rademacher draws: −1 or 1 with equal probability, in float64.

    >>> sorted(set(signs(generator(0), 50).tolist()))
    [-1.0, 1.0]
    """
    return (2 * torch.randint(2, shape, generator=rng).double() - 1).numpy()


def axes(indices: tuple[int, ...], d: int) -> Float[np.ndarray, "d k"]:
    """Unit vectors along the named coordinates, as columns.

    >>> axes((1,), 3)
    array([[0.],
           [1.],
           [0.]])
    """
    return np.eye(d)[:, list(indices)]


def names(d: int) -> tuple[str, ...]:
    """``x0, x1, …`` as the formulas of the tasks call them.

    >>> names(2)
    ('x0', 'x1')
    """
    return tuple(f"x{i}" for i in range(d))


def at_least(least: int, **values: int) -> None:
    """Raise a ValueError that names the first argument below ``least`` or not a whole number."""
    for name, value in values.items():
        if not (isinstance(value, int | np.integer) and value >= least):
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def nonnegative(**values: float) -> None:
    """Raise a ValueError that names the first argument that is negative or not finite."""
    for name, value in values.items():
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")
