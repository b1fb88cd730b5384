"""Images for the networks of paper E: MNIST, CIFAR-10, CIFAR-100, and the small digits of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from sklearn.datasets import load_digits
from torch import Tensor

from gramian.datasets import Dataset, cifar10, cifar100, mnist

SETS = ("digits", "mnist", "cifar10", "cifar100")
NAMES = {"digits": "digits", "mnist": "MNIST", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
"""Names of the sets for labels."""
_DIGITS_TEST = 397
"""Test rows of the 1,797 digits, which have no test set of their own."""


@dataclass(frozen=True)
class ImageData:
    """A choice of images: the set, the number of training and test rows (None for all), and the averaging of pixels.

    ``pool`` is the side of the squares of pixels that are averaged; 1 for none. The digits are not averaged.
    """

    name: str
    rows: int | None = None
    test_rows: int | None = None
    pool: int = 1


@dataclass(frozen=True, eq=False)
class ImageRows:
    """Training and test images, one per row, channel by channel; ``shape`` is (channels, height, width)."""

    X: Float[Tensor, "n d"]
    y: Int[Tensor, " n"]
    X_test: Float[Tensor, "m d"]
    y_test: Int[Tensor, " m"]
    classes: int
    shape: tuple[int, int, int]


def image_rows(data: ImageData, rng: torch.Generator) -> ImageRows:
    """Draw training rows and test rows, both without replacement.

    Pixels are float32 in [0, 1], those of CIFAR-100 in [−1, 1] as in the authors' code.

    >>> found = image_rows(ImageData("digits", rows=20, test_rows=5), torch.Generator().manual_seed(0))
    >>> found.X.shape, found.y_test.shape, found.shape, found.classes
    (torch.Size([20, 64]), torch.Size([5]), (1, 8, 8), 10)
    """
    if data.name not in SETS:
        raise ValueError(f"name must be one of {', '.join(SETS)}, got {data.name!r}")
    if data.name == "digits":
        pixels, labels = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
        X, y, shape = (pixels / 16).float(), labels.long(), (1, 8, 8)
        order = torch.randperm(len(X), generator=rng)
        test, train = order[:_DIGITS_TEST][: data.test_rows], order[_DIGITS_TEST:][: data.rows]
        return ImageRows(X[train], y[train], X[test], y[test], 10, shape)
    X, y, shape = _read(data.name, "train", data.pool)
    X_test, y_test, _ = _read(data.name, "test", data.pool)
    train = torch.randperm(len(X), generator=rng)[: data.rows]
    test = torch.randperm(len(X_test), generator=rng)[: data.test_rows]
    return ImageRows(X[train], y[train], X_test[test], y_test[test], int(y.max()) + 1, shape)


_READERS = {"mnist": mnist, "cifar10": cifar10, "cifar100": cifar100}


# A full CIFAR set takes 600 MB: only the training and test rows of the last set are stored.
@lru_cache(maxsize=2)
def _read(name: str, split: str, pool: int) -> tuple[Float[Tensor, "n d"], Int[Tensor, " n"], tuple[int, int, int]]:
    data = _READERS[name](split)
    X, shape = channels_first(data, pool)
    if name == "cifar100":
        X = 2 * X - 1
    return X, torch.as_tensor(data.y).long(), shape


def channels_first(data: Dataset, pool: int) -> tuple[Float[Tensor, "n d"], tuple[int, int, int]]:
    """Return the pictures channel by channel, averaged over squares of `pool` × `pool` pixels, and their shape.

    >>> import numpy as np
    >>> data = Dataset(np.arange(8.0).reshape(1, 8), np.zeros(1), (), "", image_shape=(2, 2, 2))
    >>> channels_first(data, pool=2)
    (tensor([[3., 4.]], dtype=torch.float64), (2, 1, 1))
    """
    assert data.image_shape is not None
    height, width, *rest = data.image_shape
    channels = rest[0] if rest else 1
    grid = torch.as_tensor(data.X).reshape(len(data.X), height, width, channels).permute(0, 3, 1, 2)
    if pool > 1:
        grid = torch.nn.functional.avg_pool2d(grid, pool)
    return grid.flatten(1).contiguous(), (channels, int(grid.shape[2]), int(grid.shape[3]))
