"""A fitted kernel machine ``f(x) = Σⱼ αⱼ k_M(x, xⱼ)``, the result of one round, and the features it has learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from gramian.core import fix_signs, psd_eigh, symmetrize, wide_dtype
from gramian.core.tiles import spans
from gramian.features import agop_from_moments, fact_from_moments, gradient_second_moment
from gramian.kernels import Full, Kernel, KernelOperator, LowRank, Metric, fact_sum, gradient_moments, gradient_rows
from gramian.tables.scaling import Array

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
        """``f(X)``; if ``batch_invariant``, the last bits of a row do not depend on its batch, else it is faster.

        Batch-invariant values are computed in the wide format, at rows in the format of the training rows: large
        coefficients of a smooth kernel cancel, and kernel values in float32 would lose the digits that are left.
        """
        X = X.to(self.X.dtype)
        if not batch_invariant:
            return self.operator.predict(X, self.coef, batch_invariant=False)
        return self._wide_operator.predict(X.to(self._wide_operator.dtype), self.coef)

    @cached_property
    def _wide_operator(self) -> KernelOperator:
        return self.operator.widened()

    def predict_once(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m c"]:
        """``f(X)``, not batch invariant, without a cache of prepared rows: a screening holds dozens of machines."""
        return self.released().predict(X, batch_invariant=False)

    def gradient(self, X: Float[Tensor, "m d"], by_input: bool = True) -> Float[Tensor, "m c d"]:
        """``∂f_c/∂x`` at new rows, by input coordinates or by those of the metric."""
        return self.operator.gradient(X.to(self.X.dtype), self.coef, by_input=by_input)

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
        """Average gradient outer product of f over the training rows, in the coordinates of the metric."""
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
        return sampled_squares(self._own_gradient, self.X, self.weights) if self.is_wide() else self.agop.diagonal()

    def _own_gradient(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m c d"]:
        return self.gradient(X, by_input=False)

    def matrix(self) -> Float[Tensor, "d d"]:
        """The feature matrix M."""
        return self.metric.matrix()


@dataclass(frozen=True, eq=False)
class LearnedFeatures:
    """The learned matrix ``M (d, d)`` on standardised columns, and the columns in use, ``support (d,)``.

    ``stored`` is M, its diagonal ``(d,)`` if it has no other entries, or where ``factored`` a factor ``F (d, k)`` of
    ``M = F Fᵀ``: few rows with many columns teach a few directions, and M is computed when it is asked for.
    """

    stored: Array
    support: NDArray[np.bool_]
    factored: bool = False

    @classmethod
    def of(cls, metric: Metric, support: Bool[Tensor, " d"] | None) -> LearnedFeatures:
        """Take M and the support from a metric; all columns are in use without a support."""
        factored = isinstance(metric, LowRank) and not isinstance(metric, Full)
        if metric.axis_aligned:
            stored = metric.diagonal()
        else:
            stored = metric.factor if isinstance(metric, LowRank) and factored else metric.matrix()
        in_use = np.ones(len(stored), dtype=bool) if support is None else support.cpu().numpy()
        return cls(stored.cpu().numpy().astype(np.float64), in_use, factored)

    @property
    def matrix(self) -> Array:
        """M itself."""
        if self.factored:
            return self.stored @ self.stored.T
        return np.diag(self.stored) if self.stored.ndim == 1 else self.stored

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """Eigenvalues ``(k,)``, largest first, and eigenvectors ``(k, d)`` of M, without those that are zero."""
        if self.factored:
            small, right = psd_eigh(torch.from_numpy(self.stored.T @ self.stored))
            V = fix_signs(torch.from_numpy(self.stored) @ right / small.sqrt())
            return small.numpy(), V.T.contiguous().numpy()
        values, vectors = psd_eigh(torch.from_numpy(self.matrix))
        positive = values > len(self.stored) * np.finfo(float).eps * values[0]
        return values[positive].numpy(), vectors[:, positive].T.contiguous().numpy()

    def expand(self, part: Float[np.ndarray, "*batch k"]) -> Float[np.ndarray, "*batch d"]:
        """Put values ``(…, columns in use)`` at their places among all columns; the others are 0."""
        out = np.zeros((*part.shape[:-1], len(self.support)))
        out[..., self.support] = part
        return out

    def __getstate__(self) -> dict[str, object]:
        return {"stored": self.stored, "support": self.support, "factored": self.factored}


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
