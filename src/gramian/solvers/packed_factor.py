"""Cholesky factor in the wide format in half of the memory: strips of rows from the diagonal to the right.

A system that float32 cannot solve is solved again in float64. The full matrix would need twice the memory of the first
attempt; the strips need as much as it, so that the second attempt fits wherever the first one did.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.clock import Clock
from gramian.core.tiles import spans
from gramian.kernels import KernelOperator
from gramian.solvers.base import Workspace
from gramian.solvers.cholesky import BlockFactor
from gramian.solvers.packed import PackedMatrix

_COLUMNS = 1024
"""Columns of a strip that one triangular solve takes: it copies them, and a copy of a whole strip may be 100 MB."""


class PackedFactor(BlockFactor):
    """``√w K √w + shift·I = Uᵀ U`` of a kernel matrix K, with the upper triangle U in strips.

    The factor overwrites the matrix. Products are computed from the kernel again, and so is the matrix where it is
    factorised with another shift.

    Parameters
    ----------
    operator : KernelOperator
    weights : Tensor (n,) or None
    workspace : Workspace
        Memory for the strips.
    clock : Clock, optional
        See :class:`gramian.solvers.cholesky.Factor`.

    >>> from gramian.kernels import Gaussian
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> factor = PackedFactor(K, None, Workspace())
    >>> factor.factorize(shift=0.5)
    True
    >>> factor.solve(torch.tensor([[1.0], [0.0]], dtype=torch.float64)).squeeze()
    tensor([ 0.7970, -0.3223], dtype=torch.float64)
    """

    def __init__(
        self,
        operator: KernelOperator,
        weights: Float[Tensor, " n"] | None,
        workspace: Workspace,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock
        self._operator, self._workspace, self.block = operator, workspace, operator.tile
        self._root = None if weights is None else weights.sqrt().to(operator.dtype)
        diagonal = operator.diagonal().to(operator.dtype)
        self.diagonal = diagonal if self._root is None else diagonal * self._root.square()
        self.shift = 0.0
        self._strips: list[tuple[slice, Tensor]] = []

    @staticmethod
    def bytes_needed(n: int, dtype: torch.dtype) -> int:
        """Memory of a factor of n rows: the strips, and two blocks of one of them."""
        return PackedMatrix.bytes_needed(n, dtype) + 2 * min(n, _COLUMNS) * 512 * torch.finfo(dtype).bits // 8

    @property
    def n(self) -> int:
        """Number of rows."""
        return self._operator.n

    def factorize(self, shift: float) -> bool:
        self.shift = shift
        self._strips = PackedMatrix(self._operator, self._workspace, self.clock).strips
        for at, (rows, strip) in enumerate(self._strips):
            self.check_time()
            height = rows.stop - rows.start
            if self._root is not None:
                strip.mul_(self._root[rows, None]).mul_(self._root[rows.start :])
            strip[:, :height].diagonal().add_(shift)
            for above, done in self._strips[:at]:
                right = done[:, rows.start - above.start :]
                strip.addmm_(right[:, :height].mT, right, alpha=-1)
            L, failed = torch.linalg.cholesky_ex(strip[:, :height].mT)
            if int(failed) or not bool(torch.isfinite(L.diagonal()).all()):
                return False
            strip[:, :height] = L.mT
            for cols in spans(strip.shape[1] - height, _COLUMNS):
                block = strip[:, height + cols.start : height + cols.stop]
                block.copy_(torch.linalg.solve_triangular(L, block, upper=False))
        return True

    def solve(self, B: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        Vt = self._forward(B.mT.to(self._operator.dtype).clone(memory_format=torch.contiguous_format))
        for rows, strip in reversed(self._strips):
            height = rows.stop - rows.start
            if rows.stop < self.n:
                Vt[:, rows] -= Vt[:, rows.stop :] @ strip[:, height:].mT
            Vt[:, rows] = torch.linalg.solve_triangular(strip[:, :height], Vt[:, rows].mT, upper=True).mT
        return Vt.mT

    def matmul(self, V: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """``(√w K √w + shift·I) V`` with the entries of K computed again."""
        root = 1.0 if self._root is None else self._root[:, None]
        return self._operator.matmul(V * root) * root + self.shift * V

    def _forward(self, B: Float[Tensor, "c m"], start: int = 0) -> Float[Tensor, "c m"]:
        for rows, strip in self._strips[start // self.block :]:
            height, here = rows.stop - rows.start, slice(rows.start - start, rows.stop - start)
            B[:, here] = torch.linalg.solve_triangular(strip[:, :height].mT, B[:, here].mT, upper=False).mT
            if rows.stop < self.n:
                B[:, here.stop :] -= B[:, here] @ strip[:, height:]
        return B
