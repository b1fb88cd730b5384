"""A fitted kernel machine ``f(x) = Σⱼ αⱼ k_M(x, xⱼ)``: the result of one round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core import symmetrize, wide_dtype
from gramian.core.tiles import spans
from gramian.features import agop_from_moments, fact_from_moments, gradient_second_moment
from gramian.kernels import Kernel, KernelOperator, Metric, fact_sum, gradient_moments, gradient_rows

_AGOP_ROWS, _BLOCK = 2000, 128
"""Rows an average of gradients is taken over, and how many at a time."""
_WIDE_COLUMNS = 256
"""Number of columns below which a matrix (d, d) is no burden."""


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """The kernel matrix of the training rows, their coefficients and, where they differ, their weights. Frozen.

    It is a :class:`gramian.features.updates.Source`: updates use the moments of its gradients.

    Parameters
    ----------
    operator : KernelOperator
        Rows, kernel (with a number for its bandwidth) and metric.
    coef : Tensor (n, c)
    weights : Tensor (n,), optional

    >>> import torch
    >>> from gramian.kernels import Gaussian
    >>> machine = KernelMachine(KernelOperator(Gaussian(1.0), torch.zeros(1, 1)), torch.ones(1, 1))
    >>> machine.predict(torch.zeros(1, 1))
    tensor([[1.]], dtype=torch.float64)
    """

    operator: KernelOperator
    coef: Float[Tensor, "n c"]
    weights: Float[Tensor, " n"] | None = None

    @property
    def kernel(self) -> Kernel:
        """The kernel, with a number for its bandwidth."""
        return self.operator.kernel

    @property
    def metric(self) -> Metric:
        """The metric of the feature matrix M."""
        return self.operator.metric

    @property
    def X(self) -> Float[Tensor, "n d"]:
        """The training rows that have coefficients."""
        return self.operator.X

    @property
    def max_bytes(self) -> int | None:
        """Memory for temporary tiles; None without a limit."""
        return self.operator.max_bytes

    @property
    def n(self) -> int:
        """Number of rows that have coefficients."""
        return self.operator.n

    def released(self) -> KernelMachine:
        """The same machine without the prepared rows of its operator, which are made again when needed."""
        return replace(self, operator=self.operator.released())

    def predict(self, X: Float[Tensor, "m d"], *, batch_invariant: bool = True) -> Float[Tensor, "m c"]:
        """``f(X)``; if ``batch_invariant``, the last bits of a row do not depend on its batch, else it is faster."""
        return self.operator.predict(X.to(self.X.dtype), self.coef, batch_invariant=batch_invariant)

    def gradient(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m c d"]:
        """``∂f_c/∂x`` at new rows."""
        return self.operator.gradient(X.to(self.X.dtype), self.coef)

    def mean_gradient(self, ends: Float[Tensor, "2 d"], output: int, nodes: int) -> Float[Tensor, " d"]:
        """``∂f_output/∂x`` averaged along the line between two rows; the gradient itself where they are equal."""
        ends, coef = ends.to(self.X.dtype), self.coef[:, [output]]
        if torch.equal(ends[0], ends[1]):
            return self.operator.gradient(ends[:1], coef, batch_invariant=False)[0, 0].to(self.operator.wide)
        return self.operator.mean_gradient(ends, coef, nodes)[0].to(self.operator.wide)

    def similarity(self, x: Float[Tensor, "1 d"], rows: Int[Tensor, " k"]) -> Float[Tensor, " k"]:
        """``k(x, xⱼ)`` of some training rows, divided by the value for equal rows."""
        new, old = self.operator.prepare(x.to(self.X.dtype)), self.operator.points[rows]
        size = (self.kernel.diagonal(new) * self.kernel.diagonal(old)).sqrt()
        return self.kernel.block(new, old)[0] / size

    def row_parts(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m n c"]:
        """The part of each training row in ``f(X)``; their sum is the prediction."""
        parts = self.operator.columns_at(X.to(self.X.dtype))
        return parts[:, :, None] * self.coef.to(self.operator.wide)[None]

    def moments(
        self, rows: Int[Tensor, " m"] | None = None
    ) -> tuple[Float[Tensor, "d d"], Float[Tensor, "c d"], float]:
        """``Σ g gᵀ``, mean gradient and total weight over the training rows, or some of them."""
        rows = None if rows is None else rows.to(self.X.device)
        moments = gradient_moments(self.operator, self.coef, rows, self.weights)
        return moments.second, moments.mean, moments.count

    def is_wide(self, rows: int | None = None) -> bool:
        """Tell whether gradients at this number of rows (None: all) are at most half as many as columns."""
        return self.X.shape[1] >= max(_WIDE_COLUMNS, 2 * (rows or self.n) * self.coef.shape[1])

    def few_gradients(
        self, rows: Int[Tensor, " m"] | None = None
    ) -> tuple[Float[Tensor, "m c d"], Float[Tensor, " m"]] | None:
        """Gradients at the training rows and their weights, where they are at most half as many as columns."""
        if not self.is_wide(None if rows is None else len(rows)):
            return None
        rows = None if rows is None else rows.to(self.X.device)
        return gradient_rows(self.operator, self.coef, rows, self.weights)

    @cached_property
    def agop(self) -> Float[Tensor, "d d"]:
        """Average gradient outer product of f over the training rows, in input coordinates."""
        if self.kernel.slopes_of_coordinates(self.X[:1]) is not None:  # moments are in the coordinates of the metric
            return sampled_agop(self.gradient, self.X, self.weights)
        return agop_from_moments(*self.moments())

    def fact(self) -> Float[Tensor, "d d"]:
        """The FACT matrix, for coefficients that solve a ridge regression."""
        # At the ridge solution ∇ₓℓᵢ = −λ Σ_c α_ic g_ic, so for λ = 1 the sum of ∇ₓℓᵢ xᵢᵀ is −fact_sum.
        return fact_from_moments(-fact_sum(self.operator, self.coef), samples=1, weight_decay=1.0)

    def embedded(
        self, X: Float[Tensor, "N d"], rows: Int[Tensor, " n"], weights: Float[Tensor, " N"] | None
    ) -> KernelMachine:
        """The same function on more rows: this machine's are ``X[rows]``, and the others get coefficient 0."""
        coef = self.coef.new_zeros(X.shape[0], self.coef.shape[1])
        coef[rows] = self.coef
        return KernelMachine(replace(self.operator, X=X), coef, weights)

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in ("operator", "coef", "weights")}

    @property
    def agop_diagonal(self) -> Float[Tensor, " d"]:
        """The diagonal of the AGOP, without the matrix itself where rows are few."""
        return sampled_squares(self.gradient, self.X, self.weights) if self.is_wide() else self.agop.diagonal()

    def matrix(self) -> Float[Tensor, "d d"]:
        """The feature matrix M."""
        return self.metric.matrix()


def sampled_agop(
    gradient: Callable[[Tensor], Tensor], X: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None
) -> Float[Tensor, "d d"]:
    """Average gradient outer product of a function over at most 2,000 random rows, the same ones each time.

    >>> sampled_agop(lambda X: X[:, None, :], torch.eye(2), None)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]], dtype=torch.float64)
    """
    total = torch.zeros(X.shape[1], X.shape[1], dtype=wide_dtype(X.device), device=X.device)
    count = 0.0
    for G, w in _sampled_gradients(gradient, X, weights):
        total += symmetrize(gradient_second_moment(G, w))
        count += len(G) if w is None else float(w.sum())
    return agop_from_moments(total, None, count)


def sampled_squares(
    gradient: Callable[[Tensor], Tensor], X: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None
) -> Float[Tensor, " d"]:
    """Diagonal of :func:`sampled_agop`, without the matrix.

    >>> sampled_squares(lambda X: X[:, None, :], torch.eye(2), None)
    tensor([0.5000, 0.5000], dtype=torch.float64)
    """
    total = torch.zeros(X.shape[1], dtype=wide_dtype(X.device), device=X.device)
    count = 0.0
    for G, w in _sampled_gradients(gradient, X, weights):
        squares = G.square().sum(dim=1)
        total += squares.sum(dim=0) if w is None else w.to(squares.dtype) @ squares
        count += len(G) if w is None else float(w.sum())
    return total / count


def _sampled_gradients(
    gradient: Callable[[Tensor], Tensor], X: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None
) -> Iterator[tuple[Float[Tensor, "m c d"], Float[Tensor, " m"] | None]]:
    """Yield gradients at at most 2,000 random rows in the wide format, some at a time, and the rows' weights."""
    rows = torch.randperm(len(X), generator=torch.Generator().manual_seed(0))[:_AGOP_ROWS].sort().values.to(X.device)
    for part in spans(len(rows), _BLOCK):
        at = rows[part]
        yield gradient(X[at]).to(wide_dtype(X.device)), None if weights is None else weights[at]
