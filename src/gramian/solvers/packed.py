"""Packed symmetric matrix: strips of rows from the diagonal to the right, ``n²/2`` numbers in one block of memory.

Strips are used instead of tiles because BLAS uses all threads for the product of a strip with one vector, and a single
one for that of a tile.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.clock import Clock
from gramian.core.jit import compiled, in_threads
from gramian.core.tiles import spans
from gramian.kernels import KernelOperator
from gramian.kernels.operator import add_tile
from gramian.solvers.base import Workspace

_UNROLLED = 4
"""Number of rows that the compiled loop processes at a time."""
_COMPILED_ROWS = 7000
"""From this number of rows on the loop saves more than loading the compiler costs (0.4 s); not with one column."""


class PackedMatrix:
    """Kernel matrix of an operator, computed once, of which half is stored.

    Vectors are rows, ``Vᵀ (c, n)``: see :func:`gramian.kernels.operator.add_tile`.

    Parameters
    ----------
    operator : KernelOperator
    workspace : Workspace
        Memory for the numbers.
    clock : Clock, optional
        Its limit ends the computation of the numbers with :class:`TimeLimitReached`.

    Attributes
    ----------
    strips : list of (slice, Tensor)
        Rows of each strip, and its numbers, of which the first are on the diagonal.

    >>> from gramian.kernels import Gaussian
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> PackedMatrix(K, Workspace()).matmul(torch.ones(1, 2, dtype=torch.float64))
    tensor([[1.6065, 1.6065]], dtype=torch.float64)
    """

    def __init__(self, operator: KernelOperator, workspace: Workspace, clock: Clock | None = None) -> None:
        self.n, self.dtype, self._tile = operator.n, operator.dtype, operator.tile
        flat = workspace.flat(_count(operator.n, operator.tile), operator.X, operator.dtype)
        self.strips: list[tuple[slice, Tensor]] = []
        at = 0
        for rows in spans(operator.n, operator.tile):
            shape = rows.stop - rows.start, operator.n - rows.start
            self.strips.append((rows, flat[at : at + shape[0] * shape[1]].view(shape)))
            at += shape[0] * shape[1]
        for rows, cols, tile in operator.tiles():
            strip = self.strips[rows.start // operator.tile][1]
            strip[:, cols.start - rows.start : cols.stop - rows.start] = tile
            if clock is not None:
                clock.check()

    @staticmethod
    def bytes_needed(n: int, dtype: torch.dtype, tile: int = 512) -> int:
        """Memory for a matrix of n rows."""
        return _count(n, tile) * torch.finfo(dtype).bits // 8

    def matmul(self, Vt: Float[Tensor, "c n"]) -> Float[Tensor, "c n"]:
        """``Vᵀ K`` in the format of ``Vᵀ``: that of the matrix is faster, the wide one is more accurate."""
        usable = self.n >= _COMPILED_ROWS and len(Vt) > 1 and Vt.device.type == "cpu" and self._tile % _UNROLLED == 0
        if usable and (loop := compiled(_add_strip, reorder=True)):
            return self._matmul_by_loop(Vt, loop)
        out = torch.zeros_like(Vt)
        for rows, strip in self.strips:
            height = rows.stop - rows.start
            if Vt.dtype == self.dtype:
                out[:, rows].addmm_(Vt[:, rows.start :], strip.mT)
                out[:, rows.stop :].addmm_(Vt[:, rows], strip[:, height:])
                continue
            for part in spans(strip.shape[1], height):  # converted a tile at a time, within the cache
                cols = slice(rows.start + part.start, rows.start + part.stop)
                add_tile(out, strip[:, part].to(Vt.dtype), Vt, rows, cols, mirrored=rows != cols)
        return out

    def _matmul_by_loop(self, Vt: Float[Tensor, "c n"], loop: Callable[..., None]) -> Float[Tensor, "c n"]:
        """Compute the same product with the compiled loop, which reads each number once, in either format."""
        Vt = Vt.contiguous()
        threads = min(torch.get_num_threads(), self._tile // _UNROLLED)
        sums = Vt.new_zeros(threads, 2, *Vt.shape)  # for the rows of a strip, and for those below it

        def add(thread: int) -> None:
            for rows, strip in self.strips[:-1]:  # the last one ends on the diagonal
                loop(strip.numpy(), rows.start, thread, threads, Vt.numpy(), *sums[thread].numpy())

        in_threads(add, range(threads))
        out = sums.sum(dim=(0, 1))
        for rows, strip in self.strips:
            height = rows.stop - rows.start
            out[:, rows] += Vt[:, rows] @ strip[:, :height].to(Vt.dtype)
        return out

    def columns(self, chosen: Int[Tensor, " m"]) -> Float[Tensor, "n m"]:
        """Return the columns with these indices, which must be in increasing order."""
        out = torch.empty(self.n, len(chosen), dtype=self.dtype, device=chosen.device)
        for rows, strip in self.strips:
            ends = torch.tensor([rows.start, rows.stop], device=chosen.device)
            first, last = torch.searchsorted(chosen, ends).tolist()
            out[rows, first:] = strip[:, chosen[first:] - rows.start]
            out[rows.stop :, first:last] = strip[chosen[first:last] - rows.start, rows.stop - rows.start :].mT
        return out


def _add_strip(strip, start, thread, threads, V, here, below):  # type: ignore[no-untyped-def]
    """Add the product with a strip right of its square to ``here``, and that with its mirror image to ``below``.

    The loop takes four rows at a time, so that each number of V and of the sums is read once for the four; each thread
    takes every ``threads``-th group of four.
    """
    height, width = strip.shape
    zero = V.dtype.type(0)
    for left in range(height, width, 512):
        size = min(512, width - left)
        for i in range(4 * thread, height, 4 * threads):
            k0, k1 = strip[i, left : left + size], strip[i + 1, left : left + size]
            k2, k3 = strip[i + 2, left : left + size], strip[i + 3, left : left + size]
            row = start + i
            for c in range(V.shape[0]):
                w0, w1, w2, w3 = V[c, row], V[c, row + 1], V[c, row + 2], V[c, row + 3]
                s0, s1, s2, s3 = zero, zero, zero, zero
                v, out = V[c, start + left : start + left + size], below[c, start + left : start + left + size]
                for j in range(size):
                    s0 += k0[j] * v[j]
                    s1 += k1[j] * v[j]
                    s2 += k2[j] * v[j]
                    s3 += k3[j] * v[j]
                    out[j] += (k0[j] * w0 + k1[j] * w1) + (k2[j] * w2 + k3[j] * w3)
                here[c, row] += s0
                here[c, row + 1] += s1
                here[c, row + 2] += s2
                here[c, row + 3] += s3


def _count(n: int, tile: int) -> int:
    return sum((rows.stop - rows.start) * (n - rows.start) for rows in spans(n, tile))
