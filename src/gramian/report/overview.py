"""Whole figures of a network: its layers, one layer's matrices, its training. Behind ``report.plot()``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from gramian.nets.record import Unavailable
from gramian.report.layer_figures import plot_layer_matrix
from gramian.report.network_figures import (
    has_geometry,
    plot_alignment,
    plot_geometry,
    plot_ranks,
    plot_spectra,
    plot_trajectory,
)
from gramian.report.style import Picture

MATRICES = ("nfm", "agop", "enfa", "fact", "vcs")
"""Matrices on a layer's input side that are shown side by side, where they were measured."""


def plot_report(report: Any) -> Figure:
    """Alignment, effective rank and feature geometry over the layers, and the spectra of WᵀW.

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


def plot_layer(report: Any, layer: str, shape: tuple[int, ...] | None = None) -> Figure:
    """The matrices of one layer as images, each with its cosine to WᵀW, and their spectra.

    Parameters
    ----------
    report : FeatureReport
    layer : str
    shape : tuple of int, optional
        As for :func:`gramian.report.plot_layer_matrix`.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> len(plot_layer(inspect(torch.nn.Linear(3, 1), torch.eye(3)), "model").axes)
    3
    """
    names = measured(report, layer)
    figure = Picture(figsize=(2.4 * (len(names) + 1), 2.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(names) + 1))
    for name, ax in zip(names, axes[:-1], strict=True):
        plot_layer_matrix(report, ax, layer=layer, name=name, shape=shape)
    plot_spectra(report, axes[-1], layers=[layer], names=[n for n in names if n in ("nfm", "agop", "enfa")])
    axes[-1].set_title("spectra (largest = 1)", fontsize=9)
    axes[-1].set_ylabel("")
    figure.suptitle(f"layer {layer}", x=0.01, ha="left", fontsize=10)
    return figure


def plot_history(
    monitor: Any, columns: Sequence[str] = ("nfa_cos", "c_nfa_cos"), layers: Sequence[str] | None = None
) -> Figure:
    """Columns over training, one panel per layer, with the loss behind them (paper A, Fig. 2).

    >>> import torch
    >>> from gramian.nets import Monitor
    >>> monitor = Monitor(torch.nn.Linear(3, 1), torch.eye(3))
    >>> _ = monitor.measure()
    >>> len(plot_history(monitor).axes)
    1
    """
    if monitor.report is None:
        raise ValueError("nothing was measured yet: call step() or measure()")
    names = list(layers or monitor.report.layers)
    figure = Picture(figsize=(3.6 * len(names), 3.3), layout="constrained")
    for name, ax in zip(names, np.atleast_1d(figure.subplots(1, len(names), sharey=True)), strict=True):
        plot_trajectory(monitor, ax, layer=name, columns=columns)
        ax.set_xlabel(f"training step (layer {name})")
        if ax is not figure.axes[0]:
            ax.set_ylabel("")
    return figure


def measured(report: Any, layer: str) -> list[str]:
    """Which of :data:`MATRICES` can be formed for a layer."""
    return [name for name in MATRICES if _has(report, layer, name)]


def _has(report: Any, layer: str, name: str) -> bool:
    try:
        report.record(layer).blocks(name)
    except Unavailable:
        return False
    return True
