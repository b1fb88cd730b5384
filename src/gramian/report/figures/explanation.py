"""Figure of one explained prediction."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gramian.display import format_value, more_columns
from gramian.report.figures.inputs import check_at_least_one
from gramian.report.style import BLUE, ORANGE, axes_or_new, beside, finish
from gramian.rfm.explain import Explanation

_LONGEST = 24
"""Largest number of characters of a value that is written after the name of its column."""


def plot_explanation(result: Explanation | list[Explanation], ax: Axes | None = None, *, top: int = 12) -> Axes:
    """Draw the contributions of the columns to one prediction as bars, the largest on top.

    Parameters
    ----------
    result : Explanation
        From ``model.explain(row)`` for one row.
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.
    top : int
        Largest number of bars; one more bar is the sum of all other columns.

    Returns
    -------
    Axes

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    >>> ax = plot_explanation(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 2]).explain([0.1, 0.2, -0.75]))
    >>> ax.get_yticklabels()[0].get_text()
    'x2 = -0.75'
    """
    check_at_least_one(top=top)
    if isinstance(result, list):
        raise ValueError(f"result must be the explanation of one row, got {len(result)}: draw them one by one")
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
    gap = f", not resolved {result.gap:+.1g}" if result.has_gap else ""
    ax.set_xlabel(f"contribution\n(reference {result.reference_score:.4g}{gap})")
    finish(ax, grid="x")
    return ax


def _headline(result: Explanation) -> str:
    if result.probabilities is None:
        at = f"{result.output.name} {result.score:.4g}"
        return at if result.prediction == result.score else f"prediction {result.prediction:.4g}: {at}"
    sure = result.probabilities[result.prediction]
    return f"class {result.prediction} ({sure:.1%}): {result.output.name} {result.score:.3g}"


def _short(value: object) -> str:
    text = format_value(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
