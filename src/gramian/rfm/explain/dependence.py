"""Partial dependence along a learned direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from gramian.display import Plottable, Section, Table, curve_svg, dot_line, format_number, to_html
from gramian.rfm.explain.directions import Directions, check_positive, directions
from gramian.rfm.explain.output import Output
from gramian.rfm.model import FittedRFM
from gramian.tables.types import Label

if TYPE_CHECKING:
    from pandas import DataFrame

_SHOWN_POSITIONS = 11
_RANGE = (0.01, 0.99)
"""The grid lies between these quantiles of the training rows' positions."""


@dataclass(frozen=True, eq=False, repr=False)
class Along(Plottable):
    """Predictions for rows that are moved along a learned direction and unchanged across it.

    ``grid`` holds positions ``v·z`` (v of length 1, z the standardised columns), ``mean`` the average prediction of all
    rows moved to a position; ``low`` and ``high`` bound the middle ``level`` of them.
    """

    direction: Float[np.ndarray, " d"]
    name: str
    output: Output
    grid: Float[np.ndarray, " g"]
    mean: Float[np.ndarray, " g"]
    low: Float[np.ndarray, " g"]
    high: Float[np.ndarray, " g"]
    level: float

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per position."""
        import pandas as pd

        return pd.DataFrame({"position": self.grid, "mean": self.mean, "low": self.low, "high": self.high})

    def sections(self) -> list[Section]:
        """Return a table with one line for each of about eleven positions, and the curve drawn from top to bottom."""
        return [self._section(curve=True)]

    def _repr_html_(self) -> str:
        chart = curve_svg(self.grid, self.mean, self.low, self.high, f"position along {self.name}", self.output.name)
        return to_html([self._section(curve=False)], before=chart)

    def _section(self, curve: bool) -> Section:
        some = np.unique(np.linspace(0, len(self.grid) - 1, _SHOWN_POSITIONS).astype(int))
        bottom, top = float(self.low.min()), float(self.high.max())
        rows = [
            [
                f"{self.grid[g]:+.2f}",
                *([dot_line(self.mean[g], self.low[g], self.high[g], bottom, top)] if curve else []),
                format_number(self.mean[g]),
                f"{format_number(self.low[g])} – {format_number(self.high[g])}",
            ]
            for g in some
        ]
        headings = ["position", *([""] if curve else []), "mean", f"{self.level:.0%} of rows"]
        return Section(f"{self.output.name} along {self.name}", Table(headings, rows))


def partial_dependence_along(
    model: FittedRFM, direction: int = 0, grid: int = 50, rows: int = 200, output: Label = None, level: float = 0.8
) -> Along:
    """Average the predictions of training rows that are moved along a learned direction v, and unchanged across it.

    ``mean(s) = avgᵢ f(zᵢ + (s − v·zᵢ) v)`` in standardised columns, for s between the 1 % and 99 % quantiles of
    ``v·z``. Along a single column it is the usual partial dependence.

    Parameters
    ----------
    model : FittedRFM
    direction : int
        Number of the direction, 0 for the strongest; see :func:`gramian.rfm.explain.directions.directions`.
    grid : int
        Number of positions.
    rows : int
        Training rows to move, at most.
    output : label or int, optional
        As in :func:`gramian.rfm.explain.contributions.explain`; needed for more than two classes or several targets.
    level : float
        Share of the rows within the band.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(150, 2))
    >>> estimator = RFMRegressor(preset="fast", update="agop", select_round="last")
    >>> found = partial_dependence_along(estimator.fit(X, X[:, 0] + X[:, 1]).model_, grid=3)
    >>> bool(found.mean[0] < found.mean[1] < found.mean[2])
    True
    """
    check_positive("grid", grid)
    check_positive("rows", rows)
    if not isinstance(direction, int | np.integer) or direction < 0:
        raise ValueError(f"direction must be the number of a learned direction, from 0 on, got {direction!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    found = directions(model, int(direction) + 1)
    if direction >= len(found.loadings):
        raise ValueError(f"direction must be below {len(found.loadings)}, the number of directions learned")
    return along(model, found, int(direction), grid, rows, output, level)


def along(
    model: FittedRFM,
    found: Directions,
    direction: int,
    grid: int,
    rows: int,
    output: Label = None,
    level: float = 0.8,
) -> Along:
    """Compute :func:`partial_dependence_along` for one of the directions that were computed before.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 0]).model_
    >>> along(model, directions(model, 1), 0, grid=3, rows=20).mean.shape
    (3,)
    """
    v, selected = found.loadings[direction], Output.of(model, output)
    centers, _ = model.center_rows()
    first, last = np.quantile(centers @ v, _RANGE)
    positions = np.linspace(first, last, int(grid))
    Z, weights = model.center_rows(int(rows))
    across = Z - np.outer(Z @ v, v)
    moved = (across[None] + positions[:, None, None] * v).reshape(-1, Z.shape[1])
    outputs = selected.sign * model.outputs_at(moved)[:, selected.index].reshape(len(positions), len(Z))
    low, high = np.quantile(outputs, [(1 - level) / 2, (1 + level) / 2], axis=1)
    mean = np.average(outputs, axis=1, weights=weights)
    return Along(v, f"direction {direction + 1}", selected, positions, mean, low, high, float(level))
