"""Pictures of the user as arrays: grey or colour, numbers in [0, 1], shape (n, channels, height, width)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")


def read_pictures(paths: Sequence[Path], size: tuple[int, int] | None = None) -> NDArray[np.float32]:
    """Read pictures of one size, or resize them to ``size`` (height, width).

    The result has one channel if all pictures are grey, else three.
    """
    images = []
    for path in paths:
        try:
            with Image.open(path) as opened:
                image = _decoded(opened, path)
        except (UnidentifiedImageError, OSError) as error:
            raise ValueError(f"{path} cannot be read as a picture ({error})") from error
        images.append(image if size is None else image.resize((size[1], size[0])))
    mode = "L" if all(image.mode in ("L", "F") for image in images) else "RGB"
    sizes = {image.size for image in images}
    if len(sizes) > 1:
        (w, h), (v, g) = sorted(sizes)[:2]
        raise ValueError(f"pictures of {h}×{w} and {g}×{v} pixels: an image size of {h}x{w} brings all to one size")
    stack = np.stack([_between_0_and_1(image, mode) for image in images])
    return stack[:, None] if mode == "L" else stack.transpose(0, 3, 1, 2)


def _decoded(image: Image.Image, path: Path) -> Image.Image:
    """Return a picture as grey (L) or colour (RGB); grey with 16 bits keeps its steps as numbers in [0, 1] (F)."""
    if image.mode.startswith("I;16"):
        return Image.fromarray(np.asarray(image, dtype=np.float32) / 65535)
    if image.mode in ("I", "F"):
        raise ValueError(
            f"{path} has pixels of 32 bits (mode {image.mode}), whose largest value is unknown: save it with 8 or 16 "
            "bits, or give the numbers as .npz"
        )
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _between_0_and_1(image: Image.Image, mode: str) -> NDArray[np.float32]:
    pixels: NDArray[Any] = (
        np.asarray(image, dtype=np.float32) if image.mode == "F" else np.asarray(image.convert(mode)) / 255
    )
    if mode == "RGB" and pixels.ndim == 2:
        pixels = np.repeat(pixels[:, :, None], 3, axis=2)
    return pixels.astype(np.float32)
