"""The machine of a tree's leaf, with the features that all leaves share or with features of its own.

Features of its own: the update of the selected candidate is applied to a machine that was fitted to rows of the leaf
with the shared M, and the leaf is solved with the M that this gives. It pays where other columns matter in other parts
of space. Held-out rows in a few of the leaves decide for the whole tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.clock import Clock
from gramian.core.rows import Rows
from gramian.core.selection import RowLoss
from gramian.core.statistics import within_standard_error
from gramian.kernels import Metric, as_metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.rounds import Candidate, next_metric, solve_round
from gramian.rfm.training.time_limit import check_solved
from gramian.rfm.training.tuning import RoundParams, with_median_bandwidth
from gramian.solvers import SolveInfo, Workspace

FitLeaf = Callable[[Rows], tuple[KernelMachine, SolveInfo]]
"""A function from the rows of a leaf to its machine, and how its system was solved."""
LEAF_FEATURE_ROWS = 2000
"""Rows of a leaf on which its own M is learned, at most; the solve of the leaf uses all of them."""
_JUDGED_ROWS = 600
"""Held-out rows in the leaves that are fitted both ways, if so many are in few enough leaves."""
_JUDGED_SHARE = 16
"""One of this many leaves, at least two, is fitted both ways, at most."""
_CLEAR = 2.0
"""Standard errors by which features of their own must lower the error of held-out rows."""


@dataclass(frozen=True, eq=False)
class LeafSolver:
    """Solves exactly for the rows of a leaf, with a multiple of their own median distance as bandwidth.

    ``at_once`` leaves are solved at a time; it is a field because torch has one thread inside each of them.
    """

    plan: Plan
    candidate: Candidate
    params: RoundParams
    metric: Metric
    total_weight: float | None
    at_once: int
    clock: Clock | None = None

    def __call__(self, rows: Rows) -> tuple[KernelMachine, SolveInfo]:
        """Return the machine of a leaf, and how its system was solved."""
        part = 1.0 if self.total_weight is None else rows.total_weight / self.total_weight
        base = with_median_bandwidth(self.candidate.kernel, self.metric, rows.X, self.candidate.seed)
        params = replace(self.params, kernel=base.times(self.params.bandwidth_scale), ridge=part * self.params.ridge)
        solver, _ = self.plan.part_solvers(rows, self.at_once)
        max_bytes, clock = self.candidate.max_bytes, self.clock
        machine, info = solve_round(solver, max_bytes, rows, params, self.metric, None, Workspace(), clock)
        if clock is not None:
            check_solved(clock, info)
        return machine, info


@dataclass(frozen=True, eq=False)
class OwnFeatureSolver:
    """Learns M of a leaf from at most 2,000 of its rows, and solves with it; ``round`` is the number of that round.

    Where a leaf teaches no features, since its predictions are constant, it uses those of all leaves.
    """

    shared: LeafSolver
    round: int

    def __call__(self, rows: Rows) -> tuple[KernelMachine, SolveInfo]:
        """Return the machine of a leaf, and how its system was solved."""
        few = rows
        if len(rows) > LEAF_FEATURE_ROWS:
            rng = torch.Generator().manual_seed(self.shared.candidate.seed)
            few = rows[torch.randperm(len(rows), generator=rng)[:LEAF_FEATURE_ROWS].sort().values.to(rows.X.device)]
        machine, info = self.shared(few)
        metric = next_metric(self.shared.candidate, machine, self.round)
        if metric is None:
            return (machine, info) if few is rows else self.shared(rows)
        return replace(self.shared, metric=metric)(rows)


@dataclass(frozen=True, eq=False)
class OwnFeatures:
    """How leaves are fitted with features of their own, and the rows that decide whether they are.

    Attributes
    ----------
    fit_leaf : function
        Rows → machine with features of its own, and how its system was solved.
    holdout : Rows, optional
        Held-out rows; without them all leaves learn their own features.
    loss : function
        The loss of each row.
    seed : int
        Selects the leaves that are fitted both ways.
    """

    fit_leaf: FitLeaf
    holdout: Rows | None
    loss: RowLoss
    seed: int = 0

    def judged(self, shares: Float[Tensor, "m l"]) -> list[int]:
        """Return the leaves to fit both ways: random ones, as many as have enough held-out rows, within a limit."""
        counts = (shares > 0).sum(dim=0).tolist()
        order = torch.randperm(len(counts), generator=torch.Generator().manual_seed(self.seed)).tolist()
        found: list[int] = []
        for leaf in order[: max(2, len(counts) // _JUDGED_SHARE)]:
            if sum(counts[at] for at in found) >= _JUDGED_ROWS:
                break
            found.append(leaf)
        return found

    def are_better(
        self,
        shares: Float[Tensor, "m l"],
        shared: dict[int, KernelMachine],
        own: dict[int, KernelMachine],
    ) -> bool:
        """Tell whether held-out rows in these leaves are predicted clearly better with features of their own.

        A row counts in each leaf with its share there. Losses are compared row by row.
        """
        assert self.holdout is not None
        X, Y, weights = self.holdout.X, self.holdout.Y, self.holdout.weights
        pairs, at, share = [], [], []
        for leaf in own:
            here = shares[:, leaf].nonzero().squeeze(1)
            pair = [machine[leaf].predict_once(X[here]).to(shares.dtype) for machine in (shared, own)]
            pairs.append(torch.stack(pair))
            at.append(here)
            share.append(shares[here, leaf])
        rows = torch.cat(at)
        if not len(rows):
            return False
        counted = torch.cat(share) if weights is None else torch.cat(share) * weights[rows].to(shares.dtype)
        losses = self.loss(torch.cat(pairs, dim=1), Y[rows], counted).to(counted.dtype)
        return not within_standard_error(losses[0], losses[1], counted / counted.sum(), _CLEAR)


def mean_metric(machines: Sequence[KernelMachine], like: Metric) -> Metric:
    """Return the mean of the machines' matrices M, each divided by its trace, with the trace of another metric.

    Machines count by the weight of their rows.

    >>> from gramian.kernels import Diagonal, Gaussian, Identity, KernelOperator
    >>> def leaf(*entries):
    ...     operator = KernelOperator(Gaussian(1.0), torch.zeros(1, 2), Diagonal(torch.tensor(entries)))
    ...     return KernelMachine(operator, torch.ones(1, 1))
    >>> mean_metric([leaf(1.0, 0.0), leaf(0.0, 5.0)], Identity(2)).diagonal()
    tensor([1., 1.])
    """
    aligned = all(machine.metric.axis_aligned for machine in machines)
    weights = [float(machine.n if machine.weights is None else machine.weights.sum()) for machine in machines]
    parts = (
        weight * (metric.diagonal() if aligned else metric.matrix()) / metric.diagonal().sum()
        for weight, metric in zip(weights, (machine.metric for machine in machines), strict=True)
    )
    return as_metric(sum(parts, start=torch.zeros(())) * like.diagonal().sum() / sum(weights))
