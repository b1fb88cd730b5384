"""Every public figure equals its reviewed baseline picture, and can be read at paper width.

Pictures are compared in tiles of 6 × 6 pixels, each with its neighbours. Another version of a font, of its smoothing or
of the layout may move parts by a few pixels; a line, bar or label that is absent or moved further fails. After an
intended change, draw the baselines again and look at them before you commit them:

    PYTHONPATH=src:tests python -m report.test_images
"""

import io
import itertools
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from scipy.ndimage import maximum_filter, minimum_filter

from report.plot_cases import CASES, WHOLE

BASELINE = Path(__file__).parent / "baseline"
TILE = 6
MEAN, MOST = 0.5, 60.0
"""Largest mean and largest difference of tiles that are accepted, of 255."""
WIDTHS = (3.3, 6.8)
"""Inches: one column of a paper, and both."""


def draw(name: str, width: float = 3.3):
    figure = Figure(figsize=(width, 2.6), layout="constrained")
    CASES[name](figure.add_subplot())
    return figure


def png(name: str) -> bytes:
    stream = io.BytesIO()
    figure = WHOLE[name]() if name in WHOLE else draw(name)
    figure.savefig(stream, format="png", dpi=90, metadata={"Software": None})
    return stream.getvalue()


def tiles(image: bytes) -> np.ndarray:
    """Means of tiles (h, w, 3), which hardly depend on the smoothing of letters."""
    pixels = np.asarray(Image.open(io.BytesIO(image)).convert("RGB"), dtype=float)
    h, w = pixels.shape[0] // TILE, pixels.shape[1] // TILE
    return pixels[: h * TILE, : w * TILE].reshape(h, TILE, w, TILE, 3).mean(axis=(1, 3))


def difference(a: bytes, b: bytes) -> tuple[float, float]:
    """Mean and largest distance of each tile from the range of the other picture around the same place."""
    one, two = tiles(a), tiles(b)
    assert one.shape == two.shape
    outside = np.concatenate([beyond(one, two), beyond(two, one)])
    return float(outside.mean()), float(outside.max())


def beyond(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    low, high = minimum_filter(two, (3, 3, 1)), maximum_filter(two, (3, 3, 1))
    return np.maximum(one - high, 0) + np.maximum(low - one, 0)


@pytest.mark.parametrize("name", [*CASES, *WHOLE])
def test_equals_its_baseline(name):
    mean, most = difference(png(name), (BASELINE / f"{name}.png").read_bytes())
    assert mean <= MEAN, f"the picture of {name} has changed: look at it, and see above"
    assert most <= MOST, f"a part of the picture of {name} has changed: look at it, and see above"


def test_a_missing_bar_is_detected():
    whole, figure = png("importance_intervals"), draw("importance_intervals")
    figure.axes[0].patches[1].remove()
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=90)
    assert difference(whole, stream.getvalue())[1] > MOST


def test_other_smoothing_of_letters_is_accepted():
    with mpl.rc_context({"text.hinting": "none", "text.antialiased": False}):
        other = {name: png(name) for name in ("feature_matrix", "explanation")}
    for name, picture in other.items():
        assert picture != png(name)
        mean, most = difference(picture, png(name))
        assert mean <= MEAN
        assert most <= MOST


def test_a_moved_line_is_detected():
    whole, figure = png("trajectory"), draw("trajectory")
    line = figure.axes[0].lines[1]
    line.set_ydata([value - 0.1 for value in line.get_ydata()])
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=90)
    assert difference(whole, stream.getvalue())[1] > MOST


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", CASES)
def test_can_be_read_at_paper_width(name, width):
    """Letters have at least 6 points, none are cut off, and no label covers another."""
    figure = draw(name, width)
    figure.draw_without_rendering()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            shown = [t for t in axis.get_ticklabels() if t.get_text() and _inside(t, axis)]
            boxes = sorted((t.get_window_extent() for t in shown), key=lambda box: (box.x0, box.y0))
            rotated = any(t.get_rotation() % 90 for t in shown)
            for one, two in itertools.combinations([] if rotated else boxes, 2):
                assert one.x1 <= two.x0 + 1 or one.y1 <= two.y0 + 1 or two.y1 <= one.y0 + 1, "labels overlap"
    page = figure.bbox
    for text in figure.findobj(lambda a: hasattr(a, "get_fontsize") and a.get_visible() and a.get_text()):
        box = text.get_window_extent()
        if box.width == 0 or not _drawn(text):
            continue
        assert text.get_fontsize() >= 6, text.get_text()
        assert page.x0 - 1 <= box.x0, f"{text.get_text()!r} is cut off"
        assert box.x1 <= page.x1 + 1, f"{text.get_text()!r} is cut off"
        assert page.y0 - 1 <= box.y0, f"{text.get_text()!r} is cut off"
        assert box.y1 <= page.y1 + 1, f"{text.get_text()!r} is cut off"


def _inside(label, axis) -> bool:
    """Return True if a tick is in the view: matplotlib has a few beyond it, which are never drawn."""
    low, high = sorted(axis.get_view_interval())
    at = label.get_position()[0 if axis.axis_name == "x" else 1]
    return low <= at <= high


def _drawn(text) -> bool:
    """Return True if a text is drawn: ticks outside the view and those without labels are not."""
    axis = next((a for ax in text.figure.axes for a in (ax.xaxis, ax.yaxis) if text in a.get_ticklabels()), None)
    return axis is None or _inside(text, axis)


if __name__ == "__main__":
    BASELINE.mkdir(exist_ok=True)
    for case in [*CASES, *WHOLE]:
        (BASELINE / f"{case}.png").write_bytes(png(case))
