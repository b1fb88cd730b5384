"""Compression of a fitted model to fewer centres, with the error it causes.

The nearest function to ``f`` with centres Z is its projection in the kernel's own space, ``f̃ = Σ_z β_z k(·, z)`` with
``K_ZZ β = f(Z)``. Centres are added one by one, each time the one that brings f̃ nearest to f: with residual ``r`` and
power function ``P²(x) = k(x, x) − k(x, Z) K_ZZ⁻¹ k(Z, x)``, adding x lowers ``‖f − f̃‖²`` by exactly ``r(x)²/P²(x)``. A
Newton basis (a pivoted Cholesky factor) makes each step one column of the kernel matrix.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core import threads
from gramian.rfm.export import centers_within, predictor_of, row_seconds
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Compression, Ensemble, FittedRFM
from gramian.rfm.tree import TreeMachine
from gramian.tables.types import TableLike

_CANDIDATES = 4000
"""Random training rows among which centres are selected, at least (where there are as many)."""
_LEAST_POWER = {torch.float32: 1e-6, torch.float64: 1e-10}
"""If P² is below this share of k(x, x), the present centres represent x up to the round-off of predictions."""


def compress(
    model: FittedRFM, n_centers: int | None = None, X: TableLike = None, max_latency: float | None = None
) -> FittedRFM:
    """Project a fitted model onto fewer centres: it becomes smaller, and faster to predict with.

    Parameters
    ----------
    model : FittedRFM
        Its members must be kernel machines: a tree cannot be compressed.
    n_centers : int, optional
        Number of centres, at most. They are selected for this function among at most ``max(4000, 4 n_centers)`` random
        training rows; fewer are returned where fewer represent all of these rows.
    X : array or frame, optional
        Rows on which the change of predictions is measured; by default the training rows among which the centres were
        selected.
    max_latency : float, optional
        Seconds of processor time in which the exported NumPy predictor is to predict one row on this computer, instead
        of ``n_centers``: the number of centres follows from a measurement
        (:func:`gramian.rfm.export.centers_within`). A model that is as fast already is returned with all its centres.

    Returns
    -------
    FittedRFM
        With a record ``compression`` (:class:`~gramian.rfm.model.Compression`) of the error. Probabilities and
        intervals use the holdout predictions of the given model; averages over training rows (``agop``) become averages
        over the centres.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> A = np.random.default_rng(0).normal(size=(300, 3))
    >>> model = RFMRegressor(kernel="gaussian", update="agop").fit(A, A[:, 0] * A[:, 1]).model_
    >>> small = compress(model, 100)
    >>> small.compression.n_centers <= 100, small.compression.typical_change < 0.05
    (True, True)
    """
    machine = model.machine
    if isinstance(machine, TreeMachine):
        raise ValueError('a tree of kernel machines cannot be compressed; fit with solver="nystrom" instead')
    if (n_centers is None) == (max_latency is None):
        raise ValueError("give either n_centers or max_latency, the seconds for one row")
    if max_latency is not None:
        return _within(model, max_latency, X)
    if not (isinstance(n_centers, int | np.integer) and 0 < n_centers <= machine.n):
        raise ValueError(
            f"n_centers must be an integer from 1 to {machine.n}, the present number of centres; got {n_centers!r}"
        )
    candidates = _draw_candidates(machine.n, int(n_centers)).to(machine.X.device)
    rows = machine.X[candidates] if X is None else model.tensor(model.preprocessing.transform(X))
    held_out = model.holdout  # of the whole model: the compressed one is meant to predict the same
    with threads(model.n_threads):
        ensemble, error, centers = project(model.ensemble, candidates, int(n_centers))
        typical, largest = _changes(model.ensemble.predict(rows), ensemble.predict(rows))
    return replace(
        model,
        ensemble=ensemble,
        row_index=model.row_index[centers.cpu().numpy()],
        row_labels=None if model.row_labels is None else model.row_labels[centers.cpu().numpy()],
        copies=None if model.copies is None else model.copies[centers.cpu().numpy()],
        held_out=held_out,
        compression=Compression(len(centers), machine.n, error, typical, largest),
    )


def _within(model: FittedRFM, max_latency: float, X: TableLike) -> FittedRFM:
    """Compress a model to the number of centres that keeps the latency of one row; record the latency it has then."""
    n = model.machine.n
    n_centers = centers_within(model, max_latency)
    small = compress(model, n_centers, X) if n_centers < n else replace(model, compression=Compression(n, n, 0, 0, 0))
    assert small.compression is not None
    latency = row_seconds(predictor_of(small))
    return replace(small, compression=replace(small.compression, latency=latency))


def project(
    ensemble: Ensemble, candidates: Int[Tensor, " q"], n_centers: int
) -> tuple[Ensemble, float, Int[Tensor, " m"]]:
    """Project all members of an ensemble onto the same centres, selected among training rows ``candidates``.

    Returns the new ensemble, its relative error ``‖f − f̃‖ / ‖f‖``, and the indices of the centres, which are fewer
    than ``n_centers`` where fewer represent every candidate.

    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> X = torch.tensor([[0.0], [3.0], [3.0]])
    >>> machine = KernelMachine(KernelOperator(Gaussian(1.0), X), torch.ones(3, 1))
    >>> _, error, centers = project(Ensemble((machine,), (1.0,)), torch.arange(3), 3)
    >>> round(error, 6), sorted(centers.tolist())
    (0.0, [0, 1])
    """
    parts = [_NewtonBasis(m, candidates, n_centers) for m in ensemble.machines if isinstance(m, KernelMachine)]
    # The gain of each machine is divided by its own squared norm, and multiplied by its share.
    scales = [
        share**2 / max(part.norm, torch.finfo(torch.float64).tiny)
        for part, share in zip(parts, ensemble.shares, strict=True)
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
    centers = candidates[torch.tensor(picked, device=candidates.device)]
    machines = tuple(part.machine_on(centers) for part in parts)
    lost = sum(scale * part.lost for part, scale in zip(parts, scales, strict=True))
    total = sum(scale * part.norm for part, scale in zip(parts, scales, strict=True))
    return Ensemble(machines, ensemble.shares), float(np.sqrt(max(lost, 0.0) / (total or 1.0))), centers


class _NewtonBasis:
    """The projection of one machine while centres are added to it, in the wide format.

    ``norm`` is ``‖f‖² = αᵀKα``, over all outputs.
    """

    def __init__(self, machine: KernelMachine, candidates: Int[Tensor, " q"], most: int) -> None:
        self.machine = machine
        operator = machine.operator.widened()
        coef = machine.coef.to(operator.wide)
        values = operator.matmul(coef)
        self.norm = float((coef * values).sum())
        self.kernel, self.points = operator.kernel, operator.points[candidates]
        self.residual: Float[Tensor, "q c"] = values[candidates].clone()
        self.power: Float[Tensor, " q"] = self.kernel.diagonal(self.points).to(operator.wide).clone()
        self.least_power = _LEAST_POWER[machine.X.dtype] * self.power
        self.basis = values.new_zeros(len(candidates), most)
        self.coef = values.new_zeros(most, values.shape[1])
        self.picked: list[int] = []

    def gains(self) -> Float[Tensor, " q"]:
        """Return ``Σ_c r_c(x)²/P²(x)`` of each candidate; 0 where the present centres represent it."""
        gain = self.residual.square().sum(dim=1) / self.power.clamp_min(torch.finfo(self.power.dtype).tiny)
        return torch.where(self.power > self.least_power, gain, 0.0)

    def add(self, at: int) -> None:
        """Make a candidate a centre: one more column of the basis, which is 0 where it is represented already."""
        m = len(self.picked)
        self.picked.append(at)
        if not float(self.power[at]) > float(self.least_power[at]):
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
        """The squared error ``‖f − f̃‖²``."""
        return self.norm - float(self.coef.square().sum())

    def machine_on(self, centers: Int[Tensor, " m"]) -> KernelMachine:
        """Return the projection as a machine on the centres: ``β = L⁻ᵀ c`` with L the basis at the centres."""
        m = len(self.picked)
        L = self.basis[torch.tensor(self.picked, device=centers.device), :m]
        unused = L.diagonal() == 0  # the coefficient of such a centre is 0
        L = torch.where(torch.diag(unused), 1.0, L)
        beta = torch.linalg.solve_triangular(L.mT, self.coef[:m], upper=True)
        weights = self.machine.weights
        operator = replace(self.machine.operator, X=self.machine.X[centers])
        return KernelMachine(operator, beta, None if weights is None else weights[centers])


def _draw_candidates(n: int, n_centers: int) -> Int[Tensor, " q"]:
    most = max(_CANDIDATES, 4 * n_centers)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    return order[:most].sort().values


def _changes(before: Float[Tensor, "m c"], after: Float[Tensor, "m c"]) -> tuple[float, float]:
    """Return root mean square and maximum of the change, divided by the standard deviation before it."""
    spread = float((before - before.mean(dim=0)).square().sum(dim=1).mean().sqrt()) or 1.0
    change = (after - before).square().sum(dim=1).sqrt().cpu().numpy().astype(np.float64)
    return float(np.sqrt(np.mean(change**2))) / spread, float(change.max()) / spread
