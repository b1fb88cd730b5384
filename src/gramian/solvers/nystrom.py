"""Nyström regression, as in Falkon: a model with m centres, fitted to n rows that are read in blocks.

With ``C = K[rows, centres] (n, m)`` and ``K_mm`` the kernel matrix of the centres, minimise
``Σᵢ wᵢ ‖yᵢ − Cᵢ a‖² + ridge · tr aᵀ K_mm a``, that is, solve ``H a = Cᵀ W Y`` with ``H = Cᵀ W C + ridge · K_mm``. With
all rows as centres that is ``(K + ridge/w) a = Y``, the exact solution.

C is never stored: each product with H is one pass over the rows, with blocks in the working format and sums in the wide
one. H is estimated from a sample of the rows, a few times larger than the number of centres, and its Cholesky factor
preconditions conjugate gradients; with few rows the sample is all of them, and one step solves the system. The error is
measured in the norm of H: it is the distance of the predictions at the training rows from those of the solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import wide_dtype
from gramian.core.clock import Clock
from gramian.core.linalg import solve_factored
from gramian.core.rows import Rows, RowSource
from gramian.core.tiles import spans
from gramian.kernels import KernelOperator
from gramian.solvers.base import (
    FLOP_SECONDS,
    SingularKernelError,
    Solution,
    SolveInfo,
    Solver,
    Workspace,
    entry_seconds,
    warn_numbers,
)
from gramian.solvers.centers import choose_centers
from gramian.solvers.system import RidgeSystem, StreamedSystem

_STRIP = 1024
_JITTERS = 12
_USUAL_STEPS = 12
"""Passes over the rows of a usual solve."""


@dataclass(frozen=True)
class Nystrom(Solver):
    """Least squares with ``centers`` of the rows: memory ``2·8·centers²``, one pass over the rows per step.

    Parameters
    ----------
    centers : int
        Number of training rows that have coefficients; with all rows the solution is exact.
    choice : "leverage" or "uniform"
        Distribution of the centres: by approximate ridge leverage under the metric, or uniform.
    tol : float
        Relative error, in the norm of predictions at the training rows, at which a column stops.
    max_steps : int
        Largest number of passes over the rows.
    sketch : int
        Number of rows for the preconditioner, as a multiple of ``centers``.
    seed : int
        Seed for the centres and the rows of the preconditioner.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> system = RidgeSystem(K, torch.tensor([[1.0], [0.0]], dtype=torch.float64), ridge=0.5)
    >>> Nystrom().solve(system).coef.squeeze()
    tensor([ 0.7970, -0.3223], dtype=torch.float64)
    """

    centers: int = 4000
    choice: str = "leverage"
    tol: float = 1e-3
    max_steps: int = 60
    sketch: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.centers < 1:
            raise ValueError(f"centers must be at least 1, got {self.centers!r}")
        if self.choice not in ("leverage", "uniform"):
            raise ValueError(f'choice must be "leverage" or "uniform", got {self.choice!r}')

    def bytes_needed(self, n: int, dtype: torch.dtype, outputs: int = 1) -> int:
        """Peak memory of a solve besides the rows: factor, kernel matrix of the centres, strips, a block, vectors."""
        m, size = min(self.centers, n), torch.finfo(dtype).bits // 8
        block, strips = _block_rows(m) * m * (2 * size + 8), 2 * min(_STRIP, m) * m * 8
        return int(m * m * (8 + 8 + size) + strips + block + 8 * m * outputs * 8)

    def seconds_needed(self, n: int, columns: int, outputs: int = 1) -> float:
        """Nominal time: the factor of the sketch in the wide format, and a usual number of passes over the rows."""
        m = min(self.centers, n)
        rows = min(n, self.sketch * m)
        factor = 2 * FLOP_SECONDS * (rows * m * m + m**3 / 3)
        return factor + (m + rows + min(self.max_steps, _USUAL_STEPS) * n) * m * entry_seconds(columns)

    def n_centers(self, n: int) -> int:
        return min(n, self.centers)

    def solve(
        self,
        system: RidgeSystem | StreamedSystem,
        *,
        guess: Float[Tensor, "n c"] | None = None,
        workspace: Workspace | None = None,
        clock: Clock | None = None,
    ) -> Solution:
        """See :meth:`Solver.solve`; coefficients and operator of the solution are those of the centres."""
        clock = Clock() if clock is None else clock
        kernel, metric, source, ridge = system.kernel, system.metric, system.source, system.ridge
        centers = choose_centers(kernel, metric, source, self.centers, self.choice, ridge, self.seed)
        operator = KernelOperator(kernel, centers.X, metric, system.max_bytes)
        corner = operator.dense()
        factor, jitter = self._factor(operator, corner, source, ridge, clock)
        normal = _NormalEquations(_Product(operator), corner, source, ridge, jitter)
        run = _iterate(normal, factor, source.n_outputs, self.tol, self.max_steps, clock)
        dtype = str(operator.dtype).removeprefix("torch.")
        status = f"{operator.n:,} centers for {source.n_rows:,} rows, "
        converged = run.error <= self.tol
        late = not converged and clock.passed
        ended = "converged" if converged else "stopped by the time limit" if late else "stopped"
        status += f"{ended} in {run.steps} steps"
        if not converged and not late:
            warn_numbers(
                f"Nyström regression stopped after {run.steps} steps at a relative error of {run.error:.2g}, "
                f"tol={self.tol:.2g}: raise max_steps, sketch or ridge"
            )
        held = self.bytes_needed(source.n_rows, operator.dtype, source.n_outputs)
        info = SolveInfo("nystrom", status, run.steps, run.error, ridge, jitter, dtype, held, late)
        return Solution(operator, run.coef, info, centers.weights, centers.index)

    def _factor(
        self, operator: KernelOperator, corner: Float[Tensor, "m m"], source: RowSource, ridge: float, clock: Clock
    ) -> tuple[Float[Tensor, "m m"], float]:
        """Compute the Cholesky factor of H, estimated from a sample of the rows, and the jitter that it needed."""
        n = source.n_rows
        rows = torch.randperm(n, generator=torch.Generator().manual_seed(self.seed + 1))[: self.sketch * operator.n]
        part = source.take(rows.sort().values)
        total = source.reduce(_weight)[0]
        H = torch.zeros(operator.n, operator.n, dtype=operator.wide, device=part.X.device)
        product = _Product(operator)
        for span in spans(len(part), _block_rows(operator.n)):
            clock.check()
            C = product.block(part.X[span]).to(H.dtype)
            if part.weights is not None:
                C.mul_(part.weights[span, None].sqrt())
            for strip in spans(operator.n, _STRIP):  # only the lower triangle is needed
                H[strip.start :, strip].addmm_(C[:, strip.start :].mT, C[:, strip])
        H.mul_(float(total) / part.total_weight)
        for strip in spans(operator.n, _STRIP):  # in strips, to avoid a copy of the corner in the wide format
            H[strip].add_(corner[strip], alpha=ridge)
        noise, jitter = operator.n * torch.finfo(operator.wide).eps * float(H.diagonal().mean()), 0.0
        for _ in range(_JITTERS):
            L, failed = torch.linalg.cholesky_ex(H)
            if not int(failed) and bool(torch.isfinite(L.diagonal()).all()):
                return L, jitter
            del L  # before the next factor
            more = 9 * jitter or noise
            H.diagonal().add_(more)
            jitter += more
        raise SingularKernelError("the kernel's values at these rows are not finite, or far from positive definite")


@dataclass(frozen=True, eq=False)
class _Product:
    """``Cᵀ w (Y − C a)`` of a block of rows, or without Y: the function that is sent to a distributed source."""

    operator: KernelOperator

    def block(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b m"]:
        """``C`` of some rows."""
        op = self.operator
        return op.kernel.block(op.prepare(X), op.points, batch_invariant=False)

    def __call__(self, rows: Rows, a: Float[Tensor, "m c"], with_targets: bool) -> tuple[Tensor, ...]:
        op = self.operator
        # Vectors are rows: BLAS is up to ten times faster at ``aᵀCᵀ`` than at ``C a`` for two to ten columns.
        at = a.to(op.dtype).mT.contiguous()
        out = torch.zeros(at.shape, dtype=wide_dtype(op.X.device), device=op.X.device)
        for span in spans(len(rows), _block_rows(op.n)):
            C = self.block(rows.X[span].to(op.dtype))
            R = (at @ C.mT).to(out.dtype)
            if with_targets:
                R = rows.Y[span].mT - R
            if rows.weights is not None:
                R = R * rows.weights[span]
            out += R.to(C.dtype) @ C
        return (out.mT,)


@dataclass(frozen=True, eq=False)
class _NormalEquations:
    """Products with H, each a pass over the rows."""

    product: _Product
    corner: Float[Tensor, "m m"]
    source: RowSource
    ridge: float
    jitter: float
    """Number added to the diagonal of H if centres are repeated; of many equal solutions it selects a small one."""

    def times(self, V: Float[Tensor, "m c"]) -> Float[Tensor, "m c"]:
        """``H V``."""
        return self.source.reduce(self.product, V, False)[0] + self._penalty(V)

    def residual(self, a: Float[Tensor, "m c"]) -> Float[Tensor, "m c"]:
        """``Cᵀ W (Y − C a) − ridge K_mm a``."""
        return self.source.reduce(self.product, a, True)[0] - self._penalty(a)

    def _penalty(self, V: Float[Tensor, "m c"]) -> Float[Tensor, "m c"]:
        product = torch.cat([self.corner[s].to(V.dtype) @ V for s in spans(len(V), _STRIP)])
        return self.ridge * product + self.jitter * V


@dataclass(frozen=True, eq=False)
class _Run:
    coef: Float[Tensor, "m c"]
    steps: int
    error: float


def _iterate(
    normal: _NormalEquations,
    L: Float[Tensor, "m m"],
    outputs: int,
    tol: float,
    max_steps: int,
    clock: Clock,
) -> _Run:
    """Run preconditioned conjugate gradients on all columns at once; the final error comes from the true residual.

    ``√(rᵀ H̃⁻¹ r / bᵀ H̃⁻¹ b)``, with H̃ the preconditioner, is the relative error of the predictions as far as H̃
    approximates H.
    """
    a = torch.zeros(len(L), outputs, dtype=L.dtype, device=L.device)
    R = normal.residual(a)
    size = _dot(R, solve_factored(L, R))
    size = torch.where(size > 0, size, 1)
    steps, before_restart = 0, float("inf")
    while True:
        Z = solve_factored(L, R)
        P, rz = Z, _dot(R, Z)
        begun = steps
        # One step is made even after the time limit: without it there would be no function at all.
        while steps < max_steps and (steps == 0 or not clock.passed) and float((rz / size).max()) > tol**2:
            Q = normal.times(P)
            curvature = _dot(P, Q)
            alpha = torch.where(curvature > 0, rz / torch.where(curvature > 0, curvature, 1), 0)
            a, R = a + alpha * P, R - alpha * Q
            steps += 1
            Z = solve_factored(L, R)
            before, rz = rz, _dot(R, Z)
            P = Z + torch.where(before > 0, rz / torch.where(before > 0, before, 1), 0) * P
        R = normal.residual(a) if steps > begun else R
        error = float((_dot(R, solve_factored(L, R)) / size).clamp_min(0).max().sqrt())
        stalled = error > 0.5 * before_restart  # the format of the blocks allows no better result
        if error <= tol or steps >= max_steps or steps == begun or stalled or clock.passed:
            return _Run(a, steps, error)
        before_restart = error


def _dot(A: Float[Tensor, "m c"], B: Float[Tensor, "m c"]) -> Float[Tensor, " c"]:
    return (A * B).sum(dim=0)


def _weight(rows: Rows) -> tuple[Tensor, ...]:
    return (torch.tensor(rows.total_weight, dtype=wide_dtype(rows.X.device), device=rows.X.device),)


def _block_rows(m: int) -> int:
    """Number of rows of C in a block: few enough for the cache, many enough for an efficient product."""
    return max(128, min(2048, 2**19 // max(1, m)))
