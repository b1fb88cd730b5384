"""Influence of training rows on one prediction: its exact change when a row is removed.

With M, kernel, ridge λ and the scale of the target unchanged, the coefficients solve ``A α = Y`` with
``A = K + λ W⁻¹``. Removing row i removes row and column i of A; by block inversion, with ``B = A⁻¹``, the coefficients
of the other rows become ``αⱼ − Bⱼᵢ αᵢ / Bᵢᵢ``, and the prediction at x changes by

    Δᵢ f(x) = −(αᵢ / Bᵢᵢ) (B k(x))ᵢ,    k(x) = (k(x, x₁), …, k(x, xₙ)).

``αᵢ / Bᵢᵢ`` is the leave-one-out residual of row i, and ``(B k(x))ᵢ`` the weight of its target in the prediction. For
an average of models the changes are averaged. Equal rows of a table are one row here, and are removed together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from gramian.core import threads
from gramian.rfm.explain.output import Output
from gramian.rfm.explain.training_rows import SolvedRows, row_entries, row_targets, why_unsolved
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import FittedRFM
from gramian.tables.scaling import Array
from gramian.tables.targets import ClassTarget
from gramian.tables.types import Label

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_ROWS = 3000
"""Training rows beyond which the inverse of their kernel matrix takes many seconds for each member of an average."""


@dataclass(frozen=True, eq=False)
class Influence:
    """The training rows whose removal changes one prediction most, largest change first.

    Attributes
    ----------
    rows : ndarray of int (k,)
        Positions in the training table.
    labels : tuple
        Their labels in the index of the training frame; the positions where it had none.
    targets : tuple
        Their targets, or their classes.
    columns, entries : tuples
        The user's columns, and the entries of each row in them: None where an entry was missing, and NaN where the
        model does not hold it.
    similarity : ndarray (k,)
        ``k(x, xᵢ) / √(k(x, x) k(xᵢ, xᵢ))``, 1 for an equal row.
    change : ndarray (k,)
        The score of the model without the row, less the explained score; for a regressor the score is the prediction on
        the scale the target was fitted on.
    without : ndarray (k,)
        The prediction without the row; for a classifier the probability of the explained class without it.
    reason : str
        The reason why there are no rows, "" where there are.
    """

    rows: Int[np.ndarray, " k"]
    labels: tuple[object, ...]
    targets: tuple[Label, ...]
    columns: tuple[str, ...]
    entries: tuple[tuple[object, ...], ...]
    similarity: Float[np.ndarray, " k"]
    change: Float[np.ndarray, " k"]
    without: Float[np.ndarray, " k"]
    reason: str = ""

    @classmethod
    def none(cls, columns: tuple[str, ...], reason: str) -> Influence:
        """Return an influence without rows, for a reason.

        >>> Influence.none((), "the model is a tree").reason
        'the model is a tree'
        """
        no = np.zeros(0)
        return cls(no.astype(np.intp), (), (), columns, (), no, no, no, reason)

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per training row: position, target, similarity, change, without."""
        import pandas as pd

        table = {
            "position": self.rows,
            "target": list(self.targets),
            "similarity": self.similarity,
            "change": self.change,
            "without": self.without,
        }
        return pd.DataFrame(table, index=pd.Index(self.labels, name="row"))

    def contents(self) -> DataFrame:
        """Return a frame of the same training rows with the user's columns."""
        import pandas as pd

        return pd.DataFrame(list(self.entries), index=pd.Index(self.labels, name="row"), columns=list(self.columns))


@dataclass(frozen=True, eq=False)
class _InvertedMember:
    """A member, the centres it was fitted to, ``B = (K + λ W⁻¹)⁻¹`` on them, and the residuals ``αᵢ / Bᵢᵢ``."""

    machine: KernelMachine
    share: float
    at: Int[Tensor, " m"]
    inverse: Float[Tensor, "m m"]
    residuals: Float[Tensor, "m c"]

    @classmethod
    def of(cls, machine: KernelMachine, share: float, rows: SolvedRows, ridge: float | None) -> _InvertedMember:
        """Invert the system of a member; without its ridge, that is found from the targets of the rows."""
        operator = machine.operator.widened()
        coef = machine.coef.to(operator.wide)[rows.at]
        fitted = coef.any(dim=1).nonzero()[:, 0]  # with bagging, the rows of a fold have no coefficients
        at, alpha = rows.at[fitted], coef[fitted]
        K = operator.dense()[at][:, at]
        w = K.new_ones(len(at)) if machine.weights is None else machine.weights[at].to(K)
        if ridge is None:
            # (K + λ W⁻¹) α = Y holds for one λ: that of least squares.
            noise = alpha / w[:, None]
            ridge = float(((rows.Y[fitted] - K @ alpha) * noise).sum() / noise.square().sum().clamp(min=1e-300))
        K.diagonal().add_(max(ridge, 0.0) / w)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(K))
        return cls(machine, share, at, inverse, alpha / inverse.diagonal()[:, None])

    def changes(self, x: Float[Tensor, "1 d"]) -> Float[Tensor, "m c"]:
        """Return ``−(αᵢ / Bᵢᵢ) (B k(x))ᵢ`` for each of its rows i and each output."""
        operator = self.machine.operator.widened()
        weights = self.inverse @ operator.columns_at(x.to(operator.wide))[0, self.at]
        return -self.residuals * weights[:, None]


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The inverted systems of a model, for the influence on any number of predictions."""

    model: FittedRFM
    rows: SolvedRows
    members: tuple[_InvertedMember, ...]

    @classmethod
    def of(cls, model: FittedRFM) -> LeaveOneOut | str:
        """Invert the system of each member, or return the reason why that is not done.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).normal(size=(40, 2))
        >>> model = RFMRegressor(preset="fast", n_rounds=0, solver="nystrom").fit(X, X[:, 0]).model_
        >>> LeaveOneOut.of(model)
        'the solver Nystrom does not solve the ridge regression on all rows'
        """
        reason = why_unsolved(model)
        if reason:
            return reason
        n = model.machine.n
        if n > MOST_ROWS or 3 * 8 * n * n > model.history.plan.max_bytes:
            return f"the exact change needs the inverse of a matrix of {n:,} by {n:,} entries, which takes too long"
        with threads(model.n_threads):
            rows = SolvedRows.of(model)
            outside = torch.ones(n, dtype=torch.bool, device=rows.at.device).index_fill(0, rows.at, False)
            if any(
                bool(machine.coef[outside].any())
                for machine in model.ensemble.machines
                if isinstance(machine, KernelMachine)
            ):
                return "a time limit or an interrupt ended the fit when its models had been fitted to different rows"
            members = [
                _InvertedMember.of(machine, share, rows, None if k else model.history.ridge)
                for k, (machine, share) in enumerate(zip(model.ensemble.machines, model.ensemble.shares, strict=True))
                if isinstance(machine, KernelMachine)
            ]
        return cls(model, rows, tuple(members))

    def changes(self, z: Float[np.ndarray, " d"]) -> Float[np.ndarray, "n c"]:
        """Return the change of the outputs at a row of standardised columns when each of the centres is removed.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).normal(size=(40, 2))
        >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_
        >>> LeaveOneOut.of(model).changes(np.zeros(2)).shape
        (40, 1)
        """
        x = self.model.tensor(z[None])
        out = torch.zeros(self.model.machine.n, self.rows.Y.shape[1], dtype=self.rows.Y.dtype, device=x.device)
        with threads(self.model.n_threads):
            for member in self.members:
                out[member.at] += member.share * member.changes(x)
        found: Array = out.cpu().numpy().astype(np.float64) * self.model.target_scaler.scale
        return found

    def influence(
        self, z: Float[np.ndarray, " d"], outputs: Float[np.ndarray, " c"], output: Output, count: int
    ) -> Influence:
        """Return the ``count`` rows of largest influence on one output at a row, where the outputs are ``outputs``."""
        model, changes = self.model, self.changes(z)
        change = output.sign * changes[:, output.index]
        largest = np.argsort(-np.abs(change), kind="stable")[:count].astype(np.intp)
        largest = largest[change[largest] != 0]
        position = {int(center): i for i, center in enumerate(self.rows.at.tolist())}
        targets = row_targets(model, self.rows.Y[[position[int(center)] for center in largest]])
        labels = model.row_index if model.row_labels is None else model.row_labels
        return Influence(
            rows=model.row_index[largest],
            labels=tuple(labels[largest].tolist()),
            targets=tuple(targets),
            columns=model.columns.names,
            entries=tuple(row_entries(model, largest)),
            similarity=model.similarity(z, largest) if len(largest) else np.zeros(0),
            change=change[largest],
            without=_in_user_terms(model, outputs + changes[largest], output),
        )


def _in_user_terms(model: FittedRFM, outputs: Float[np.ndarray, "k c"], output: Output) -> NDArray[np.float64]:
    """Return predictions, or a classifier's probabilities of the explained class."""
    if isinstance(model.target, ClassTarget):
        at = model.target.classes.tolist().index(output.label)
        shares: Array = np.exp(model.log_probabilities(outputs))[:, at]
        return shares
    values: Array = model.target.transform.inverse_transform(outputs[:, output.index])
    return values
