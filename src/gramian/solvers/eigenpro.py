"""Preconditioned stochastic gradient descent (EigenPro, Ma and Belkin 2019), which paper B uses above 100,000 rows.

Gradient descent on ``½αᵀ(K + λI)α − Yᵀα``, some rows B at a time, needs a step below one over the largest eigenvalue,
and so converges slowly along all other directions. From a subsample S of the rows, ``K_SS = V Σ Vᵀ``, the leading q
eigenvalues can be reduced to the size of the next one (or of the ridge, if that is larger):

``α_B ← α_B − τ r``, ``α_S ← α_S + τ V D Vᵀ K_SB r``, with ``r = (Kα + λα − Y)_B`` and ``D = (1 − σ_{q+1}/σ)/σ``,

and τ may be ``1/(β + (b − 1) σ_{q+1}/s + λ)``, with β the largest diagonal entry of the reduced K. Only coefficients
and ``s²`` numbers are in memory; an epoch computes each entry of K once. If the residual grows, the epoch is undone and
the step halved.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.clock import Clock
from gramian.kernels import KernelOperator
from gramian.solvers.base import FLOP_SECONDS, Solution, SolveInfo, Solver, Workspace, entry_seconds, warn_numbers
from gramian.solvers.system import RidgeSystem, StreamedSystem

log = logging.getLogger(__name__)

_HALVINGS = 6
_LEAST_BATCH, _BATCH = 512, 4096
"""Least and largest number of rows in a step: a product of that size uses all threads."""


@dataclass(frozen=True)
class EigenPro(Solver):
    """Iterative solution by epochs of preconditioned gradient steps; memory is ``n · outputs``.

    Parameters
    ----------
    tol : float
        Relative residual ``‖Y − (K + λ)α‖ / ‖Y‖``, measured during an epoch, at which the epochs end.
    epochs : int
        Largest number of passes over all pairs of rows. A few are enough for large data: the noise is fitted last.
    subsample : int
        Number of rows from which the leading directions are computed.
    directions : int, optional
        Number of leading eigenvalues that are reduced; a tenth of the subsample by default.
    seed : int
        Seed for the subsample and the order of the rows.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> solver = EigenPro(tol=1e-8, epochs=200)
    >>> system = RidgeSystem(K, torch.tensor([[1.0], [0.0]], dtype=torch.float64), ridge=0.5)
    >>> solver.solve(system).coef.squeeze()
    tensor([ 0.7970, -0.3223], dtype=torch.float64)
    """

    tol: float = 1e-2
    epochs: int = 5
    subsample: int = 3000
    directions: int | None = None
    seed: int = 0

    def bytes_needed(self, n: int, dtype: torch.dtype, outputs: int = 1) -> int:
        """Peak memory of a solve besides the rows: eigenvectors, two sets of coefficients, a strip of the matrix."""
        s = min(n, self.subsample)
        return int(4 * s * s * 8 + 4 * n * outputs * 8 + _BATCH * s * 12)

    def seconds_needed(self, n: int, columns: int, outputs: int = 1) -> float:
        """Nominal time: the eigenvectors of the subsample in the wide format, and one epoch."""
        s = min(n, self.subsample)
        return 20 * FLOP_SECONDS * s**3 + (s * s + n * (n + s)) * entry_seconds(columns)

    def solve(
        self,
        system: RidgeSystem | StreamedSystem,
        *,
        guess: Float[Tensor, "n c"] | None = None,
        workspace: Workspace | None = None,
        clock: Clock | None = None,
    ) -> Solution:
        """See :meth:`Solver.solve`; the steps end when the time limit has passed, even within an epoch."""
        clock = Clock() if clock is None else clock
        system = system.in_memory()
        operator, Y, ridge, weights = system.operator, system.Y, system.ridge, system.weights
        root = torch.ones(operator.n, 1, dtype=operator.wide, device=operator.X.device)
        root = root if weights is None else weights.to(operator.wide).sqrt()[:, None]
        scaled = _System(operator, root, Y.to(operator.wide) * root, ridge)
        rng = torch.Generator().manual_seed(self.seed)
        chosen = torch.randperm(operator.n, generator=rng)[: self.subsample].sort().values.to(operator.X.device)
        clock.check()
        leading = _leading(scaled, chosen, self.directions)
        # With weights the system is that of √w K √w, whose coefficients are α/√w.
        best = torch.zeros_like(scaled.target) if guess is None else guess.to(operator.wide) / root
        halvings, done, residual = 0, 0, 1.0 if guess is None else float("inf")
        # Beyond β s/σ rows a larger batch only makes the step smaller: an epoch then achieves less at the same cost.
        fair = int(leading.beta * len(leading.rows) / leading.next)
        batch = min(operator.n, max(_LEAST_BATCH, min(_BATCH, fair)))
        while done < self.epochs and halvings <= _HALVINGS and (done == 0 or not clock.passed):
            step = 0.5**halvings / (leading.beta + (batch - 1) * leading.next / len(leading.rows) + ridge)
            alpha = best.clone()
            batches = torch.split(torch.randperm(operator.n, generator=rng), batch)
            now = _epoch(scaled, alpha, leading, step, batches, clock)
            done += 1
            if not now < 2 * residual:
                halvings += 1
                log.info("epoch %d made the residual %.3g from %.3g: half the step", done, now, residual)
                continue
            best, residual = alpha, now
            log.debug("epoch %d: residual %.3g", done, residual)
            if residual <= self.tol:
                break
        if halvings > _HALVINGS:
            warn_numbers(
                f"EigenPro found no step that makes the residual smaller (relative residual {residual:.2g}): "
                "raise ridge or subsample"
            )
        if clock.passed and done <= 1:
            warn_numbers(
                "EigenPro had no time for one epoch: some rows were not used; raise time_limit, or use Nystrom"
            )
        ended = "time limit reached" if clock.passed else "converged" if residual <= self.tol else "stopped"
        held = self.bytes_needed(operator.n, operator.dtype, Y.shape[1])
        dtype = str(operator.dtype).removeprefix("torch.")
        late = clock.passed and residual > self.tol
        info = SolveInfo("eigenpro", f"{ended} in epoch {done}", done, residual, ridge, 0.0, dtype, held, late)
        return Solution(operator, best * root, info, weights)


@dataclass(frozen=True, eq=False)
class _System:
    """``(√w K √w + ridge) α = target``, with the square roots of the weights as ``root (n, 1)``."""

    operator: KernelOperator
    root: Float[Tensor, "n 1"]
    target: Float[Tensor, "n c"]
    ridge: float

    def residual(self, alpha: Float[Tensor, "n c"], rows: Int[Tensor, " b"]) -> Float[Tensor, "b c"]:
        """Residuals of the equations of some rows."""
        at = self.operator.predict(self.operator.X[rows], alpha * self.root, batch_invariant=False) * self.root[rows]
        return at + self.ridge * alpha[rows] - self.target[rows]

    def columns(self, rows: Int[Tensor, " b"], cols: Int[Tensor, " s"]) -> Float[Tensor, "b s"]:
        """``√w K √w`` between some rows and others."""
        points = self.operator.points
        C = self.operator.kernel.block(points[rows], points[cols], batch_invariant=False)
        return C.to(self.root.dtype).mul_(self.root[rows]).mul_(self.root[cols].mT)


@dataclass(frozen=True, eq=False)
class _Leading:
    """Leading directions of a subsample's matrix: its rows, eigenvectors, the weights D, the next eigenvalue, and β."""

    rows: Int[Tensor, " s"]
    V: Float[Tensor, "s q"]
    D: Float[Tensor, " q"]
    next: float
    beta: float


def _leading(system: _System, chosen: Int[Tensor, " s"], directions: int | None) -> _Leading:
    s, root = len(chosen), system.root
    q = min(s - 1, max(1, s // 10) if directions is None else directions)
    K = system.columns(chosen, chosen)
    values, vectors = torch.linalg.eigh((K + K.mT) / 2)
    values, vectors = values.flip(0).clamp_min(0), vectors.flip(1)
    # Eigenvalues below the ridge do not slow the descent, and dividing by them would amplify round-off.
    least = max(1e-10 * float(values[0]), system.ridge * s / len(root))
    q = min(q, int((values > least).sum()))
    V, sigma = vectors[:, :q], values[:q]
    below = max(float(values[q]) if q < s else 0.0, least)
    D = (1 - below / sigma) / sigma
    left = K.diagonal() - ((K @ V).square() * D).sum(dim=1)
    return _Leading(chosen, V, D, below, float(left.max().clamp_min(1e-12 * float(values[0]) + 1e-300)))


def _epoch(
    system: _System,
    alpha: Float[Tensor, "n c"],
    leading: _Leading,
    step: float,
    batches: tuple[Tensor, ...],
    clock: Clock,
) -> float:
    """Make one pass over the rows, changing alpha in place; return the relative residual measured during the pass."""
    squares = torch.zeros(2, alpha.shape[1], dtype=alpha.dtype, device=alpha.device)
    for batch in batches:
        rows = batch.to(alpha.device)
        R = system.residual(alpha, rows)
        squares += torch.stack([R.square().sum(dim=0), system.target[rows].square().sum(dim=0)])
        C = system.columns(rows, leading.rows)
        alpha[rows] -= step * R
        alpha[leading.rows] += step * (leading.V @ (leading.D[:, None] * (leading.V.mT @ (C.mT @ R))))
        if clock.passed:
            break
    return float((squares[0] / torch.where(squares[1] > 0, squares[1], 1)).max().sqrt())
