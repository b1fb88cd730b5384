"""Conjugate gradients with a Nyström preconditioner, for several outputs at once, with the true residual checked.

Half of the symmetric matrix is stored, in the working format, and products with it are computed in that format: half
the memory of a direct solve and a fraction of its work. The residual of the recursion drifts from the true one, so it
is replaced by one computed in the wide format whenever it has fallen by a factor of some thousand: the result is as
accurate as if every product had been wide. All outputs advance together and each stops separately. If the true residual
does not fall fast enough, the preconditioner gets more columns; if that does not help, the direct solver is used,
provided that it fits into memory. The record contains each of these events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.clock import Clock, TimeLimitReached
from gramian.kernels import KernelOperator
from gramian.solvers.base import (
    FLOP_SECONDS,
    Solution,
    SolveInfo,
    Solver,
    Workspace,
    entry_seconds,
    relative_residual,
    warn_numbers,
)
from gramian.solvers.direct import Direct
from gramian.solvers.packed import PackedMatrix
from gramian.solvers.preconditioner import NystromPreconditioner
from gramian.solvers.system import RidgeSystem, StreamedSystem

Product = Callable[[Tensor], Tensor]
_PATIENCE = 6
"""Computations of the true residual without progress before it counts as stalled: it may rise for a while."""
_ROUGH = 1e-3
"""From this ``tol`` on the true residual is computed with the narrow product, whose error is smaller than that."""
_TRUSTED = 2e-4
"""Ratio by which the residual of the recursion may fall before the true one is computed: float32 drifts by 4e-5."""

_USUAL_STEPS, _STEP_SECONDS = 40, 2e-10
"""Steps of a usual solve, and the time of a step per entry of the matrix: see :meth:`Solver.seconds_needed`."""


class Iteration(NamedTuple):
    """End of an iteration: the best iterate, the steps taken, its true residual; ``stalled`` if it made no progress."""

    X: Tensor
    steps: int
    residual: float
    stalled: bool


class Products(NamedTuple):
    """Products ``Vᵀ → Vᵀ (√w K √w + ridge)`` in the working and in the wide format, and parts of ``√w K √w``.

    ``bytes`` is the memory of the stored matrix.
    """

    narrow: Product
    wide: Product
    columns: Product
    diagonal: Tensor
    bytes: int


@dataclass(frozen=True)
class ConjugateGradient(Solver):
    """Iterative solution to a relative residual of ``tol``.

    Memory is ``n · preconditioner_rank``, and ``n²/2`` more where that fits.

    Parameters
    ----------
    tol : float
        Relative residual at which a column stops.
    max_steps : int
        Number of steps after which a larger preconditioner, or the direct solver, is tried.
    preconditioner_rank : int
        Columns of the Nyström preconditioner; 0 for none.
    refresh : int
        Steps between two computations of the true residual, at most.
    seed : int
        Seed for the selection of the preconditioner's columns.
    store_matrix : bool
        Store half of the matrix if it fits into memory; otherwise every step computes it again.

    >>> import torch
    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> system = RidgeSystem(K, torch.tensor([[1.0], [0.0]], dtype=torch.float64), ridge=0.5)
    >>> ConjugateGradient().solve(system).coef.squeeze()
    tensor([ 0.7970, -0.3223], dtype=torch.float64)
    """

    tol: float = 1e-6
    max_steps: int = 500
    preconditioner_rank: int = 1000
    refresh: int = 25
    seed: int = 0
    store_matrix: bool = True

    def bytes_needed(self, n: int, dtype: torch.dtype, outputs: int = 1) -> int:
        """Peak memory: preconditioner (at worst in the wide format), vectors, and the matrix if it is stored."""
        m = min(self.preconditioner_rank, n)
        besides = n * m * 8 + 5 * m * m * 8 + 6 * n * outputs * 8
        return besides + (PackedMatrix.bytes_needed(n, dtype) if self.store_matrix else 0)

    def seconds_needed(self, n: int, columns: int, outputs: int = 1) -> float:
        """Nominal time: the matrix, the preconditioner, and a usual number of steps."""
        m, entry = min(self.preconditioner_rank, n), n * n * entry_seconds(columns)
        step = _STEP_SECONDS * n * n * max(1.0, outputs / 4)
        matrix, step = (entry / 2, step) if self.store_matrix else (0.0, entry)
        return matrix + 5 * FLOP_SECONDS * n * m * m + min(self.max_steps, _USUAL_STEPS) * step

    def last_resort_bytes(self, n: int) -> int:
        """Peak memory of a second attempt with twice the preconditioner, or of a direct solve after it."""
        more = replace(self, preconditioner_rank=2 * self.preconditioner_rank).bytes_needed(n, torch.float32)
        return max(more, Direct().bytes_needed(n, torch.float32), Direct().last_resort_bytes(n))

    def solve(
        self,
        system: RidgeSystem | StreamedSystem,
        *,
        guess: Float[Tensor, "n c"] | None = None,
        workspace: Workspace | None = None,
        clock: Clock | None = None,
    ) -> Solution:
        """See :meth:`Solver.solve`; at the time limit the best iterate is the result, and no direct solve follows."""
        clock = Clock() if clock is None else clock
        system = system.in_memory()
        operator, Y, ridge, weights = system.operator, system.Y, system.ridge, system.weights
        wide = operator.wide
        root = None if weights is None else weights.to(wide).sqrt()
        one = 1.0 if root is None else root
        Yt = Y.to(wide).mT.contiguous() * one
        X = torch.zeros_like(Yt) if guess is None else guess.to(wide).mT.contiguous() / one
        products = self._products(operator, ridge, root, workspace, clock)
        direct = Direct(tol=self.tol)
        fits = operator.max_bytes is None or direct.bytes_needed(operator.n, operator.dtype) <= operator.max_bytes
        tries, held, trouble = self._tries(operator, direct_fits=fits), 0, ""
        steps, run = 0, Iteration(X, 0, float("inf"), False)
        for rank in tries:
            if steps == 0:
                clock.check()  # later there is an iterate to return
            last_resort = rank == tries[-1] and not fits
            precondition: Product = lambda R: R  # noqa: E731
            if rank:
                precondition = self._preconditioner(products, ridge, rank, wide)
                held = max(held, precondition.bytes)
            run = self._iterate(products, precondition, Yt, X, clock, patient=last_resort)
            X, steps = run.X, steps + run.steps
            if run.residual <= self.tol or clock.passed:
                break
            trouble += f"{'stalled' if run.stalled else 'stopped'} after {steps} steps at {run.residual:.2g}, "
        coef = (X * one).mT.contiguous()
        dtype = str(operator.dtype).removeprefix("torch.")
        status = f"{trouble}converged in {steps} steps" + (f" with preconditioner_rank={rank}" if trouble else "")
        info = SolveInfo(
            "conjugate gradients", status, steps, run.residual, ridge, 0.0, dtype, products.bytes + held + 6 * Yt.nbytes
        )
        if run.residual <= self.tol:
            return Solution(operator, coef, info, weights)
        if clock.passed:
            status = f"{trouble}stopped by the time limit after {steps} steps at {run.residual:.2g} (relative residual)"
            return Solution(operator, coef, replace(info, status=status, cut_short=True), weights)
        trouble = f"{trouble.removesuffix(', ')} (relative residual)"
        if fits:
            warn_numbers(f"conjugate gradients {trouble}, tol={self.tol:.2g}: solved directly instead")
            del products, precondition  # their memory is needed
            try:
                solution = direct.solve(system, workspace=workspace, clock=clock)
            except TimeLimitReached:
                status = f"{trouble}, and the time limit ended the direct solve"
                return Solution(operator, coef, replace(info, status=status, cut_short=True), weights)
            status = f"conjugate gradients {trouble}, then {solution.info.status}"
            return replace(solution, info=replace(solution.info, status=status, steps=steps))
        warn_numbers(
            f"conjugate gradients {trouble}, tol={self.tol:.2g}, and a direct solve does not fit into max_memory: "
            "raise ridge, preconditioner_rank or max_memory"
        )
        return Solution(operator, coef, replace(info, status=trouble), weights)

    def _tries(self, operator: KernelOperator, *, direct_fits: bool) -> list[int]:
        """Numbers of columns of the preconditioner to try in turn: doubled once, or as often as memory allows."""
        n, tries = operator.n, [min(self.preconditioner_rank, operator.n)]
        while 0 < 2 * tries[-1] <= n // 2 and len(tries) < (2 if direct_fits else 4):
            more = replace(self, preconditioner_rank=2 * tries[-1], store_matrix=False)
            if operator.max_bytes is not None and more.bytes_needed(n, operator.dtype) > operator.max_bytes:
                break
            tries.append(more.preconditioner_rank)
        return tries

    def _products(
        self, operator: KernelOperator, ridge: float, root: Tensor | None, workspace: Workspace | None, clock: Clock
    ) -> Products:
        """Make the products, from a stored matrix if it fits into the budget."""
        size = PackedMatrix.bytes_needed(operator.n, operator.dtype, operator.tile)
        need = replace(self, store_matrix=False).bytes_needed(operator.n, operator.dtype) + size
        stored = self.store_matrix and (operator.max_bytes is None or need <= operator.max_bytes)
        multiply: Product = lambda Vt: operator.matmul(Vt.mT).mT  # noqa: E731
        columns: Product = operator.columns
        if stored:
            packed = PackedMatrix(operator, Workspace() if workspace is None else workspace, clock)
            multiply, columns = packed.matmul, packed.columns

        def product(Vt: Tensor) -> Tensor:
            scale = None if root is None else root.to(Vt.dtype)
            out = multiply(Vt if scale is None else Vt * scale).to(Vt.dtype)
            return (out if scale is None else out * scale) + ridge * Vt

        def scaled_columns(chosen: Tensor) -> Tensor:
            C = columns(chosen)
            return C if root is None else C.mul_(root.to(C.dtype)[:, None]).mul_(root[chosen].to(C.dtype))

        diagonal = operator.diagonal().to(operator.wide)
        return Products(
            narrow=lambda Vt: product(Vt.to(operator.dtype)).to(Vt.dtype) if stored else product(Vt),
            wide=product,
            columns=scaled_columns,
            diagonal=diagonal if root is None else diagonal * root.square(),
            bytes=size if stored else 0,
        )

    def _preconditioner(self, products: Products, ridge: float, rank: int, wide: torch.dtype) -> NystromPreconditioner:
        n = len(products.diagonal)
        chosen = torch.randperm(n, generator=torch.Generator().manual_seed(self.seed))[:rank].sort().values
        chosen = chosen.to(products.diagonal.device)
        return NystromPreconditioner(products.columns, chosen, products.diagonal, ridge, wide)

    def _iterate(
        self, products: Products, precondition: Product, Y: Tensor, X: Tensor, clock: Clock, *, patient: bool
    ) -> Iteration:
        """Run preconditioned conjugate gradients on the rows of Y; return the iterate with the smallest true residual.

        A guess is first multiplied by the best scalar: coefficients of another round have the right shape but rarely
        the right size. When the true residual replaces that of the recursion, the search direction is kept unless the
        two have drifted apart. ``patient`` declares that no further attempt follows.
        """
        R, check = Y.clone(), products.narrow if self.tol >= _ROUGH else products.wide
        if bool(X.any()):
            AX = products.narrow(X)
            energy = (X * AX).sum(dim=1, keepdim=True)
            factor = torch.where(energy > 0, (X * Y).sum(dim=1, keepdim=True) / torch.where(energy > 0, energy, 1), 0)
            X, R = factor * X, Y - factor * AX
        Z = precondition(R)
        P, rz = Z, (R * Z).sum(dim=1, keepdim=True)
        best, best_error = X, _errors(R, Y)
        first, trusted, since, idle, step = best_error, best_error, 0, 0, 0
        stalled = False
        while step < self.max_steps and bool((best_error > self.tol).any()) and not (stalled or clock.passed):
            live = (best_error > self.tol).squeeze(1).nonzero().squeeze(1)
            AP = torch.zeros_like(P)
            AP[live] = products.narrow(P[live])
            curvature = (P * AP).sum(dim=1, keepdim=True)
            active = curvature > 0
            length = torch.where(active, rz / torch.where(active, curvature, 1), 0)
            X, R = X + length * P, R - length * AP
            step, since = step + 1, since + 1
            errors, drifted = _errors(R, Y), torch.zeros_like(active)
            if (
                bool((errors[live] <= torch.maximum(_TRUSTED * trusted[live], _almost(self.tol))).all())
                or since == self.refresh
                or step == self.max_steps
                or clock.passed
            ):
                true = Y - check(X)
                drifted = (true - R).norm(dim=1, keepdim=True) > 0.1 * true.norm(dim=1, keepdim=True)
                R, errors = true, _errors(true, Y)
                idle = 0 if bool((errors < 0.9 * best_error).any()) else idle + 1
                better = errors < best_error
                best, best_error = torch.where(better, X, best), torch.where(better, errors, best_error)
                trusted, since = errors, 0
                stalled = idle >= _PATIENCE or (not patient and self._hopeless(first, best_error, step))
            Z = precondition(R)
            rz_new = (R * Z).sum(dim=1, keepdim=True)
            P = Z + torch.where(drifted | (rz == 0), 0, rz_new / torch.where(rz == 0, 1, rz)) * P
            rz = rz_new
        return Iteration(best, step, float(best_error.max()), stalled)

    def _hopeless(self, first: Tensor, now: Tensor, step: int) -> bool:
        """True if ``max_steps`` would not be enough for some column even at three times the rate so far."""
        done = (first / now.clamp_min(1e-300)).log10().clamp_min(0)
        left = (now / self.tol).log10()
        return step >= 2 * self.refresh and bool((left * step > 3 * done * (self.max_steps - step)).any())


def _errors(R: Tensor, Y: Tensor) -> Tensor:
    return relative_residual(R.mT, Y.mT)[:, None]


def _almost(tol: float) -> Tensor:
    return torch.tensor(0.7 * tol)
