"""The exact solver on parts of the rows: a choice of the estimator's that is carried out above, leaf by leaf."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.clock import Clock
from gramian.solvers.base import Solution, Solver, Workspace
from gramian.solvers.cg import ConjugateGradient
from gramian.solvers.direct import Direct
from gramian.solvers.system import RidgeSystem, StreamedSystem


@dataclass(frozen=True)
class Partition(Solver):
    """Split the rows by a tree and solve exactly in each leaf; up to ``leaf_rows`` rows that is the exact solver.

    Parameters
    ----------
    leaf_rows : int
        Rows of a leaf, at most.
    overlap : float
        Share of a node's rows that go into both of its children, where the prediction passes from one to the other.
    seed : int
        Chooses the rows that directions are found on.
    workers : int, optional
        Leaves solved at a time, each on one thread; None for as many as torch has threads.

    >>> Partition(leaf_rows=2000, overlap=0.0).n_centers(1_000_000)
    1000000
    """

    leaf_rows: int = 8000
    overlap: float = 0.1
    seed: int = 0
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.leaf_rows < 2:
            raise ValueError(f"Partition needs leaf_rows of at least 2, got {self.leaf_rows}")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"Partition needs at least 1 of workers, got {self.workers}")
        if not 0 <= self.overlap < 0.5:
            raise ValueError(f"Partition needs an overlap from 0 to below 0.5, got {self.overlap}")

    def leaf(self, n: int) -> Solver:
        """The exact solver for n rows, by what is faster."""
        return Direct() if n <= 4000 else ConjugateGradient(tol=Direct().tol, preconditioner_rank=int(8 * n**0.5))

    def bytes_needed(self, n: int, dtype: torch.dtype, outputs: int = 1) -> int:
        """Peak memory: the solves of leaves under way, and the coefficients of all."""
        here = min(n, self.leaf_rows)
        leaf = self.leaf(here).bytes_needed(here, dtype, outputs)
        return (self.at_once if self.splits(n) else 1) * leaf + self.n_centers(n) * outputs * 8

    @property
    def at_once(self) -> int:
        """Leaves solved at a time on this machine."""
        return torch.get_num_threads() if self.workers is None else self.workers

    def n_centers(self, n: int) -> int:
        """Rows of all leaves together: those in bands stand in several."""
        if not self.splits(n):
            return n
        depth = math.ceil(math.log(n / self.leaf_rows) / math.log(2 / (1 + self.overlap)))
        return int(n * (1 + self.overlap) ** depth)

    def splits(self, n: int) -> bool:
        """Whether n rows are more than a leaf holds."""
        return n > self.leaf_rows

    def solve(
        self,
        system: RidgeSystem | StreamedSystem,
        *,
        guess: Float[Tensor, "n c"] | None = None,
        workspace: Workspace | None = None,
        clock: Clock | None = None,
    ) -> Solution:
        """One leaf's system, exactly: see :meth:`Solver.solve`."""
        return self.leaf(system.n).solve(system, guess=guess, workspace=workspace, clock=clock)
