"""What a fit is told, and what it leaves behind."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gramian.core.rows import Rows
from gramian.features import Update
from gramian.kernels import Kernel
from gramian.rfm.blend import Blend
from gramian.rfm.choice import Chooser, Fixed, LeaveOneOut
from gramian.rfm.evolution import Evolution
from gramian.rfm.rounds import Problem, Round
from gramian.rfm.selection import HeldOut
from gramian.solvers import Partition, Solver, choose
from gramian.solvers.choose import Chosen
from gramian.solvers.forecast import LARGE_ROWS


@dataclass(frozen=True)
class Settings:
    """What to fit and how to choose; every name resolved, every number checked."""

    kernels: tuple[Kernel, ...]
    updates: tuple[Update, ...]
    n_rounds: int
    select_last: bool
    ridge: float | None
    per_row_ridge: bool
    solver: Solver
    threshold: float | None
    max_bytes: int
    seed: int
    cautious: bool = False
    max_machines: int = 1
    bagging: bool = False
    time_limit: float | None = None
    show_progress: bool = False
    dtype: torch.dtype = torch.float32
    part_bytes: int = 2**33
    """Memory for solving a part of the rows while all of them are in memory."""
    feature_solver: Solver | None = None
    """A coarser solver for rounds that only serve to learn M; None for ``solver``."""

    @property
    def problems(self) -> list[Problem]:
        """Kernels × updates, where a kernel that sees axes only meets updates that keep them."""
        pairs = itertools.product(self.kernels, self.updates if self.n_rounds else self.updates[:1])
        made = [
            Problem(
                kernel,
                _fitting_update(kernel, update),
                self.solver,
                self.n_rounds,
                self.max_bytes,
                self.seed,
                self.feature_solver,
            )
            for kernel, update in pairs
        ]
        return list(dict.fromkeys(made))

    def large(self, n: int) -> bool:
        """Whether n rows are so many that features are learned on a part of them, or the solver keeps only a part."""
        by_parts = isinstance(self.solver, Partition) and self.solver.splits(n)
        return n > LARGE_ROWS or by_parts or self.solver.n_centers(n) < n

    def part_solver(self, part: Rows, at_once: int = 1) -> Chosen:
        """The solver for a part of the rows, where ``at_once`` such parts are solved at a time."""
        columns, outputs = part.X.shape[1], part.Y.shape[1]
        return choose(len(part), self.dtype, self.part_bytes // at_once, columns, outputs)

    def chooser(self, kernel: Kernel) -> Chooser:
        """Leave-one-out where something is left to choose, else the user's numbers."""
        if self.ridge is not None and not kernel.automatic:
            return Fixed(self.ridge, self.seed, self.per_row_ridge)
        return LeaveOneOut(self.ridge, self.seed, self.per_row_ridge, self.cautious)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The machines that were kept, the features the best stands on, and what is known of rows it has not seen."""

    blend: Blend
    features: Float[Tensor, "d d"]
    ridge: float
    round: int
    problem: Problem
    records: tuple[Round, ...]
    support: Bool[Tensor, " d"] | None
    held_out: HeldOut | None
    """Predictions of the blend for held-out training rows, or None."""
    evaluated: Float[Tensor, "m c"] | None
    """Predictions of the blend for the evaluation set, or None."""
    evolution: Evolution
    """M of each round, in small."""
    rows: Int[Tensor, " k"] | None = None
    """The training rows the machines stand on, where those are not all."""


EvalSet = tuple[Float[Tensor, "m d"], Float[Tensor, "m c"]]


def threshold_support(M: Float[Tensor, "d d"], threshold: float) -> Bool[Tensor, " d"]:
    """Coordinates whose diagonal entry of M, scaled from its smallest (0) to its largest (1), exceeds a threshold.

    >>> threshold_support(torch.diag(torch.tensor([0.0, 0.04, 1.0])), 0.05)
    tensor([False, False,  True])
    """
    diagonal = M.diagonal()
    spread = diagonal.max() - diagonal.min()
    if spread == 0:
        return torch.ones_like(diagonal, dtype=torch.bool)
    support = (diagonal - diagonal.min()) / spread > threshold
    if not bool(support.any()):
        raise ValueError(f"threshold={threshold} leaves no column: lower it")
    return support


def _fitting_update(kernel: Kernel, update: Update) -> Update:
    """Product kernels can only use the diagonal of M, so their updates are made to keep just that."""
    if kernel.needs_axis_aligned_metric and not update.get_params().get("diagonal", True):
        return update.with_params(diagonal=True)
    return update
