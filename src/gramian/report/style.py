"""How figures look: colours everybody can tell apart, and axes without clutter."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PURPLE, SKY, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#6E6E6E"
"""From the palette of Okabe and Ito, which survives every common colour blindness and a grey printer."""
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY)
SIGNED = "RdBu_r"
"""Colour map for values around 0: red above, blue below, white at 0."""
AMOUNT = "inferno"
"""Colour map for values from 0 up, even in lightness."""


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """The given axes, or those of a new figure of that size in inches; no window, no global state.

    >>> axes_or_new(None, 4, 3).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    if ax is not None:
        return ax
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def declutter(ax: Axes, grid: str | None = None) -> None:
    """Take away the box and lay a faint grid behind the data along ``"x"`` or ``"y"``."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("#B0B0B0")
    ax.tick_params(color="#B0B0B0")
    if grid is not None:
        ax.grid(axis=grid, color="#E4E4E4", linewidth=0.8)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def colour_bar(ax: Axes, image: object, label: str) -> None:
    """A slim scale beside the picture."""
    figure = ax.figure
    bar = figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)  # type: ignore[arg-type]
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, color="#B0B0B0")
    bar.set_label(label, fontsize=9)
