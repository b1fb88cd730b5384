"""Permutation importances: how much worse predictions become when the entries of a column are shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from gramian.display import Bar, Plottable, Section, Table, bars, more_columns
from gramian.rfm.explain.directions import check_positive
from gramian.rfm.explain.groups import Groups, correlated_groups
from gramian.rfm.explain.permuted import measure_name, permutation_drops
from gramian.rfm.explain.refits import Refits, refit_on_parts, why_no_refits
from gramian.rfm.model import FittedRFM
from gramian.tables.types import TableLike, TargetLike

if TYPE_CHECKING:
    from pandas import DataFrame

N_REFITS = 20
_PERMUTED_COLUMNS = 60
"""Columns that are permuted, at most: those to which predictions are most sensitive."""
_MOST_ROWS = 2000
_SHOWN_COLUMNS = 15


@dataclass(frozen=True, eq=False, repr=False)
class PermutationImportances(Plottable):
    """Loss of the score of predictions when a column's entries are permuted over rows, which breaks its information.

    Attributes
    ----------
    columns : tuple of str
        The user's columns.
    drop, low, high : ndarray (p,)
        Mean loss of the score, and the middle ``level`` of the losses; NaN for columns that were not permuted.
    score : float
        The mean score before.
    measure : str
        "R²" for a regressor, or "explained log loss" for a classifier: 1 less the log loss divided by that of the class
        frequencies.
    level : float
    n_repeats, n_rows : int
        Permutations of each column, and rows of each.
    source : str
        The rows: "rows held out of refits" or "given rows".
    groups, group_drop : tuple, ndarray (g,)
        Groups of correlated columns, and the mean loss when the columns of a group are permuted together: one of two
        equal columns can replace the other, so that each alone has a small loss.
    """

    columns: tuple[str, ...]
    drop: Float[np.ndarray, " p"]
    low: Float[np.ndarray, " p"]
    high: Float[np.ndarray, " p"]
    score: float
    measure: str
    level: float
    n_repeats: int
    n_rows: int
    source: str
    groups: Groups
    group_drop: Float[np.ndarray, " g"]

    @classmethod
    def of_drops(
        cls,
        model: FittedRFM,
        drops: Float[np.ndarray, "b q"],
        score: float,
        groups: Groups,
        n_rows: int,
        source: str,
        level: float,
    ) -> PermutationImportances:
        """Collect the losses of all permutations, for columns and then for groups of columns."""
        p = len(model.columns.names)
        low, high = np.quantile(drops, [(1 - level) / 2, (1 + level) / 2], axis=0)
        mean = drops.mean(axis=0)
        return cls(
            model.columns.names,
            mean[:p],
            low[:p],
            high[:p],
            score,
            measure_name(model),
            level,
            len(drops),
            n_rows,
            source,
            groups,
            mean[p:],
        )

    @classmethod
    def of_refits(cls, model: FittedRFM, refits: Refits, groups: Groups, level: float) -> PermutationImportances:
        """Collect the losses on rows that were held out of refits."""
        score = float(refits.scores.mean())
        return cls.of_drops(model, refits.drops, score, groups, refits.held_out_rows, "rows held out of refits", level)

    @property
    def order(self) -> list[int]:
        """Numbers of the columns, from the largest loss to the smallest; columns without one are last."""
        return [int(j) for j in np.argsort(-np.nan_to_num(self.drop, nan=-np.inf), kind="stable")]

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per column, largest loss first: drop, low, high."""
        import pandas as pd

        table = {"drop": self.drop, "low": self.low, "high": self.high}
        return pd.DataFrame(table, index=pd.Index(self.columns, name="column")).iloc[self.order]

    def sections(self) -> list[Section]:
        """Return a table of the columns with the largest losses, and one of groups."""
        shown, left = self.order[:_SHOWN_COLUMNS], self.order[_SHOWN_COLUMNS:]
        rows: list[list[str | Bar]] = [
            [self.columns[j], bar, f"{self.drop[j]:+.3f}", f"{self.low[j]:+.3f} … {self.high[j]:+.3f}"]
            for j, bar in zip(shown, bars(self.drop[shown].tolist()), strict=True)
        ]
        if left:
            rows.append([more_columns(len(left)), "", "", ""])
        note = (
            f"{self.measure} is {self.score:.3f} before; {self.n_repeats} permutations on {self.n_rows:,} "
            f"{self.source}; intervals contain {self.level:.0%} of them"
        )
        title = f"loss of {self.measure} when a column is permuted"
        found = [Section(title, Table(["column", "", "loss", "interval"], rows), note)]
        if self.groups:
            lines = [
                [", ".join(self.columns[j] for j in group), f"{drop:+.3f}"]
                for group, drop in zip(self.groups, self.group_drop, strict=True)
            ]
            found.append(Section("correlated columns, permuted together", Table(["columns", "loss"], lines)))
        return found


def permuted_columns(model: FittedRFM) -> list[int]:
    """Return the columns that are permuted: all, or the 60 to which predictions are most sensitive.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> permuted_columns(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_)
    [0, 1]
    """
    p = len(model.columns.names)
    if p <= _PERMUTED_COLUMNS:
        return list(range(p))
    sensitivity = model.columns.fold(model.agop_diagonal.clip(min=0))
    return sorted(int(j) for j in np.argsort(-sensitivity, kind="stable")[:_PERMUTED_COLUMNS])


def permutation_importances(
    model: FittedRFM,
    X: TableLike = None,
    y: TargetLike = None,
    n_repeats: int = N_REFITS,
    level: float = 0.9,
    random_state: int = 0,
) -> PermutationImportances:
    """Measure how much of the score of predictions is lost when a column's entries are permuted.

    With X and y, rows that the model was not fitted to, their predictions by the model are scored. Without them, the
    model is refitted on random parts of its training rows, and the rows held out of each refit are scored.

    Parameters
    ----------
    model : FittedRFM
    X, y : table (n, d) and targets (n,) or (n, c), optional
        At most 2,000 random rows of them are used.
    n_repeats : int
        Permutations of each column; without X, refits.
    level : float
        Share of the permutations within the interval.
    random_state : int

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> A = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(A[:150], A[:150, 1]).model_
    >>> permutation_importances(model, A[150:], A[150:, 1]).order[0], permutation_importances(model).order[0]
    (1, 1)
    """
    check_positive("n_repeats", n_repeats)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if (X is None) != (y is None):
        raise ValueError("X and y belong together: give both, or neither")
    columns, groups = permuted_columns(model), correlated_groups(model)
    if X is None:
        reason = why_no_refits(model)
        if reason:
            raise ValueError(
                f"give X and y, rows that the model was not fitted to: it cannot be refitted, since {reason}"
            )
        refits = refit_on_parts(model, int(n_repeats), columns, groups, random_state)
        return PermutationImportances.of_refits(model, refits, groups, float(level))
    rng = np.random.default_rng(random_state)
    Z, codes = model.preprocessing.transform(X), model.target.codes(y)
    if len(Z) != len(codes):
        raise ValueError(f"X has {len(Z):,} rows and y has {len(codes):,}: give one target for each row")
    if len(Z) > _MOST_ROWS:
        some = np.sort(rng.permutation(len(Z))[:_MOST_ROWS])
        Z, codes = Z[some], codes[some]
    if np.ptp(codes, axis=0).max(initial=0.0) == 0:
        raise ValueError(
            f"all {len(Z):,} rows have the same y, so there is no score to lose: give rows that differ in y"
        )
    ones = np.ones(len(Z))
    found = [
        permutation_drops(model, model.outputs_at, Z, codes, ones, columns, groups, rng) for _ in range(int(n_repeats))
    ]
    drops = np.array([each for _, each in found])
    return PermutationImportances.of_drops(model, drops, found[0][0], groups, len(Z), "given rows", float(level))
