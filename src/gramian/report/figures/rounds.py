"""Figure of the rounds of a fit."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gramian.report.figures.inputs import HasRounds, check_fitted
from gramian.report.style import BLUE, ORANGE, axes_or_new, finish


def plot_rounds(model: HasRounds, ax: Axes | None = None) -> Axes:
    """Draw the mean squared error on holdout rows after each round (``rounds_[t].score``), and mark the selected round.

    A fit without holdout rows has only leave-one-out errors given M, which are drawn instead and labelled so. They are
    optimistic from round 1 on, because M was learned from every label.

    Parameters
    ----------
    model : fitted model
    ax : Axes, optional
        The axes to draw on; those of a new figure by default.

    Returns
    -------
    Axes

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = RFMRegressor(preset="fast", n_rounds=2).fit(X, X[:, 0] * X[:, 1])
    >>> ax = plot_rounds(model)
    >>> ax.lines[0].get_xdata().tolist()
    [0, 1, 2]
    """
    check_fitted(model)
    rounds, best = model.rounds_, int(model.best_round_)
    label, errors = "error on held-out rows (MSE)", [float(r.score) for r in rounds]
    if not np.isfinite(errors).any():
        label, errors = "leave-one-out error given M (MSE)", [float(r.loo) for r in rounds]
    if not np.isfinite(errors).any():
        raise ValueError("model holds no error for any round: its ridge and bandwidth were fixed and no rows held out")
    ax = axes_or_new(ax, 4.6, 3.0)
    ax.plot([r.index for r in rounds], errors, color=BLUE, marker="o", markersize=5, linewidth=1.8)
    ax.plot([rounds[best].index], [errors[best]], "o", markersize=12, color=ORANGE, fillstyle="none", markeredgewidth=2)
    ax.annotate(
        f"selected: round {rounds[best].index}",
        (rounds[best].index, errors[best]),
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
