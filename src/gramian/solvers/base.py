"""Solver interface: ``solve(system) → Solution(operator, coef, info)``, with the outcome described in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from gramian.core.clock import Clock
from gramian.core.options import Options
from gramian.core.warn import warn
from gramian.kernels import KernelOperator
from gramian.solvers.system import RidgeSystem, StreamedSystem

FLOP_SECONDS = 2e-11
"""Time of a multiplication and addition inside a matrix product in float32, on the core that it was measured on."""
_ENTRY_SECONDS, _COLUMN_SECONDS = 6e-9, 5e-11
"""Time of an entry of a kernel matrix on that core, and of each column of the rows besides."""


def entry_seconds(columns: int) -> float:
    """Return the nominal time of one entry of a kernel matrix of rows with this many columns.

    >>> round(1e9 * entry_seconds(100))
    11
    """
    return _ENTRY_SECONDS + _COLUMN_SECONDS * columns


class SingularKernelError(ValueError):
    """The regularised kernel matrix could not be factorised, even with the largest jitter allowed."""


@dataclass(frozen=True)
class SolveInfo:
    """Record of a solve.

    ``status`` is the outcome in words; ``residual`` is the largest ``‖Y − (K + ridge)α‖ / ‖Y‖`` over the outputs,
    measured in the accumulation format; ``ridge`` is the one used, ``jitter`` the part of it added for stability.
    ``cut_short`` is True where the time limit ended the solve before its tolerance was reached.
    """

    solver: str
    status: str
    steps: int
    residual: float
    ridge: float
    jitter: float
    dtype: str
    bytes: int
    cut_short: bool = False


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients ``α (n, c)`` in the accumulation format, their kernel matrix, and the record of the solve."""

    operator: KernelOperator
    """Operator of the system, its :meth:`KernelOperator.widened` form if that was needed, or that of the centres."""
    coef: Float[Tensor, "n c"]
    info: SolveInfo
    weights: Float[Tensor, " n"] | None = None
    """Weights of the rows that have coefficients; None where all are 1."""
    rows: Int[Tensor, " n"] | None = None
    """Indices of the training rows that have coefficients, where the solver uses centres; None for all rows."""


class Workspace:
    """Memory that is reused by every solve: allocating new pages takes more time than the arithmetic on them."""

    def __init__(self) -> None:
        self._buffer: Tensor | None = None

    def flat(self, count: int, like: Tensor, dtype: torch.dtype) -> Float[Tensor, " count"]:
        """Return ``count`` numbers of undefined content, in the same memory on every call."""
        buffer = self._buffer
        if buffer is None or buffer.dtype != dtype or buffer.numel() < count or buffer.device != like.device:
            self._buffer = None  # free the old buffer before the new one is allocated
            buffer = self._buffer = torch.empty(count, dtype=dtype, device=like.device)
        return buffer[:count]

    def square(self, n: int, like: Tensor, dtype: torch.dtype) -> Float[Tensor, "n n"]:
        """Return an ``n × n`` matrix of undefined content, in that memory."""
        return self.flat(n * n, like, dtype).view(n, n)

    def free(self) -> None:
        """Free the memory, before a solve that does not use it."""
        self._buffer = None


@dataclass(frozen=True)
class Solver(Options, ABC):
    """Solver of ``(K + ridge · diag(1/w)) α = Y`` for all columns of Y. Frozen: state is held in a workspace."""

    @abstractmethod
    def solve(
        self,
        system: RidgeSystem | StreamedSystem,
        *,
        guess: Float[Tensor, "n c"] | None = None,
        workspace: Workspace | None = None,
        clock: Clock | None = None,
    ) -> Solution:
        """Solve the system.

        Parameters
        ----------
        system : RidgeSystem or StreamedSystem
            A solver that needs all rows in memory loads those of a streamed system.
        guess : Tensor (n, c), optional
            Coefficients to start from, for iterative solvers; the others ignore it.
        workspace : Workspace, optional
            Memory to reuse.
        clock : Clock, optional
            Time limit. Iterative solvers return what they have by then, with a status that says so; work without a
            result so far raises :class:`gramian.core.clock.TimeLimitReached`.
        """

    @abstractmethod
    def bytes_needed(self, n: int, dtype: torch.dtype, outputs: int = 1) -> int:
        """Peak memory of a solve with n rows, besides the rows themselves."""

    def seconds_needed(self, n: int, columns: int, outputs: int = 1) -> float:
        """Nominal time of a solve with n rows, on one core of the machine on which the constants were measured.

        Only ratios of these numbers are of use: a fit measures how long its own solves take.
        """
        return n * n * entry_seconds(columns) + FLOP_SECONDS * n**3 / 3

    def last_resort_bytes(self, n: int) -> int:
        """Peak memory of the solve in the wide format that follows where the first one fails; 0 if there is none."""
        return 0

    def n_centers(self, n: int) -> int:
        """Number of rows that have coefficients, for n training rows: all n unless the solver uses centres."""
        return n


def relative_residual(R: Float[Tensor, "n c"], Y: Float[Tensor, "n c"]) -> Float[Tensor, " c"]:
    """Return ``‖R‖ / ‖Y‖`` of each column; a zero column of Y counts as of norm 1.

    >>> relative_residual(torch.tensor([[1.0, 2.0]]), torch.tensor([[2.0, 0.0]]))
    tensor([0.5000, 2.0000])
    """
    norms: Tensor = Y.norm(dim=0)
    residuals: Tensor = R.norm(dim=0) / torch.where(norms > 0, norms, 1)
    return residuals


def warn_numbers(message: str) -> None:
    """Warn of a numerical problem; the message contains the numbers."""
    warn(message, ConvergenceWarning)
