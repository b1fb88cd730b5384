"""Linear systems for the solvers: with rows in memory, or with rows that are read in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.rows import MemoryRows, Rows, RowSource
from gramian.kernels import Kernel, KernelOperator, Metric


@dataclass(frozen=True, eq=False)
class RidgeSystem:
    """``(K + ridge · diag(1/w)) α = Y`` with the rows of K in memory.

    Parameters
    ----------
    operator : KernelOperator
        The kernel matrix K.
    Y : Tensor (n, c)
    ridge : float
        λ in ``K + λI``.
    weights : Tensor (n,), optional
        Positive sample weights; row i gets the ridge ``λ/wᵢ``.

    >>> from gramian.kernels import Gaussian
    >>> K = KernelOperator(Gaussian(1.0), torch.zeros(3, 2))
    >>> RidgeSystem(K, torch.ones(3, 1), ridge=0.1).n
    3
    """

    operator: KernelOperator
    Y: Float[Tensor, "n c"]
    ridge: float
    weights: Float[Tensor, " n"] | None = None

    def __post_init__(self) -> None:
        n, Y = self.operator.n, self.Y
        if Y.ndim != 2 or Y.shape[0] != n:
            raise ValueError(f"Y must be ({n}, c) for {n} rows, got {tuple(Y.shape)}")
        if not self.ridge >= 0:
            raise ValueError(f"ridge must be a non-negative number, got {self.ridge!r}")
        if self.weights is not None and not bool((self.weights > 0).all()):
            raise ValueError("weights must be positive; leave rows of weight 0 out")

    @property
    def kernel(self) -> Kernel:
        """The kernel of K."""
        return self.operator.kernel

    @property
    def metric(self) -> Metric:
        """The metric of K."""
        return self.operator.metric

    @property
    def max_bytes(self) -> int | None:
        """Memory that the solver may use; None without a limit."""
        return self.operator.max_bytes

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.operator.n

    @property
    def source(self) -> RowSource:
        """The rows, for solvers that read them in blocks."""
        return MemoryRows(Rows(self.operator.X, self.Y.to(self.operator.wide), self.weights))

    def in_memory(self) -> RidgeSystem:
        """Return the system itself."""
        return self


@dataclass(frozen=True, eq=False)
class StreamedSystem:
    """The same system for rows that may not be in memory.

    Parameters
    ----------
    kernel : Kernel
    metric : Metric
    source : RowSource
        Rows, targets and weights.
    ridge : float
    max_bytes : int, optional
        Memory for temporary tiles, and for the solver.

    >>> from gramian.kernels import Gaussian, Identity
    >>> rows = MemoryRows(Rows(torch.zeros(3, 2), torch.ones(3, 1)))
    >>> StreamedSystem(Gaussian(1.0), Identity(2), rows, ridge=0.1).in_memory().n
    3
    """

    kernel: Kernel
    metric: Metric
    source: RowSource
    ridge: float
    max_bytes: int | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    def in_memory(self) -> RidgeSystem:
        """Return the system with all rows of the source in memory."""
        rows = self.source.take(torch.arange(self.n))
        operator = KernelOperator(self.kernel, rows.X, self.metric, self.max_bytes)
        return RidgeSystem(operator, rows.Y, self.ridge, rows.weights)
