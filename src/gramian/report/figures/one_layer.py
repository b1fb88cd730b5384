"""Figures of one layer of a network: its feature matrices, and its directions as images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gramian.nets import FeatureReport
from gramian.nets.record import Unavailable
from gramian.report.figures.across_layers import plot_spectra
from gramian.report.figures.matrices import image_of, plot_feature_matrix
from gramian.report.figures.network_parts import TITLES, short
from gramian.report.style import AMOUNT, GREY, INK, SIGNED, Picture, as_written, axes_or_new, finish

WIDEST = 256
"""Largest number of rows of a matrix that is drawn as a heat map: entries of a wider one are smaller than a printed
dot, so its diagonal is drawn."""
MATRICES = ("nfm", "agop", "enfa", "fact", "vcs")
"""Matrices on the input side of a layer that are drawn side by side if they were measured."""
_WITH_SPECTRA = ("nfm", "agop", "enfa")


def plot_layer_matrix(
    report: FeatureReport,
    ax: Axes | None = None,
    *,
    layer: str,
    name: str = "nfm",
    shape: Sequence[int] | None = None,
) -> Axes:
    """Draw one feature matrix of one layer: red above 0, blue below; only its diagonal if it has more than 256 rows.

    Parameters
    ----------
    report : FeatureReport
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    layer : str
        One of ``report.layers``.
    name : str
        A name that :meth:`gramian.nets.FeatureReport.matrix` takes: ``"nfm"``, ``"agop"``, ``"fact"``, …
    shape : (height, width) or (channels, height, width), optional
        Shape of the layer's input if that is an image. The diagonal is then drawn as an image, summed over channels. A
        square number of inputs above 256 is drawn as a grey image by default.

    Returns
    -------
    Axes

    >>> import torch
    >>> from gramian.nets import inspect
    >>> report = inspect(torch.nn.Linear(4, 2), torch.eye(4))
    >>> plot_layer_matrix(report, layer="model", shape=(2, 2)).images[0].get_array().shape
    (2, 2)
    """
    M = np.asarray(report.matrix(layer, name), dtype=float)
    d = len(M)
    side = math.isqrt(d)
    if shape is None and d > WIDEST and side * side == d:
        shape = (side, side)
    if shape is not None:
        ax = axes_or_new(ax, 3.2, 3.2)
        ax.imshow(image_of(M.diagonal(), shape).sum(axis=0), cmap=AMOUNT, vmin=0, interpolation="nearest")
        ax.set_xlabel("diagonal, as an image", fontsize=8)
        _remove_ticks(ax)
    elif d > WIDEST:
        ax = axes_or_new(ax, 3.2, 3.2)
        ax.plot(M.diagonal(), lw=0.6, color=INK)
        ax.set_xlabel("input")
        ax.set_ylabel("diagonal")
        finish(ax)
    else:
        # With the full range of colours, a few large entries would leave all others nearly white.
        ax = plot_feature_matrix(M, ax, scale_bar=False, quantile=0.995)
        _remove_ticks(ax)
    close = "" if name == "nfm" else f" (cos {report.similarity(layer, 'nfm', name):.3f})"
    ax.set_title(TITLES.get(name, name) + close, fontsize=9)
    return ax


def plot_layer_directions(
    report: FeatureReport,
    ax: Axes | None = None,
    *,
    shape: Sequence[int],
    layer: str | None = None,
    name: str = "agop",
    k: int = 5,
) -> Axes:
    """Draw the k strongest directions of a layer with image input side by side as images: red above 0, blue below.

    Parameters
    ----------
    report : FeatureReport
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    shape : (height, width) or (channels, height, width)
        Shape of the layer's input, or of the patch of a convolution. Three channels are drawn as colours around grey.
    layer : str, optional
        One of ``report.layers``; the first by default.
    name : str
        A positive semi-definite matrix.
    k : int
        Largest number of directions.

    Returns
    -------
    Axes

    >>> import torch
    >>> from gramian.nets import inspect
    >>> ax = plot_layer_directions(inspect(torch.nn.Linear(4, 2), torch.eye(4)), shape=(2, 2))
    >>> len(ax.images)
    2
    """
    layer = report.layers[0] if layer is None else layer
    found = np.asarray(report.directions(layer, name, k), dtype=float)
    spectrum = np.asarray(report.spectrum(layer, name), dtype=float)
    images = [image_of(vector, shape) for vector in found]
    height, width = images[0].shape[1:]
    step = 1.12 * width
    ax = axes_or_new(ax, 1.35 * len(images), 1.35 * height / width + 0.35)
    for i, image in enumerate(images):
        bound = float(np.abs(image).max()) or 1.0
        colour = len(image) == 3
        shown = np.moveaxis(0.5 + image / (2 * bound), 0, 2) if colour else image.sum(axis=0)
        extent = (i * step, i * step + width, height, 0)
        ax.imshow(shown, cmap=SIGNED, vmin=-bound, vmax=bound, interpolation="nearest", extent=extent)
        share = spectrum[i] / spectrum.sum()
        ax.text(i * step + width / 2, 1.04 * height, f"{share:.0%}", ha="center", va="top", fontsize=8, color=GREY)
    ax.set(xlim=(0, (len(images) - 1) * step + width), ylim=(1.04 * height, 0))
    _remove_ticks(ax)
    ax.spines[:].set_visible(False)
    ax.set_title(f"directions of {TITLES.get(name, name)}, layer {short(layer)}", fontsize=9)
    as_written(ax)
    return ax


def plot_layer(report: FeatureReport, layer: str, shape: Sequence[int] | None = None) -> Figure:
    """Draw the matrices of one layer, their cosines to WᵀW and their spectra in one figure.

    Parameters
    ----------
    report : FeatureReport
    layer : str
        One of ``report.layers``.
    shape : (height, width) or (channels, height, width), optional
        As for :func:`gramian.report.plot_layer_matrix`.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> len(plot_layer(inspect(torch.nn.Linear(3, 1), torch.eye(3)), "model").axes)
    3
    """
    names = measured_matrices(report, layer)
    figure = Picture(figsize=(2.4 * (len(names) + 1), 2.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(names) + 1))
    for name, ax in zip(names, axes[:-1], strict=True):
        plot_layer_matrix(report, ax, layer=layer, name=name, shape=shape)
    plot_spectra(report, axes[-1], layers=[layer], names=[n for n in names if n in _WITH_SPECTRA])
    axes[-1].set_title("spectra (largest = 1)", fontsize=9)
    axes[-1].set_ylabel("")
    figure.suptitle(f"layer {layer}", x=0.01, ha="left", fontsize=10)
    return figure


def measured_matrices(report: FeatureReport, layer: str) -> list[str]:
    """List those of :data:`MATRICES` that can be formed for a layer."""
    return [name for name in MATRICES if _is_available(report, layer, name)]


def _is_available(report: FeatureReport, layer: str, name: str) -> bool:
    try:
        report.record(layer).blocks(name)
    except Unavailable:
        return False
    return True


def _remove_ticks(ax: Axes) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
