"""Pictures of paper B's experiments: those on the local disk that stand in for the paper's, and made ones for smoke."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.datasets import Dataset, cifar10, mnist, resized
from gramian.datasets.composed import of_grid

SETS = ("cifar10", "mnist", "made", "made-digits")
"""``made`` are colour pictures of noise with a bright square whose place tells one of ten classes, ``made-digits`` the
same in grey and in MNIST's size; neither needs a data folder."""
_MADE_PER_CLASS = 60


@lru_cache(maxsize=4)
def read(name: str, split: str) -> Dataset:
    """Return all pictures of a set; the last few sets stay in memory.

    >>> read("made", "train").image_shape, read("made-digits", "test").image_shape
    ((32, 32, 3), (28, 28))
    """
    if name not in SETS:
        raise ValueError(f"name must be one of {', '.join(SETS)}, got {name!r}")
    if name == "cifar10":
        return cifar10(split)
    if name == "mnist":
        return mnist(split)
    side, channels = (32, 3) if name == "made" else (28, 1)
    rng = torch.Generator().manual_seed(17 + (split == "test"))
    labels = torch.arange(10 * _MADE_PER_CLASS) % 10
    grid = 0.3 * torch.rand(len(labels), side, side, channels, generator=rng)
    for picture, label in zip(grid, labels.tolist(), strict=True):
        row, column = 8 + 8 * (label // 5), 3 + 4 * (label % 5)
        picture[row : row + 4, column : column + 4] += 0.5
    return of_grid(grid.numpy(), labels.numpy(), name)


def two_classes(
    name: str, split: str, pair: tuple[int, int], counts: tuple[int, int], rng: torch.Generator, side: int | None = None
) -> Dataset:
    """Return this many random pictures of two classes, in random order and perhaps in another size; labels stay.

    >>> data = two_classes("made", "train", (0, 9), (5, 3), torch.Generator().manual_seed(0), side=16)
    >>> data.image_shape, sorted(data.y.tolist())
    ((16, 16, 3), [0, 0, 0, 0, 0, 9, 9, 9])
    """
    data = read(name, split)
    chosen = []
    for label, count in zip(pair, counts, strict=True):
        rows = np.flatnonzero(data.y == label)
        if count > len(rows):
            raise ValueError(f"counts asks for {count} pictures of class {label}, and {name} has {len(rows)}")
        chosen.append(rows[torch.randperm(len(rows), generator=rng)[:count].numpy()])
    rows = np.concatenate(chosen)[torch.randperm(sum(counts), generator=rng).numpy()]
    part = Dataset(data.X[rows], data.y[rows], data.feature_names, data.description, image_shape=data.image_shape)
    return part if side is None or data.image_shape[0] == side else resized(part, side, side)  # type: ignore[index]


def tensors(
    data: Dataset, labels: tuple[int, ...] | None = None
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n c"], Int[Tensor, " n"]]:
    """Return pixels, one-hot rows and class numbers; ``labels`` are the classes in their order, all by default.

    >>> data = two_classes("made", "train", (0, 9), (2, 3), torch.Generator().manual_seed(0))
    >>> X, Y, y = tensors(data, (0, 9))
    >>> X.shape, Y.sum(0).tolist(), int(y.sum())
    (torch.Size([5, 3072]), [2.0, 3.0], 3)
    """
    classes = np.unique(data.y) if labels is None else np.asarray(labels)
    y = torch.from_numpy((np.asarray(data.y)[:, None] == classes).argmax(axis=1))
    return torch.from_numpy(data.X), torch.nn.functional.one_hot(y, len(classes)).float(), y
