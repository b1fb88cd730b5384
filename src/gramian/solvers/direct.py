"""Direct solver: Cholesky factorisation in place, with its precision checked by the residual.

In float32 the factor is a preconditioner for a few steps of iterative refinement, with residuals accumulated in
float64. If that does not converge, the system is solved in float64; if the matrix is not positive definite, a growing
jitter is added, with a warning and a record; if no jitter is enough, an error is raised.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import format_bytes
from gramian.core.clock import Clock
from gramian.kernels import KernelOperator
from gramian.solvers.base import (
    SingularKernelError,
    Solution,
    SolveInfo,
    Solver,
    Workspace,
    relative_residual,
    warn_numbers,
)
from gramian.solvers.cholesky import SMALL_ROWS, Factor, factor_of
from gramian.solvers.left_out import left_out_residuals
from gramian.solvers.packed_factor import PackedFactor
from gramian.solvers.scaled import fill_scaled, scaled, unscaled
from gramian.solvers.system import RidgeSystem, StreamedSystem

_STRIP_ROWS = 1000
"""From this number of rows on a factor in float64 is stored in strips; below it LAPACK's own is faster and small."""
_JITTERS = 8
_ACCEPTABLE = 1e-3
"""Largest relative residual that is accepted where a singular matrix allows no better; the record contains it."""


@dataclass(frozen=True)
class Direct(Solver):
    """Exact solution by Cholesky factorisation; needs memory for one ``n × n`` matrix.

    Parameters
    ----------
    tol : float
        Relative residual to reach. Rounding K to float32 changes it by about 1e-5 if the ridge is small; float64
        reaches 1e-10 and less without refinement.
    max_refinements : int
        Refinement steps before the system is solved in the wide format.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> system = RidgeSystem(K, torch.tensor([[1.0], [0.0]], dtype=torch.float64), ridge=0.5)
    >>> Direct().solve(system).coef.squeeze()
    tensor([ 0.7970, -0.3223], dtype=torch.float64)
    """

    tol: float = 1e-4
    max_refinements: int = 8

    def bytes_needed(self, n: int, dtype: torch.dtype, outputs: int = 1) -> int:
        """Peak memory of a solve: matrix and factor, in one block from 2,000 rows on (in strips in the wide format)."""
        size = torch.finfo(dtype).bits // 8
        if size == 8:
            return self.last_resort_bytes(n)
        return (2 * n * n if n <= SMALL_ROWS else n * (n + 640)) * size

    def last_resort_bytes(self, n: int) -> int:
        return 2 * n * n * 8 if n <= _STRIP_ROWS else PackedFactor.bytes_needed(n, torch.float64)

    def solve(
        self,
        system: RidgeSystem | StreamedSystem,
        *,
        guess: Float[Tensor, "n c"] | None = None,
        workspace: Workspace | None = None,
        clock: Clock | None = None,
    ) -> Solution:
        """See :meth:`Solver.solve`; a factor that is not finished at the time limit is dropped (TimeLimitReached)."""
        system = system.in_memory()
        operator, Y, ridge, weights = system.operator, system.Y, system.ridge, system.weights
        workspace = Workspace() if workspace is None else workspace
        Yw = scaled(Y.to(operator.wide), weights)
        tries = [operator] if operator.dtype == operator.wide else [operator, operator.widened()]
        best: tuple[Tensor, SolveInfo, KernelOperator] | None = None
        for matrix in tries:
            need = self.bytes_needed(operator.n, matrix.dtype)
            if matrix is not operator and not self._fits(operator, need):
                warn_numbers(
                    f"{_name(operator.dtype)} reached a relative residual of {_reached(best)}, and "
                    f"{_name(matrix.dtype)} needs {format_bytes(need)}, more than max_memory; raise ridge or max_memory"
                )
                break
            factor = _factor(matrix, weights, workspace, clock)
            if not factor.factorize(ridge):
                del factor  # before the memory of the next attempt is allocated
                continue
            alpha, steps, residual = self._refine(factor, Yw)
            del factor
            status = f"solved in {_name(matrix.dtype)}" + (f" with {steps} refinements" if steps else "")
            info = SolveInfo("direct", status, steps, residual, ridge, 0.0, _name(matrix.dtype), need)
            if best is None or residual < best[1].residual:
                best = alpha, info, matrix
            if residual <= self.tol:
                break
        if best is None or not best[1].residual <= max(self.tol, _ACCEPTABLE):
            best = self._with_jitter(operator, Yw, ridge, weights, workspace, clock)
        return Solution(best[2], scaled(best[0], weights), best[1], weights)

    def loo(
        self,
        operator: KernelOperator,
        Y: Float[Tensor, "n c"],
        ridge: float,
        rows: Tensor,
        *,
        weights: Float[Tensor, " n"] | None = None,
        copies: Float[Tensor, " n"] | None = None,
        workspace: Workspace | None = None,
    ) -> Float[Tensor, "m c"]:
        """Compute exact leave-one-out residuals at some rows, for one ridge, at the cost of those rows only.

        Where a row stands for several ``copies``, one of them is left out.
        """
        RidgeSystem(operator, Y, ridge, weights)  # checks the arguments
        workspace = Workspace() if workspace is None else workspace
        factor = _factor(operator, weights, workspace)
        if not factor.factorize(ridge):
            del factor  # before the memory of the next attempt is allocated
            factor = _factor(operator.widened(), weights, workspace)
            if not factor.factorize(ridge):
                raise SingularKernelError(_singular(ridge))
        alpha, _, _ = self._refine(factor, scaled(Y.to(operator.wide), weights))
        inverse = factor.inverse_diagonal(rows).to(operator.wide)
        residuals = left_out_residuals(alpha[rows], inverse, ridge, None if copies is None else copies[rows])
        return unscaled(residuals, None if weights is None else weights[rows])

    def _refine(self, factor: Factor, Y: Float[Tensor, "n c"]) -> tuple[Tensor, int, float]:
        """Run iterative refinement; return coefficients, steps taken and residual."""
        alpha = factor.solve(Y).to(Y.dtype)
        R = Y - factor.matmul(alpha)
        residual = float(relative_residual(R, Y).max())
        for step in range(self.max_refinements):
            if residual <= self.tol:
                return alpha, step, residual
            better = alpha + factor.solve(R).to(Y.dtype)
            R = Y - factor.matmul(better)
            before, residual = residual, float(relative_residual(R, Y).max())
            if not residual < before:
                return alpha, step, before
            alpha = better
            if residual > 0.5 * before:  # this factor gives no better result
                return alpha, step + 1, residual
        return alpha, self.max_refinements, residual

    def _with_jitter(
        self,
        operator: KernelOperator,
        Y: Float[Tensor, "n c"],
        ridge: float,
        weights: Tensor | None,
        workspace: Workspace,
        clock: Clock | None,
    ) -> tuple[Tensor, SolveInfo, KernelOperator]:
        """Add ``n·eps`` times the mean diagonal, then ten times more, and so on, until the system can be solved."""
        need = self.bytes_needed(operator.n, operator.wide)
        matrix = operator.widened() if self._fits(operator, need) else operator
        need, dtype = self.bytes_needed(operator.n, matrix.dtype), _name(matrix.dtype)
        factor = _factor(matrix, weights, workspace, clock)
        jitter = operator.n * torch.finfo(matrix.dtype).eps * float(factor.diagonal.mean())
        for _ in range(_JITTERS):
            if factor.factorize(ridge + jitter):
                alpha, steps, residual = self._refine(factor, Y)
                if residual <= max(self.tol, _ACCEPTABLE):
                    warn_numbers(
                        f"the kernel matrix is numerically singular with ridge={ridge:.3g} (repeated rows?): "
                        f"solved with {jitter:.3g} added to its diagonal, relative residual {residual:.2g}"
                    )
                    status = f"solved in {dtype} with jitter {jitter:.3g}"
                    info = SolveInfo("direct", status, steps, residual, ridge + jitter, jitter, dtype, need)
                    return alpha, info, matrix
            jitter *= 10
        raise SingularKernelError(_singular(ridge))

    @staticmethod
    def _fits(operator: KernelOperator, need: int) -> bool:
        return operator.max_bytes is None or need <= operator.max_bytes


def _factor(
    operator: KernelOperator, weights: Tensor | None, workspace: Workspace, clock: Clock | None = None
) -> Factor:
    """Return the unfinished factor of ``√w K √w``: in strips where the wide format would need twice the memory."""
    if operator.dtype == torch.float64 and operator.n > _STRIP_ROWS:
        return PackedFactor(operator, weights, workspace, clock)
    return factor_of(fill_scaled(operator, weights, workspace), clock)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _reached(best: tuple[Tensor, SolveInfo, KernelOperator] | None) -> str:
    return "nothing (no factor)" if best is None else f"{best[1].residual:.2g}"


def _singular(ridge: float) -> str:
    return (
        f"the kernel matrix is singular with ridge={ridge:.3g}, and stays so with jitter: "
        "raise ridge, or look for repeated rows with different targets"
    )
