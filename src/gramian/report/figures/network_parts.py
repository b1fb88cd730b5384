"""Parts shared by the figures of networks: labels, colours and markers of quantities, lines, legends."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gramian.nets import FeatureReport
from gramian.report.style import BLUE, GREEN, ORANGE, PURPLE, SKY, finish

LINES = {
    "nfa_cos": ("AGOP (UC-NFA)", BLUE, "o"),
    "nfa_half_cos": ("AGOP^½", BLUE, "o"),
    "nfa_best_cos": ("AGOP^s, best s", SKY, "v"),
    "enfa_half_cos": ("eNFA^½", ORANGE, "s"),
    "fact_cos": ("FACT", GREEN, "D"),
    "c_nfa_cos": ("C-NFA", PURPLE, "^"),
}
"""Column → label, colour, marker. A quantity has the same ones in all figures, and two lines never differ in colour
only."""
TITLES = {"nfm": "WᵀW", "agop": "AGOP", "enfa": "eNFA", "fact": "FACT", "vcs": "VCS"}
"""Matrix → its name in figures and on pages."""
MOST_NAMED = 8
"""Largest number of layers that are named on an axis or in a legend; more layers are numbered."""


def column(report: FeatureReport, name: str) -> list[float]:
    """Return one column of the report, a number for each layer."""
    return [float(entry[name]) for entry in report.rows]


def has_geometry(report: FeatureReport) -> bool:
    """Return True if the report relates features to targets."""
    return any(not math.isnan(value) for value in column(report, "target_linearity"))


def draw_line(ax: Axes, x: Sequence[float], values: Sequence[float], label: str, colour: str, marker: str) -> None:
    """Draw a line with markers unless all values are NaN; with many points, only some of them have markers."""
    if not all(math.isnan(value) for value in values):
        every = max(1, len(values) // 12)
        ax.plot(x, values, marker=marker, ms=4.5, markevery=every, lw=1.6, color=colour, label=label)


def layer_axis(report: FeatureReport, ax: Axes) -> range:
    """Label the x axis with the names of the layers if they fit, else with their numbers; return the positions."""
    names = report.layers
    if len(names) > MOST_NAMED:
        ax.set_xlabel("layer (number in report.layers)")
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    else:
        called = [short(name) for name in names]
        ax.set_xticks(range(len(names)), called, fontsize=8)
        if sum(map(len, called)) > 9 * ax.get_window_extent().width / ax.figure.dpi:
            ax.tick_params(axis="x", rotation=35)
            for label in ax.get_xticklabels():
                label.set_horizontalalignment("right")
        ax.set_xlim(-0.4, len(names) - 0.6)
        ax.set_xlabel("layer")
    return range(len(names))


def from_zero_to_one(ax: Axes) -> None:
    """Set the range of the y axis to that of shares and cosines, extended for negative values."""
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.04)


def legend_above(ax: Axes) -> None:
    """Put the legend above the axes, where no line crosses it, in two columns on narrow axes and else in three."""
    if not ax.get_legend_handles_labels()[0]:
        finish(ax, grid="y")
        return
    narrow = ax.get_window_extent().width / ax.figure.dpi < 3.0
    ax.legend(
        frameon=False, fontsize=7, loc="lower left", bbox_to_anchor=(0, 1), ncols=2 if narrow else 3, columnspacing=1.2,
        handlelength=1.8, borderaxespad=0.1,
    )  # fmt: skip
    finish(ax, grid="y")


def short(layer: str) -> str:
    """Shorten a long name to its end, which differs most between layers.

    >>> short("encoder.layers.11.attention")
    '…rs.11.attention'
    """
    return layer if len(layer) <= 16 else "…" + layer[-15:]
