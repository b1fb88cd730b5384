"""The machine of a tree's leaf, with the features that all leaves share or with features of its own.

Features of its own: the update of the selected candidate is applied to a machine that was fitted to rows of the leaf
with the shared M, and the leaf is solved with the M that this gives. It pays where other columns matter in other parts
of space. A few leaves decide for the whole tree: a part of their rows is fitted both ways, and other rows of the same
leaves are predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.clock import Clock
from gramian.core.rows import Rows
from gramian.core.selection import RowLoss
from gramian.core.statistics import within_standard_error
from gramian.features import Agop
from gramian.kernels import Metric, as_metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.rounds import Candidate, next_metric, solve_round
from gramian.rfm.training.time_limit import check_solved
from gramian.rfm.training.tuning import RoundParams, with_median_bandwidth
from gramian.solvers import SolveInfo, Workspace

FitLeaf = Callable[[Rows], tuple[KernelMachine, SolveInfo]]
"""A function from the rows of a leaf to its machine, and how its system was solved."""
LEAF_FEATURE_ROWS = 1500
"""Rows of a leaf on which its own M is learned, at most; the solve of the leaf uses all of them."""
LEAF_GRADIENT_ROWS = 500
"""Rows of these at which an AGOP averages gradients, at most: they cost as much as the solve otherwise."""
_TRIED_LEAVES = 6
"""Leaves of a tree in which a part of the rows is fitted both ways, at most."""
_TRIED_SHARE = 0.8
"""Share of a leaf's rows that is fitted both ways, at most."""
_JUDGING_ROWS = 1000
"""Other rows of such a leaf that both ways predict, at most."""
_CLEAR = 2.0
"""Standard errors by which features of their own must lower the error of these rows."""
_LEAST_GAIN = 0.01
"""Share of the error by which they must lower it: each leaf pays for them with one more solve on a part of its rows."""


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
class LeafTrial:
    """Predictions ``outputs (2, m, c)`` of other rows of a leaf with shared features and with its own, and the rows."""

    outputs: Float[Tensor, "2 m c"]
    rows: Rows


@dataclass(frozen=True, eq=False)
class OwnFeatureSolver:
    """Learns M of a leaf from at most 1,500 of its rows, and solves with it; ``round`` is the number of that round.

    Where a leaf teaches no features, since its predictions are constant, it uses those of all leaves.
    """

    shared: LeafSolver
    round: int

    def __call__(self, rows: Rows) -> tuple[KernelMachine, SolveInfo]:
        """Return the machine of a leaf, and how its system was solved."""
        few = rows
        if len(rows) > LEAF_FEATURE_ROWS:
            few = rows[self._order(rows)[:LEAF_FEATURE_ROWS].sort().values]
        machine, info = self.shared(few)
        metric = self._learned(machine)
        if metric is None:
            return (machine, info) if few is rows else self.shared(rows)
        return replace(self.shared, metric=metric)(rows)

    def trial(self, rows: Rows) -> LeafTrial:
        """Fit a part of a leaf's rows both ways, and predict other rows of it."""
        order, count = self._order(rows), min(LEAF_FEATURE_ROWS, max(1, int(_TRIED_SHARE * len(rows))))
        few, others = rows[order[:count].sort().values], rows[order[count : count + _JUDGING_ROWS].sort().values]
        shared, _ = self.shared(few)
        metric = self._learned(shared)
        own = shared if metric is None else replace(self.shared, metric=metric)(few)[0]
        return LeafTrial(torch.stack([machine.predict_once(others.X) for machine in (shared, own)]), others)

    def _learned(self, machine: KernelMachine) -> Metric | None:
        candidate = self.shared.candidate
        update = candidate.update
        if isinstance(update, Agop):
            update = replace(update, max_rows=min(update.max_rows or LEAF_GRADIENT_ROWS, LEAF_GRADIENT_ROWS))
        return next_metric(replace(candidate, update=update), machine, self.round)

    def _order(self, rows: Rows) -> Int[Tensor, " n"]:
        rng = torch.Generator().manual_seed(self.shared.candidate.seed)
        return torch.randperm(len(rows), generator=rng).to(rows.X.device)


@dataclass(frozen=True, eq=False)
class OwnFeatures:
    """The fit of leaves with features of their own, and the loss that decides whether they get them.

    ``seed`` selects the leaves that are tried; without a ``loss`` all leaves learn their own features.
    """

    solver: OwnFeatureSolver
    loss: RowLoss | None
    seed: int = 0

    def tried(self, n_leaves: int) -> list[int]:
        """Return the leaves that are tried: a few random ones."""
        rng = torch.Generator().manual_seed(self.seed)
        found: list[int] = torch.randperm(n_leaves, generator=rng)[:_TRIED_LEAVES].tolist()
        return found

    def are_better(self, trials: Sequence[LeafTrial]) -> bool:
        """Tell whether the rows of the trials are predicted clearly better with features of their own.

        Losses are compared row by row.
        """
        assert self.loss is not None, "there is nothing to decide"
        outputs = torch.cat([trial.outputs for trial in trials], dim=1)
        Y = torch.cat([trial.rows.Y for trial in trials])
        if not len(Y):  # leaves of one row
            return False
        weights = torch.cat([trial.rows.shares * trial.rows.total_weight for trial in trials]).to(outputs.dtype)
        losses = self.loss(outputs, Y, weights)
        share = (weights / weights.sum()).to(losses.dtype)
        shared, own = (float(loss @ share) for loss in losses)
        clear = not within_standard_error(losses[0], losses[1], share, _CLEAR)
        return clear and shared - own >= _LEAST_GAIN * abs(shared)


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
