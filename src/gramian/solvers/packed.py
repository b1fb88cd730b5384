"""A symmetric matrix held once: strips of rows from the diagonal to the right, ``n²/2`` numbers in one piece of memory.

Strips and not tiles: BLAS uses all threads on a product of a strip with one vector, and one on that of a tile.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.tiles import spans
from gramian.kernels import KernelOperator
from gramian.kernels.operator import add_tile
from gramian.solvers.base import Workspace


class PackedMatrix:
    """The kernel matrix of an operator, computed once, half of it held; each number serves both of its places.

    Vectors lie in rows, ``Vᵀ (c, n)``: see :func:`gramian.kernels.operator.add_tile`.

    Parameters
    ----------
    operator : KernelOperator
    workspace : Workspace
        Where the numbers go.

    >>> from gramian.kernels import Gaussian
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> PackedMatrix(K, Workspace()).matmul(torch.ones(1, 2, dtype=torch.float64))
    tensor([[1.6065, 1.6065]], dtype=torch.float64)
    """

    def __init__(self, operator: KernelOperator, workspace: Workspace) -> None:
        self.n, self.dtype = operator.n, operator.dtype
        flat = workspace.flat(_count(operator.n, operator.tile), operator.X, operator.dtype)
        self._strips: list[tuple[slice, Tensor]] = []
        at = 0
        for rows in spans(operator.n, operator.tile):
            shape = rows.stop - rows.start, operator.n - rows.start
            self._strips.append((rows, flat[at : at + shape[0] * shape[1]].view(shape)))
            at += shape[0] * shape[1]
        for rows, cols, tile in operator.tiles():
            strip = self._strips[rows.start // operator.tile][1]
            strip[:, cols.start - rows.start : cols.stop - rows.start] = tile

    @staticmethod
    def bytes_needed(n: int, dtype: torch.dtype, tile: int = 512) -> int:
        """Memory for a matrix of n rows."""
        return _count(n, tile) * torch.finfo(dtype).bits // 8

    def matmul(self, Vt: Float[Tensor, "c n"]) -> Float[Tensor, "c n"]:
        """``Vᵀ K`` in the format of ``Vᵀ``: the matrix's own is the quick one, the wide one has all digits."""
        out = torch.zeros_like(Vt)
        for rows, strip in self._strips:
            height = rows.stop - rows.start
            if Vt.dtype == self.dtype:
                out[:, rows].addmm_(Vt[:, rows.start :], strip.mT)
                out[:, rows.stop :].addmm_(Vt[:, rows], strip[:, height:])
                continue
            for part in spans(strip.shape[1], height):  # widened a tile at a time, within the cache
                cols = slice(rows.start + part.start, rows.start + part.stop)
                add_tile(out, strip[:, part].to(Vt.dtype), Vt, rows, cols, mirrored=rows != cols)
        return out

    def columns(self, chosen: Int[Tensor, " m"]) -> Float[Tensor, "n m"]:
        """Columns with these indices, which must rise."""
        out = torch.empty(self.n, len(chosen), dtype=self.dtype, device=chosen.device)
        for rows, strip in self._strips:
            ends = torch.tensor([rows.start, rows.stop], device=chosen.device)
            first, last = torch.searchsorted(chosen, ends).tolist()
            out[rows, first:] = strip[:, chosen[first:] - rows.start]
            out[rows.stop :, first:last] = strip[chosen[first:last] - rows.start, rows.stop - rows.start :].mT
        return out


def _count(n: int, tile: int) -> int:
    return sum((rows.stop - rows.start) * (n - rows.start) for rows in spans(n, tile))
