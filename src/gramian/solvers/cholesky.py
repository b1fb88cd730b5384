"""Cholesky factorisation in place, by panels of matrix products.

The buffer holds the full symmetric matrix A. Factorisation writes L into the lower triangle and leaves the strict upper
one unchanged, so the matrix remains available for residuals, another diagonal or a second attempt, without more memory.
Panels are products on torch's own threads: LAPACK's factorisation through other libraries crashed with two threads at
large n, and two pools of threads compete for the same cores. Right-hand sides are rows: BLAS is several times faster at
``Vᵀ A`` than at ``A V`` for a few columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core import wide_dtype
from gramian.core.clock import Clock
from gramian.core.linalg import solve_factored
from gramian.core.tiles import spans, upper_tiles
from gramian.kernels.operator import add_tile

_PANEL = 192
_TILE = 1024
SMALL_ROWS = 2000
"""Up to this number of rows one call of LAPACK costs less than the panels of the in-place factor."""
_CACHED = 384
"""Side of the tiles that a product reads: one of them fits into a core's cache in the wide format."""


class Factor(ABC):
    """``A + shift·I = L Lᵀ`` of a symmetric matrix, for several shifts one after another.

    Parameters
    ----------
    A : Tensor (n, n)
        The full symmetric matrix; it is overwritten.
    clock : Clock, optional
        Its limit ends a factorisation by blocks with :class:`TimeLimitReached`.
    """

    def __init__(self, A: Float[Tensor, "n n"], clock: Clock | None = None) -> None:
        self.A = A
        self.clock = clock
        self.diagonal = A.diagonal().clone()
        self.shift = 0.0

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.A.shape[0]

    def check_time(self) -> None:
        """Raise :class:`TimeLimitReached` once the time limit is used up."""
        if self.clock is not None:
            self.clock.check()

    @abstractmethod
    def factorize(self, shift: float) -> bool:
        """Factorise ``A + shift·I``; False if it is not positive definite in this format. May be called repeatedly."""

    @abstractmethod
    def solve(self, B: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """``(A + shift·I)⁻¹ B`` in the factor's format."""

    @abstractmethod
    def matmul(self, V: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """``(A + shift·I) V``, accumulated in the wide format."""

    @abstractmethod
    def inverse_diagonal(self, rows: Int[Tensor, " m"] | None = None) -> Float[Tensor, " m"]:
        """Diagonal of ``(A + shift·I)⁻¹`` at all rows, or at some."""


class BlockFactor(Factor):
    """A factor whose triangular systems are solved block by block."""

    block: int
    """Rows of a block."""

    @abstractmethod
    def _forward(self, B: Float[Tensor, "c m"], start: int = 0) -> Float[Tensor, "c m"]:
        """``(L⁻¹ Bᵀ)ᵀ`` in place, for a Bᵀ whose rows before ``start``, where a block begins, are zero and left out."""

    def inverse_diagonal(self, rows: Int[Tensor, " m"] | None = None) -> Float[Tensor, " m"]:
        """Diagonal of ``(A + shift·I)⁻¹`` at all rows, or at some: squared column norms of ``L⁻¹``."""
        if rows is None:
            rows = torch.arange(self.n, device=self.diagonal.device)
        order = rows.argsort()
        out = self.diagonal.new_empty(len(rows))
        for part in spans(len(rows), _PANEL):
            chosen = rows[order[part]]
            start = int(chosen[0]) // self.block * self.block
            E = self.diagonal.new_zeros(len(chosen), self.n - start)
            E[torch.arange(len(chosen), device=E.device), chosen - start] = 1
            out[order[part]] = self._forward(E, start).square().sum(dim=1)
        return out


class CholeskyFactor(BlockFactor):
    """A factor in place, with A and L in one buffer.

    >>> A = torch.tensor([[4.0, 2.0], [2.0, 3.0]])
    >>> factor = CholeskyFactor(A)
    >>> factor.factorize(shift=0.0)
    True
    >>> factor.solve(torch.tensor([[1.0], [0.0]])).squeeze()
    tensor([ 0.3750, -0.2500])
    """

    def __init__(self, A: Float[Tensor, "n n"], clock: Clock | None = None) -> None:
        super().__init__(A, clock)
        self.block = _PANEL
        self._inverses: list[Tensor] = []
        self._clean = True

    def factorize(self, shift: float) -> bool:
        if not self._clean:
            self._restore()
        self._clean, self.shift = False, shift
        self._inverses = []
        A = self.A
        A.diagonal().copy_(self.diagonal + shift)
        for panel in spans(self.n, _PANEL):
            self.check_time()
            column = A[panel.start :, panel]
            above = A[panel, panel].triu(1)  # entries of A, restored below
            if panel.start:
                column.addmm_(A[panel.start :, : panel.start], A[panel, : panel.start].mT, alpha=-1)
            L, failed = torch.linalg.cholesky_ex(A[panel, panel])
            if int(failed) or not bool(torch.isfinite(L.diagonal()).all()):
                A[panel, panel] = above + A[panel, panel].tril()
                return False
            identity = torch.eye(len(L), dtype=L.dtype, device=L.device)
            inverse = torch.linalg.solve_triangular(L, identity, upper=False)
            self._inverses.append(inverse)
            A[panel, panel] = L + above
            below = A[panel.stop :, panel]
            below.copy_(below @ inverse.mT)
        return True

    def solve(self, B: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        return self._backward(self._forward(B.mT.to(self.A.dtype).clone(memory_format=torch.contiguous_format))).mT

    def matmul(self, V: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """``(A + shift·I) V`` from the unchanged triangle, accumulated in the wide format."""
        wide = wide_dtype(self.A.device)
        Vt = V.to(wide).mT.contiguous()
        out = Vt * (self.diagonal.to(wide) + self.shift)
        for rows, cols in upper_tiles(self.n, _CACHED):
            tile = self.A[rows, cols].to(wide)
            if rows == cols:
                tile = tile.triu(1)
            add_tile(out, tile, Vt, rows, cols, mirrored=True)
        return out.mT

    def _forward(self, B: Float[Tensor, "c m"], start: int = 0) -> Float[Tensor, "c m"]:
        for i, panel in self._panels(start):
            here = slice(panel.start - start, panel.stop - start)
            if panel.start > start:
                B[:, here] -= B[:, : here.start] @ self.A[panel, start : panel.start].mT
            B[:, here] = B[:, here] @ self._inverses[i].mT
        return B

    def _backward(self, B: Float[Tensor, "c n"]) -> Float[Tensor, "c n"]:
        """``(L⁻ᵀ Bᵀ)ᵀ`` in place."""
        for i, panel in reversed(list(self._panels(0))):
            if panel.stop < self.n:
                B[:, panel] -= B[:, panel.stop :] @ self.A[panel.stop :, panel]
            B[:, panel] = B[:, panel] @ self._inverses[i]
        return B

    def _panels(self, start: int) -> list[tuple[int, slice]]:
        return [(i, panel) for i, panel in enumerate(spans(self.n, _PANEL)) if panel.start >= start]

    def _restore(self) -> None:
        """Overwrite L with the unchanged triangle."""
        for rows, cols in upper_tiles(self.n, _TILE):
            if rows == cols:
                upper = self.A[rows, cols].triu(1)
                self.A[rows, cols] = upper + upper.mT
            else:
                self.A[cols, rows] = self.A[rows, cols].mT


class SmallCholeskyFactor(Factor):
    """A factor by one call of LAPACK, with A and L in memory: faster than panels for few rows.

    >>> factor = SmallCholeskyFactor(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> factor.factorize(shift=0.0)
    True
    >>> factor.solve(torch.tensor([[1.0], [0.0]])).squeeze()
    tensor([ 0.3750, -0.2500])
    """

    def factorize(self, shift: float) -> bool:
        self.shift = shift
        self.A.diagonal().copy_(self.diagonal + shift)
        self.L, failed = torch.linalg.cholesky_ex(self.A)
        return not int(failed) and bool(torch.isfinite(self.L.diagonal()).all())

    def solve(self, B: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        return solve_factored(self.L, B.to(self.A.dtype))

    def matmul(self, V: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        wide = wide_dtype(self.A.device)
        V = V.to(wide)
        out: Tensor = torch.cat([self.A[rows].to(wide) @ V for rows in spans(self.n, _TILE // 4)])
        # The diagonal of A + shift is rounded to the factor's format, which may be too coarse for a small ridge.
        return out + (self.diagonal.to(wide) + self.shift - self.A.diagonal().to(wide))[:, None] * V

    def inverse_diagonal(self, rows: Int[Tensor, " m"] | None = None) -> Float[Tensor, " m"]:
        if rows is None:
            inverse: Tensor = torch.cholesky_inverse(self.L)
            return inverse.diagonal()
        E = self.A.new_zeros(self.n, len(rows))
        E[rows, torch.arange(len(rows), device=E.device)] = 1
        solved: Tensor = torch.linalg.solve_triangular(self.L, E, upper=False)
        return solved.square().sum(dim=0)


def factor_of(A: Float[Tensor, "n n"], clock: Clock | None = None) -> Factor:
    """Return the factor for a matrix of this size, which is overwritten."""
    return SmallCholeskyFactor(A, clock) if len(A) <= SMALL_ROWS else CholeskyFactor(A, clock)
