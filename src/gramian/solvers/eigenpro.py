"""Preconditioned stochastic gradient descent (EigenPro, Ma and Belkin 2019): what paper B uses beyond 100,000 rows.

Gradient descent on ``½αᵀ(K + λI)α − Yᵀα``, some rows B at a time, needs a step below one over the largest eigenvalue,
and so crawls along all others. Seen through a part S of the rows, ``K_SS = V Σ Vᵀ``, its leading q directions can be
brought down to the size of the next one (or of the ridge, where that is larger):

``α_B ← α_B − τ r``, ``α_S ← α_S + τ V D Vᵀ K_SB r``, with ``r = (Kα + λα − Y)_B`` and ``D = (1 − σ_{q+1}/σ)/σ``,

and τ may be ``1/(β + (b − 1) σ_{q+1}/s + λ)``, with β the largest of what is left of the diagonal of K. Nothing but
coefficients and ``s²`` numbers is held; an epoch computes each entry of K once. Where the residual grows, the epoch is
taken back and the step halved.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.kernels import KernelOperator
from gramian.solvers.base import Solution, SolveInfo, Solver, Workspace, check_system, warn_numbers

log = logging.getLogger(__name__)

_HALVINGS = 6
_BATCH = 4096
_ROWS = 4096


@dataclass(frozen=True)
class EigenPro(Solver):
    """Epochs of preconditioned gradient steps until the residual is below ``tol``; memory is ``n · outputs``.

    Parameters
    ----------
    tol : float
        Relative residual ``‖Y − (K + λ)α‖ / ‖Y‖``, taken on the way through an epoch, at which the epochs end.
    epochs : int
        Passes over all pairs of rows, at most. A few are what large data need: the noise is fitted last.
    subsample : int
        Rows the leading directions are found from.
    directions : int, optional
        How many of them are brought down; a tenth of the subsample by default.
    seed : int
        Draws the subsample and the order of the rows.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> solver = EigenPro(tol=1e-8, epochs=200)
    >>> solver.solve(K, torch.tensor([[1.0], [0.0]], dtype=torch.float64), ridge=0.5).coef.squeeze()
    tensor([ 0.7970, -0.3223], dtype=torch.float64)
    """

    tol: float = 1e-2
    epochs: int = 20
    subsample: int = 3000
    directions: int | None = None
    seed: int = 0

    def bytes_needed(self, n: int, dtype: torch.dtype, outputs: int = 1) -> int:
        """Peak memory of a solve besides the rows: eigenvectors, coefficients twice, a strip of the matrix."""
        s = min(n, self.subsample)
        return int(4 * s * s * 8 + 3 * n * outputs * 8 + _BATCH * s * 16)

    def solve(
        self,
        operator: KernelOperator,
        Y: Float[Tensor, "n c"],
        ridge: float,
        *,
        weights: Float[Tensor, " n"] | None = None,
        start: Float[Tensor, "n c"] | None = None,
        workspace: Workspace | None = None,
    ) -> Solution:
        """See :meth:`Solver.solve`."""
        check_system(operator, Y, ridge, weights)
        rng = torch.Generator().manual_seed(self.seed)
        root = torch.ones(operator.n, 1, dtype=operator.wide, device=operator.X.device)
        root = root if weights is None else weights.to(operator.wide).sqrt()[:, None]
        target = Y.to(operator.wide) * root
        chosen = torch.randperm(operator.n, generator=rng)[: self.subsample].sort().values.to(operator.X.device)
        leading = _leading(operator, root, chosen, self.directions, ridge)
        beta = leading.beta
        # With weights the system is that of √w K √w, whose coefficients are α/√w.
        alpha = torch.zeros_like(target) if start is None else start.to(operator.wide) / root
        size = target.norm(dim=0)
        size = torch.where(size > 0, size, 1)
        halvings, done, residual = 0, 0, 1.0 if start is None else float("inf")
        best = alpha
        order_rng = torch.Generator().manual_seed(self.seed + 1)
        while done < self.epochs and halvings <= _HALVINGS:
            alpha, before = best.clone(), residual
            batch = min(_BATCH, operator.n)
            step = 0.5**halvings / (beta + (batch - 1) * leading.next / len(leading.rows) + ridge)
            found = self._epoch(operator, root, target, alpha, ridge, leading, step, batch, order_rng)
            now = float((found / size).max())
            done += 1
            if not now < 2 * before:
                halvings += 1
                log.info("epoch %d made the residual %.3g from %.3g: half the step", done, now, before)
                continue
            best, residual = alpha, now
            log.debug("epoch %d: residual %.3g", done, residual)
            if residual <= self.tol:
                break
        return self._told(operator, best * root, done, residual, ridge, target, gave_up=halvings > _HALVINGS)

    def _epoch(
        self,
        operator: KernelOperator,
        root: Tensor,
        target: Tensor,
        alpha: Tensor,
        ridge: float,
        leading: _Leading,
        step: float,
        batch: int,
        rng: torch.Generator,
    ) -> Float[Tensor, " c"]:
        """One pass over the rows, alpha changed in place; norms of the residuals met on the way."""
        squares = torch.zeros(target.shape[1], dtype=target.dtype, device=target.device)
        for rows in torch.randperm(operator.n, generator=rng).to(target.device).split(batch):
            at = operator.predict(operator.X[rows], alpha * root, stable=False) * root[rows]
            R = at + ridge * alpha[rows] - target[rows]
            squares += R.square().sum(dim=0)
            C = leading.columns(operator, rows, root)
            alpha[rows] -= step * R
            alpha[leading.rows] += step * (leading.V @ (leading.D[:, None] * (leading.V.mT @ (C.mT @ R))))
        return squares.sqrt()

    def _told(
        self,
        operator: KernelOperator,
        coef: Tensor,
        done: int,
        residual: float,
        ridge: float,
        target: Tensor,
        *,
        gave_up: bool,
    ) -> Solution:
        converged = residual <= self.tol
        status = f"{'converged' if converged else 'stopped'} in {done} epochs"
        if gave_up:
            warn_numbers(
                f"EigenPro found no step that makes the residual smaller (relative residual {residual:.2g}): "
                "raise ridge or subsample"
            )
        held = self.bytes_needed(operator.n, operator.dtype, target.shape[1])
        dtype = str(operator.dtype).removeprefix("torch.")
        info = SolveInfo("eigenpro", status, done, residual, ridge, 0.0, dtype, held)
        return Solution(coef, info, operator)


@dataclass(frozen=True, eq=False)
class _Leading:
    """Leading directions of the matrix of a subsample: rows, vectors, the weights D, the next eigenvalue, and β."""

    rows: Int[Tensor, " s"]
    V: Float[Tensor, "s q"]
    D: Float[Tensor, " q"]
    next: float
    beta: float

    def columns(self, operator: KernelOperator, rows: Int[Tensor, " b"], root: Tensor) -> Float[Tensor, "b s"]:
        """``√w K √w`` between some rows and the subsample."""
        C = operator.kernel.block(operator.points[rows], operator.points[self.rows], quick=True)
        return C.to(root.dtype) * root[rows] * root[self.rows].mT


def _leading(operator: KernelOperator, root: Tensor, chosen: Tensor, directions: int | None, ridge: float) -> _Leading:
    s = len(chosen)
    q = min(s - 1, max(1, s // 10) if directions is None else directions)
    blank = _Leading(chosen, root.new_zeros(s, q), root.new_zeros(q), 0.0, 0.0)
    K = blank.columns(operator, chosen, root)
    values, vectors = torch.linalg.eigh((K + K.mT) / 2)
    values, vectors = values.flip(0).clamp_min(0), vectors.flip(1)
    # Directions below the ridge slow nothing down, and dividing by them would bring round-off into the coefficients.
    floor = max(1e-10 * float(values[0]), ridge * s / operator.n)
    q = min(q, int((values > floor).sum()))
    V, sigma = vectors[:, :q], values[:q]
    below = max(float(values[q]) if q < s else 0.0, floor)
    found = replace(blank, V=V, D=(1 - below / sigma) / sigma, next=below)
    left = [
        operator.kernel.diagonal(operator.points[rows]).to(root.dtype) * root[rows, 0].square()
        - ((found.columns(operator, rows, root) @ V).square() * found.D).sum(dim=1)
        for rows in chosen.split(_ROWS)
    ]
    return replace(found, beta=float(torch.cat(left).max().clamp_min(1e-12 * float(values[0]) + 1e-300)))
