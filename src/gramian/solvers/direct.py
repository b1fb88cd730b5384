"""Direct solver: Cholesky factorisation in place, with its precision checked by the residual.

In float32 the factor is a preconditioner for a few steps of iterative refinement, with residuals accumulated in
float64. If that does not converge, the system is solved in float64; if the matrix is not positive definite, a growing
jitter is added, with a warning and a record; if no jitter is enough, an error is raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core import format_bytes
from gramian.core.clock import Clock
from gramian.core.linalg import solve_factored
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
from gramian.solvers.cholesky import SMALL_ROWS, Factor, SmallCholeskyFactor, factor_of
from gramian.solvers.packed_factor import PackedFactor
from gramian.solvers.spectral import SpectralFactor
from gramian.solvers.system import RidgeSystem, StreamedSystem

SPECTRAL_ROWS = 250
"""Up to this number of rows an eigendecomposition, which gives all ridges, costs less than four Cholesky factors."""
_PLAIN_ROWS = 1000
"""Up to this number of rows all ridges of a path are factorised by LAPACK, in float32 where that is enough."""
_FLOAT32_RIDGE = 1e-3
"""Ridge, as a multiple of the mean of the diagonal, from which float32 gives leave-one-out errors to four digits."""
_STRIP_ROWS = 1000
"""From this number of rows on a factor in float64 is stored in strips; below it LAPACK's own is faster and small."""
_JITTERS = 8
_ACCEPTABLE = 1e-3
"""Largest relative residual that is accepted where a singular matrix allows no better; the record contains it."""


@dataclass(frozen=True, eq=False)
class RidgePoint:
    """Solution for one ridge of a path: coefficients and exact leave-one-out residuals ``yᵢ − f₋ᵢ(xᵢ)``."""

    ridge: float
    coef: Float[Tensor, "n c"]
    loo: Float[Tensor, "n c"]


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
        Yw = _scaled(Y.to(operator.wide), weights)
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
        return Solution(best[2], _scaled(best[0], weights), best[1], weights)

    def path(
        self,
        operator: KernelOperator,
        Y: Float[Tensor, "n c"],
        ridges: list[float],
        *,
        weights: Float[Tensor, " n"] | None = None,
        copies: Float[Tensor, " n"] | None = None,
        groups: Int[Tensor, " n"] | None = None,
        workspace: Workspace | None = None,
    ) -> list[RidgePoint]:
        """Compute solutions and exact leave-one-out residuals for several ridges of one matrix.

        The residual of row i without row i in the fit is ``αᵢ / [(K + λ)⁻¹]ᵢᵢ``: no refit is needed. Where a row stands
        for several ``copies``, one of them is left out: with the residual r of the fit and the leverage h of the row it
        is ``r / (1 − h / copies)``. With ``groups``, all rows of a group G are left out:
        ``([(K + λ)⁻¹]_GG)⁻¹ α_G``, copies included. The kernel matrix is computed once; up to :data:`SPECTRAL_ROWS`
        rows one eigendecomposition is used for all ridges. Ridges that float32 cannot solve are tried in float64; those
        too small for a positive definite matrix are left out.

        >>> import torch
        >>> from gramian.kernels import Gaussian, KernelOperator
        >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
        >>> Direct().path(K, torch.tensor([[1.0], [0.0]], dtype=torch.float64), [0.5])[0].loo.squeeze()
        tensor([ 1.0000, -0.4044], dtype=torch.float64)
        """
        for ridge in ridges:
            RidgeSystem(operator, Y, ridge, weights)  # checks the arguments
        workspace = Workspace() if workspace is None else workspace
        Yw = _scaled(Y.to(operator.wide), weights)
        if groups is not None:
            A = SmallCholeskyFactor(_fill(operator.widened(), weights, workspace))
            return [
                RidgePoint(ridge, _scaled(alpha, weights), _unscaled(residuals, weights))
                for ridge, alpha, residuals in _group_path(A, Yw, ridges, groups)
            ]
        points = []
        if operator.n <= SPECTRAL_ROWS and len(ridges) >= 4:
            spectral = SpectralFactor(_fill(operator.widened(), weights, workspace))
            for ridge in ridges:
                if spectral.positive(ridge):
                    alpha = spectral.solve(Yw, ridge)
                    points.append((ridge, alpha, spectral.inverse_diagonal(ridge)))
        elif operator.n <= _PLAIN_ROWS:
            points = _plain_path(_fill(operator.widened(), weights, workspace), Yw, ridges)
        else:
            left = list(ridges)
            for matrix in dict.fromkeys([operator, operator.widened()]):
                if not left:
                    break
                factor, failed = _factor(matrix, weights, workspace), []
                for ridge in left:
                    alpha, residual = Yw, float("inf")
                    if factor.factorize(ridge):
                        alpha, _, residual = self._refine(factor, Yw)
                    if residual <= max(self.tol, _ACCEPTABLE):
                        points.append((ridge, alpha, factor.inverse_diagonal().to(operator.wide)))
                    else:
                        failed.append(ridge)
                left = failed
                del factor  # before the memory of the next attempt is allocated
            points.sort(key=lambda point: ridges.index(point[0]))
        # With weights, coefficients and inverse are multiplied by √w and w: unscaled residuals are divided by √w.
        return [
            RidgePoint(ridge, _scaled(alpha, weights), _unscaled(_left_out(alpha, inverse, ridge, copies), weights))
            for ridge, alpha, inverse in points
        ]

    def loo(
        self,
        operator: KernelOperator,
        Y: Float[Tensor, "n c"],
        ridge: float,
        rows: Tensor,
        *,
        weights: Float[Tensor, " n"] | None = None,
        workspace: Workspace | None = None,
    ) -> Float[Tensor, "m c"]:
        """Compute exact leave-one-out residuals at some rows, for one ridge, at the cost of those rows only."""
        RidgeSystem(operator, Y, ridge, weights)  # checks the arguments
        workspace = Workspace() if workspace is None else workspace
        factor = _factor(operator, weights, workspace)
        if not factor.factorize(ridge):
            del factor  # before the memory of the next attempt is allocated
            factor = _factor(operator.widened(), weights, workspace)
            if not factor.factorize(ridge):
                raise SingularKernelError(_singular(ridge))
        alpha, _, _ = self._refine(factor, _scaled(Y.to(operator.wide), weights))
        inverse = factor.inverse_diagonal(rows).to(operator.wide)
        return _unscaled(alpha[rows] / inverse[:, None], None if weights is None else weights[rows])

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


def _fill(operator: KernelOperator, weights: Tensor | None, workspace: Workspace) -> Float[Tensor, "n n"]:
    """``√w K √w`` in the workspace: in this scaled system every row has the same ridge."""
    A = operator.fill(workspace.square(operator.n, operator.X, operator.dtype))
    if weights is not None:
        root = weights.sqrt().to(A.dtype)
        A.mul_(root[:, None]).mul_(root[None, :])
    return A


def _factor(
    operator: KernelOperator, weights: Tensor | None, workspace: Workspace, clock: Clock | None = None
) -> Factor:
    """Return the unfinished factor of ``√w K √w``: in strips where the wide format would need twice the memory."""
    if operator.dtype == torch.float64 and operator.n > _STRIP_ROWS:
        return PackedFactor(operator, weights, workspace, clock)
    return factor_of(_fill(operator, weights, workspace), clock)


def _scaled(V: Tensor, weights: Tensor | None) -> Tensor:
    return V if weights is None else V * weights.to(V.dtype).sqrt()[:, None]


def _unscaled(V: Tensor, weights: Tensor | None) -> Tensor:
    return V if weights is None else V / weights.to(V.dtype).sqrt()[:, None]


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _reached(best: tuple[Tensor, SolveInfo, KernelOperator] | None) -> str:
    return "nothing (no factor)" if best is None else f"{best[1].residual:.2g}"


def _singular(ridge: float) -> str:
    return (
        f"the kernel matrix is singular with ridge={ridge:.3g}, and stays so with jitter: "
        "raise ridge, or look for repeated rows with different targets"
    )


def _plain_path(
    K: Float[Tensor, "n n"], Y: Float[Tensor, "n c"], ridges: list[float]
) -> list[tuple[float, Tensor, Tensor]]:
    """Return ridge, coefficients and diagonal of the inverse, by LAPACK, for the ridges with a positive matrix."""
    narrow, wide = SmallCholeskyFactor(K.to(torch.float32)), SmallCholeskyFactor(K)
    enough = _FLOAT32_RIDGE * float(wide.diagonal.mean())
    points = []
    for ridge in ridges:
        factor = narrow if ridge >= enough else wide
        if factor.factorize(ridge):
            points.append((ridge, factor.solve(Y).to(Y), factor.inverse_diagonal().to(Y)))
    return points


def _group_path(
    factor: SmallCholeskyFactor, Y: Float[Tensor, "n c"], ridges: list[float], groups: Int[Tensor, " n"]
) -> Iterator[tuple[float, Tensor, Tensor]]:
    """Yield ridge, coefficients and residuals without the row's group, for the ridges with a positive matrix."""
    together = groups[:, None] == groups[None, :]
    for ridge in ridges:
        if factor.factorize(ridge):
            alpha, inverse = factor.solve(Y), torch.cholesky_inverse(factor.L)
            # Blocks of the inverse, one for each group, are a positive definite matrix as well.
            blocks = torch.linalg.cholesky(torch.where(together, inverse, 0))
            yield ridge, alpha, solve_factored(blocks, alpha)


def _left_out(
    alpha: Float[Tensor, "n c"], inverse: Float[Tensor, " n"], ridge: float, copies: Float[Tensor, " n"] | None
) -> Float[Tensor, "n c"]:
    """Return residuals without each row, or without one of its copies, from the diagonal of the inverse."""
    if copies is None:
        return alpha / inverse[:, None]
    rest = ridge * inverse  # 1 − h, because the residual of the fit is λα
    copies = copies.to(rest)
    return ridge * alpha / ((copies - 1 + rest) / copies)[:, None]
