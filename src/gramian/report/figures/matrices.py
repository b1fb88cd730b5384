"""Figures of feature matrices: as a heat map, and over pixels as an image."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from gramian.core import psd_eigh
from gramian.report.figures.inputs import HasFeatureMatrix, check_fitted, column_names, known_names
from gramian.report.style import AMOUNT, SIGNED, as_written, axes_or_new, colour_bar

_SMALLEST, _LARGEST = 5.0, 8.5
"""Font sizes of names on a matrix, in points; smaller text cannot be read on paper."""


def plot_feature_matrix(
    M: ArrayLike | HasFeatureMatrix,
    ax: Axes | None = None,
    *,
    names: Sequence[str] | None = None,
    scale_bar: bool = True,
    quantile: float = 1.0,
) -> Axes:
    """Draw a heat map of a feature matrix ``M (d, d)``, or of a model's ``feature_matrix_``: red above 0, blue below.

    Parameters
    ----------
    M : array (d, d) or fitted model
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    names : sequence of d strings, optional
        Names of the columns; those of the model by default. They are written on both axes if there is enough space to
        read them; otherwise the columns are numbered.
    scale_bar : bool
        Draw the colour scale.
    quantile : float
        The quantile of ``|M_ij|`` that has the strongest colour. With a value below 1, a few large entries do not hide
        the others.

    Returns
    -------
    Axes

    >>> ax = plot_feature_matrix([[1.0, -0.5], [-0.5, 1.0]])
    >>> ax.images[0].get_clim()
    (-1.0, 1.0)
    """
    matrix = _matrix(M)
    d = len(matrix)
    called = known_names(M, d) if names is None else column_names(M, d, names)
    margin = 0.0 if called is None else 0.075 * max(len(name) for name in called)
    side = 3.6 if called is None else min(max(3.2, 0.17 * d), 8.0)
    ax = axes_or_new(ax, side + margin + 1.4, side + margin)
    if not 0 < quantile <= 1:
        raise ValueError(f"quantile must be above 0 and at most 1, got {quantile!r}")
    bound = float(np.quantile(np.abs(matrix), quantile)) or float(np.abs(matrix).max()) or 1.0
    image = ax.imshow(matrix, cmap=SIGNED, vmin=-bound, vmax=bound, interpolation="nearest")
    row_height = 72 * (ax.get_window_extent().height / ax.figure.dpi - margin) / d  # in points
    if called is not None and row_height >= _SMALLEST:
        ax.set_xticks(range(d), called, rotation=90, fontsize=min(row_height, _LARGEST))
        ax.set_yticks(range(d), called, fontsize=min(row_height, _LARGEST))
    else:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6, integer=True))
    ax.tick_params(length=0)
    ax.spines[:].set_color("#B0B0B0")
    if scale_bar:
        colour_bar(ax, image, "entry of M")
    as_written(ax)
    return ax


def plot_image_features(
    M: ArrayLike | HasFeatureMatrix,
    ax: Axes | None = None,
    *,
    shape: Sequence[int],
    what: str = "diagonal",
    scale_bar: bool = False,
) -> Axes:
    """Draw a feature matrix over pixels as an image: its diagonal (the weight of each pixel) or its first eigenvector.

    Parameters
    ----------
    M : array (d, d) or fitted model
        Of a model, ``feature_matrix_`` is drawn.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    shape : (height, width) or (height, width, 3)
        Shape of the images. The colours of a pixel are summed in the diagonal, and drawn as colours around grey in the
        eigenvector.
    what : "diagonal" or "eigenvector"
    scale_bar : bool
        Draw the colour scale.

    Returns
    -------
    Axes

    >>> ax = plot_image_features(np.diag([4.0, 1.0, 0.0, 0.0]), shape=(2, 2))
    >>> ax.images[0].get_array().tolist()
    [[4.0, 1.0], [0.0, 0.0]]
    """
    matrix = _matrix(M)
    shape = tuple(shape)
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3) or math.prod(shape) != len(matrix):
        raise ValueError(f"shape must be (height, width) or (height, width, 3) with {len(matrix)} pixels, got {shape}")
    if what not in ("diagonal", "eigenvector"):
        raise ValueError(f'what must be "diagonal" or "eigenvector", got {what!r}')
    ax = axes_or_new(ax, 4.0, 4.0 * min(max(shape[0] / shape[1], 0.4), 1.5))
    if what == "diagonal":
        amount = np.diag(matrix).reshape(shape)
        amount = amount.sum(axis=2) if len(shape) == 3 else amount
        image = ax.imshow(amount, cmap=AMOUNT, vmin=0, interpolation="nearest")
    else:
        vector = psd_eigh(torch.from_numpy(matrix))[1][:, 0].numpy().reshape(shape)
        bound = float(np.abs(vector).max())
        shown = vector if len(shape) == 2 else 0.5 + vector / (2 * bound)
        image = ax.imshow(shown, cmap=SIGNED, vmin=-bound, vmax=bound, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    if scale_bar and not (what == "eigenvector" and len(shape) == 3):
        colour_bar(ax, image, "entry of diag M" if what == "diagonal" else "loading")
    return ax


def image_of(vector: Float[np.ndarray, " d"], shape: Sequence[int]) -> Float[np.ndarray, "c h w"]:
    """Reshape a vector over pixels to the channels of an image of shape (height, width) or (channels, height, width).

    >>> image_of(np.arange(4.0), (2, 2)).tolist()
    [[[0.0, 1.0], [2.0, 3.0]]]
    """
    shape = tuple(shape)
    if len(shape) not in (2, 3) or math.prod(shape) != len(vector):
        raise ValueError(
            f"shape must be (height, width) or (channels, height, width) with {len(vector)} entries, got {shape}"
        )
    return vector.reshape(shape if len(shape) == 3 else (1, *shape))


def _matrix(M: ArrayLike | HasFeatureMatrix) -> Float[np.ndarray, "d d"]:
    """Return the matrix, or that of a model, in float64; refuse one that is not square and finite."""
    check_fitted(M)
    matrix = np.asarray(getattr(M, "feature_matrix_", M), dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"M must be a square matrix (d, d) or a fitted model, got the shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("M holds NaN or infinity")
    return matrix
