"""Kernel matrix of a set of rows as an operator: tiles and products, and the whole matrix only where it fits.

The operator holds rows, kernel and metric, but no coefficients.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import wide_dtype
from gramian.core.tiles import ROWS, block_factor, block_matmul, each_block, spans, upper_tiles
from gramian.kernels.base import Kernel
from gramian.kernels.metric import Identity, Metric
from gramian.kernels.points import Points

_COLUMNS = 1024
_LARGEST_TILE = 512
_PREPARING = threading.Lock()
"""Lock for the preparation of rows, so that threads that share an operator prepare its rows once."""


@dataclass(frozen=True, eq=False)
class KernelOperator:
    """``K (n, n)`` with ``K_ij = k(xᵢ, xⱼ)`` under a metric, and products of it and of ``k(X', X)`` with matrices.

    The rows in kernel coordinates are prepared when first needed and then cached; :meth:`released` gives the same
    operator without that cache. Pickles and model files hold the four parameters only.

    Parameters
    ----------
    kernel : Kernel
        With a number for its bandwidth.
    X : Tensor (n, d)
    metric : Metric, optional
        The identity by default.
    max_bytes : int, optional
        Memory for temporary tiles; a tile of at least 128 × 128 is always used.

    >>> import torch
    >>> from gramian.kernels import Gaussian
    >>> K = KernelOperator(Gaussian(1.0), torch.tensor([[0.0], [1.0]]))
    >>> K.matmul(torch.ones(2, 1)).squeeze()
    tensor([1.6065, 1.6065], dtype=torch.float64)
    """

    kernel: Kernel
    X: Float[Tensor, "n d"]
    metric: Metric = None  # type: ignore[assignment]  # replaced by the identity below
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.metric is None:
            object.__setattr__(self, "metric", Identity(self.X.shape[1], self.X.device))
        self.kernel.check_metric(self.metric)

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def released(self) -> KernelOperator:
        """Return the same operator, on the same rows, without the cache of prepared rows."""
        return replace(self)

    @property
    def shift(self) -> Float[Tensor, " d"]:
        """The mean row, which a translation-invariant kernel subtracts from all rows."""
        return self._prepared[0]

    @property
    def points(self) -> Points:
        """The rows in kernel coordinates."""
        return self._prepared[1]

    @property
    def _prepared(self) -> tuple[Float[Tensor, " d"], Points]:
        cache = self.__dict__
        if "_cache" not in cache:
            with _PREPARING:
                if "_cache" not in cache:
                    shift = self.kernel.center(self.X)
                    points = self.kernel.prepare(self.X, self.metric, shift)
                    # Tiles of the rows share these factors; the wide ones of float32 rows are needed by predict only.
                    _ = points.wide_factors if self.dtype == self.wide else points.narrow_factors
                    cache["_cache"] = shift, points
        cached: tuple[Tensor, Points] = cache["_cache"]
        return cached

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """Format of the kernel's values."""
        return self.X.dtype

    @property
    def wide(self) -> torch.dtype:
        """Format in which sums are accumulated."""
        return wide_dtype(self.X.device)

    @property
    def tile(self) -> int:
        """Side of the tiles of the square matrix; about six of them are in memory at a time."""
        if self.max_bytes is None:
            return _LARGEST_TILE
        return int(min(_LARGEST_TILE, max(ROWS, (self.max_bytes / (6 * 8)) ** 0.5)))

    def widened(self) -> KernelOperator:
        """Return the same operator with values in the wide format, for systems that need more digits."""
        if self.dtype == self.wide:
            return self
        return replace(self, X=self.X.to(self.wide))

    def with_bandwidth_times(self, factor: float) -> KernelOperator:
        """Return the operator with the kernel's bandwidth multiplied; it shares the prepared rows."""
        other = replace(self, kernel=self.kernel.times(factor))
        other.__dict__["_cache"] = self._prepared
        return other

    def dense_bytes(self) -> int:
        """Size of the whole matrix."""
        return self.n * self.n * self.X.element_size()

    def prepare(self, X: Float[Tensor, "m d"]) -> Points:
        """Return new rows in this operator's kernel coordinates."""
        return self.kernel.prepare(X, self.metric, self.shift)

    def diagonal(self) -> Float[Tensor, " n"]:
        """``k(xᵢ, xᵢ)``."""
        return self.kernel.diagonal(self.points)

    def tiles(self) -> Iterator[tuple[slice, slice, Float[Tensor, "r s"]]]:
        """Yield the tiles on and above the diagonal, with their slices; those on the diagonal are exactly symmetric."""
        for rows, cols in upper_tiles(self.n, self.tile):
            tile = self.kernel.block(self.points[rows], self.points[cols], same=rows == cols, batch_invariant=False)
            if rows == cols:
                below = tile.triu(1).mT
                tile = tile.triu_().add_(below)
            yield rows, cols, tile

    def columns(self, cols: Tensor) -> Float[Tensor, "n m"]:
        """The columns with these indices."""
        chosen = self.points[cols]
        return torch.cat([self.kernel.block(self.points[rows], chosen) for rows in spans(self.n, self.tile)])

    def fill(self, out: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        """Write the whole matrix into ``out``; both triangles have the same numbers."""
        for rows, cols, tile in self.tiles():
            out[rows, cols] = tile
            if rows != cols:
                out[cols, rows] = tile.mT
        return out

    def dense(self) -> Float[Tensor, "n n"]:
        """The whole matrix in new memory."""
        return self.fill(self.X.new_empty(self.n, self.n))

    def matmul(self, V: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """``K V``, accumulated in the wide format."""
        Vt = V.to(self.wide).mT.contiguous()
        out = torch.zeros_like(Vt)
        for rows, cols, tile in self.tiles():
            add_tile(out, tile.to(self.wide), Vt, rows, cols, mirrored=rows != cols)
        return out.mT

    def predict(
        self, X: Float[Tensor, "m d"], coef: Float[Tensor, "n c"], *, batch_invariant: bool = True
    ) -> Float[Tensor, "m c"]:
        """``k(X, X_train) coef``; if ``batch_invariant``, the last bits of a row do not depend on its batch."""
        out = torch.empty(X.shape[0], coef.shape[1], dtype=self.wide, device=X.device)
        if not batch_invariant:
            Vt = coef.to(self.dtype).mT.contiguous()  # vectors are rows: see add_tile
            for rows in spans(len(X), self.tile):
                new = self.prepare(X[rows])
                for cols in spans(self.n, _COLUMNS):
                    part = (Vt[:, cols] @ self.kernel.block(new, self.points[cols], batch_invariant=False).mT).mT
                    out[rows] = part if cols.start == 0 else out[rows] + part
            return out
        weights = block_factor(coef.to(self.wide))
        _ = self.points.wide_factors

        def work(rows: slice, block: Tensor) -> None:
            new = self.prepare(block)
            total = weights.new_zeros(len(new), weights.shape[1])
            for cols in spans(self.n, _COLUMNS):
                total += block_matmul(self.kernel.block(new, self.points[cols]).to(weights.dtype), weights[cols])
            out[rows] = total[: rows.stop - rows.start, : coef.shape[1]]

        each_block(X, work)
        return out

    def columns_at(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m n"]:
        """``k(X, X_train)`` as a matrix: for a small number of rows."""
        _ = self.points.wide_factors  # cached for all blocks of columns
        new = self.prepare(X)
        blocks = [self.kernel.block(new, self.points[cols]) for cols in spans(self.n, _COLUMNS)]
        return torch.cat(blocks, dim=1).to(self.wide)

    def gradient(
        self,
        X: Float[Tensor, "m d"],
        coef: Float[Tensor, "n c"],
        *,
        batch_invariant: bool = True,
        by_input: bool = True,
    ) -> Float[Tensor, "m c d"]:
        """``∂/∂x Σⱼ coef_jc k(x, xⱼ)`` at new rows; its rounding may depend on the batch, unlike that of values.

        If ``batch_invariant``, blocks have the same shape in every batch, and only near pairs and rounding differ.
        With ``by_input`` it is the derivative by input coordinates, else by those of the metric; see
        :meth:`Kernel.coordinates`.
        """
        out = X.new_empty(X.shape[0], coef.shape[1], X.shape[1])
        coef = coef.contiguous()  # column-major coefficients would take another path of BLAS for some batch sizes
        _ = self.points  # prepare the rows before the threads start

        def work(rows: slice, block: Tensor) -> None:
            new = self.prepare(block)
            total = X.new_zeros(len(new), coef.shape[1], self.points.u.shape[1])
            for cols in spans(self.n, _COLUMNS * ROWS // len(new)):
                total += self.kernel.gradient(new, self.points[cols], coef[cols])
            out[rows] = self.metric.pull(total)[: rows.stop - rows.start]

        if batch_invariant:
            each_block(X, work)
        else:
            for rows in spans(len(X), ROWS):
                work(rows, X[rows])
        slopes = self.kernel.slopes_of_coordinates(X) if by_input else None
        return out if slopes is None else out.mul_(slopes[:, None, :])

    def mean_gradient(self, ends: Float[Tensor, "2 d"], coef: Float[Tensor, "n c"], nodes: int) -> Float[Tensor, "c d"]:
        """The gradient of ``Σⱼ coef_jc k(x, xⱼ)`` averaged along the line between two rows, in input coordinates.

        The line is straight in the coordinates of the metric. Where those are other than the input's, the mean slope
        between the two rows is a factor, so that the sum over ``(x_j − z_j) gradient_j`` is the difference of values.
        """
        new = self.prepare(ends)
        total = torch.zeros(coef.shape[1], self.points.u.shape[1], dtype=self.wide, device=ends.device)
        for cols in spans(self.n, max(1, _COLUMNS * ROWS // nodes)):
            total += self.kernel.mean_gradient(new, self.points[cols], coef[cols], nodes)
        mean = self.metric.pull(total)
        slopes = self.kernel.slopes_of_coordinates(ends[:1])
        if slopes is None:
            return mean
        step, moved = ends.diff(dim=0), self.kernel.coordinates(ends).diff(dim=0)
        return mean * torch.where(step == 0, slopes, moved / step).to(mean.dtype)


def add_tile(
    out: Float[Tensor, "c n"],
    tile: Float[Tensor, "r s"],
    Vt: Float[Tensor, "c n"],
    rows: slice,
    cols: slice,
    *,
    mirrored: bool,
) -> None:
    """Add a tile's part of ``Vᵀ K`` to ``out``, and that of its mirror image, so that the tile is read once.

    Vectors are rows, since BLAS is up to ten times faster at ``Vᵀ T`` than at ``T V`` for two to ten columns.

    >>> out, K = torch.zeros(1, 2), torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> add_tile(out, K[:1, 1:], torch.ones(1, 2), slice(0, 1), slice(1, 2), mirrored=True)
    >>> out
    tensor([[1., 1.]])
    """
    out[:, rows].addmm_(Vt[:, cols], tile.mT)
    if mirrored:
        out[:, cols].addmm_(Vt[:, rows], tile)
