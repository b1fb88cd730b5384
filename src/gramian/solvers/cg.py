"""Conjugate gradients with a Nyström preconditioner, column by column, never trusting its own residual.

Several outputs advance together and each stops on its own. The residual that recursion carries drifts from the true
one, so it is replaced from time to time; if the true one stops falling for long, the direct solver takes over where
there is room for it, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.tiles import spans
from gramian.kernels import KernelOperator
from gramian.solvers.base import (
    Solution,
    SolveInfo,
    Solver,
    Workspace,
    check_system,
    relative_residual,
    warn_numbers,
)
from gramian.solvers.direct import Direct
from gramian.solvers.nystrom import NystromPreconditioner

Product = Callable[[Tensor], Tensor]
_PATIENCE = 6
"""Computations of the true residual without progress before it counts as stalled: it may rise for a while."""


@dataclass(frozen=True)
class ConjugateGradient(Solver):
    """Iterative solution to a relative residual of ``tol``; memory is ``n · centers`` (and ``n²`` where it is free).

    Parameters
    ----------
    tol : float
        Relative residual at which a column stops.
    max_steps : int
    centers : int
        Columns of the Nyström preconditioner; 0 for none.
    refresh : int
        Steps between two computations of the true residual.
    seed : int
        Chooses the preconditioner's columns.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> ConjugateGradient().solve(K, torch.tensor([[1.0], [0.0]], dtype=torch.float64), ridge=0.5).coef.squeeze()
    tensor([ 0.7970, -0.3223], dtype=torch.float64)
    """

    tol: float = 1e-6
    max_steps: int = 500
    centers: int = 1000
    refresh: int = 25
    seed: int = 0

    def bytes_needed(self, n: int, dtype: torch.dtype) -> int:
        """Peak memory without a cached matrix: the preconditioner's columns, and its factor in the wide format."""
        return int(n * min(self.centers, n) * (torch.finfo(dtype).bits // 8 + 8))

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
        root = torch.ones(operator.n, dtype=operator.wide, device=Y.device)
        root = root[:, None] if weights is None else weights.to(operator.wide).sqrt()[:, None]
        Yw = Y.to(operator.wide) * root
        product, cached = self._product(operator, ridge, root, workspace)
        precondition: Product = lambda R: R  # noqa: E731
        if self.centers:
            rng = torch.Generator().manual_seed(self.seed)
            precondition = NystromPreconditioner(operator, ridge, self.centers, rng, weights)
        X = torch.zeros_like(Yw) if start is None else start.to(Yw.dtype) / root
        X, steps, residual, stalled = self._iterate(product, precondition, Yw, X)
        need = self.bytes_needed(operator.n, operator.dtype) + cached
        info = SolveInfo(
            "conjugate gradients",
            f"converged in {steps} steps",
            steps,
            residual,
            ridge,
            0.0,
            str(operator.dtype).removeprefix("torch."),
            need,
        )
        if residual <= self.tol:
            return Solution(X * root, info, operator)
        trouble = f"{'stalled' if stalled else 'stopped'} after {steps} steps at a relative residual of {residual:.2g}"
        direct = Direct(tol=self.tol)
        if operator.max_bytes is None or direct.bytes_needed(operator.n, operator.dtype) <= operator.max_bytes:
            warn_numbers(f"conjugate gradients {trouble} (tol={self.tol:.2g}): solved directly instead")
            solution = direct.solve(operator, Y, ridge, weights=weights, workspace=workspace)
            status = f"conjugate gradients {trouble}, then {solution.info.status}"
            return replace(solution, info=replace(solution.info, status=status, steps=steps))
        warn_numbers(
            f"conjugate gradients {trouble} (tol={self.tol:.2g}), and a direct solve does not fit into max_memory: "
            "raise ridge, centers or max_memory"
        )
        return Solution(X * root, replace(info, status=trouble), operator)

    def _product(
        self, operator: KernelOperator, ridge: float, root: Tensor, workspace: Workspace | None
    ) -> tuple[Product, int]:
        """``V → √w K √w V + ridge V``, from a cached matrix where the budget has room for one."""
        size = operator.dense_bytes()
        if operator.max_bytes is not None and size + self.bytes_needed(operator.n, operator.dtype) > operator.max_bytes:
            return lambda V: root * operator.matmul(root * V) + ridge * V, 0
        space = Workspace() if workspace is None else workspace
        K = operator.fill(space.square(operator.n, operator.X, operator.dtype))

        def product(V: Tensor) -> Tensor:
            scaled = root * V
            out = torch.empty_like(V)
            for rows in spans(operator.n, 512):
                out[rows] = K[rows].to(V.dtype) @ scaled
            return root * out + ridge * V

        return product, size

    def _iterate(
        self, product: Product, precondition: Product, Y: Tensor, X: Tensor
    ) -> tuple[Tensor, int, float, bool]:
        """Preconditioned conjugate gradients; returns the best iterate, steps, its true residual, stalled or not.

        Each column stops when its own residual is small. Every ``refresh`` steps the residual is computed anew; the
        search direction survives that, unless the recursion had drifted away.
        """
        R = Y - product(X)
        Z = precondition(R)
        P, rz = Z, (R * Z).sum(dim=0)
        best, best_error, idle = X, relative_residual(R, Y), 0
        step = 0
        while step < self.max_steps and bool((best_error > self.tol).any()) and idle < _PATIENCE:
            AP = product(P)
            curvature = (P * AP).sum(dim=0)
            active = (curvature > 0) & (relative_residual(R, Y) > 0.1 * self.tol)
            length = torch.where(active, rz / torch.where(active, curvature, 1), 0)
            X = X + length * P
            R = R - length * AP
            step += 1
            fresh = step % self.refresh == 0 or step == self.max_steps
            drifted = torch.zeros_like(active)
            if fresh or not bool((relative_residual(R, Y) > 0.5 * self.tol).any()):
                true = Y - product(X)
                drifted = (true - R).norm(dim=0) > 0.1 * true.norm(dim=0)
                R, errors = true, relative_residual(true, Y)
                idle = 0 if bool((errors < 0.9 * best_error).any()) else idle + fresh
                better = errors < best_error
                best, best_error = torch.where(better, X, best), torch.where(better, errors, best_error)
            Z = precondition(R)
            rz_new = (R * Z).sum(dim=0)
            P = Z + torch.where(drifted | (rz == 0), 0, rz_new / torch.where(rz == 0, 1, rz)) * P
            rz = rz_new
        return best, step, float(best_error.max()), idle >= _PATIENCE
