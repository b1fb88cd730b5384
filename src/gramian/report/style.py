"""How figures look: colours everybody can tell apart, and axes without clutter."""

from __future__ import annotations

from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FuncFormatter

BLUE, ORANGE, GREEN, PURPLE, SKY, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#6E6E6E"
"""From the palette of Okabe and Ito, which survives every common colour blindness and a grey printer."""
INK = "#303030"
"""Near black, for the line all others are compared with."""
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY)
SIGNED = "RdBu_r"
"""Colour map for values around 0: red above, blue below, white at 0."""
AMOUNT = "inferno"
"""Colour map for values from 0 up, even in lightness."""
NOTEBOOK_DPI = 100


class Picture(Figure):
    """A figure that a notebook shows by itself; matplotlib leaves that to pyplot, whose global state we do not touch.

    >>> Picture(figsize=(1, 1))._repr_png_()[1:4]
    b'PNG'
    """

    def _repr_png_(self) -> bytes:
        stream = BytesIO()
        self.savefig(stream, format="png", dpi=NOTEBOOK_DPI)
        return stream.getvalue()


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """The given axes, or those of a new figure of that size in inches; no window, no global state.

    >>> axes_or_new(None, 4, 3).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    if ax is not None:
        return ax
    return Picture(figsize=(width, height), layout="constrained").add_subplot()


def declutter(ax: Axes, grid: str | None = None) -> None:
    """Take away the box and lay a faint grid behind the data along ``"x"``, ``"y"`` or ``"both"``."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#B0B0B0")
    ax.tick_params(color="#B0B0B0")
    if grid is not None:
        ax.grid(axis=grid, color="#E4E4E4", linewidth=0.8)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def finish(ax: Axes, grid: str | None = None) -> None:
    """:func:`declutter`, and letters that suit one column of a paper as well as two."""
    declutter(ax, grid)
    ax.tick_params(labelsize=8)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_fontsize(9)
    as_written(ax)


def as_written(ax: Axes) -> None:
    """Names are no formulas: dollar signs in them are drawn as they are. Numbers on a scale keep their powers."""
    legend = ax.get_legend()
    found = [*ax.texts, ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title, ax._right_title]  # type: ignore[attr-defined]
    found += [] if legend is None else [*legend.get_texts(), legend.get_title()]
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), FixedFormatter | FuncFormatter):
            found += axis.get_ticklabels()
    for text in found:
        text.set_parse_math(False)


def beside(ax: Axes, row: float, text: str) -> None:
    """A number right of the picture, in line with its bar: there it never meets a bar, a whisker or a name."""
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    ax.annotate(text, (1, row), xytext=(4, 0), va="center", fontsize=7.5, color=GREY, **place)  # type: ignore[arg-type]


def colour_bar(ax: Axes, image: object, label: str) -> None:
    """A slim scale beside the picture."""
    figure = ax.figure
    bar = figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)  # type: ignore[arg-type]
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, color="#B0B0B0")
    bar.set_label(label, fontsize=9)
