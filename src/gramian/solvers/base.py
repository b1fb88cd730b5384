"""What a solver is: ``solve(operator, Y, ridge) → Solution(coef, info)``, with the outcome told in words."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from gramian.core.options import Options
from gramian.core.rows import RowSource
from gramian.kernels import Kernel, KernelOperator, Metric


class SingularKernelError(ValueError):
    """The regularised kernel matrix could not be factorised, even with the largest jitter allowed."""


@dataclass(frozen=True)
class SolveInfo:
    """How a system was solved.

    ``status`` says it in words; ``residual`` is the largest ``‖Y − (K + ridge)α‖ / ‖Y‖`` over the outputs, measured
    in the accumulation format; ``ridge`` is the one really used, ``jitter`` what of it was added for stability.
    """

    solver: str
    status: str
    steps: int
    residual: float
    ridge: float
    jitter: float
    dtype: str
    bytes: int


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients ``α (n, c)`` in the accumulation format, how they were found, and the matrix they belong to.

    That is the operator given, or :meth:`KernelOperator.widened` of it where its own format was not enough.
    """

    coef: Float[Tensor, "n c"]
    info: SolveInfo
    operator: KernelOperator
    rows: Int[Tensor, " n"] | None = None
    """Which training rows the coefficients belong to, where the operator stands on some of them only."""
    weights: Float[Tensor, " n"] | None = None
    """Then, how much of the training set each of those rows speaks for."""


class Workspace:
    """One piece of memory used again and again: fresh pages cost more than the arithmetic done on them."""

    def __init__(self) -> None:
        self._buffer: Tensor | None = None

    def flat(self, count: int, like: Tensor, dtype: torch.dtype) -> Float[Tensor, " count"]:
        """So many numbers of undefined content; they are the same memory on every call."""
        buffer = self._buffer
        if buffer is None or buffer.dtype != dtype or buffer.numel() < count or buffer.device != like.device:
            self._buffer = None  # let the old one go before the new one comes
            buffer = self._buffer = torch.empty(count, dtype=dtype, device=like.device)
        return buffer[:count]

    def square(self, n: int, like: Tensor, dtype: torch.dtype) -> Float[Tensor, "n n"]:
        """An ``n × n`` matrix of undefined content, in that memory."""
        return self.flat(n * n, like, dtype).view(n, n)


class Deadline:
    """When to stop on the way: so many seconds from now, or never.

    >>> Deadline(None).passed, Deadline(0.0).passed
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        self._at = float("inf") if seconds is None else time.perf_counter() + seconds

    @property
    def passed(self) -> bool:
        """Whether it is time to stop."""
        return time.perf_counter() >= self._at


@dataclass(frozen=True)
class Solver(Options, ABC):
    """Solves ``(K + ridge · diag(1/w)) α = Y`` for all columns of Y. Frozen: state lives in a workspace."""

    @abstractmethod
    def solve(
        self,
        operator: KernelOperator,
        Y: Float[Tensor, "n c"],
        ridge: float,
        *,
        weights: Float[Tensor, " n"] | None = None,
        start: Float[Tensor, "n c"] | None = None,
        workspace: Workspace | None = None,
    ) -> Solution:
        """Solve the system.

        Parameters
        ----------
        operator : KernelOperator
            The kernel matrix K.
        Y : Tensor (n, c)
        ridge : float
            λ in ``K + λI``.
        weights : Tensor (n,), optional
            Positive sample weights; row i gets the ridge ``λ/wᵢ``.
        start : Tensor (n, c), optional
            A guess for iterative solvers; direct ones do without.
        workspace : Workspace, optional
            Memory to use again.
        """

    @abstractmethod
    def bytes_needed(self, n: int, dtype: torch.dtype, outputs: int = 1) -> int:
        """Peak memory of a solve with n rows, besides the rows themselves."""

    def for_features(self) -> Solver:
        """The solver for rounds whose machine only teaches M and is not kept: itself, unless less will do."""
        return self

    def stands_on(self, n: int) -> int:
        """How many of n rows carry a coefficient: all of them, unless the solver says otherwise."""
        return n

    def solve_rows(
        self,
        kernel: Kernel,
        metric: Metric,
        source: RowSource,
        ridge: float,
        *,
        max_bytes: int | None = None,
        seconds: float | None = None,
    ) -> Solution:
        """Solve for rows that may not be in memory; a solver that needs them there brings them.

        Parameters
        ----------
        kernel, metric
            What rows are compared by.
        source : RowSource
        ridge : float
        max_bytes : int, optional
            What temporary tiles, and the solver, may take.
        seconds : float, optional
            Time to spend, for a solver that can stop on the way.
        """
        rows = source.take(torch.arange(source.n_rows))
        operator = KernelOperator(kernel, rows.X, metric, max_bytes)
        return self.solve(operator, rows.Y, ridge, weights=rows.weights)


def relative_residual(R: Float[Tensor, "n c"], Y: Float[Tensor, "n c"]) -> Float[Tensor, " c"]:
    """``‖R‖ / ‖Y‖`` column by column; a zero column of Y counts as of norm 1."""
    norms = Y.norm(dim=0)
    return R.norm(dim=0) / torch.where(norms > 0, norms, 1)


def check_system(operator: KernelOperator, Y: Tensor, ridge: float, weights: Tensor | None) -> None:
    """Raise a ValueError for a system that makes no sense."""
    if Y.ndim != 2 or Y.shape[0] != operator.n:
        raise ValueError(f"Y must be ({operator.n}, c) for {operator.n} rows, got {tuple(Y.shape)}")
    if not ridge >= 0:
        raise ValueError(f"ridge must be a non-negative number, got {ridge!r}")
    if weights is not None and not bool((weights > 0).all()):
        raise ValueError("weights must be positive; leave rows of weight 0 out")


def warn_numbers(message: str) -> None:
    """Tell the user of numerical trouble; the message carries the numbers."""
    warnings.warn(message, ConvergenceWarning, stacklevel=2)
