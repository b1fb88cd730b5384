"""One function per figure: ``(model or matrix, ax) → ax``.

A model is anything with the attributes a figure needs (those of :class:`gramian.RFMRegressor`); columns are called by
``feature_names_in_`` where the model was fitted on a frame, by ``names`` where they are given, else ``x0, x1, …``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from gramian.core import psd_eigh
from gramian.display import more_columns
from gramian.report.style import (
    AMOUNT,
    BLUE,
    ORANGE,
    SERIES,
    SIGNED,
    as_written,
    axes_or_new,
    beside,
    colour_bar,
    finish,
)

_SHOWN = 5e-4
"""A share below this reads 0.0 %."""
_SMALLEST, _LARGEST = 5.0, 8.5
"""Font sizes of names on a matrix, in points: smaller cannot be read on paper."""


def plot_importances(model: Any, ax: Axes | None = None, *, top: int = 15, names: Sequence[str] | None = None) -> Axes:
    """Bars of ``feature_importances_ (d,)``, the largest on top: each column's share of the sensitivity.

    Parameters
    ----------
    model : fitted model
    ax : Axes, optional
        Where to draw; a new figure by default.
    top : int
        Bars to draw at most; columns below 0.05 % get none, and the share of all that are left out is named below.
    names : sequence of d strings, optional

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    >>> ax = plot_importances(RFMRegressor(n_rounds=0).fit(X, X[:, 2]), names=["age", "bmi", "bp"])
    >>> ax.get_yticklabels()[0].get_text()
    'bp'
    """
    _positive(top=top)
    values = np.asarray(model.feature_importances_, dtype=float)
    called = _names(model, len(values), names)
    order = np.argsort(-values, kind="stable")[:top]
    order = order[: max(1, int((values[order] >= _SHOWN).sum()))]
    ax = axes_or_new(ax, 5.2, 0.9 + 0.27 * len(order))
    rows = np.arange(len(order))
    ax.barh(rows, values[order], color=BLUE, height=0.72)
    for row, value in enumerate(values[order]):
        beside(ax, row, f"{value:.1%}")
    ax.set_yticks(rows, [called[i] for i in order])
    ax.invert_yaxis()
    ax.margins(y=0.02)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.xaxis.set_major_formatter(PercentFormatter(xmax=1))
    left = len(values) - len(order)
    rest = f"\n({more_columns(left)}: {max(0.0, 1 - values[order].sum()):.1%})" if left else ""
    ax.set_xlabel(f"share of sensitivity{rest}")
    finish(ax, grid="x")
    return ax


def plot_feature_matrix(
    M: Any,
    ax: Axes | None = None,
    *,
    names: Sequence[str] | None = None,
    scale_bar: bool = True,
    quantile: float = 1.0,
) -> Axes:
    """Heat map of a feature matrix ``M (d, d)``, or of a model's ``feature_matrix_``: red above 0, blue below.

    Parameters
    ----------
    M : array (d, d) or fitted model
    ax : Axes, optional
    names : sequence of d strings, optional
        Written on both axes where there is room to read them; columns are numbered otherwise.
    scale_bar : bool
        Draw the colour scale.
    quantile : float
        Full colour is reached at this quantile of ``|M_ij|``: below 1 a few large entries leave the rest visible.

    >>> ax = plot_feature_matrix([[1.0, -0.5], [-0.5, 1.0]])
    >>> ax.images[0].get_clim()
    (-1.0, 1.0)
    """
    matrix = _matrix(M)
    d = len(matrix)
    called = names_of(M, d) if names is None else _names(M, d, names)
    margin = 0.0 if called is None else 0.075 * max(len(name) for name in called)
    side = 3.6 if called is None else min(max(3.2, 0.17 * d), 8.0)
    ax = axes_or_new(ax, side + margin + 1.4, side + margin)
    if not 0 < quantile <= 1:
        raise ValueError(f"quantile must be above 0 and at most 1, got {quantile!r}")
    bound = float(np.quantile(np.abs(matrix), quantile)) or float(np.abs(matrix).max()) or 1.0
    image = ax.imshow(matrix, cmap=SIGNED, vmin=-bound, vmax=bound, interpolation="nearest")
    room = 72 * (ax.get_window_extent().height / ax.figure.dpi - margin) / d  # height of one row in points
    if called is not None and room >= _SMALLEST:
        ax.set_xticks(range(d), called, rotation=90, fontsize=min(room, _LARGEST))
        ax.set_yticks(range(d), called, fontsize=min(room, _LARGEST))
    else:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6, integer=True))
    ax.tick_params(length=0)
    ax.spines[:].set_color("#B0B0B0")
    if scale_bar:
        colour_bar(ax, image, "entry of M")
    as_written(ax)
    return ax


def plot_rounds(model: Any, ax: Axes | None = None) -> Axes:
    """Mean squared error on held-out rows after each round (``rounds_[t].score``), with the round that was kept.

    Where nothing was held out the leave-one-out error given M is drawn instead and named so: it is optimistic from
    round 1 on, since M has seen every label.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = RFMRegressor(n_rounds=2).fit(X, X[:, 0] * X[:, 1])
    >>> ax = plot_rounds(model)
    >>> ax.lines[0].get_xdata().tolist()
    [0, 1, 2]
    """
    rounds, kept = model.rounds_, int(model.best_round_)
    label, errors = "error on held-out rows (MSE)", [float(r.score) for r in rounds]
    if not np.isfinite(errors).any():
        label, errors = "leave-one-out error given M (MSE)", [float(r.loo) for r in rounds]
    if not np.isfinite(errors).any():
        raise ValueError("model holds no error for any round: its ridge and bandwidth were fixed and no rows held out")
    ax = axes_or_new(ax, 4.6, 3.0)
    ax.plot([r.index for r in rounds], errors, color=BLUE, marker="o", markersize=5, linewidth=1.8)
    ax.plot([rounds[kept].index], [errors[kept]], "o", markersize=12, color=ORANGE, fillstyle="none", markeredgewidth=2)
    ax.annotate(
        f"kept: round {rounds[kept].index}",
        (rounds[kept].index, errors[kept]),
        xytext=(0, -13),
        textcoords="offset points",
        ha="center",
        va="top",
        color=ORANGE,
        fontsize=9,
    )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.get_major_formatter().set_powerlimits((-2, 4))  # type: ignore[attr-defined]
    ax.yaxis.get_offset_text().set_fontsize(8)
    ax.margins(x=0.12, y=0.22)
    ax.set_xlabel("round (0 is plain kernel ridge)")
    ax.set_ylabel(label)
    finish(ax, grid="y")
    return ax


def plot_directions(
    result: Any, ax: Axes | None = None, *, k: int = 3, top: int = 8, names: Sequence[str] | None = None
) -> Axes:
    """Loadings of the k strongest learned directions on the columns that carry them.

    Parameters
    ----------
    result : Directions or fitted model
        From ``model.directions(k)``. Of a model its ``components_ (m, d)`` are drawn as they are: where round 0 was
        kept these are single columns, all of the same strength, and ``model.directions`` says more.
    ax : Axes, optional
    k : int
        Directions to draw (fewer if fewer were learned); each is named with its share of the trace.
    top : int
        Columns to draw at most: those with the largest loadings, weighted by the strength of the direction.
    names : sequence of d strings, optional

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> model = RFMRegressor(n_rounds=1, update="agop", select_round="last").fit(X, X[:, 0] + X[:, 3])
    >>> ax = plot_directions(model.directions(), k=1, top=2)
    >>> sorted(label.get_text() for label in ax.get_yticklabels())
    ['x0', 'x3']
    """
    _positive(k=k, top=top)
    if hasattr(result, "loadings"):
        directions, share = np.asarray(result.loadings, dtype=float)[:k], np.asarray(result.shares, dtype=float)
        names = result.names if names is None else names
    else:
        explained = np.asarray(result.explained_, dtype=float)
        directions, share = np.asarray(result.components_, dtype=float)[:k], explained / explained.sum()
    weight = (share[: len(directions), None] * directions**2).sum(axis=0)
    columns = np.argsort(-weight, kind="stable")[:top]
    columns = columns[weight[columns] >= _SHOWN * weight.max()]
    called = _names(result, directions.shape[1], names)
    ax = axes_or_new(ax, 5.2, 1.0 + 0.14 * len(columns) * (1 + len(directions)))
    rows, height = np.arange(len(columns)), 0.8 / len(directions)
    for i, direction in enumerate(directions):
        place = rows + (i - (len(directions) - 1) / 2) * height
        label = f"{i + 1} ({share[i]:.0%})"
        ax.barh(place, direction[columns], height=height, color=SERIES[i % len(SERIES)], label=label)
    ax.axvline(0, color="#808080", linewidth=0.8)
    ax.set_yticks(rows, [called[i] for i in columns])
    ax.invert_yaxis()
    ax.set_xlabel("loading")
    ax.legend(
        title="direction (share)",
        frameon=False,
        fontsize=8,
        title_fontsize=8,
        ncols=min(3, len(directions)),
        loc="lower right",
        bbox_to_anchor=(1.05, 1.0),
        columnspacing=0.9,
        handlelength=1.0,
        handletextpad=0.4,
    )
    finish(ax, grid="x")
    return ax


def plot_image_features(
    M: Any,
    shape: tuple[int, ...],
    ax: Axes | None = None,
    *,
    what: str = "diagonal",
    scale_bar: bool = False,
) -> Axes:
    """A feature matrix over pixels as a picture: its diagonal (which pixels matter) or its top eigenvector.

    Parameters
    ----------
    M : array (d, d) or fitted model
        A model's ``feature_matrix_`` is drawn.
    shape : (height, width) or (height, width, 3)
        Colours of one pixel are added up in the diagonal, and shown as colours around grey in the eigenvector.
    ax : Axes, optional
    what : "diagonal" or "eigenvector"
    scale_bar : bool
        Draw the colour scale.

    >>> ax = plot_image_features(np.diag([4.0, 1.0, 0.0, 0.0]), (2, 2))
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


def image_of(vector: Float[np.ndarray, " d"], shape: tuple[int, ...]) -> Float[np.ndarray, "c h w"]:
    """A vector over pixels as channels of an image, for ``shape`` (height, width) or (channels, height, width).

    >>> image_of(np.arange(4.0), (2, 2)).tolist()
    [[[0.0, 1.0], [2.0, 3.0]]]
    """
    if len(shape) not in (2, 3) or math.prod(shape) != len(vector):
        raise ValueError(
            f"shape must be (height, width) or (channels, height, width) with {len(vector)} entries, got {tuple(shape)}"
        )
    return vector.reshape(shape if len(shape) == 3 else (1, *shape))


def _matrix(M: Any) -> Float[np.ndarray, "d d"]:
    """The matrix itself or a model's, in float64; an error for anything that is not square and finite."""
    matrix = np.asarray(getattr(M, "feature_matrix_", M), dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"M must be a square matrix (d, d) or a fitted model, got the shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("M holds NaN or infinity")
    return matrix


def names_of(model: Any, d: int) -> list[str] | None:
    """What a model calls d of its columns, the user's or the encoded ones; None where they have no names.

    >>> names_of(np.eye(2), 2) is None
    True
    """
    encoder = getattr(model, "encoder_", None)
    known = [getattr(model, "feature_names_in_", ())]
    if encoder is not None:
        known += [encoder.columns_, encoder.get_feature_names_out()]
    return next(([str(name) for name in names] for names in known if len(names) == d), None)


def _names(model: Any, d: int, names: Sequence[str] | None) -> list[str]:
    if names is None:
        return names_of(model, d) or [f"x{i}" for i in range(d)]
    if len(names) != d:
        raise ValueError(f"names must hold {d} names, one per column, got {len(names)}")
    return [str(name) for name in names]


def _positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
