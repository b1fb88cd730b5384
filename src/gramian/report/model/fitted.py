"""Facts of a fitted model in words: the rows that it was really fitted to, and the kernels that were selected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.rfm import FittedRFM
from gramian.rfm.machine import KernelMachine
from gramian.solvers import Solver
from gramian.tables.merging import counts_rows

_NEARLY_ALL = 0.99
"""A larger share of centres with a coefficient counts as all of them: a coefficient may be zero by chance."""


@dataclass(frozen=True)
class FittedRows:
    """The number of rows that a fit was given, of those it was fitted to, and of the centres of its kernel.

    >>> FittedRows(400_000, 4_000, 4_000).description
    '4,000 of 400,000 rows'
    >>> FittedRows(400_000, 400_000, 4_000).description
    'all 400,000 rows, with 4,000 of them as centres'
    """

    given: int
    fitted: int
    centers: int

    @property
    def description(self) -> str:
        """The rows in words."""
        rows = f"all {self.given:,} rows" if self.fitted == self.given else f"{self.fitted:,} of {self.given:,} rows"
        return rows if self.centers >= self.fitted else f"{rows}, with {self.centers:,} of them as centres"


def fitted_rows(model: FittedRFM, table: int | None = None) -> FittedRows:
    """Return the rows that a model was fitted to, of the rows of its table.

    A fit that its time limit or Ctrl-C ended may be fitted to a part of the rows, and the fit of a large table holds
    some out to select kernels and rounds. A solver with few centres is fitted to all rows. Equal rows, which a fit
    merges into one of higher weight, count as often as they are in the table.

    Parameters
    ----------
    model : FittedRFM
    table : int, optional
        The number of rows in the table, if the fit was given a part of them only.

    >>> from gramian import RFMRegressor
    >>> rows = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(rows, rows[:, 0]).model_
    >>> fitted_rows(model).description, fitted_rows(model, 80).description
    ('all 60 rows', '60 of 80 rows')
    """
    plan = model.history.plan
    copies = _copies(model)
    given = plan.n + copies
    table = given if table is None else table
    wanted = plan.n - (plan.holdout_rows if plan.validation == "holdout" else 0)
    if model.compression is not None:
        return FittedRows(table, wanted + copies, model.compression.n_centers)
    used = _rows_with_a_coefficient(model)
    centers = plan.solver.n_centers(wanted) if isinstance(plan.solver, Solver) else wanted
    if used >= _NEARLY_ALL * wanted:
        return FittedRows(table, wanted + copies, wanted + copies)
    if centers < wanted and used >= _NEARLY_ALL * centers:
        return FittedRows(table, wanted + copies, used)
    return FittedRows(table, used, used)


def _copies(model: FittedRFM) -> int:
    """Return how many rows were merged into equal ones, if weights count rows and all training rows are known."""
    weights = model.machine.weights
    if weights is None or model.machine.n != model.history.plan.n:
        return 0
    counts = weights.cpu().numpy().astype(np.float64)
    return int(counts.sum()) - len(counts) if counts_rows(counts) else 0


def selected_kernels(model: FittedRFM) -> list[str]:
    """Return the kernels of the averaged models, each with its share if there are several.

    >>> from gramian import RFMRegressor
    >>> rows = np.random.default_rng(0).normal(size=(60, 2))
    >>> selected_kernels(RFMRegressor(kernel="laplace", n_rounds=0).fit(rows, rows[:, 0]).model_)
    ['Laplace']
    """
    names = [type(machine.kernel).__name__ for machine in model.ensemble.machines]
    if len(names) == 1:
        return names
    return [f"{share:.0%} {name}" for name, share in zip(names, model.ensemble.shares, strict=True)]


def _rows_with_a_coefficient(model: FittedRFM) -> int:
    machines = [machine for machine in model.ensemble.machines if isinstance(machine, KernelMachine)]
    if not machines:
        return len(model.row_index)
    used = np.any([(machine.coef != 0).any(dim=1).cpu().numpy() for machine in machines], axis=0)
    return int(used.sum())
