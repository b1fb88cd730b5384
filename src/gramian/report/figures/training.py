"""Figures of a network's training: ``(Monitor, ax) → ax``, and all layers in one figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gramian.nets import FeatureReport, Monitor
from gramian.report.figures.network_parts import LINES, draw_line, from_zero_to_one, legend_above
from gramian.report.style import GREY, INK, ORANGE, SKY, Picture, axes_or_new


def plot_trajectory(
    monitor: Monitor,
    ax: Axes | None = None,
    *,
    layer: str | None = None,
    columns: Sequence[str] = ("nfa_cos", "c_nfa_cos", "fact_cos"),
) -> Axes:
    """Draw numbers of one layer over training, and the loss divided by its largest value.

    Parameters
    ----------
    monitor : Monitor
        After at least one measurement.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    layer : str, optional
        Name of a layer; the first by default.
    columns : sequence of str
        Names that :meth:`gramian.nets.FeatureReport.describe` lists; those that were not measured are omitted.

    Returns
    -------
    Axes

    >>> import torch
    >>> from gramian.nets import Monitor
    >>> monitor = Monitor(torch.nn.Linear(3, 1), torch.eye(3))
    >>> for _ in range(2):
    ...     _ = monitor.measure()
    >>> len(plot_trajectory(monitor).lines[0].get_xdata())
    2
    """
    report = last_report(monitor)
    layer = report.layers[0] if layer is None else layer
    report.record(layer)  # raises an error that lists the layers if there is none of this name
    ax = axes_or_new(ax, 4.2, 3.2)
    loss = np.asarray(monitor.series("loss"), dtype=float)
    if np.isfinite(loss).any():
        ax.plot(monitor.steps, loss / np.nanmax(loss), color=GREY, ls=":", lw=1.4, label="loss / its largest")
    for j, column in enumerate(columns):
        spare = (column, (INK, ORANGE, SKY)[j % 3], "x+*"[j % 3])
        draw_line(ax, monitor.steps, monitor.series(f"{layer}/{column}"), *LINES.get(column, spare))
    from_zero_to_one(ax)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.set_xlabel("training step")
    ax.set_ylabel("cosine with WᵀW" if set(columns) <= set(LINES) else "value")
    legend_above(ax)
    return ax


def plot_history(
    monitor: Monitor, columns: Sequence[str] = ("nfa_cos", "c_nfa_cos"), layers: Sequence[str] | None = None
) -> Figure:
    """Draw numbers over training, one panel per layer, with the loss, in one figure.

    >>> import torch
    >>> from gramian.nets import Monitor
    >>> monitor = Monitor(torch.nn.Linear(3, 1), torch.eye(3))
    >>> _ = monitor.measure()
    >>> len(plot_history(monitor).axes)
    1
    """
    names = list(layers or last_report(monitor).layers)
    figure = Picture(figsize=(3.6 * len(names), 3.3), layout="constrained")
    for name, ax in zip(names, np.atleast_1d(figure.subplots(1, len(names), sharey=True)), strict=True):
        plot_trajectory(monitor, ax, layer=name, columns=columns)
        ax.set_xlabel(f"training step (layer {name})")
        if ax is not figure.axes[0]:
            ax.set_ylabel("")
    return figure


def last_report(monitor: Monitor) -> FeatureReport:
    """Return the last report of a monitor, or raise a ValueError if it has none yet."""
    if monitor.report is None:
        raise ValueError("nothing was measured yet: call monitor.step() or monitor.measure()")
    return monitor.report
