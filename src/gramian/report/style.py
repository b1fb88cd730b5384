"""Style of the figures: colours that can be told apart with any common colour blindness, and axes without a box."""

from __future__ import annotations

from io import BytesIO
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FuncFormatter

BLUE, ORANGE, GREEN, PURPLE, SKY, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#6E6E6E"
"""Colours from the palette of Okabe and Ito, which can be told apart with any common colour blindness and in print
without colours."""
INK = "#303030"
"""Colour of the line with which all others are compared: nearly black."""
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY)
SIGNED = "RdBu_r"
"""Colour map for values around 0: red above, blue below, white at 0."""
AMOUNT = "inferno"
"""Colour map for values from 0 up, with evenly increasing lightness."""
NOTEBOOK_DPI = 100
Grid = Literal["x", "y", "both"]


class Picture(Figure):
    """A figure that a notebook shows. A plain matplotlib figure is shown only if pyplot made it, and pyplot is global.

    >>> Picture(figsize=(1, 1))._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        stream = BytesIO()
        self.savefig(stream, format="png", dpi=NOTEBOOK_DPI)
        return stream.getvalue()


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or those of a new figure of that size in inches.

    >>> axes_or_new(None, 4, 3).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    if ax is not None:
        return ax
    return Picture(figsize=(width, height), layout="constrained").add_subplot()


def declutter(ax: Axes, grid: Grid | None = None) -> None:
    """Remove the box, and draw a faint grid behind the data along ``"x"``, ``"y"`` or ``"both"``."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#B0B0B0")
    ax.tick_params(color="#B0B0B0")
    if grid is not None:
        ax.grid(axis=grid, color="#E4E4E4", linewidth=0.8)
        ax.set_axisbelow(True)


def finish(ax: Axes, grid: Grid | None = None) -> None:
    """Call :func:`declutter`, and set font sizes for one column of a paper or two."""
    declutter(ax, grid)
    ax.tick_params(labelsize=8)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_fontsize(9)
    as_written(ax)


def as_written(ax: Axes) -> None:
    """Draw dollar signs in names as dollar signs, not as formulas; numbers on a scale keep their powers."""
    legend = ax.get_legend()
    texts = [*ax.texts, ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title, ax._right_title]  # type: ignore[attr-defined]
    texts += [] if legend is None else [*legend.get_texts(), legend.get_title()]
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), FixedFormatter | FuncFormatter):
            texts += axis.get_ticklabels()
    for text in texts:
        text.set_parse_math(False)


def beside(ax: Axes, row: float, text: str) -> None:
    """Write a number to the right of the axes, at the height of its bar, where it covers no bar, whisker or name."""
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    ax.annotate(text, (1, row), xytext=(4, 0), va="center", fontsize=7.5, color=GREY, **place)  # type: ignore[arg-type]


def colour_bar(ax: Axes, image: ScalarMappable, label: str) -> None:
    """Draw a narrow colour scale to the right of the axes."""
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, color="#B0B0B0")
    bar.set_label(label, fontsize=9)
