"""A fitted kernel machine ``f(x) = Σⱼ αⱼ k_M(x, xⱼ)``: what one round leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core import symmetrize, wide_dtype
from gramian.core.tiles import spans
from gramian.features import agop_from_moments, fact_from_moments, gradient_second_moment
from gramian.kernels import Kernel, KernelOperator, Metric, fact_sum, gradient_moments

_AGOP_ROWS, _BLOCK = 2000, 128
"""Rows an average of gradients is taken over, and how many at a time."""


@runtime_checkable
class Predictor(Protocol):
    """A fitted function of rows as a blend needs it: one kernel expansion, or anything made of several."""

    @property
    def X(self) -> Float[Tensor, "n d"]:
        """Training rows it stands on."""

    @property
    def n(self) -> int:
        """How many they are."""

    def predict(self, X: Float[Tensor, "m d"], *, stable: bool = True) -> Float[Tensor, "m c"]:
        """``f(X)``."""

    def gradient(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m c d"]:
        """``∂f_c/∂x`` at new rows."""

    def mean_gradient(self, ends: Float[Tensor, "2 d"], output: int, nodes: int) -> Float[Tensor, " d"]:
        """``∂f_output/∂x`` averaged along the line between two rows."""

    def similarity(self, x: Float[Tensor, "1 d"], rows: Int[Tensor, " k"]) -> Float[Tensor, " k"]:
        """``k(x, xⱼ)`` of some training rows, divided by what equal rows have."""

    def row_parts(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m n c"]:
        """What each row it stands on adds to ``f(X)``."""

    @property
    def agop(self) -> Float[Tensor, "d d"]:
        """Average gradient outer product of f over the training rows."""

    def matrix(self) -> Float[Tensor, "d d"]:
        """The feature matrix M."""


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """Rows, kernel (with a number for its bandwidth), metric and coefficients. Frozen.

    It is a :class:`gramian.features.updates.Source`: updates ask it for the moments of its gradients.

    >>> import torch
    >>> from gramian.kernels import Gaussian, Identity
    >>> machine = KernelMachine(Gaussian(1.0), Identity(1), torch.zeros(1, 1), torch.ones(1, 1))
    >>> machine.predict(torch.zeros(1, 1))
    tensor([[1.]], dtype=torch.float64)
    """

    kernel: Kernel
    metric: Metric
    X: Float[Tensor, "n d"]
    coef: Float[Tensor, "n c"]
    weights: Float[Tensor, " n"] | None = None
    max_bytes: int | None = None

    @property
    def n(self) -> int:
        """Number of training rows."""
        return self.X.shape[0]

    @cached_property
    def operator(self) -> KernelOperator:
        """The kernel matrix of the training rows; made when first needed, and not kept in pickles."""
        return KernelOperator(self.kernel, self.X, self.metric, self.max_bytes)

    def predict(self, X: Float[Tensor, "m d"], *, stable: bool = True) -> Float[Tensor, "m c"]:
        """``f(X)``, each row the same whatever batch it is in; a little faster without that promise."""
        return self.operator.predict(X.to(self.X.dtype), self.coef, stable=stable)

    def gradient(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m c d"]:
        """``∂f_c/∂x`` at new rows."""
        return self.operator.gradient(X.to(self.X.dtype), self.coef)

    def mean_gradient(self, ends: Float[Tensor, "2 d"], output: int, nodes: int) -> Float[Tensor, " d"]:
        """See :meth:`Predictor.mean_gradient`; equal ends mean the gradient there, without a tile of other rows."""
        ends, coef = ends.to(self.X.dtype), self.coef[:, [output]]
        if torch.equal(ends[0], ends[1]):
            return self.operator.gradient(ends[:1], coef, stable=False)[0, 0].to(self.operator.wide)
        return self.operator.mean_gradient(ends, coef, nodes)[0].to(self.operator.wide)

    def similarity(self, x: Float[Tensor, "1 d"], rows: Int[Tensor, " k"]) -> Float[Tensor, " k"]:
        """See :meth:`Predictor.similarity`."""
        new, old = self.operator.prepare(x.to(self.X.dtype)), self.operator.points[rows]
        size = (self.kernel.diagonal(new) * self.kernel.diagonal(old)).sqrt()
        return self.kernel.block(new, old)[0] / size

    def row_parts(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m n c"]:
        """What each row the machine stands on adds to ``f(X)``; their sum is the prediction."""
        parts = self.operator.columns_at(X.to(self.X.dtype))
        return parts[:, :, None] * self.coef.to(self.operator.wide)[None]

    def moments(
        self, rows: Int[Tensor, " m"] | None = None
    ) -> tuple[Float[Tensor, "d d"], Float[Tensor, "c d"], float]:
        """``Σ g gᵀ``, mean gradient and total weight over the training rows, or some of them."""
        rows = None if rows is None else rows.to(self.X.device)
        moments = gradient_moments(self.operator, self.coef, rows, self.weights)
        return moments.second, moments.mean, moments.count

    @cached_property
    def agop(self) -> Float[Tensor, "d d"]:
        """Average gradient outer product of f over the training rows."""
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
        return KernelMachine(self.kernel, self.metric, X, coef, weights, self.max_bytes)

    def matrix(self) -> Float[Tensor, "d d"]:
        """The feature matrix M."""
        return self.metric.matrix()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "operator"}


def sampled_agop(
    gradient: Callable[[Tensor], Tensor], X: Float[Tensor, "n d"], weights: Float[Tensor, " n"] | None
) -> Float[Tensor, "d d"]:
    """Average gradient outer product of a function over at most 2,000 random rows, the same ones each time.

    >>> sampled_agop(lambda X: X[:, None, :], torch.eye(2), None)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]], dtype=torch.float64)
    """
    rows = torch.randperm(len(X), generator=torch.Generator().manual_seed(0))[:_AGOP_ROWS].sort().values.to(X.device)
    weights = None if weights is None else weights[rows]
    total = torch.zeros(X.shape[1], X.shape[1], dtype=wide_dtype(X.device), device=X.device)
    for part in spans(len(rows), _BLOCK):
        G = gradient(X[rows[part]]).to(total.dtype)
        total += symmetrize(gradient_second_moment(G, None if weights is None else weights[part]))
    return agop_from_moments(total, None, len(rows) if weights is None else float(weights.sum()))
