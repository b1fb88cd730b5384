"""Figures of importances: shares of the sensitivity, and losses by permutation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from gramian.display import more_columns
from gramian.report.figures.inputs import SMALLEST_SHARE, HasImportances, check_at_least_one, check_fitted, column_names
from gramian.report.style import BLUE, axes_or_new, beside, finish
from gramian.rfm.explain import Importances, PermutationImportances


def plot_importances(
    model: HasImportances, ax: Axes | None = None, *, top: int = 15, names: Sequence[str] | None = None
) -> Axes:
    """Draw ``feature_importances_ (d,)`` as bars, the largest on top.

    Parameters
    ----------
    model : fitted model
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    top : int
        Largest number of bars. Columns below 0.05 % get no bar; the label below names the share of all that are left
        out.
    names : sequence of d strings, optional
        Names of the columns; those of the model by default.

    Returns
    -------
    Axes

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    >>> ax = plot_importances(RFMRegressor(n_rounds=0).fit(X, X[:, 2]), names=["age", "bmi", "bp"])
    >>> ax.get_yticklabels()[0].get_text()
    'bp'
    """
    check_at_least_one(top=top)
    check_fitted(model)
    values = np.asarray(model.feature_importances_, dtype=float)
    called = column_names(model, len(values), names)
    order = np.argsort(-values, kind="stable")[:top]
    order = order[: max(1, int((values[order] >= SMALLEST_SHARE).sum()))]
    ax = axes_or_new(ax, 5.2, 0.9 + 0.27 * len(order))
    _bars(ax, values[order], [called[i] for i in order])
    left = len(values) - len(order)
    rest = f"\n({more_columns(left)}: {max(0.0, 1 - values[order].sum()):.1%})" if left else ""
    ax.set_xlabel(f"share of sensitivity{rest}")
    finish(ax, grid="x")
    return ax


def plot_importance_intervals(result: Importances, ax: Axes | None = None, *, top: int = 15) -> Axes:
    """Draw the shares of sensitivity as bars with their intervals, the largest on top; the label names their kind.

    Parameters
    ----------
    result : Importances
        From ``model.importances()``.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    top : int
        Largest number of bars. Columns below 0.05 % get no bar.

    Returns
    -------
    Axes

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    >>> ax = plot_importance_intervals(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 2]).importances())
    >>> ax.get_yticklabels()[0].get_text()
    'x2'
    """
    check_at_least_one(top=top)
    order = result.order[: max(1, min(top, int((result.shares >= SMALLEST_SHARE).sum())))]
    shares = result.shares[order]
    ax = axes_or_new(ax, 5.2, 1.1 + 0.27 * len(order))
    _bars(ax, shares, [result.columns[j] for j in order])
    _whiskers(ax, shares, result.low[order], result.high[order])
    ax.set_xlim(left=0)
    left = len(result.columns) - len(order)
    rest = f"; {more_columns(left)}: {max(0.0, 1 - shares.sum()):.1%}" if left else ""
    ax.set_xlabel(f"share of sensitivity\n({result.interval_name}{rest})")
    finish(ax, grid="x")
    return ax


def plot_permutation_importances(result: PermutationImportances, ax: Axes | None = None, *, top: int = 15) -> Axes:
    """Draw the loss of the score by permuting each column as bars with their intervals, the largest on top.

    Parameters
    ----------
    result : PermutationImportances
        From ``model.permutation_importances()``.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    top : int
        Largest number of bars.

    Returns
    -------
    Axes

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    >>> result = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 2]).permutation_importances(n_repeats=3)
    >>> plot_permutation_importances(result).get_yticklabels()[0].get_text()
    'x2'
    """
    check_at_least_one(top=top)
    order = [j for j in result.order if np.isfinite(result.drop[j])][:top]
    drops = result.drop[order]
    ax = axes_or_new(ax, 5.2, 1.1 + 0.27 * len(order))
    _horizontal(ax, drops, [result.columns[j] for j in order], [f"{round(drop, 3) + 0.0:.3f}" for drop in drops])
    _whiskers(ax, drops, result.low[order], result.high[order])
    ax.axvline(0, color="#808080", linewidth=0.8)
    left = len(result.columns) - len(order)
    rest = f"; {more_columns(left)}" if left else ""
    ax.set_xlabel(f"{result.measure} lost if shuffled\n({result.level:.0%} of permutations{rest})")
    finish(ax, grid="x")
    return ax


def _bars(ax: Axes, shares: Float[np.ndarray, " k"], names: Sequence[str]) -> None:
    _horizontal(ax, shares, names, [f"{share:.1%}" for share in shares])
    ax.xaxis.set_major_formatter(PercentFormatter(xmax=1))


def _horizontal(ax: Axes, lengths: Float[np.ndarray, " k"], names: Sequence[str], texts: Sequence[str]) -> None:
    rows = np.arange(len(lengths))
    ax.barh(rows, lengths, color=BLUE, height=0.72)
    for row, text in enumerate(texts):
        beside(ax, row, text)
    ax.set_yticks(rows, names)
    ax.invert_yaxis()
    ax.margins(y=0.02)
    ax.xaxis.set_major_locator(MaxNLocator(4))


def _whiskers(
    ax: Axes, at: Float[np.ndarray, " k"], low: Float[np.ndarray, " k"], high: Float[np.ndarray, " k"]
) -> None:
    # An interval can lie wholly on one side of its value, and whiskers cannot be negative.
    ends = np.stack([at - low, high - at]).clip(min=0)
    ax.errorbar(at, np.arange(len(at)), xerr=ends, fmt="none", ecolor="#303030", elinewidth=1.1, capsize=2.5)
