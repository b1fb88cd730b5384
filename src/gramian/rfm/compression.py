"""A fitted model on fewer centres, with what that costs stated.

The nearest function to ``f`` that stands on centres Z is its projection in the kernel's own space,
``f̃ = Σ_z β_z k(·, z)`` with ``K_ZZ β = f(Z)``. Centres are taken one by one, each the one that brings f̃ nearest to f:
with residual ``r`` and power function ``P²(x) = k(x, x) − k(x, Z) K_ZZ⁻¹ k(Z, x)``, adding x lowers ``‖f − f̃‖²`` by
exactly ``r(x)²/P²(x)``. A Newton basis (a pivoted Cholesky factor) makes each step one column of the kernel matrix.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gramian.core import threads
from gramian.rfm.blend import Blend
from gramian.rfm.data import Array
from gramian.rfm.machine import KernelMachine
from gramian.rfm.tree import TreeMachine

_CANDIDATES = 4000
_FLOOR = {torch.float32: 1e-6, torch.float64: 1e-10}
"""Rows whose P² is below this share of k(x, x) are as good as centres already, up to round-off of predictions."""
T = TypeVar("T", bound="Compresses")


@dataclass(frozen=True)
class Compression:
    """What fewer centres cost.

    ``function_error`` is ``‖f − f̃‖ / ‖f‖`` in the kernel's own space, and so bounds every prediction's change:
    ``|f(x) − f̃(x)| ≤ ‖f − f̃‖ √k(x, x)``. ``typical_change`` and ``largest_change`` are root mean square and maximum
    of ``|f − f̃|`` on some rows, divided by the standard deviation of f on them.
    """

    n_centers: int
    n_before: int
    function_error: float
    typical_change: float
    largest_change: float


class Compresses:
    """What an estimator inherits to have :meth:`compressed`."""

    blend_: Blend
    row_index_: NDArray[np.intp]

    def compressed(self: T, n_centers: Any, X: Any = None) -> T:
        """A copy of the fitted model that stands on fewer training rows: smaller, and faster to predict with.

        Parameters
        ----------
        n_centers : int
            Rows to keep, chosen for this function among at most ``max(4000, 4 n_centers)`` random ones.
        X : array or frame, optional
            Rows to state the change of predictions on; the training rows among which centres were chosen by default.

        Returns
        -------
        model
            With a record ``compression_`` (:class:`Compression`) of what was lost. Probabilities and intervals keep
            the calibration of the whole model; averages over training rows (``agop_``) are over the centres.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> A = np.random.default_rng(0).normal(size=(300, 3))
        >>> model = RFMRegressor(kernel="gaussian", update="agop").fit(A, A[:, 0] * A[:, 1])
        >>> small = model.compressed(100)
        >>> small.compression_.n_centers <= 100, small.compression_.typical_change < 0.05
        (True, True)
        """
        check_is_fitted(self)
        if isinstance(self.blend_.best, TreeMachine):
            raise ValueError('a tree of machines cannot be put on fewer centers; fit with solver="nystrom" instead')
        before = self.blend_.best.n
        if not (isinstance(n_centers, int | np.integer) and 0 < n_centers <= before):
            raise ValueError(
                f"n_centers must be an integer from 1 to {before}, the rows it stands on; got {n_centers!r}"
            )
        model: Any = copy.copy(self)
        model._judged()  # of the whole model, where nobody has asked yet: it is the same but for what is stated
        with threads(model._threads(before)):
            candidates = _candidates(before, int(n_centers)).to(self.blend_.best.X.device)
            model.blend_, error, chosen = project(self.blend_, candidates, int(n_centers))
        model.machine_ = model.blend_.best
        model.row_index_ = self.row_index_[chosen.cpu().numpy()]
        rows = self.blend_.best.X[candidates] if X is None else model._tensor(model._scaled(X))
        with threads(model._threads(before)):
            typical, largest = _change(self.blend_.predict(rows), model.blend_.predict(rows))
        model.compression_ = Compression(len(chosen), before, error, typical, largest)
        return model


def project(blend: Blend, candidates: Int[Tensor, " q"], n_centers: int) -> tuple[Blend, float, Int[Tensor, " m"]]:
    """The blend with each machine projected onto the same centres, the relative error, and the centres' indices.

    Fewer centres come back where fewer represent every candidate already.
    """
    parts = [_Newton(m, candidates, n_centers) for m in blend.machines if isinstance(m, KernelMachine)]
    # Each machine's gain as a part of its own norm, times its share.
    scales = [
        share**2 / max(part.norm, torch.finfo(torch.float64).tiny)
        for part, share in zip(parts, blend.shares, strict=True)
    ]
    picked: list[int] = []
    for _ in range(n_centers):
        gain = torch.stack([scale * part.gains() for part, scale in zip(parts, scales, strict=True)]).sum(dim=0)
        at = int(gain.argmax())
        if not float(gain[at]) > 0:
            break
        for part in parts:
            part.add(at)
        picked.append(at)
    if not picked:  # the function is zero
        picked = [0]
        for part in parts:
            part.add(0)
    chosen = candidates[torch.tensor(picked, device=candidates.device)]
    machines = tuple(part.machine_on(chosen) for part in parts)
    lost = sum(scale * part.lost for part, scale in zip(parts, scales, strict=True))
    total = sum(scale * part.norm for part, scale in zip(parts, scales, strict=True))
    return Blend(machines, blend.shares), float(np.sqrt(max(lost, 0.0) / (total or 1.0))), chosen


class _Newton:
    """The projection of one machine while centres are added to it, in the wide format."""

    def __init__(self, machine: KernelMachine, candidates: Int[Tensor, " q"], most: int) -> None:
        self.machine = machine
        operator = machine.operator.widened()
        coef = machine.coef.to(operator.wide)
        values = operator.matmul(coef)
        self.norm = float((coef * values).sum())
        """``‖f‖² = αᵀKα``, over all outputs."""
        self.kernel, self.points = operator.kernel, operator.points[candidates]
        self.residual: Float[Tensor, "q c"] = values[candidates].clone()
        self.power: Float[Tensor, " q"] = self.kernel.diagonal(self.points).to(operator.wide).clone()
        self.floor = _FLOOR[machine.X.dtype] * self.power
        self.basis = values.new_zeros(len(candidates), most)
        self.coef = values.new_zeros(most, values.shape[1])
        self.picked: list[int] = []

    def gains(self) -> Float[Tensor, " q"]:
        """``Σ_c r_c(x)²/P²(x)`` of each candidate; 0 where it is as good as a centre already."""
        gain = self.residual.square().sum(dim=1) / self.power.clamp_min(torch.finfo(self.power.dtype).tiny)
        return torch.where(self.power > self.floor, gain, 0.0)

    def add(self, at: int) -> None:
        """Make a candidate a centre: one more column of the Newton basis. One that adds nothing gets a zero column."""
        m = len(self.picked)
        self.picked.append(at)
        if not float(self.power[at]) > float(self.floor[at]):
            return
        column = self.kernel.block(self.points, self.points[torch.tensor([at])])[:, 0].to(self.basis.dtype)
        column = column - self.basis[:, :m] @ self.basis[at, :m]
        column /= self.power[at].sqrt()
        self.coef[m] = self.residual[at] / column[at]
        self.basis[:, m] = column
        self.residual -= column[:, None] * self.coef[m]
        self.power -= column.square()

    @property
    def lost(self) -> float:
        """``‖f − f̃‖²``."""
        return self.norm - float(self.coef.square().sum())

    def machine_on(self, chosen: Int[Tensor, " m"]) -> KernelMachine:
        """The projection as a machine on the centres: ``β = L⁻ᵀ c`` with L the basis at the centres."""
        m = len(self.picked)
        L = self.basis[torch.tensor(self.picked, device=chosen.device), :m]
        empty = L.diagonal() == 0  # of no use to this machine: its coefficient is 0
        L = torch.where(torch.diag(empty), 1.0, L)
        beta = torch.linalg.solve_triangular(L.mT, self.coef[:m], upper=True)
        weights = self.machine.weights
        operator = replace(self.machine.operator, X=self.machine.X[chosen])
        return KernelMachine(operator, beta, None if weights is None else weights[chosen])


def _candidates(n: int, n_centers: int) -> Int[Tensor, " q"]:
    most = max(_CANDIDATES, 4 * n_centers)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    return order[:most].sort().values


def _change(before: Float[Tensor, "m c"], after: Float[Tensor, "m c"]) -> tuple[float, float]:
    spread = float((before - before.mean(dim=0)).square().sum(dim=1).mean().sqrt()) or 1.0
    change: Array = (after - before).square().sum(dim=1).sqrt().cpu().numpy().astype(np.float64)
    return float(np.sqrt(np.mean(change**2))) / spread, float(change.max()) / spread
