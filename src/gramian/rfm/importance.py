"""To which columns the predictions are sensitive, with intervals, and a model of the few that matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import clone

from gramian.display import Bar, Renderable, Section, Table, bars, more_columns
from gramian.rfm.columns import Columns

_ROWS = 2000
_BLOCK = 256
_SHOWN_COLUMNS, _SHOWN_SHARE = 15, 5e-4
"""A share below this would read 0.0 %."""


@dataclass(frozen=True, eq=False)
class Importances(Renderable):
    """Share of each of the user's columns in the diagonal of the average gradient outer product; they sum to 1.

    ``low`` and ``high`` bound the middle ``level`` of ``n_bootstrap`` shares, each from training rows drawn anew. That
    is the uncertainty of the average over rows given the fitted function, not that of another fit.
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
        """Columns by falling share."""
        return [int(j) for j in np.argsort(-self.shares, kind="stable")]

    def to_pandas(self) -> Any:
        """A frame with one line per column, largest share first."""
        import pandas as pd

        table = {"share": self.shares, "low": self.low, "high": self.high}
        return pd.DataFrame(table, index=pd.Index(self.columns, name="column")).iloc[self.order]

    def sections(self) -> list[Section]:
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


def importances(model: Any, n_bootstrap: int, level: float, random_state: int) -> Importances:
    """See :meth:`gramian.rfm.explains.Explains.importances`."""
    if not isinstance(n_bootstrap, int | np.integer) or n_bootstrap < 1:
        raise ValueError(f"n_bootstrap must be a positive integer, got {n_bootstrap!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    columns = Columns.of(model)
    squares = columns.fold(squared_gradients(model))
    rng = np.random.default_rng(random_state)
    m = len(squares)
    drawn = rng.multinomial(m, np.full(m, 1 / m), size=int(n_bootstrap)).astype(np.float64)
    resampled = shares(drawn @ squares)
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Importances(columns.names, shares(squares.sum(axis=0)), low, high, float(level), int(n_bootstrap), m)


def squared_gradients(model: Any) -> Float[np.ndarray, "m d"]:
    """``wᵢ Σ_c (∂f_c/∂zⱼ)²`` at training rows (at most 2,000 random ones); their mean is the diagonal of the AGOP."""
    Z, weights = training_rows(model, _ROWS)
    out = np.empty(Z.shape)
    for start in range(0, len(Z), _BLOCK):
        block = slice(start, start + _BLOCK)
        G = model._gradients_at(Z[block]) / model._target_scaler.scale[:, None]  # outputs as the machine sees them
        out[block] = np.square(G).sum(axis=1)
    return out * weights[:, None]


def training_rows(model: Any, most: int) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, " m"]]:
    """Training rows in standardised columns with their weights: all, or ``most`` random ones, always the same."""
    machine = model.machine_
    chosen = torch.randperm(machine.n, generator=torch.Generator().manual_seed(0))[:most].sort().values
    chosen = chosen.to(machine.X.device)
    Z = np.zeros((len(chosen), len(model.support_)))
    Z[:, model.support_] = machine.X[chosen].cpu().numpy()
    weights = np.ones(len(Z)) if machine.weights is None else machine.weights[chosen].cpu().numpy().astype(np.float64)
    return Z, weights


def few(model: Any, X: Any, y: Any, k: int, **fit_params: Any) -> Any:
    """See :meth:`gramian.rfm.explains.Explains.few`."""
    columns = Columns.of(model)
    if not isinstance(k, int | np.integer) or not 1 <= k <= len(columns.names):
        raise ValueError(f"k must be a number of columns, 1 to {len(columns.names)}, got {k!r}")
    best = sorted(importances(model, 1, 0.5, 0).order[:k])
    called = getattr(X, "columns", None)
    if called is None:
        part = np.asarray(X)[:, best]
    else:
        keys = {str(key): key for key in called}
        part = X[[keys[columns.names[j]] for j in best]]
    fitted = clone(model).fit(part, y, **fit_params)
    fitted.selected_columns_ = tuple(columns.names[j] for j in best)
    return fitted


def shares(totals: Float[np.ndarray, "*batch p"]) -> Float[np.ndarray, "*batch p"]:
    """Divided by their sum; equal shares where nothing is sensitive to anything."""
    size = totals.sum(axis=-1, keepdims=True)
    return np.where(size > 0, totals / np.where(size > 0, size, 1.0), 1 / totals.shape[-1])
