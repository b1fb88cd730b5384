"""Readers for image sets on the local disk: MNIST in its original files, CIFAR-10 and CIFAR-100 as sheets of pictures.

Pixels come as float32 in [0, 1], one picture per row: float64 would make CIFAR-10 1.2 GB for nothing.
"""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gramian.datasets.base import Dataset
from gramian.datasets.folder import find

_SHEET = (40, 25)
"""Rows and columns of pictures on one CIFAR sheet."""
_SIDE = 32
_CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def mnist(split: str = "train", folder: str | Path | None = None) -> Dataset:
    """Handwritten digits of 28 × 28 grey pixels: 60,000 to train on, 10,000 to test.

    Parameters
    ----------
    split : "train" or "test"
    folder : path, optional
        Holds ``mnist/{train,t10k}-{images-idx3,labels-idx1}-ubyte.gz``; the folder GRAMIAN_DATA by default.

    Returns
    -------
    Dataset
        ``X (n, 784)`` float32 in [0, 1], labels ``y (n,)``.

    >>> mnist("train", folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no mnist/train-images-idx3-ubyte.gz in nowhere: ...
    """
    check_split(split, ("train", "test"))
    stem = "mnist/train" if split == "train" else "mnist/t10k"
    images = _idx(find(f"{stem}-images-idx3-ubyte.gz", folder), dimensions=3)
    labels = _idx(find(f"{stem}-labels-idx1-ubyte.gz", folder), dimensions=1)
    if len(images) != len(labels):
        raise ValueError(f"{stem}: {len(images)} images but {len(labels)} labels")
    shape = images.shape[1:]
    return Dataset(
        X=images.reshape(len(images), -1).astype(np.float32) / np.float32(255),
        y=labels.astype(np.int64),
        feature_names=pixel_names(shape),
        description=f"MNIST, {split}: {len(images)} handwritten digits of {shape[0]} × {shape[1]} pixels",
        image_shape=shape,
    )


def cifar10(split: str = "train", folder: str | Path | None = None) -> Dataset:
    """Colour photographs of 32 × 32 pixels in ten classes: 50,000 to train on, 10,000 to test.

    Parameters
    ----------
    split : "train" or "test"
    folder : path, optional
        Holds ``cifar10/{train,test}_NN.webp`` (sheets of 40 × 25 pictures, row by row) and ``cifar10/labels.npz``; the
        folder GRAMIAN_DATA by default.

    Returns
    -------
    Dataset
        ``X (n, 3072)`` float32 in [0, 1], height × width × channel; labels ``y (n,)`` in the order airplane,
        automobile, bird, cat, deer, dog, frog, horse, ship, truck.

    >>> cifar10("test", folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no cifar10/labels.npz in nowhere: ...
    """
    return _photographs("CIFAR-10", f"of {', '.join(_CIFAR_CLASSES)}", split, folder)


def cifar100(split: str = "train", folder: str | Path | None = None) -> Dataset:
    """Colour photographs of 32 × 32 pixels in a hundred classes: 50,000 to train on, 10,000 to test.

    Parameters
    ----------
    split : "train" or "test"
    folder : path, optional
        Holds ``cifar100/{train,test}_NN.webp`` (sheets of 40 × 25 pictures, row by row) and ``cifar100/labels.npz``;
        the folder GRAMIAN_DATA by default.

    Returns
    -------
    Dataset
        ``X (n, 3072)`` float32 in [0, 1], height × width × channel; labels ``y (n,)`` from 0 to 99, the classes in
        alphabetical order, apple to worm.

    >>> cifar100("test", folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no cifar100/labels.npz in nowhere: ...
    """
    return _photographs("CIFAR-100", "in a hundred classes", split, folder)


def _photographs(name: str, classes: str, split: str, folder: str | Path | None) -> Dataset:
    """Read one of the CIFAR sets, whose folder is its name in small letters without the hyphen."""
    check_split(split, ("train", "test"))
    X, y = _sheets(name.lower().replace("-", ""), split, folder)
    shape = (_SIDE, _SIDE, 3)
    return Dataset(
        X=X,
        y=y,
        feature_names=pixel_names(shape),
        description=f"{name}, {split}: {len(y)} photographs {classes}",
        image_shape=shape,
    )


def pixel_names(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the columns of a flattened picture: row, column and, for colour, channel.

    >>> pixel_names((1, 2)), pixel_names((1, 1, 3))
    (('0,0', '0,1'), ('0,0 red', '0,0 green', '0,0 blue'))
    """
    grid = [f"{r},{c}" for r in range(shape[0]) for c in range(shape[1])]
    if len(shape) == 2:
        return tuple(grid)
    return tuple(f"{at} {channel}" for at in grid for channel in ("red", "green", "blue"))


def check_split(split: str, known: tuple[str, ...]) -> None:
    """Raise a ValueError that lists the known splits unless ``split`` is one of them."""
    if split not in known:
        raise ValueError(f"split must be one of {', '.join(known)}, got {split!r}")


def _idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """An array of bytes in the idx format: two zero bytes, type 8, the number of axes, their lengths, the data."""
    with gzip.open(path) as file:
        content = file.read()
    head = 4 + 4 * dimensions
    if len(content) < head or content[:4] != bytes((0, 0, 8, dimensions)):
        raise ValueError(f"{path} is not an idx file of bytes with {dimensions} axes")
    shape = np.frombuffer(content, dtype=">u4", count=dimensions, offset=4).astype(int)
    if len(content) - head != shape.prod():
        raise ValueError(f"{path} is cut short or damaged: {len(content) - head} bytes for the shape {tuple(shape)}")
    return np.frombuffer(content, dtype=np.uint8, offset=head).reshape(shape)


def _sheets(name: str, split: str, folder: str | Path | None) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Pixels in [0, 1] and labels of one split of a set that is stored as sheets."""
    with np.load(find(f"{name}/labels.npz", folder)) as stored:
        labels = stored[split].astype(np.int64)
    per_sheet = math.prod(_SHEET)
    X = np.empty((len(labels), _SIDE * _SIDE * 3), dtype=np.float32)
    for sheet, start in enumerate(range(0, len(labels), per_sheet)):
        path = find(f"{name}/{split}_{sheet:02d}.webp", folder)
        part = X[start : start + per_sheet]  # the last sheet may hold fewer pictures than its grid
        np.divide(_pictures(path)[: len(part)], np.float32(255), out=part)
    return X, labels


def _pictures(path: Path) -> NDArray[np.uint8]:
    """The pictures of one sheet, one per row."""
    from PIL import Image  # Pillow comes with matplotlib; most users of this package never read a sheet

    with Image.open(path) as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    rows, columns = _SHEET
    if pixels.shape != (rows * _SIDE, columns * _SIDE, 3):
        raise ValueError(f"{path}: a sheet has {rows * _SIDE} × {columns * _SIDE} pixels, this one {pixels.shape[:2]}")
    grid = pixels.reshape(rows, _SIDE, columns, _SIDE, 3).transpose(0, 2, 1, 3, 4)
    return grid.reshape(rows * columns, -1)
