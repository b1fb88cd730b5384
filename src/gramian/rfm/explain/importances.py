"""Importances of the user's columns: their shares in the sensitivity of the predictions, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float
from scipy.stats import t as student

from gramian.core.tiles import spans
from gramian.display import Bar, Plottable, Section, Table, bars, format_fixed, more_columns
from gramian.rfm.explain.groups import Groups, correlated_groups
from gramian.rfm.explain.permutation import N_REFITS, PermutationImportances, permuted_columns
from gramian.rfm.explain.refits import Refits, refit_on_parts, shares, why_no_refits
from gramian.rfm.model import FittedRFM

if TYPE_CHECKING:
    from pandas import DataFrame

_ROWS = 2000
"""Training rows at which gradients are evaluated, at most."""
_BLOCK_ROWS = 256
_SHOWN_COLUMNS, _SHOWN_SHARE = 15, 5e-4
"""A share below this is displayed as 0.0 %."""
_SHOWN_GROUPS = 8
_RESAMPLINGS = 100

Interval = Literal["auto", "refits", "given this fit"]


@dataclass(frozen=True, eq=False, repr=False)
class Importances(Plottable):
    """Share of each of the user's columns in the diagonal of the average gradient outer product; they sum to 1.

    Attributes
    ----------
    columns : tuple of str
    shares : ndarray (p,)
    low, high : ndarray (p,)
        An interval of the kind ``interval`` at ``level``.
    interval : "refits" or "given this fit"
        ``"refits"``: where the share of the same procedure fitted to as many other rows is expected. ``"given this
        fit"``: rows are resampled and nothing is refitted, so that the interval describes the average over rows and
        says nothing of another fit; it is far too narrow for that.
    level : float
    n_resamples, n_rows : int
        Refits or resamplings, and training rows from which each of them is drawn.
    groups : tuple of tuples of int
        Numbers of columns with a rank correlation above 0.85: the data does not determine how they share importance.
    group_low, group_high : ndarray (g,)
        Intervals of the sums over groups.
    permutation : PermutationImportances or None
        The loss of the score when a column is permuted, on rows held out of the refits.
    reason : str
        The reason why there are no refits although none or either kind of interval was asked for.
    """

    columns: tuple[str, ...]
    shares: Float[np.ndarray, " p"]
    low: Float[np.ndarray, " p"]
    high: Float[np.ndarray, " p"]
    interval: Literal["refits", "given this fit"]
    level: float
    n_resamples: int
    n_rows: int
    groups: Groups
    group_low: Float[np.ndarray, " g"]
    group_high: Float[np.ndarray, " g"]
    permutation: PermutationImportances | None = None
    reason: str = ""

    @property
    def order(self) -> list[int]:
        """Numbers of the columns, from the largest share to the smallest."""
        return _largest_first(self.shares)

    @property
    def group_shares(self) -> Float[np.ndarray, " g"]:
        """Sums of the shares over groups of correlated columns."""
        return np.array([self.shares[list(group)].sum() for group in self.groups])

    @property
    def interval_name(self) -> str:
        """The kind and level of the intervals, for a heading."""
        return f"{self.level:.0%} of refits" if self.interval == "refits" else f"{self.level:.0%} given this fit"

    @property
    def about_interval(self) -> str:
        """The meaning of the intervals as a sentence."""
        if self.interval == "refits":
            return (
                f"A fit to as many other rows is expected within the interval in {self.level:.0%} of cases, from "
                f"{self.n_resamples} refits on parts of the {self.n_rows:,} training rows with the selected settings."
            )
        why = f" There are no refits, since {self.reason}." if self.reason else ""
        return (
            f"The interval is given this fit: it contains {self.level:.0%} of {self.n_resamples} resamplings of "
            f"{self.n_rows:,} rows, and another fit may lie far outside.{why}"
        )

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per column, largest share first: share, low, high, and the permutation loss."""
        import pandas as pd

        table = {"share": self.shares, "low": self.low, "high": self.high}
        if self.permutation is not None:
            table["permutation"] = self.permutation.drop
        return pd.DataFrame(table, index=pd.Index(self.columns, name="column")).iloc[self.order]

    def groups_to_pandas(self) -> DataFrame:
        """Return a frame with one line per group of correlated columns: columns, share, low, high, permutation loss."""
        import pandas as pd

        names = [tuple(self.columns[j] for j in group) for group in self.groups]
        table = {"columns": names, "share": self.group_shares, "low": self.group_low, "high": self.group_high}
        if self.permutation is not None:
            table["permutation"] = self.permutation.group_drop
        return pd.DataFrame(table).sort_values("share", ascending=False, ignore_index=True)

    def sections(self) -> list[Section]:
        """Return a table of the columns with the largest shares, and one of groups of correlated columns."""
        count = max(1, min(_SHOWN_COLUMNS, int((self.shares >= _SHOWN_SHARE).sum())))
        shown, left = self.order[:count], self.order[count:]
        drops = None if self.permutation is None else self.permutation.drop
        rows: list[list[str | Bar]] = [
            [self.columns[j], bar, f"{self.shares[j]:.1%}", _ends(self.low[j], self.high[j]), *_loss(drops, j)]
            for j, bar in zip(shown, bars(self.shares[shown].tolist()), strict=True)
        ]
        blank = [""] * (drops is not None)
        if left:
            rows.append([more_columns(len(left)), "", f"{self.shares[left].sum():.1%}", "", *blank])
        loss = [] if self.permutation is None else [f"{self.permutation.measure} lost"]
        note = self.about_interval
        if self.permutation is not None:
            before = f"({self.permutation.score:.3f} before)"
            note += f"\n{loss[0]}: by permuting the column in rows held out of the refits {before}"
        table = Table(["column", "", "share", self.interval_name, *loss], rows)
        return [Section("share of sensitivity", table, note), *self._group_sections(loss)]

    def _group_sections(self, loss: list[str]) -> list[Section]:
        drops = None if self.permutation is None else self.permutation.group_drop
        shares = self.group_shares
        shown = [g for g in _largest_first(shares) if shares[g] >= _SHOWN_SHARE][:_SHOWN_GROUPS]
        if not shown:
            return []
        lines: list[list[str | Bar]] = [
            [
                ", ".join(self.columns[j] for j in self.groups[g]),
                f"{shares[g]:.1%}",
                _ends(self.group_low[g], self.group_high[g]),
                *_loss(drops, g),
            ]
            for g in shown
        ]
        note = "Columns of a group have nearly the same information: only their sum is determined by the data."
        table = Table(["columns", "share", self.interval_name, *loss], lines)
        return [Section("correlated columns together", table, note)]


def importances(
    model: FittedRFM,
    interval: Interval = "auto",
    level: float = 0.9,
    n_resamples: int | None = None,
    random_state: int = 0,
) -> Importances:
    """Compute the share of each of the user's columns in the sensitivity of the predictions, with intervals.

    ``share_j ∝ Σᵢ wᵢ Σ_c (∂f_c/∂z_j(xᵢ))²`` over training rows (at most 2,000), summed over the encoded columns behind
    column j. With refits, on m of n training rows each (see :mod:`gramian.rfm.explain.refits`), the interval is
    ``(√share ± t √(σ² 2m/(n − m) + τ²))²``, where σ² is the mean squared difference between the square roots of a
    refitted share and of the share of the refitted member, τ² that between members and their average, and t a quantile
    of Student's distribution.

    Parameters
    ----------
    model : FittedRFM
    interval : "auto", "refits" or "given this fit"
        ``"auto"`` refits where the model can be refitted from what it holds in a few seconds. That excludes trees,
        approximate solvers, compressed models, and more than 300 encoded columns; the result says which kind it has.
    level : float
        Share of refits (or of resamplings) that the interval is meant to contain.
    n_resamples : int, optional
        Refits (20 by default), or resamplings (100).
    random_state : int

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
    >>> found = importances(RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 1] ** 2).model_)
    >>> found.columns[found.order[0]], found.interval, bool((found.low <= found.high).all())
    ('x1', 'refits', True)
    """
    if interval not in ("auto", "refits", "given this fit"):
        raise ValueError(f'interval must be "auto", "refits" or "given this fit", got {interval!r}')
    if n_resamples is not None and (not isinstance(n_resamples, int | np.integer) or n_resamples < 2):
        raise ValueError(f"n_resamples must be an integer of at least 2, got {n_resamples!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    reason = "" if interval == "given this fit" else why_no_refits(model)
    if interval == "refits" and reason:
        raise ValueError(f'the model cannot be refitted, since {reason}: ask for interval="given this fit"')
    level, groups = float(level), correlated_groups(model)
    squares = model.columns.fold(squared_gradients(model))
    fitted = shares(squares.sum(axis=0))
    if interval == "given this fit" or reason:
        count, m = int(n_resamples or _RESAMPLINGS), len(squares)
        counts = np.random.default_rng(random_state).multinomial(m, np.full(m, 1 / m), size=count).astype(np.float64)
        resampled = shares(counts @ squares)
        ends = np.quantile(_with_groups(resampled, groups), [(1 - level) / 2, (1 + level) / 2], axis=0)
        return _made(model, fitted, ends, "given this fit", level, count, m, groups, None, reason)
    refits = refit_on_parts(model, int(n_resamples or N_REFITS), permuted_columns(model), groups, random_state)
    ends = _refit_interval(_with_groups(fitted, groups), refits, groups, level)
    permutation = PermutationImportances.of_refits(model, refits, groups, level)
    return _made(model, fitted, ends, "refits", level, len(refits.shares), refits.n_rows, groups, permutation, "")


def _refit_interval(
    share: Float[np.ndarray, " q"], refits: Refits, groups: Groups, level: float
) -> Float[np.ndarray, "2 q"]:
    """Return ``(√share ± t √(σ² 2m/(n − m) + τ²))²`` for columns and groups; see :func:`importances`."""
    root = np.sqrt(share)
    member, refitted = (np.sqrt(_with_groups(part, groups)) for part in (refits.member_shares, refits.shares))
    within = np.square(refitted - member[refits.members]).mean(axis=0)
    between = refits.weights @ np.square(member - root)
    spread = np.sqrt(refits.widening * within + between)
    half = student.ppf((1 + level) / 2, len(refitted) - 1) * spread
    return np.stack([np.square((root - half).clip(min=0)), np.square(root + half).clip(max=1)])


def _with_groups(values: Float[np.ndarray, "*batch p"], groups: Groups) -> Float[np.ndarray, "*batch q"]:
    """Append the sums over groups of columns."""
    sums = [values[..., list(group)].sum(axis=-1, keepdims=True) for group in groups]
    return np.concatenate([values, *sums], axis=-1)


def _made(
    model: FittedRFM,
    fitted: Float[np.ndarray, " p"],
    ends: Float[np.ndarray, "2 q"],
    interval: Literal["refits", "given this fit"],
    level: float,
    count: int,
    n_rows: int,
    groups: Groups,
    permutation: PermutationImportances | None,
    reason: str,
) -> Importances:
    p = len(fitted)
    (low, group_low), (high, group_high) = ((part[:p], part[p:]) for part in ends)
    names = model.columns.names
    return Importances(
        names, fitted, low, high, interval, level, count, n_rows, groups, group_low, group_high, permutation, reason
    )


def _ends(low: float, high: float) -> str:
    return f"{low:.1%} – {high:.1%}"


def _loss(drops: Float[np.ndarray, " q"] | None, j: int) -> list[str]:
    return [] if drops is None else [format_fixed(drops[j])]


def feature_importances(model: FittedRFM) -> Float[np.ndarray, " p"]:
    """Return the diagonal of the AGOP over all training rows, summed per column of the user and divided by its sum.

    Without intervals this is what :func:`importances` estimates from at most 2,000 rows.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 1] ** 2).model_
    >>> bool(np.allclose(feature_importances(model), importances(model).shares))
    True
    """
    return shares(model.columns.fold(model.agop_diagonal.clip(min=0)))


def top_columns(model: FittedRFM, k: int) -> list[int]:
    """Return the numbers of the k most important of the user's columns, in the order of the table.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(150, 4))
    >>> top_columns(RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 3] + X[:, 1]).model_, k=2)
    [1, 3]
    """
    count = len(model.columns.names)
    if not isinstance(k, int | np.integer) or not 1 <= k <= count:
        raise ValueError(f"k must be a number of columns, 1 to {count}, got {k!r}")
    return sorted(_largest_first(shares(model.columns.fold(squared_gradients(model)).sum(axis=0)))[:k])


def squared_gradients(model: FittedRFM) -> Float[np.ndarray, "m d"]:
    """Compute ``wᵢ Σ_c (∂f_c/∂zⱼ)²`` at training rows (at most 2,000 random ones), for the scaled targets.

    Where a kernel replaces columns by their scores, z are the scores. The mean over all training rows is the diagonal
    of the AGOP.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(X, 5 * X[:, 0]).model_
    >>> bool(np.isclose(squared_gradients(model).mean(), model.agop[0, 0]))
    True
    """
    Z, weights = model.center_rows(_ROWS)
    out = np.empty(Z.shape)
    for part in spans(len(Z), _BLOCK_ROWS):
        G = model.gradients_at(Z[part], by_input=False) / model.target_scaler.scale[:, None]
        out[part] = np.square(G).sum(axis=1)
    return out * weights[:, None]


def _largest_first(values: Float[np.ndarray, " p"]) -> list[int]:
    return [int(j) for j in np.argsort(-values, kind="stable")]
