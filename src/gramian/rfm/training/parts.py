"""Fits of many rows: M is learned on growing parts of the rows, and one last solve uses all of them.

Early rounds need only a rough estimate of M, so their parts are small. Some rows are held out of the whole fit: they
compare the candidates, and then measure the error of the final model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isnan

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gramian.core.clock import TimeLimitReached
from gramian.core.freed_memory import return_freed_memory
from gramian.core.rows import Rows, RowSource, SelectedColumns, SelectedRows
from gramian.core.selection import Member, RowLoss, mean_error, squared_loss
from gramian.core.splits import SplitBy
from gramian.core.warn import warn
from gramian.kernels import Identity, Kernel, Metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble
from gramian.rfm.options import AnySolver, TreePartition
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.grow_tree import fit_tree
from gramian.rfm.training.leaf_features import LEAF_FEATURE_ROWS, LeafSolver, OwnFeatures, OwnFeatureSolver
from gramian.rfm.training.plan import PROBE_ROWS, Plan
from gramian.rfm.training.refit import Refitted
from gramian.rfm.training.rounds import Round, Run, make_record, next_metric, solve_round
from gramian.rfm.training.solver_choice import PART_ROWS, choose_part_solvers, leaf_solver
from gramian.rfm.training.thresholded import select_columns
from gramian.rfm.training.time_limit import check_solved, largest_size, solve_within
from gramian.rfm.training.tuning import ReplayedParams, RoundParams, RoundTuner
from gramian.rfm.tree import TreeMachine
from gramian.solvers import Direct, EigenPro, Nystrom, Solver, StreamedSystem, Workspace
from gramian.solvers.base import entry_seconds

_FEATURE_SHARE = 0.5
"""Share of a time limit after which no further features are learned: the rest is for the last solve."""
_WITH_GRADIENTS = 1.5
"""Time of a round that learns M, as a multiple of that of its solve."""
_TREE_SHARE = 0.7
"""Share of the time left up to which the forecast of a tree may go; beyond it a part of the rows is solved exactly."""


@dataclass(frozen=True, eq=False)
class _Final:
    """The final machine, the record of its round, and which rows are its centres (None: all).

    ``solved`` are the rows for which its coefficients were solved (None: all); ``short`` says in what a time limit made
    the solve smaller than the plan has it.
    """

    machine: KernelMachine | TreeMachine
    record: Round
    rows: Int[Tensor, " m"] | None
    solved: Int[Tensor, " s"] | None = None
    short: str = ""


@dataclass(frozen=True, eq=False)
class PartsLearner:
    """Learns M of the selected run on growing parts of the rows, and the coefficients from all rows.

    ``order`` is a random order of the rows that are not held out.
    """

    plan: Plan
    run: Run
    member: Member
    tuner: Callable[[Kernel], RoundTuner]
    feature_threshold: float | None
    ridge_grows: bool
    source: RowSource
    order: Int[Tensor, " n"]
    context: FitContext
    loss: RowLoss = squared_loss
    split_by: SplitBy | None = None

    def refit(
        self, screened: Int[Tensor, " p"], held_out: Int[Tensor, " q"] | None, holdout: Rows, screened_error: float
    ) -> Refitted:
        """Learn the features, solve the last round, and fall back to the screened model where that is better.

        Within a time limit the last solve uses as many rows as the forecast of its time allows. ``screened_error`` is
        the error of the screened model on the rows ``holdout``.
        """
        context, last = self.context, self.member.round
        rest = self.source if held_out is None else SelectedRows(self.source, self.order.sort().values)
        if not context.pace.measured:
            context.pace.measure(self.nominal_part(len(screened)), self.run.records[last].seconds)
        metric, support, whole = self.learn_metric(), None, holdout
        context.workspace = Workspace()  # the parts' matrix is freed before all rows are solved for
        return_freed_memory()
        context.tick()
        try:
            if self.feature_threshold is None:
                growth = _total_weight(rest) / self.screened_weight if self.ridge_grows else 1.0
                final = self.solve_last_round(rest, metric, self.replayed_params(metric, growth), len(holdout))
            else:
                basis = metric.diagonal() if last else self.run.machines[0].agop_diagonal
                support = select_columns(basis, self.feature_threshold)
                final = self.solve_thresholded(rest, support, len(holdout))
                holdout = Rows(holdout.X[:, support], holdout.Y, holdout.weights)
        except (KeyboardInterrupt, TimeLimitReached) as error:
            final, support, holdout = self.screened_model(rest, screened, error), None, whole
        outputs = final.machine.predict(holdout.X, batch_invariant=False)
        # A solve of a part of the rows, or without enough time, may be worse than the screened model.
        short = bool(final.short) or context.clock.left == 0
        if (
            short
            and support is None
            and final.machine is not self.run.machines[last]
            and mean_error(outputs, holdout, self.loss) > screened_error
        ):
            final = self.screened_model(rest, screened, TimeLimitReached())
            outputs = final.machine.predict(holdout.X, batch_invariant=False)
        if final.short:
            context.interrupted = True
            warn(f"{context.clock.reason(TimeLimitReached())}: {final.short}")
        context.tick()
        rows, solved = (
            torch.arange(rest.n_rows) if part is None else part.cpu() for part in (final.rows, final.solved)
        )
        return Refitted(
            ensemble=Ensemble((final.machine,), (1.0,)),
            metric=metric if support is not None else final.machine.metric,
            ridge=final.record.ridge,
            support=support,
            record=replace(final.record, score=mean_error(outputs, holdout, self.loss)),
            rows=rest.index[rows] if isinstance(rest, SelectedRows) else rows,
            solved=rest.index[solved] if isinstance(rest, SelectedRows) else solved,
            holdout_outputs=None if held_out is None else outputs,
        )

    def learn_metric(self) -> Metric:
        """Return M of the last round, learned on growing parts; what is learned by the time limit or Ctrl-C."""
        context, candidate = self.context, self.run.candidate
        metric: Metric = Identity(self.source.n_columns, self.source.device)
        last, clock, as_planned = self.member.round, context.clock.until(_FEATURE_SHARE), True
        try:
            for index, count in enumerate(self.plan.growing_parts(last, len(self.order))):
                name = f"features-{self.member.run}-{last}-round-{index}"
                if (before := context.checkpoint.recall(name)) is not None:
                    metric = before
                    continue
                if (left := clock.left) is not None:
                    affordable = largest_size(count, self.nominal_part, left / context.pace.seconds(_WITH_GRADIENTS))
                    if affordable < min(count, self.plan.screen_rows):
                        raise TimeLimitReached
                    as_planned = as_planned and affordable == count
                    count = affordable
                begin = clock.seconds
                rows = self.source.take(self.order[:count].sort().values)
                growth = rows.total_weight / self.screened_weight if self.ridge_grows else 1.0
                tuner = ReplayedParams(self.run.path, candidate.seed, growth)
                params = tuner.tune(index, candidate.kernel, metric, rows, context.workspace)
                _, solver = self.plan.part_solvers(rows)
                machine, info = solve_round(
                    solver, candidate.max_bytes, rows, params, metric, None, context.workspace, clock
                )
                check_solved(clock, info)
                context.pace.measure(self.nominal_part(count), clock.seconds - begin)
                learned = next_metric(candidate, machine, index, context.pool)
                if learned is None:
                    break
                metric = learned
                if as_planned:  # a fit that is resumed with more time learns from more rows
                    context.checkpoint.store(name, metric)
                clock.check()
        except (KeyboardInterrupt, TimeLimitReached) as error:
            context.interrupted = True
            features = f"round {index}"
            if index == 0:
                metric, features = self.run.machines[last].metric, f"the screening, on {self.plan.screen_rows:,} rows"
            warn(f"{context.clock.reason(error)}: the features are those of {features}")
        return metric

    def replayed_params(self, metric: Metric, growth: float) -> RoundParams:
        """Return ridge and bandwidth of the last round, as they were selected in the screening."""
        sample = self.source.take(self.order[: self.plan.screen_rows])
        tuner = ReplayedParams(self.run.path, self.run.candidate.seed, growth)
        return tuner.tune(self.member.round, self.run.candidate.kernel, metric, sample, self.context.workspace)

    def solve_last_round(self, rest: RowSource, metric: Metric, params: RoundParams, holdout_rows: int) -> _Final:
        """Solve for all rows, for centres, or leaf by leaf, with the learned features; a part where time is short."""
        solver, clock, pace = self.plan.solver, self.context.clock, self.context.pace
        d, outputs = rest.n_columns, rest.n_outputs
        if isinstance(solver, TreePartition):
            forecast = pace.seconds(tree_seconds(solver, rest.n_rows, d, outputs))
            if clock.left is None or clock.allows(forecast / _TREE_SHARE):
                return self.fit_tree(solver, rest, metric, params)
        most = _most(solver, rest.n_rows)

        def nominal(size: int) -> float:
            # The held-out rows are predicted afterwards.
            prediction = holdout_rows * size * entry_seconds(d)
            return (
                self.part_solver(size, rest).seconds_needed(_rows(solver, size, rest.n_rows), d, outputs) + prediction
            )

        def solve(size: int) -> _Final:
            return self.solve_size(size, rest, metric, params)

        found = solve_within(clock, pace, most, nominal, solve)
        if found is None or (found[1] < min(most, self.plan.screen_rows) and not isinstance(solver, Nystrom)):
            raise TimeLimitReached
        final, size = found
        if size == most and final.solved is None:
            return final
        if isinstance(solver, Nystrom):
            return replace(final, short=f"the model uses {size:,} instead of {most:,} centres")
        return replace(final, short=f"the model uses {size:,} of {self.source.n_rows:,} rows")

    def solve_size(self, size: int, rest: RowSource, metric: Metric, params: RoundParams) -> _Final:
        """Solve for this many centres (Nyström) or rows, the first ones in the random order."""
        begin, solver, clock = time.perf_counter(), self.part_solver(size, rest), self.context.clock
        part = None
        if _rows(self.plan.solver, size, rest.n_rows) < rest.n_rows:
            part = torch.searchsorted(self.order.sort().values, self.order[:size].sort().values)
            ratio = _total_weight(SelectedRows(rest, part)) / _total_weight(rest) if self.ridge_grows else 1.0
            params = replace(params, ridge=ratio * params.ridge)
        source = rest if part is None else SelectedRows(rest, part)
        system = StreamedSystem(params.kernel, metric, source, params.ridge, self.run.candidate.max_bytes)
        solution = solver.solve(system, clock=clock)
        if not isinstance(solver, EigenPro):  # whose residual is large after a few epochs
            check_solved(clock, solution.info)
        record = make_record(self.member.round, params, metric, solution.info, time.perf_counter() - begin)
        machine = KernelMachine(solution.operator, solution.coef, solution.weights).released()
        centers = solution.rows if part is None else part
        return _Final(machine, record, centers, part)

    def part_solver(self, size: int, rest: RowSource) -> Solver:
        """Return the solver for this many centres or rows."""
        solver = self.plan.solver
        if isinstance(solver, Nystrom):
            return replace(solver, centers=min(size, solver.centers))
        if isinstance(solver, Solver) and (isinstance(solver, EigenPro) or size == rest.n_rows):
            return solver
        return choose_part_solvers(size, self.plan.dtype, self.plan.part_bytes, rest.n_columns, rest.n_outputs)[0]

    def nominal_part(self, size: int) -> float:
        """Return the nominal time of a solve that only learns M, on this many rows."""
        d, outputs = self.source.n_columns, self.source.n_outputs
        solver = choose_part_solvers(size, self.plan.dtype, self.plan.part_bytes, d, outputs)[1]
        return solver.seconds_needed(size, d, outputs)

    def screened_model(self, rest: RowSource, screened: Int[Tensor, " p"], why: BaseException) -> _Final:
        """Return the model of the screening, for a fit that ends in its last round."""
        self.context.interrupted = True
        used = f"the model uses {len(screened):,} of {self.source.n_rows:,} rows"
        warn(f"{self.context.clock.reason(why)}: {used}")
        at = torch.searchsorted(rest.index, screened) if isinstance(rest, SelectedRows) else screened
        return _Final(self.run.machines[self.member.round], self.run.records[self.member.round], at, at)

    def solve_thresholded(self, rest: RowSource, support: Bool[Tensor, " d"], holdout_rows: int) -> _Final:
        """Fit the base kernel to the selected columns (RFM-T)."""
        sample = SelectedColumns(self.source, support).take(self.order[: self.plan.screen_rows])
        identity = Identity(sample.X.shape[1], self.source.device)
        kernel = self.run.candidate.kernel.at_columns(support)
        params = self.tuner(kernel).tune(0, kernel, identity, sample, self.context.workspace)
        if self.ridge_grows:  # it was selected for the sample's weight
            params = replace(params, ridge=params.ridge * _total_weight(rest) / sample.total_weight)
        return self.solve_last_round(SelectedColumns(rest, support), identity, params, holdout_rows)

    def fit_tree(self, partition: TreePartition, rest: RowSource, metric: Metric, params: RoundParams) -> _Final:
        """Fit a machine to each leaf of a tree, with the learned features or with features of its own."""
        begin = time.perf_counter()
        total = _total_weight(rest) if self.ridge_grows else None
        clock = None if self.context.pool.remote else self.context.clock  # other processes have other clocks
        fit_leaf = LeafSolver(self.plan, self.run.candidate, params, metric, total, partition.at_once, clock)
        rng = torch.Generator().manual_seed(self.run.candidate.seed)
        few = torch.randperm(rest.n_rows, generator=rng)[: self.plan.screen_rows].sort().values
        spare, spare_info = fit_leaf(rest.take(few))
        own = self.own_features(partition, fit_leaf)
        machine, info, rows = fit_tree(partition, rest, metric, fit_leaf, (spare, few), self.context, own)
        if isnan(info.ridge):  # no leaf was solved: the numbers are those of the model in their place
            info = replace(spare_info, solver=info.solver, status=info.status)
        if rows is not None:  # leaves are missing: the checkpoint is still needed
            self.context.interrupted = True
        record = make_record(self.member.round, params, machine.metric, info, time.perf_counter() - begin)
        return _Final(machine, record, rows, rows)

    def own_features(self, partition: TreePartition, fit_leaf: LeafSolver) -> OwnFeatures | None:
        """Return how leaves may learn features of their own; None where all of them use the same ones."""
        # Where round 0 was selected, or a threshold, learned features predict no better than the columns themselves.
        if partition.features == "shared" or not self.member.round or self.feature_threshold is not None:
            return None
        # Other rows of a leaf do not judge where they must not be predicted from the same group, or from later rows.
        if partition.features == "auto" and self.split_by is not None:
            return None
        loss = self.loss if partition.features == "auto" else None
        return OwnFeatures(OwnFeatureSolver(fit_leaf, self.member.round), loss, partition.seed)

    @property
    def screened_weight(self) -> float:
        """Total weight of the rows of the screening."""
        return self.source.take(self.order[: self.plan.screen_rows].sort().values).total_weight


def _most(solver: AnySolver, n: int) -> int:
    """Return the size of the last solve: centres, or rows; where a tree would take too long, those of a part."""
    if isinstance(solver, TreePartition):
        return min(n, PART_ROWS)
    return solver.n_centers(n)


def _rows(solver: AnySolver, size: int, n: int) -> int:
    """Return the rows that a solve of this size reads: all of them where its size is a number of centres."""
    return n if isinstance(solver, Nystrom) else size


def tree_seconds(partition: TreePartition, n: int, columns: int, outputs: int) -> float:
    """Return the nominal time of a tree: exact solves in its leaves, and two on a few rows for each split.

    Where leaves may learn features of their own, there is one more on a few rows of each.

    >>> tree_seconds(TreePartition(), 10**6, 10, 1) > 5 * tree_seconds(TreePartition(), 10**5, 10, 1)
    True
    """
    leaf = min(n, partition.leaf_rows)
    leaves = -(-partition.n_centers(n) // leaf)
    each = leaf_solver(leaf).seconds_needed(leaf, columns, outputs)
    probes = 2 * Direct().seconds_needed(PROBE_ROWS, columns, outputs)
    if partition.features != "shared":
        few = min(leaf, LEAF_FEATURE_ROWS)
        probes += _WITH_GRADIENTS * Direct().seconds_needed(few, columns, outputs)
    return leaves * (each + probes)


def _total_weight(source: RowSource) -> float:
    return float(source.reduce(_weight)[0])


def _weight(rows: Rows) -> tuple[Float[Tensor, ""], ...]:
    return (torch.tensor(rows.total_weight, dtype=torch.float64),)
