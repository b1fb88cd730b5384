"""Figures of learned directions: loadings on named columns, pairs of columns, and predictions along a direction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from gramian.report.figures.inputs import SMALLEST_SHARE, HasComponents, check_at_least_one, check_fitted, column_names
from gramian.report.style import BLUE, ORANGE, SERIES, axes_or_new, beside, finish
from gramian.rfm.explain import Along, Directions, Interactions


def plot_directions(
    result: Directions | HasComponents,
    ax: Axes | None = None,
    *,
    k: int = 3,
    top: int = 8,
    names: Sequence[str] | None = None,
) -> Axes:
    """Draw the loadings of the k strongest learned directions on the columns with the largest loadings.

    Parameters
    ----------
    result : Directions or fitted model
        From ``model.directions(k)``. Of a model, ``components_ (m, d)`` are drawn: if round 0 was selected these are
        single columns of equal strength, and ``model.directions`` is more informative.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    k : int
        Number of directions (fewer if fewer were learned). The legend gives the share of each in the trace.
    top : int
        Largest number of columns: those with the largest loadings, weighted by the strength of the direction.
    names : sequence of d strings, optional
        Names of the columns; those of the result by default.

    Returns
    -------
    Axes

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> model = RFMRegressor(n_rounds=1, update="agop", select_round="last").fit(X, X[:, 0] + X[:, 3])
    >>> ax = plot_directions(model.directions(), k=1, top=2)
    >>> sorted(label.get_text() for label in ax.get_yticklabels())
    ['x0', 'x3']
    """
    check_at_least_one(k=k, top=top)
    if isinstance(result, Directions):
        directions, share = np.asarray(result.loadings, dtype=float)[:k], np.asarray(result.shares, dtype=float)
        names = result.names if names is None else names
    else:
        check_fitted(result)
        eigenvalues = np.asarray(result.eigenvalues_, dtype=float)
        directions, share = np.asarray(result.components_, dtype=float)[:k], eigenvalues / eigenvalues.sum()
    weight = (share[: len(directions), None] * directions**2).sum(axis=0)
    columns = np.argsort(-weight, kind="stable")[:top]
    columns = columns[weight[columns] >= SMALLEST_SHARE * weight.max()]
    called = column_names(result, directions.shape[1], names)
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


def plot_interactions(result: Interactions, ax: Axes | None = None, *, top: int = 12) -> Axes:
    """Draw the joint sensitivity of pairs of columns as bars, the largest on top.

    A bar is orange where predictions change in the same direction with both columns, and blue where they change in
    opposite directions.

    Parameters
    ----------
    result : Interactions
        From ``model.interactions()``.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    top : int
        Largest number of bars. Pairs below 0.05 % of the trace get no bar.

    Returns
    -------
    Axes

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, (X[:, 0] + X[:, 2]) ** 2)
    >>> plot_interactions(model.interactions()).get_yticklabels()[0].get_text()
    'x0 × x2'
    """
    check_at_least_one(top=top)
    count = max(1, min(top, int((result.strength >= SMALLEST_SHARE).sum())))
    strength, rows = result.strength[:count], np.arange(len(result.strength[:count]))
    ax = axes_or_new(ax, 5.6, 1.1 + 0.27 * len(rows))
    ax.barh(rows, strength, color=[ORANGE if c > 0 else BLUE for c in result.correlation[:count]], height=0.72)
    for row, value in enumerate(strength):
        beside(ax, row, f"{value:.1%}")
    ax.set_yticks(rows, [f"{a} × {b}" for a, b in result.pairs[:count]])
    ax.invert_yaxis()
    ax.margins(y=0.02)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.xaxis.set_major_formatter(PercentFormatter(xmax=1))
    ax.set_xlabel("joint sensitivity")
    finish(ax, grid="x")
    return ax


def plot_partial_dependence(result: Along, ax: Axes | None = None) -> Axes:
    """Draw the average prediction along a learned direction, with a band that contains most rows.

    Parameters
    ----------
    result : Along
        From ``model.partial_dependence_along(direction)``.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.

    Returns
    -------
    Axes

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> result = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).partial_dependence_along(grid=5)
    >>> len(plot_partial_dependence(result).lines[0].get_xdata())
    5
    """
    ax = axes_or_new(ax, 4.6, 3.0)
    label = f"{result.level:.0%} of rows"
    ax.fill_between(result.grid, result.low, result.high, color=BLUE, alpha=0.18, linewidth=0, label=label)
    ax.plot(result.grid, result.mean, color=BLUE, linewidth=1.8, label="mean")
    ax.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    ax.set_xlabel(f"position along {result.name}\n(standardised columns)")
    ax.set_ylabel(result.output.name)
    finish(ax, grid="y")
    return ax
