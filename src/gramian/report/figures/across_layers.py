"""Figures of an inspected network over its layers: ``(FeatureReport, ax) → ax``, and all of them in one figure.

Each draws numbers that the report already contains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from gramian.nets import FeatureReport
from gramian.report.figures.network_parts import (
    LINES,
    MOST_NAMED,
    TITLES,
    column,
    draw_line,
    from_zero_to_one,
    has_geometry,
    layer_axis,
    legend_above,
    short,
)
from gramian.report.style import BLUE, GREEN, INK, ORANGE, SERIES, Picture, axes_or_new, finish

_NOT_HIDDEN = "\u200b"
"""A space without width: matplotlib omits names that begin with an underscore from legends."""
_DASHES = ("-", "--", ":", "-.")
"""Dashes of lines, so that two lines never differ in colour only."""
_SMALLEST = 1e-6
"""Eigenvalues below this share of the largest are outside the axes."""


def plot_alignment(report: FeatureReport, ax: Axes | None = None) -> Axes:
    """Draw the cosines of WᵀW with AGOP^½, AGOP^s, eNFA^½, FACT and C-NFA over the layers.

    Parameters
    ----------
    report : FeatureReport
        From :func:`gramian.nets.inspect`; quantities that were not measured are omitted.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.

    Returns
    -------
    Axes

    >>> import torch
    >>> from gramian.nets import inspect
    >>> ax = plot_alignment(inspect(torch.nn.Linear(3, 1), torch.eye(3)))
    >>> [line.get_label() for line in ax.lines]
    ['AGOP^½', 'AGOP^s, best s']
    """
    ax = axes_or_new(ax, 4.2, 3.2)
    x = layer_axis(report, ax)
    for name in ("nfa_half_cos", "nfa_best_cos", "enfa_half_cos", "fact_cos", "c_nfa_cos"):
        draw_line(ax, x, column(report, name), *LINES[name])
    from_zero_to_one(ax)
    ax.set_ylabel("cosine with WᵀW")
    legend_above(ax)
    return ax


def plot_ranks(report: FeatureReport, ax: Axes | None = None) -> Axes:
    """Draw the effective rank ``exp(entropy of the spectrum)`` of WᵀW and of AGOP over the layers, on a log scale.

    Parameters
    ----------
    report : FeatureReport
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.

    Returns
    -------
    Axes

    >>> import torch
    >>> from gramian.nets import inspect
    >>> ax = plot_ranks(inspect(torch.nn.Linear(3, 1), torch.eye(3)))
    >>> round(float(ax.lines[0].get_ydata()[0]), 6)
    1.0
    """
    ax = axes_or_new(ax, 4.2, 3.2)
    x = layer_axis(report, ax)
    draw_line(ax, x, column(report, "effective_rank"), "WᵀW", INK, "o")
    draw_line(ax, x, column(report, "agop_effective_rank"), "AGOP", BLUE, "s")
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel("effective rank")
    legend_above(ax)
    return ax


def plot_geometry(report: FeatureReport, ax: Axes | None = None) -> Axes:
    """Draw target linearity and the agreement of the nearest class mean with the network (NC4) over the layers.

    Parameters
    ----------
    report : FeatureReport
        Of data with targets, inspected with ``loss=``.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.

    Returns
    -------
    Axes

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
    x = layer_axis(report, ax)
    draw_line(ax, x, column(report, "target_linearity"), "target linearity", GREEN, "o")
    draw_line(ax, x, column(report, "nc4"), "nearest class mean (NC4)", ORANGE, "s")
    from_zero_to_one(ax)
    ax.set_ylabel("share")
    legend_above(ax)
    return ax


def plot_spectra(
    report: FeatureReport,
    ax: Axes | None = None,
    *,
    layers: Sequence[str] | None = None,
    names: Sequence[str] = ("nfm",),
) -> Axes:
    """Draw the eigenvalues of feature matrices, the largest set to 1, on two log scales.

    Parameters
    ----------
    report : FeatureReport
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    layers : sequence of str, optional
        Names of layers; all by default. More than five are drawn from dark to light in the order of the forward pass.
    names : sequence of str
        Positive semi-definite matrices, at most four, such as ``("nfm", "agop")``.

    Returns
    -------
    Axes

    >>> import torch
    >>> from gramian.nets import inspect
    >>> ax = plot_spectra(inspect(torch.nn.Linear(3, 2), torch.eye(3)))
    >>> len(ax.lines[0].get_xdata())
    2
    """
    chosen = list(report.layers if layers is None else layers)
    if not 1 <= len(names) <= len(_DASHES):
        raise ValueError(f"names must hold 1 to {len(_DASHES)} matrices, got {len(names)}: more cannot be distinguished")
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
            if len(values) == 1:  # a line through one point is invisible
                style["marker"] = "o"
            dashes = _DASHES[(j if len(names) > 1 else i) % len(_DASHES)]
            ax.plot(np.arange(1, len(values) + 1), values, linestyle=dashes, linewidth=1.6, **style)
    ax.set(xscale="log", yscale="log", ylim=(max(_SMALLEST, smallest), 1.6), xlim=(0.9, 1.15 * max(longest, 2)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("direction")
    ax.set_ylabel("eigenvalue / largest" if len(names) > 1 else f"eigenvalue of {TITLES.get(names[0], names[0])}")
    if len(chosen) <= MOST_NAMED:
        ax.legend(frameon=False, fontsize=7, loc="lower left")
    finish(ax, grid="y")
    return ax


def plot_report(report: FeatureReport) -> Figure:
    """Draw alignment, effective ranks, feature geometry and the spectra of WᵀW in one figure.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> len(plot_report(inspect(torch.nn.Linear(3, 1), torch.eye(3))).axes)
    3
    """
    panels = [plot_alignment, plot_ranks, plot_spectra]
    if has_geometry(report):
        panels.insert(2, plot_geometry)
    figure = Picture(figsize=(3.6 * len(panels), 3.4), layout="constrained")
    for draw, ax in zip(panels, np.atleast_1d(figure.subplots(1, len(panels))), strict=True):
        draw(report, ax)
    return figure
