"""Pictures composed of others so that the pixels that decide are known (paper B): a mark, two halves, a row of digits.

Each function takes pictures as a :class:`Dataset` with an ``image_shape`` and returns another one; pixels stay in
[0, 1] and in the order height × width × channel.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from gramian.datasets.base import Dataset, Seed, at_least, generator
from gramian.datasets.images import pixel_names

Pixels = NDArray[np.float32]
STAR: Bool[np.ndarray, "8 7"] = np.array(
    [[sign == "#" for sign in line] for line in (
        "...#...",
        "...#...",
        "..###..",
        "#######",
        ".#####.",
        ".#####.",
        ".##.##.",
        "#.....#",
    )]
)  # fmt: skip
"""A star of 8 × 7 pixels."""
YELLOW, WHITE = (1.0, 1.0, 0.0), (1.0, 1.0, 1.0)


def grid_of(data: Dataset) -> Pixels:
    """Pictures as an array (n, height, width, channels).

    >>> grid_of(Dataset(np.zeros((2, 12), np.float32), np.zeros(2), (), "", image_shape=(3, 4))).shape
    (2, 3, 4, 1)
    """
    if data.image_shape is None:
        raise ValueError("data has no image_shape: give pictures, as mnist() and cifar10() return them")
    height, width, *channels = data.image_shape
    grid: Pixels = np.asarray(data.X, dtype=np.float32).reshape(len(data.X), height, width, *(channels or (1,)))
    return grid


def of_grid(grid: Pixels, y: NDArray[np.int64], description: str) -> Dataset:
    """Pictures (n, height, width, channels) as a dataset with one flat picture per row.

    >>> of_grid(np.zeros((2, 3, 4, 3), np.float32), np.zeros(2, np.int64), "black").X.shape
    (2, 36)
    """
    n, height, width, channels = grid.shape
    shape = (height, width) if channels == 1 else (height, width, channels)
    return Dataset(grid.reshape(n, -1), y, pixel_names(shape), description, image_shape=shape)


def unit_rows(X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Rows divided by their Euclidean norm: points on the unit sphere.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 2.0]]))
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    if not norms.all():
        raise ValueError(f"X has a zero row ({int(np.argmin(norms))}), which has no direction: remove it first")
    rows: Float[np.ndarray, "n d"] = X / norms
    return rows


def resized(data: Dataset, height: int, width: int) -> Dataset:
    """The same pictures with another number of pixels, by bilinear interpolation (averaged where they shrink).

    >>> small = of_grid(np.ones((1, 4, 4, 1), np.float32), np.zeros(1, np.int64), "white")
    >>> resized(small, 8, 6).image_shape
    (8, 6)
    """
    at_least(1, height=height, width=width)
    grid = torch.from_numpy(grid_of(data)).permute(0, 3, 1, 2)
    new = torch.nn.functional.interpolate(grid, (height, width), mode="bilinear", antialias=True).clamp_(0, 1)
    return of_grid(new.permute(0, 2, 3, 1).contiguous().numpy(), data.y, data.description)


def marked_pixels(
    shape: tuple[int, ...], pattern: Bool[np.ndarray, "h w"] = STAR, at: tuple[int, int] = (2, 2)
) -> Bool[np.ndarray, " d"]:
    """Mask of the columns that a mark covers, in all channels.

    >>> marked_pixels((32, 32, 3)).sum() == 3 * STAR.sum()
    np.True_
    """
    height, width, *channels = shape
    (row, column), (h, w) = at, pattern.shape
    if row < 0 or column < 0 or row + h > height or column + w > width:
        raise ValueError(f"at={at} puts a mark of {h} × {w} pixels outside pictures of {height} × {width}")
    mask = np.zeros((height, width), dtype=bool)
    mask[row : row + h, column : column + w] = pattern
    return np.repeat(mask.reshape(-1), channels[0] if channels else 1)


def mark_class(
    data: Dataset,
    label: int,
    pattern: Bool[np.ndarray, "h w"] = STAR,
    at: tuple[int, int] = (2, 2),
    colour: tuple[float, ...] = YELLOW,
) -> Dataset:
    """Draw a mark on every colour picture: in ``colour`` if its label is ``label``, black if not (paper B, Fig. 7).

    Parameters
    ----------
    data : Dataset
        Colour pictures.
    label : int
        Class whose pictures get the coloured mark.
    pattern : array (h, w) of bool
    at : (int, int)
        Row and column of the pattern's upper left corner.
    colour : three numbers in [0, 1]

    Returns
    -------
    Dataset
        The mark alone tells the class; :func:`marked_pixels` are its columns.

    >>> pictures = of_grid(np.full((2, 12, 12, 3), 0.5, np.float32), np.array([0, 9]), "grey")
    >>> marked = mark_class(pictures, label=9)
    >>> marked.X[:, marked_pixels((12, 12, 3))].max(axis=1)
    array([0., 1.], dtype=float32)
    """
    grid = grid_of(data).copy()
    if grid.shape[3] != len(colour):
        raise ValueError(f"colour has {len(colour)} channels, the pictures have {grid.shape[3]}")
    mask = marked_pixels(grid.shape[1:3], pattern, at).reshape(grid.shape[1:3])
    shown = (np.asarray(data.y) == label)[:, None, None]
    grid[:, mask] = np.where(shown, np.asarray(colour, dtype=np.float32), np.float32(0))
    return of_grid(grid, data.y, f"{data.description}; a mark shows the class {label}")


def pair_by_class(left: Dataset, right: Dataset, n: int, seed: Seed = 0) -> Dataset:
    """Pairs of pictures of one label, side by side (paper B, Fig. 8: a photograph of CIFAR-10 and a digit of MNIST).

    The pictures on the right take the height and width of those on the left, and grey ones get three equal channels.
    All labels are equally frequent, as far as n allows; no picture is used twice.

    Parameters
    ----------
    left, right : Dataset
        Pictures with the same labels.
    n : int
        Number of pairs.
    seed : int or torch.Generator
        Draws the pictures and the order of the pairs.

    Returns
    -------
    Dataset
        ``X (n, height · 2 width · channels)``; either half tells the label.

    >>> one = of_grid(np.zeros((4, 2, 2, 3), np.float32), np.array([0, 1, 0, 1]), "black")
    >>> two = of_grid(np.ones((4, 2, 2, 1), np.float32), np.array([1, 1, 0, 0]), "white")
    >>> both = pair_by_class(one, two, 3)
    >>> both.image_shape, both.X.sum(axis=1)
    ((2, 4, 3), array([12., 12., 12.], dtype=float32))
    """
    at_least(1, n=n)
    rng = generator(seed)
    labels = np.intersect1d(left.y, right.y)
    if not len(labels):
        raise ValueError("left and right have no label in common")
    wanted = np.array([n // len(labels) + (i < n % len(labels)) for i in range(len(labels))])
    chosen: list[list[NDArray[np.int64]]] = [[], []]
    for label, count in zip(labels, wanted, strict=True):
        for side, data in enumerate((left, right)):
            rows = np.flatnonzero(data.y == label)
            if len(rows) < count:
                raise ValueError(f"n={n} needs {count} pictures of the label {label}, and there are {len(rows)}")
            chosen[side].append(rows[torch.randperm(len(rows), generator=rng)[:count].numpy()])
    order = torch.randperm(n, generator=rng).numpy()
    first, second = (np.concatenate(rows)[order] for rows in chosen)
    a = grid_of(_taken(left, first))
    b = grid_of(resized(_taken(right, second), *a.shape[1:3]))
    channels = max(a.shape[3], b.shape[3])
    halves = [np.broadcast_to(part, (*part.shape[:3], channels)) for part in (a, b)]
    text = f"{n} pairs, left: {left.description}; right: {right.description}"
    return of_grid(np.concatenate(halves, axis=2), np.asarray(left.y)[first], text)


def street_numbers(digits: Dataset, n: int, seed: Seed = 0) -> Dataset:
    """House numbers made of handwritten digits: the label is that of the centre, two others are cut off.

    A stand-in for the street view house numbers of paper B (Fig. 3). Pictures have 32 × 32 pixels and three channels.
    With ``m`` in [0, 1] the largest ink of the three digits at a pixel, the colour there is ``a + m (b − a) + noise``:
    a background a and an ink b that differ by at least 0.2 in every channel, the ink lighter or darker with equal
    probability, and normal noise of standard deviation 0.03. The centre digit is moved by at most 1 column and 2 rows;
    each neighbour is 17 to 20 columns away, on its own height, and is absent in a quarter of the pictures.

    Parameters
    ----------
    digits : Dataset
        Grey pictures of 28 × 28 pixels, such as :func:`mnist`.
    n : int
        Number of pictures; each has another centre digit, so n is at most the number of digits.
    seed : int or torch.Generator

    Returns
    -------
    Dataset
        ``X (n, 3072)``, the label ``y (n,)`` of the centre digit.

    >>> one = of_grid(np.zeros((3, 28, 28, 1), np.float32), np.arange(3), "no ink")
    >>> street_numbers(one, 2).image_shape
    (32, 32, 3)
    """
    at_least(1, n=n)
    ink = torch.from_numpy(grid_of(digits)[..., 0])
    if ink.shape[1:] != (28, 28):
        raise ValueError(f"digits must have 28 × 28 grey pixels, got {tuple(ink.shape[1:])}")
    if n > len(ink):
        raise ValueError(f"n must be at most the number of digits, {len(ink)}, got {n}")
    rng = generator(seed)
    centre = torch.randperm(len(ink), generator=rng)[:n]
    m = _placed(ink[centre], torch.randint(-1, 2, (n,), generator=rng), rng)
    for side in (-1, 1):
        other = ink[torch.randint(len(ink), (n,), generator=rng)]
        present = torch.rand(n, generator=rng) < 0.75
        away = side * torch.randint(17, 21, (n,), generator=rng)
        m = torch.maximum(m, _placed(other * present[:, None, None], away, rng))
    step = 0.2 + 0.3 * torch.rand(n, 1, 1, 3, generator=rng)
    a = 0.5 * torch.rand(n, 1, 1, 3, generator=rng)  # the darker of the two colours, then either is the background
    b = a + step
    lighter = torch.rand(n, 1, 1, 1, generator=rng) < 0.5
    a, b = torch.where(lighter, a, b), torch.where(lighter, b, a)
    grid = a + m[..., None] * (b - a) + 0.03 * torch.randn(n, 32, 32, 3, generator=rng)
    text = f"{n} house numbers made of: {digits.description}"
    return of_grid(grid.clamp(0, 1).numpy(), np.asarray(digits.y)[centre.numpy()], text)


def _placed(ink: torch.Tensor, shift: torch.Tensor, rng: torch.Generator) -> torch.Tensor:
    """Digits (n, 28, 28) on canvases (n, 32, 32), moved ``shift`` columns from the centre and up to two rows."""
    n = len(ink)
    rows = torch.arange(32)[None] - 2 - torch.randint(-2, 3, (n, 1), generator=rng)
    columns = torch.arange(32)[None] - 2 - shift[:, None]
    inside = ((rows >= 0) & (rows < 28))[:, :, None] & ((columns >= 0) & (columns < 28))[:, None, :]
    at = torch.arange(n)[:, None, None], rows.clamp(0, 27)[:, :, None], columns.clamp(0, 27)[:, None, :]
    return torch.where(inside, ink[at], 0.0)


def _taken(data: Dataset, rows: NDArray[np.int64]) -> Dataset:
    return replace(data, X=np.asarray(data.X)[rows], y=np.asarray(data.y)[rows])
