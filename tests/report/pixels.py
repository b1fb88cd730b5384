"""Rendered figures as pixels, for tests of figures."""

import io

import numpy as np
from PIL import Image


def render(ax) -> np.ndarray:
    """The figure as pixels (h, w, 3), written to PNG and read back."""
    stream = io.BytesIO()
    ax.figure.savefig(stream, format="png", dpi=60)
    assert stream.getvalue().startswith(b"\x89PNG")
    stream.seek(0)
    return np.asarray(Image.open(stream).convert("RGB")).astype(int)


def has_colour(pixels: np.ndarray, colour: str, tolerance: int = 12) -> bool:
    target = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return bool((np.abs(pixels - target).max(axis=2) <= tolerance).any())


def bar_lengths(ax) -> list[float]:
    return [patch.get_width() for patch in ax.patches]


def bar_colours(ax) -> list[str]:
    return ["#" + "".join(f"{round(255 * part):02x}" for part in bar.get_facecolor()[:3]) for bar in ax.patches]
