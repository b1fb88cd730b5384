"""Training images: MNIST, CIFAR-10, and the small digits of scikit-learn, which need no data folder."""

from __future__ import annotations

from functools import lru_cache

import torch
from jaxtyping import Float, Int
from sklearn.datasets import load_digits
from torch import Tensor

from gramian.datasets import cifar10, mnist

CLASSES = 10
SETS = ("digits", "mnist", "cifar10")


def images(
    name: str, rows: int | None, rng: torch.Generator, pool: int = 1
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n 10"]]:
    """Return images with pixels in [0, 1], one per row, and their labels as one-hot rows, both float32.

    Parameters
    ----------
    name : "digits", "mnist" or "cifar10"
        ``"digits"`` comes with scikit-learn (8 × 8 pixels, 1,797 rows); the others need the folder GRAMIAN_DATA.
    rows : int, optional
        Number of training rows, drawn at random; all by default.
    rng : torch.Generator
    pool : int
        Side of the squares of pixels that are averaged in MNIST and CIFAR-10; 1 for no averaging.

    >>> X, Y = images("digits", 20, torch.Generator().manual_seed(0))
    >>> X.shape, Y.sum().item(), float(X.max())
    (torch.Size([20, 64]), 20.0, 1.0)
    """
    X, labels = _read(name, pool)
    order = torch.randperm(len(X), generator=rng)[:rows]
    return X[order], torch.nn.functional.one_hot(labels[order], CLASSES).float()


@lru_cache(maxsize=1)
def _read(name: str, pool: int) -> tuple[Float[Tensor, "n d"], Int[Tensor, " n"]]:
    if name not in SETS:
        raise ValueError(f"name must be one of {', '.join(SETS)}, got {name!r}")
    if name == "digits":
        pixels, labels = load_digits(return_X_y=True)
        return torch.as_tensor(pixels / 16).float(), torch.as_tensor(labels).long()
    data = mnist() if name == "mnist" else cifar10()
    X, shape = torch.as_tensor(data.X), data.image_shape
    if pool > 1 and shape is not None:
        channels = shape[2] if len(shape) == 3 else 1
        grid = X.reshape(len(X), *shape[:2], channels).permute(0, 3, 1, 2)
        X = torch.nn.functional.avg_pool2d(grid, pool).permute(0, 2, 3, 1).flatten(1)
    return X, torch.as_tensor(data.y).long()
