"""Figures of explanations: a row, importances with intervals, predictions along a direction; ``(result, ax) → ax``."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from gramian.display import format_value, more_columns
from gramian.report.style import BLUE, ORANGE, axes_or_new, beside, finish

_SHOWN = 5e-4
"""A share below this reads 0.0 %."""
_LONGEST = 24
"""Characters of a value that are written beside its column."""


def plot_explanation(result: Any, ax: Axes | None = None, *, top: int = 12) -> Axes:
    """Contributions of one row's columns as bars, largest on top: what moves the score away from the reference.

    Parameters
    ----------
    result : Explanation
        From ``model.explain(row)``.
    ax : Axes, optional
        Where to draw; a new figure by default.
    top : int
        Bars to draw at most; what is left out gets one bar of its own.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    >>> ax = plot_explanation(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 2]).explain([0.1, 0.2, -0.75]))
    >>> ax.get_yticklabels()[0].get_text()
    'x2 = -0.75'
    """
    _at_least_one(top)
    values = np.asarray(result.contributions, dtype=float)
    order = np.argsort(-np.abs(values), kind="stable")
    labels = [f"{result.columns[j]} = {_short(result.values[j])}" for j in order[:top]]
    lengths = values[order[:top]].tolist()
    if len(order) > top:
        labels.append(more_columns(len(order) - top))
        lengths.append(float(values[order[top:]].sum()))
    ax = axes_or_new(ax, 6.0, 1.2 + 0.27 * len(lengths))
    rows = np.arange(len(lengths))
    ax.barh(rows, lengths, color=[ORANGE if v > 0 else BLUE for v in lengths], height=0.72)
    for row, value in enumerate(lengths):
        beside(ax, row, f"{value:+.3g}")
    ax.axvline(0, color="#808080", linewidth=0.8)
    ax.set_yticks(rows, labels)
    ax.invert_yaxis()
    ax.margins(x=0.04, y=0.02)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_title(_headline(result), fontsize=9, loc="left")
    ax.set_xlabel(f"contribution\n(reference {result.reference_score:.4g}, not resolved {result.gap:+.1g})")
    finish(ax, grid="x")
    return ax


def plot_importance_intervals(result: Any, ax: Axes | None = None, *, top: int = 15) -> Axes:
    """Shares of sensitivity with their bootstrap intervals, largest on top.

    Parameters
    ----------
    result : Importances
        From ``model.importances()``.
    ax : Axes, optional
    top : int
        Bars to draw at most; columns below 0.05 % get none.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    >>> ax = plot_importance_intervals(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 2]).importances())
    >>> ax.get_yticklabels()[0].get_text()
    'x2'
    """
    _at_least_one(top)
    order = result.order[: max(1, min(top, int((result.shares >= _SHOWN).sum())))]
    shares = result.shares[order]
    ax = axes_or_new(ax, 5.2, 1.1 + 0.27 * len(order))
    rows = np.arange(len(order))
    ax.barh(rows, shares, color=BLUE, height=0.72)
    # The interval may lie wholly beside a share that resampling rarely meets; whiskers cannot be negative.
    whiskers = np.stack([shares - result.low[order], result.high[order] - shares]).clip(min=0)
    ax.errorbar(shares, rows, xerr=whiskers, fmt="none", ecolor="#303030", elinewidth=1.1, capsize=2.5)
    for row, share in enumerate(shares):
        beside(ax, row, f"{share:.1%}")
    ax.set_yticks(rows, [result.columns[j] for j in order])
    ax.invert_yaxis()
    ax.margins(y=0.02)
    ax.set_xlim(left=0)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.xaxis.set_major_formatter(PercentFormatter(xmax=1))
    left = len(result.columns) - len(order)
    rest = f"; {more_columns(left)}: {max(0.0, 1 - shares.sum()):.1%}" if left else ""
    ax.set_xlabel(f"share of sensitivity\n({result.level:.0%} intervals{rest})")
    finish(ax, grid="x")
    return ax


def plot_along(result: Any, ax: Axes | None = None) -> Axes:
    """Average prediction along a learned direction, with the band that holds most rows.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> ax = plot_along(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).partial_dependence_along(grid=5))
    >>> len(ax.lines[0].get_xdata())
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


def plot_reliability(result: Any, ax: Axes | None = None) -> Axes:
    """Share of right predictions against the probability they were given; on the diagonal the two agree.

    The area of a dot is the share of rows in its bin, the line through it an interval for the share that was right.

    Parameters
    ----------
    result : Reliability
        From ``classifier.reliability()``.
    ax : Axes, optional

    >>> from sklearn.datasets import load_iris
    >>> from gramian import RFMClassifier
    >>> ax = plot_reliability(RFMClassifier(preset="fast", n_rounds=0).fit(*load_iris(return_X_y=True)).reliability())
    >>> ax.get_xlabel()
    'probability of the predicted class'
    """
    ax = axes_or_new(ax, 3.6, 3.4)
    ax.plot([0, 1], [0, 1], color="#808080", linewidth=0.9, linestyle="--")
    whiskers = np.stack([result.accuracy - result.low, result.high - result.accuracy])
    ax.errorbar(result.confidence, result.accuracy, yerr=whiskers, fmt="none", ecolor=BLUE, elinewidth=1.2, capsize=2)
    areas = 14 + 160 * result.count / result.count.sum()
    ax.scatter(result.confidence, result.accuracy, s=areas, color=BLUE, edgecolor="white", linewidth=0.6, zorder=3)
    low = max(0.0, min(result.confidence.min(), result.low.min()) - 0.04)
    ax.set(xlim=(low, 1.02), ylim=(low, 1.02), aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5))
        axis.set_major_formatter(PercentFormatter(xmax=1))
    ax.set_xlabel("probability of the predicted class")
    ax.set_ylabel("share that was right")
    ax.set_title(f"{result.source}: calibration error {result.error:.1%}", fontsize=9, loc="left")
    finish(ax, grid="both")
    return ax


def _headline(result: Any) -> str:
    if result.probabilities is None:
        at = f"{result.output.name} {result.score:.4g}"
        return at if result.prediction == result.score else f"prediction {result.prediction:.4g}: {at}"
    sure = result.probabilities[result.prediction]
    return f"class {result.prediction} ({sure:.1%}): {result.output.name} {result.score:.3g}"


def _short(value: Any) -> str:
    text = format_value(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _at_least_one(top: int) -> None:
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top!r}")
