"""Figures drawn from finished reports; nothing is computed here that the report does not hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, ScalarFormatter

from gramian.nets.record import Unavailable

if TYPE_CHECKING:
    from gramian.nets.monitor import Monitor
    from gramian.nets.report import FeatureReport

_LINES = {
    "nfa_half_cos": ("AGOP^½", "#1f6feb", "o"),
    "nfa_best_cos": ("AGOP^s, best s", "#8fb8f5", "."),
    "enfa_half_cos": ("eNFA^½", "#bf8700", "s"),
    "fact_cos": ("FACT", "#1a7f37", "D"),
    "c_nfa_cos": ("C-NFA", "#8250df", "^"),
}

_LABELS = {"nfm": "WᵀW", "agop": "AGOP", "enfa": "eNFA", "fact": "FACT", "vcs": "VCS"}


def plot_report(report: FeatureReport) -> Figure:
    """Alignment, effective rank and feature geometry over the layers, and the spectra of WᵀW."""
    panels = [_alignment, _rank, _spectra]
    if any(not math.isnan(float(entry["target_linearity"])) for entry in report.rows):
        panels.insert(2, _geometry)
    figure = Figure(figsize=(4.2 * len(panels), 3.9), layout="constrained")
    for draw, ax in zip(panels, np.atleast_1d(figure.subplots(1, len(panels))), strict=True):
        draw(report, ax)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def plot_layer(report: FeatureReport, layer: str) -> Figure:
    """The matrices of one layer as images, each with its cosine to WᵀW, and their spectra.

    Wide matrices are shown by their diagonal, and that of an image input as the image it belongs to.
    """
    names = [name for name in ("nfm", "agop", "enfa", "fact", "vcs") if _has(report, layer, name)]
    figure = Figure(figsize=(3.1 * (len(names) + 1), 3.2), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(names) + 1))
    for name, ax in zip(names, axes[:-1], strict=True):
        _image(report.matrix(layer, name), ax)
        label = _LABELS[name]
        close = "" if name == "nfm" else f"  (cos {report.similarity(layer, 'nfm', name):.3f})"
        ax.set_title(label + close, fontsize=10)
    ax = axes[-1]
    for name, colour in (("nfm", "#24292f"), ("agop", "#1f6feb"), ("enfa", "#bf8700")):
        if name in names:
            _spectrum(report.spectrum(layer, name), ax, label=_LABELS[name], color=colour)
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("spectra (largest = 1)", fontsize=10)
    figure.suptitle(f"layer {layer}", x=0.01, ha="left", fontsize=11)
    return figure


def plot_history(monitor: Monitor, columns: Sequence[str], layers: Sequence[str] | None) -> Figure:
    """Columns over training, one panel per layer, with the loss behind them."""
    if monitor.report is None:
        raise ValueError("nothing was measured yet: call step() or measure()")
    names = list(layers or monitor.report.layers)
    figure = Figure(figsize=(4.0 * len(names), 3.4), layout="constrained")
    palette = ["#1f6feb", "#8250df", "#1a7f37", "#bf8700", "#cf222e"]
    for name, ax in zip(names, np.atleast_1d(figure.subplots(1, len(names), sharey=True)), strict=True):
        for j, column in enumerate(columns):
            ax.plot(monitor.steps, monitor.series(f"{name}/{column}"), color=palette[j % 5],
                    label=_history_label(column), lw=1.8)  # fmt: skip
        loss = np.array(monitor.series("loss"))
        if np.isfinite(loss).any():
            ax.plot(monitor.steps, loss / np.nanmax(loss), color="#8c959f", ls=":", label="loss / its largest")
        ax.set(title=f"layer {name}", xlabel="training step", ylim=(min(0.0, ax.get_ylim()[0]), 1.02))
        ax.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("cosine")
    figure.axes[-1].legend(frameon=False, fontsize=8)
    return figure


def _history_label(column: str) -> str:
    return {"nfa_cos": "UC-NFA", "c_nfa_cos": "C-NFA", "fact_cos": "FACT", "nfa_half_cos": "NFA s=½"}.get(
        column, column
    )


def _layer_axis(report: FeatureReport, ax: Axes) -> range:
    """Names under the axis where they fit, numbers in the order of ``report.layers`` where there are many."""
    names = report.layers
    x = range(len(names))
    if len(names) > 8:
        ax.set_xlabel("layer (number in report.layers)")
        ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        return x
    short = [name if len(name) <= 16 else "…" + name[-15:] for name in names]
    ax.set_xticks(list(x), short, fontsize=8)
    if sum(map(len, short)) > 40:
        ax.tick_params(axis="x", rotation=35)
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
    ax.set_xlabel("layer")
    return x


def _column(report: FeatureReport, name: str) -> list[float]:
    return [float(entry[name]) for entry in report.rows]


def _alignment(report: FeatureReport, ax: Axes) -> None:
    x = _layer_axis(report, ax)
    for name, (label, colour, marker) in _LINES.items():
        values = _column(report, name)
        if not all(math.isnan(value) for value in values):
            ax.plot(x, values, marker=marker, ms=5, lw=1.6, color=colour, label=label)
    low = min(0.0, ax.get_ylim()[0])
    ax.set(title="agreement with WᵀW", ylabel="cosine", ylim=(low, 1.03))
    ax.legend(frameon=False, fontsize=8)


def _rank(report: FeatureReport, ax: Axes) -> None:
    x = _layer_axis(report, ax)
    ax.plot(x, _column(report, "effective_rank"), marker="o", ms=4, color="#24292f", label="WᵀW")
    ax.plot(x, _column(report, "agop_effective_rank"), marker="o", ms=4, color="#1f6feb", label="AGOP")
    ax.set(title="effective rank", yscale="log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.legend(frameon=False, fontsize=8)


def _geometry(report: FeatureReport, ax: Axes) -> None:
    x = _layer_axis(report, ax)
    ax.plot(
        x,
        _column(report, "target_linearity"),
        marker="o",
        color="#1a7f37",
        label="target linearity of the input",
    )
    nc4 = _column(report, "nc4")
    if not all(math.isnan(value) for value in nc4):
        ax.plot(x, nc4, marker="s", color="#bf8700", label="nearest class mean agrees (NC4)")
    ax.set(title="features and target", ylim=(min(0.0, ax.get_ylim()[0]), 1.03))
    ax.legend(frameon=False, fontsize=8)


def _spectra(report: FeatureReport, ax: Axes) -> None:
    shades = np.linspace(0.15, 0.85, len(report.layers))
    from matplotlib import colormaps

    for name, shade in zip(report.layers, shades, strict=True):
        _spectrum(report.spectrum(name, "nfm"), ax, label=name, color=colormaps["viridis"](shade))
    if len(report.layers) <= 8:
        ax.legend(frameon=False, fontsize=8, title="layer", title_fontsize=8)
    ax.set_title("spectrum of WᵀW (largest = 1)")


def _spectrum(values: np.ndarray, ax: Axes, **style: Any) -> None:
    if len(values):
        ax.loglog(np.arange(1, len(values) + 1), np.maximum(values / values[0], 1e-12), lw=1.5, **style)
    ax.set(xlabel="direction", ylim=(1e-6, 1.5))


def _image(M: np.ndarray, ax: Axes) -> None:
    d = M.shape[0]
    side = math.isqrt(d)
    if d > 256 and side * side == d:  # a square image: its pixels' importance says more than d × d dots
        ax.imshow(M.diagonal().reshape(side, side), cmap="magma")
        ax.set_xlabel("diagonal, as an image", fontsize=8)
    elif d > 256:
        ax.plot(M.diagonal(), lw=0.6, color="#24292f")
        ax.set_xlabel("diagonal", fontsize=8)
        return
    else:
        bound = float(np.quantile(np.abs(M), 0.995)) or 1.0  # a few large entries would leave the rest blank
        ax.imshow(M, cmap="RdBu_r", vmin=-bound, vmax=bound)
    ax.set_xticks([])
    ax.set_yticks([])


def _has(report: FeatureReport, layer: str, name: str) -> bool:
    try:
        report.record(layer).blocks(name)
    except Unavailable:
        return False
    return True
