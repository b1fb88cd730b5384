"""Figures of an inspected network and of its training: ``(FeatureReport or Monitor, ax) → ax``.

Each draws numbers the result holds already. Lines that say the same have the same colour and marker in all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, ScalarFormatter

from gramian.report.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SERIES,
    SKY,
    axes_or_new,
    finish,
)

LINES = {
    "nfa_cos": ("AGOP (UC-NFA)", BLUE, "o"),
    "nfa_half_cos": ("AGOP^½", BLUE, "o"),
    "nfa_best_cos": ("AGOP^s, best s", SKY, "v"),
    "enfa_half_cos": ("eNFA^½", ORANGE, "s"),
    "fact_cos": ("FACT", GREEN, "D"),
    "c_nfa_cos": ("C-NFA", PURPLE, "^"),
}
"""Column → label, colour, marker: colour is never the only difference."""
TITLES = {"nfm": "WᵀW", "agop": "AGOP", "enfa": "eNFA", "fact": "FACT", "vcs": "VCS"}
"""Matrix → how it is written."""
_NOT_HIDDEN = "\u200b"
"""A space without width: matplotlib leaves names that begin with an underscore out of legends."""
_DASHES = ("-", "--", ":", "-.")
"""Lines differ in these too: colour is never the only difference."""
_NAMED = 8
"""Layers that are called by name; more of them are numbered."""
_FLOOR = 1e-6
"""Eigenvalues below this share of the largest are left to the edge of the picture."""


def plot_alignment(report: Any, ax: Axes | None = None) -> Axes:
    """How well WᵀW of each layer agrees with AGOP^½, AGOP^s, eNFA^½, FACT and C-NFA: cosines over the layers.

    Parameters
    ----------
    report : FeatureReport
        From :func:`gramian.nets.inspect`; lines that were not measured are left out.
    ax : Axes, optional
        Where to draw; a new figure by default.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> ax = plot_alignment(inspect(torch.nn.Linear(3, 1), torch.eye(3)))
    >>> [line.get_label() for line in ax.lines]
    ['AGOP^½', 'AGOP^s, best s']
    """
    ax = axes_or_new(ax, 4.2, 3.2)
    x = _layer_axis(report, ax)
    for name in ("nfa_half_cos", "nfa_best_cos", "enfa_half_cos", "fact_cos", "c_nfa_cos"):
        _line(ax, x, _column(report, name), *LINES[name])
    _from_zero_to_one(ax)
    ax.set_ylabel("cosine with WᵀW")
    _legend(ax)
    return ax


def plot_ranks(report: Any, ax: Axes | None = None) -> Axes:
    """Effective rank ``exp(entropy of the spectrum)`` of WᵀW and of AGOP over the layers, on a logarithmic scale.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> ax = plot_ranks(inspect(torch.nn.Linear(3, 1), torch.eye(3)))
    >>> round(float(ax.lines[0].get_ydata()[0]), 6)
    1.0
    """
    ax = axes_or_new(ax, 4.2, 3.2)
    x = _layer_axis(report, ax)
    _line(ax, x, _column(report, "effective_rank"), "WᵀW", INK, "o")
    _line(ax, x, _column(report, "agop_effective_rank"), "AGOP", BLUE, "s")
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel("effective rank")
    _legend(ax)
    return ax


def plot_geometry(report: Any, ax: Axes | None = None) -> Axes:
    """Target linearity of each layer's input, and how often the nearest class mean agrees with the network (NC4).

    >>> import torch
    >>> from gramian.nets import inspect
    >>> X = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    >>> ax = plot_geometry(inspect(torch.nn.Linear(3, 1), (X, X[:, :1]), loss="mse"))
    >>> float(ax.lines[0].get_ydata()[0]) > 0.99
    True
    """
    if not has_geometry(report):
        raise ValueError("the report relates features to no targets: inspect data with targets, and give loss=")
    ax = axes_or_new(ax, 4.2, 3.2)
    x = _layer_axis(report, ax)
    _line(ax, x, _column(report, "target_linearity"), "target linearity", GREEN, "o")
    _line(ax, x, _column(report, "nc4"), "nearest class mean (NC4)", ORANGE, "s")
    _from_zero_to_one(ax)
    ax.set_ylabel("share")
    _legend(ax)
    return ax


def plot_spectra(
    report: Any, ax: Axes | None = None, *, layers: Sequence[str] | None = None, names: Sequence[str] = ("nfm",)
) -> Axes:
    """Eigenvalues of feature matrices, largest = 1, on two logarithmic scales.

    Parameters
    ----------
    report : FeatureReport
    ax : Axes, optional
    layers : sequence of str, optional
        All by default; more than five go from dark to light in the order of the forward pass.
    names : sequence of str
        Positive semi-definite matrices, at most four, such as ``("nfm", "agop")``.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> ax = plot_spectra(inspect(torch.nn.Linear(3, 2), torch.eye(3)))
    >>> len(ax.lines[0].get_xdata())
    2
    """
    chosen = list(report.layers if layers is None else layers)
    if not 1 <= len(names) <= len(_DASHES):
        raise ValueError(f"names must hold 1 to {len(_DASHES)} matrices, got {len(names)}: more cannot be told apart")
    ax = axes_or_new(ax, 4.2, 3.2)
    longest, smallest = 1, 0.1
    for i, layer in enumerate(chosen):
        shade = SERIES[i] if len(chosen) <= len(SERIES) else colormaps["viridis"](0.3 + 0.5 * i / (len(chosen) - 1))
        for j, name in enumerate(names):
            values = np.asarray(report.spectrum(layer, name), dtype=float)
            values = values / values[:1]
            longest, smallest = max(longest, len(values)), min([smallest, *(values / 2)])
            parts = [short(layer)] * (len(chosen) > 1 or len(names) == 1) + [TITLES.get(name, name)] * (len(names) > 1)
            style: dict[str, Any] = {
                "color": shade if len(chosen) > 1 else (INK, *SERIES)[j],
                "label": re.sub("^_", f"{_NOT_HIDDEN}_", ", ".join(parts)),
            }
            if len(values) == 1:  # a line of one point is nothing
                style["marker"] = "o"
            dashes = _DASHES[(j if len(names) > 1 else i) % len(_DASHES)]
            ax.plot(np.arange(1, len(values) + 1), values, linestyle=dashes, linewidth=1.6, **style)
    ax.set(xscale="log", yscale="log", ylim=(max(_FLOOR, smallest), 1.6), xlim=(0.9, 1.15 * max(longest, 2)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("direction")
    ax.set_ylabel("eigenvalue / largest" if len(names) > 1 else f"eigenvalue of {TITLES.get(names[0], names[0])}")
    if len(chosen) <= _NAMED:
        ax.legend(frameon=False, fontsize=7, loc="lower left")
    finish(ax, grid="y")
    return ax


def plot_trajectory(
    monitor: Any, ax: Axes | None = None, *, layer: str, columns: Sequence[str] = ("nfa_cos", "c_nfa_cos", "fact_cos")
) -> Axes:
    """Numbers of one layer over training, with the loss (divided by its largest value) behind them.

    Parameters
    ----------
    monitor : Monitor
        After it has measured.
    ax : Axes, optional
    layer : str
    columns : sequence of str
        As in :meth:`gramian.nets.FeatureReport.describe`; those that were not measured are left out.

    >>> import torch
    >>> from gramian.nets import Monitor
    >>> monitor = Monitor(torch.nn.Linear(3, 1), torch.eye(3))
    >>> for _ in range(2):
    ...     _ = monitor.measure()
    >>> len(plot_trajectory(monitor, layer="model").lines[0].get_xdata())
    2
    """
    if monitor.report is None:
        raise ValueError("nothing was measured yet: call step() or measure()")
    monitor.report.record(layer)  # says which layers there are
    ax = axes_or_new(ax, 4.2, 3.2)
    loss = np.asarray(monitor.series("loss"), dtype=float)
    if np.isfinite(loss).any():
        ax.plot(monitor.steps, loss / np.nanmax(loss), color=GREY, ls=":", lw=1.4, label="loss / its largest")
    for j, column in enumerate(columns):
        spare = (column, (INK, ORANGE, SKY)[j % 3], "x+*"[j % 3])
        _line(ax, monitor.steps, monitor.series(f"{layer}/{column}"), *LINES.get(column, spare))
    _from_zero_to_one(ax)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.set_xlabel("training step")
    ax.set_ylabel("cosine with WᵀW" if set(columns) <= set(LINES) else "value")
    _legend(ax)
    return ax


def has_geometry(report: Any) -> bool:
    """Whether features were related to targets."""
    return any(not math.isnan(value) for value in _column(report, "target_linearity"))


def _column(report: Any, name: str) -> list[float]:
    return [float(entry[name]) for entry in report.rows]


def _line(ax: Axes, x: Sequence[float], values: Sequence[float], label: str, colour: str, marker: str) -> None:
    """A line with its markers, where anything was measured; markers thin out where there are many points."""
    if not all(math.isnan(value) for value in values):
        every = max(1, len(values) // 12)
        ax.plot(x, values, marker=marker, ms=4.5, markevery=every, lw=1.6, color=colour, label=label)


def _layer_axis(report: Any, ax: Axes) -> range:
    """Names under the axis where they fit, numbers in the order of ``report.layers`` where there are many."""
    names = report.layers
    if len(names) > _NAMED:
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


def _from_zero_to_one(ax: Axes) -> None:
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.04)


def _legend(ax: Axes) -> None:
    """Above the picture, where no line can run through it; in as many columns as fit."""
    narrow = ax.get_window_extent().width / ax.figure.dpi < 3.0
    ax.legend(
        frameon=False, fontsize=7, loc="lower left", bbox_to_anchor=(0, 1), ncols=2 if narrow else 3, columnspacing=1.2,
        handlelength=1.8, borderaxespad=0.1,
    )  # fmt: skip
    finish(ax, grid="y")


def short(layer: str) -> str:
    """The end of a long name, which says more than its beginning."""
    return layer if len(layer) <= 16 else "…" + layer[-15:]
