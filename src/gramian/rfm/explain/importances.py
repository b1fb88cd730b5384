"""Importances of the user's columns: their shares in the sensitivity of the predictions, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from gramian.core.tiles import spans
from gramian.display import Bar, Renderable, Section, Table, bars, more_columns
from gramian.rfm.model import FittedRFM

if TYPE_CHECKING:
    from pandas import DataFrame

_ROWS = 2000
"""Training rows at which gradients are evaluated, at most."""
_BLOCK_ROWS = 256
_SHOWN_COLUMNS, _SHOWN_SHARE = 15, 5e-4
"""A share below this is displayed as 0.0 %."""


@dataclass(frozen=True, eq=False)
class Importances(Renderable):
    """Share of each of the user's columns in the diagonal of the average gradient outer product; they sum to 1.

    ``low`` and ``high`` bound the middle ``level`` of ``n_bootstrap`` shares, each from resampled training rows. They
    describe the uncertainty of the average over rows given the fitted function, not that of another fit.
    """

    columns: tuple[str, ...]
    shares: Float[np.ndarray, " p"]
    low: Float[np.ndarray, " p"]
    high: Float[np.ndarray, " p"]
    level: float
    n_bootstrap: int
    n_rows: int

    @property
    def order(self) -> list[int]:
        """Numbers of the columns, from the largest share to the smallest."""
        return _largest_first(self.shares)

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per column, largest share first."""
        import pandas as pd

        table = {"share": self.shares, "low": self.low, "high": self.high}
        return pd.DataFrame(table, index=pd.Index(self.columns, name="column")).iloc[self.order]

    def sections(self) -> list[Section]:
        """Return a table of the columns with the largest shares."""
        count = max(1, min(_SHOWN_COLUMNS, int((self.shares >= _SHOWN_SHARE).sum())))
        shown, left = self.order[:count], self.order[count:]
        rows: list[list[str | Bar]] = [
            [self.columns[j], bar, f"{self.shares[j]:.1%}", f"{self.low[j]:.1%} – {self.high[j]:.1%}"]
            for j, bar in zip(shown, bars(self.shares[shown].tolist()), strict=True)
        ]
        if left:
            rows.append([more_columns(len(left)), "", f"{self.shares[left].sum():.1%}", ""])
        note = f"intervals: {self.level:.0%} of {self.n_bootstrap} resamplings of {self.n_rows:,} rows, one fit"
        return [Section("share of sensitivity", Table(["column", "", "share", "interval"], rows), note)]


def importances(model: FittedRFM, n_bootstrap: int = 100, level: float = 0.9, random_state: int = 0) -> Importances:
    """Compute the share of each of the user's columns in the sensitivity of the predictions.

    ``share_j ∝ Σᵢ wᵢ Σ_c (∂f_c/∂z_j(xᵢ))²`` over training rows (at most 2,000), summed over the encoded columns behind
    column j. The intervals are from resampled rows; nothing is refitted.

    Parameters
    ----------
    model : FittedRFM
    n_bootstrap : int
        Number of resamplings.
    level : float
        Share of them within the interval.
    random_state : int
        Seed of the resampling.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
    >>> found = importances(RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 1] ** 2).model_)
    >>> found.columns[found.order[0]], bool((found.low <= found.high).all())
    ('x1', True)
    """
    if not isinstance(n_bootstrap, int | np.integer) or n_bootstrap < 1:
        raise ValueError(f"n_bootstrap must be a positive integer, got {n_bootstrap!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    squares = model.columns.fold(squared_gradients(model))
    rng = np.random.default_rng(random_state)
    m = len(squares)
    counts = rng.multinomial(m, np.full(m, 1 / m), size=int(n_bootstrap)).astype(np.float64)
    resampled = shares(counts @ squares)
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Importances(model.columns.names, shares(squares.sum(axis=0)), low, high, float(level), int(n_bootstrap), m)


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


def shares(totals: Float[np.ndarray, "*batch p"]) -> Float[np.ndarray, "*batch p"]:
    """Divide by the sum over the last axis; the shares are equal where all totals are 0.

    >>> import numpy as np
    >>> shares(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    size = totals.sum(axis=-1, keepdims=True)
    return np.where(size > 0, totals / np.where(size > 0, size, 1.0), 1 / totals.shape[-1])


def _largest_first(values: Float[np.ndarray, " p"]) -> list[int]:
    return [int(j) for j in np.argsort(-values, kind="stable")]
