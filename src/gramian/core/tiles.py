"""Tiles of rows and of square matrices.

Two laws hold for everything computed by tiles. Work on a symmetric matrix visits only the tiles on and above the
diagonal. A row's result does not depend on its batch: products of new rows always have the same shape, because the last
tile is filled up with zero rows (BLAS picks another summation order for another shape).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.pool import Serial, side_by_side

ROWS = 128
"""Rows of new data in one block, always exactly this number."""
_OUTPUTS = 16
_FEW_OUTPUTS = 4
"""Up to this many outputs a product with each vector is quicker than one with a matrix of 16 columns."""
_INNER = 8


def spans(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most ``size`` that cover ``range(n)``.

    >>> list(spans(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def upper_tiles(n: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Pairs of slices ``(I, J)`` with I at or before J: the tiles on and above the diagonal.

    >>> len(list(upper_tiles(4, 2)))
    3
    """
    for rows in spans(n, size):
        for cols in spans(n, size):
            if cols.start >= rows.start:
                yield rows, cols


def full_rows(X: Float[Tensor, "n d"]) -> Iterator[tuple[slice, Float[Tensor, "rows d"]]]:
    """Blocks of exactly :data:`ROWS` rows, the last one filled with zeros, each with the slice of its real rows.

    >>> [(rows, tuple(block.shape)) for rows, block in full_rows(torch.ones(130, 2))]
    [(slice(0, 128, None), (128, 2)), (slice(128, 130, None), (128, 2))]
    """
    for rows in spans(X.shape[0], ROWS):
        block = X[rows].contiguous()  # sums over a row have another order where its entries are apart in memory
        if block.shape[0] < ROWS:
            block = torch.cat([block, block.new_zeros(ROWS - block.shape[0], X.shape[1])])
        yield rows, block


def each_block(X: Float[Tensor, "n d"], work: Callable[[slice, Tensor], None]) -> None:
    """Call ``work(rows, block)`` for the blocks of :func:`full_rows`, concurrently in as many threads as torch has.

    A thread per block is faster than all threads on one block of 128 rows, and the result of a block does not depend on
    the number of threads.

    >>> out = torch.empty(300)
    >>> each_block(torch.ones(300, 2), lambda rows, block: out[rows].copy_(block.sum(dim=1)[: rows.stop - rows.start]))
    >>> float(out.sum())
    600.0
    """
    workers = -(-X.shape[0] // ROWS) if X.device.type == "cpu" else 1
    with side_by_side(Serial(), workers) as pool:
        for _ in pool.run(lambda _, item: work(*item), None, list(full_rows(X))):
            pass


def pad_outputs(V: Float[Tensor, "n c"]) -> Float[Tensor, "n c2"]:
    """Append zero columns up to a multiple of 16, so that a product with V rounds the same in every row.

    The result has its rows in memory one after the other: of a transposed matrix a BLAS adds odd rows up differently.

    >>> tuple(pad_outputs(torch.ones(3, 2)).shape)
    (3, 16)
    """
    missing = -V.shape[1] % _OUTPUTS
    return torch.nn.functional.pad(V, (0, missing)) if missing else V.contiguous()


def padded(outputs: int) -> int:
    """Return the number of columns after :func:`pad_outputs`.

    >>> padded(17)
    32
    """
    return outputs + -outputs % _OUTPUTS


def pad_inner(X: Float[Tensor, "n k"]) -> Float[Tensor, "n k2"]:
    """Append zero columns up to a multiple of 8: with an odd inner dimension BLAS treats rows differently.

    >>> tuple(pad_inner(torch.ones(3, 7)).shape)
    (3, 8)
    """
    missing = -X.shape[1] % _INNER
    return torch.nn.functional.pad(X, (0, missing)) if missing else X


def block_factor(V: Float[Tensor, "n c"]) -> Float[Tensor, "n c2"]:
    """Return V in the form of :func:`block_matmul`, once for all blocks: many outputs get zero columns.

    >>> tuple(block_factor(torch.ones(3, 2)).shape), tuple(block_factor(torch.ones(3, 5)).shape)
    ((3, 2), (3, 16))
    """
    return pad_outputs(V) if V.shape[1] > _FEW_OUTPUTS else V


def block_matmul(K: Float[Tensor, "rows n"], V: Float[Tensor, "n c"]) -> Float[Tensor, "rows c"]:
    """Return ``K @ V`` for a block of :data:`ROWS` rows and a :func:`block_factor`; it rounds the same in every row.

    Zero columns let all rows begin at a multiple of 8 entries: a BLAS may add up unaligned rows in another order.

    >>> K, V = torch.rand(128, 7), torch.rand(7, 2)
    >>> torch.equal(block_matmul(K.roll(1, 0), V).roll(-1, 0), block_matmul(K, V))
    True
    """
    if V.shape[1] > _FEW_OUTPUTS:
        return K @ V
    K, Vt, out = pad_inner(K), pad_inner(V.mT), K.new_empty(K.shape[0], V.shape[1])
    for column, v in enumerate(Vt):
        out[:, column] = torch.mv(K, v)
    return out


def rowwise_matmul(X: Float[Tensor, "n d"], A: Float[Tensor, "d k"]) -> Float[Tensor, "n k"]:
    """Return ``X @ A``, in which a row's result does not depend on the other rows of X.

    >>> X, A = torch.rand(300, 7), torch.rand(7, 3)
    >>> torch.equal(rowwise_matmul(X[10:11], A), rowwise_matmul(X, A)[10:11])
    True
    """
    out, factor = X.new_empty(X.shape[0], A.shape[1]), block_factor(A)
    for rows, block in full_rows(X):
        out[rows] = block_matmul(block, factor)[: rows.stop - rows.start, : A.shape[1]]
    return out
