"""The training rows that a fitted model holds: their targets, and their entries in the user's columns.

A model holds standardised rows X, coefficients α and weights w. Where the coefficients solve a ridge regression,
``(K + λ W⁻¹) α = Y``, the targets Y follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import FittedRFM
from gramian.solvers import ConjugateGradient, Direct
from gramian.tables.channels import Encoding
from gramian.tables.encodings import Category, Date, Number, Ordered
from gramian.tables.types import Label

_LARGEST_RESIDUAL = 1e-2
"""Relative residual of the linear system beyond which its solution is not called one."""
_SET = 0.5
"""An indicator column is 0 or 1 up to rounding."""
_ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""Share of a column's centre that is 0 up to rounding: ``z · scale + center`` cancels there, and z is in float32."""


def why_unsolved(model: FittedRFM) -> str:
    """Return the reason why coefficients do not solve a ridge regression on the training rows; "" where they do.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> why_unsolved(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_)
    ''
    >>> why_unsolved(RFMRegressor(preset="fast", n_rounds=0, solver="nystrom").fit(X, X[:, 0]).model_)
    'the solver Nystrom does not solve the ridge regression on all rows'
    """
    if not all(isinstance(machine, KernelMachine) for machine in model.ensemble.machines):
        return "the model is a tree of kernel machines"
    if model.compression is not None:
        return "the model was compressed to fewer rows than it was fitted to"
    solver = model.history.plan.solver
    if not isinstance(solver, Direct | ConjugateGradient):
        return f"the solver {type(solver).__name__} does not solve the ridge regression on all rows"
    residual = model.history.rounds[model.history.best_round].residual
    if residual > _LARGEST_RESIDUAL:
        return f"the solver stopped early, at a relative residual of {residual:.1g}"
    return ""


@dataclass(frozen=True, eq=False)
class SolvedRows:
    """Rows to which the best member was fitted: ``at (m,)`` among the centres, scaled targets ``Y (m, c)``, weights."""

    at: Int[Tensor, " m"]
    Y: Float[Tensor, "m c"]
    weights: Float[Tensor, " m"] | None

    @classmethod
    def of(cls, model: FittedRFM) -> SolvedRows:
        """Recover the targets from the coefficients: ``Y = K α + λ W⁻¹ α``.

        A row without a coefficient was not fitted to: a time limit may end a fit with some of the rows.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0] ** 2).model_
        >>> targets = model.target_scaler.inverse_transform(SolvedRows.of(model).Y.numpy())
        >>> bool(np.allclose(targets, X**2, atol=1e-5))
        True
        """
        machine = model.machine
        assert isinstance(machine, KernelMachine), "a tree has no single system"
        operator = machine.operator.widened()
        coef = machine.coef.to(operator.wide)
        weights = None if machine.weights is None else machine.weights.to(operator.wide)
        noise = model.history.ridge * (coef if weights is None else coef / weights[:, None])
        at = coef.any(dim=1).nonzero()[:, 0]
        if not len(at):  # a constant target
            at = torch.arange(machine.n, device=coef.device)
        return cls(at, (operator.matmul(coef) + noise)[at], None if weights is None else weights[at])


def row_targets(model: FittedRFM, Y: Float[Tensor, "m c"]) -> list[Label]:
    """Return scaled targets in the user's terms: labels, numbers, or tuples of numbers.

    >>> import numpy as np
    >>> from gramian import RFMClassifier
    >>> X = np.linspace(-1, 1, 30)[:, None]
    >>> model = RFMClassifier(preset="fast", n_rounds=0).fit(X, np.where(X[:, 0] > 0, "yes", "no")).model_
    >>> row_targets(model, SolvedRows.of(model).Y)[::29]
    ['no', 'yes']
    """
    codes = model.target_scaler.inverse_transform(Y.cpu().numpy().astype(np.float64))
    found = model.target.targets(codes)
    return [tuple(each) if isinstance(each, list) else each for each in found.tolist()]


def row_entries(model: FittedRFM, centers: Int[np.ndarray, " k"]) -> list[tuple[object, ...]]:
    """Return the entries of some centres in the user's columns, as far as their encoding tells them.

    Numbers are in the user's units and levels are text. An entry is None where it was missing, and NaN where the
    encoding does not tell it: a level that is not among the frequent ones, or a column that is not used.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> rows = [[i, "ab"[i % 2]] for i in range(20)]
    >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(rows, np.arange(20.0)).model_
    >>> [(round(number), text) for number, text in row_entries(model, np.array([3, 4]))]
    [(3, 'b'), (4, 'a')]
    """
    machine = model.machine
    Z = model.features.expand(machine.X[torch.from_numpy(centers).to(machine.X.device)].cpu().numpy())
    scaler = model.preprocessing.scaler
    raw = scaler.inverse_transform(Z.astype(np.float64))
    return entries_of(model, np.where(np.abs(raw) <= _ROUNDING * np.abs(scaler.center), 0.0, raw))


def entries_of(model: FittedRFM, encoded: Float[np.ndarray, "k d"]) -> list[tuple[object, ...]]:
    """Return encoded rows, in their own units, as entries of the user's columns; see :func:`row_entries`."""
    columns, encoder = model.columns, model.preprocessing.reader.encoder
    own = columns.own(encoded)
    by_column: list[list[object]] = []
    for p, name in enumerate(columns.names):
        at = np.flatnonzero((columns.groups == p) & model.features.support)
        if not len(at):
            by_column.append([float("nan")] * len(encoded))
            continue
        encoding = None if encoder is None else encoder.records_[p].encoding
        channels = [columns.encoded[j].removeprefix(name) for j in at]
        values = np.column_stack([own[:, p], encoded[:, at]])
        by_column.append([_entry(encoding, row[0], dict(zip(channels, row[1:], strict=True))) for row in values])
    return list(zip(*by_column, strict=True))


def _entry(encoding: Encoding | None, own: float, channels: dict[str, float]) -> object:
    """Return the entry of one column from its number, if it has one, and from the values of its channels by suffix."""
    if channels.get("__missing", 0.0) > _SET:
        return None
    if not np.isnan(own):
        return float(f"{own:.6g}")  # rows are stored in float32
    if isinstance(encoding, Category):
        return _level(
            encoding.levels, [name[1:] for name, value in channels.items() if value > _SET and name[:1] == "="]
        )
    place = channels.get("", float("nan"))
    if isinstance(encoding, Ordered) and not np.isnan(place):
        return encoding.levels[round(place * (len(encoding.levels) - 1))]
    if isinstance(encoding, Date) and not np.isnan(place):
        unit = "s" if encoding.day else "D"
        return (np.datetime64(encoding.origin, "us") + np.timedelta64(round(place * 86_400), "s")).astype(f"M8[{unit}]")
    return bool(place > _SET) if isinstance(encoding, Number) and place in (0.0, 1.0) else float("nan")


def _level(levels: tuple[str, ...], found: list[str]) -> object:
    """Return the level whose channel is 1; of two levels only the second has a channel."""
    if not found and len(levels) == 2:
        return levels[0]
    return found[0] if len(found) == 1 else float("nan")
