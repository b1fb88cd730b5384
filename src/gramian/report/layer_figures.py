"""Figures of one layer of a network: its matrices, and the directions of a layer that reads images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gramian.report.figures import image_of, plot_feature_matrix
from gramian.report.network_figures import TITLES, short
from gramian.report.style import AMOUNT, GREY, INK, SIGNED, as_written, axes_or_new, finish

WIDEST = 256
"""A matrix with more rows is shown by its diagonal: its entries would be smaller than a printed dot."""


def plot_layer_matrix(
    report: Any, ax: Axes | None = None, *, layer: str, name: str = "nfm", shape: tuple[int, ...] | None = None
) -> Axes:
    """One feature matrix of one layer: red above 0, blue below; its diagonal where it has more than 256 rows.

    Parameters
    ----------
    report : FeatureReport
    ax : Axes, optional
    layer : str
        One of ``report.layers``.
    name : str
        As for :meth:`gramian.nets.FeatureReport.matrix`: ``"nfm"``, ``"agop"``, ``"fact"``, …
    shape : (height, width) or (channels, height, width), optional
        Of the layer's input where that is an image: the diagonal is then drawn as one, channels added up. A square
        number of inputs above 256 is taken for a grey image.

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
        _bare(ax)
    elif d > WIDEST:
        ax = axes_or_new(ax, 3.2, 3.2)
        ax.plot(M.diagonal(), lw=0.6, color=INK)
        ax.set_xlabel("input")
        ax.set_ylabel("diagonal")
        finish(ax)
    else:
        # A few large entries would leave the rest blank.
        ax = plot_feature_matrix(M, ax, scale_bar=False, quantile=0.995)
        _bare(ax)
    close = "" if name == "nfm" else f" (cos {report.similarity(layer, 'nfm', name):.3f})"
    ax.set_title(TITLES.get(name, name) + close, fontsize=9)
    return ax


def plot_layer_directions(
    report: Any,
    ax: Axes | None = None,
    *,
    shape: tuple[int, ...],
    layer: str | None = None,
    name: str = "agop",
    k: int = 5,
) -> Axes:
    """The k strongest directions of a layer that reads images, side by side as images: red above 0, blue below.

    Parameters
    ----------
    report : FeatureReport
    ax : Axes, optional
    shape : (height, width) or (channels, height, width)
        Of the layer's input, or of the patch a convolution reads. Three channels are shown as colours around grey.
    layer : str, optional
        The first by default.
    name : str
        A positive semi-definite matrix.
    k : int
        Directions at most.

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
    _bare(ax)
    ax.spines[:].set_visible(False)
    ax.set_title(f"directions of {TITLES.get(name, name)}, layer {short(layer)}", fontsize=9)
    as_written(ax)
    return ax


def _bare(ax: Axes) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
