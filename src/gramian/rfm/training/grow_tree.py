"""Growth of a tree of kernel machines: splits along learned directions, and an exact solve in each leaf.

A node's rows are split at the median along the direction in which a machine fitted to a few of them changes most (the
leading eigenvector of its AGOP), so that the rows of a leaf are similar in the features that matter. Rows in a band
around the threshold belong to both children; see :mod:`gramian.rfm.tree`. The cost is ``n/leaf`` solves of ``leaf``
rows, linear in n. Leaves share one M, or learn their own; see :mod:`gramian.rfm.training.leaf_features`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.linalg import psd_eigh
from gramian.core.pool import Pool, side_by_side
from gramian.core.rows import Rows, RowSource
from gramian.core.tiles import rowwise_matmul, spans
from gramian.core.warn import warn
from gramian.features import agop_from_moments
from gramian.kernels import Metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.options import TreePartition
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.leaf_features import FitLeaf, OwnFeatures, OwnFeatureSolver, mean_metric
from gramian.rfm.training.plan import PROBE_ROWS
from gramian.rfm.tree import Splits, TreeMachine
from gramian.solvers import SolveInfo

log = logging.getLogger(__name__)

_BATCH = 8
"""Leaves whose rows are in memory at a time."""
_BLOCK_ROWS = 2**16
"""Rows that are projected at a time."""
_DIRECTIONS = 5
"""Eigenvectors that are tried before a node counts as one that cannot be split."""
_GRADIENT_ROWS = 500
"""Rows of a probe at which gradients are averaged, about: more of them do not change the direction visibly."""
_MIN_SHARE = 0.2
"""Share of a node's rows, without the band, that each child must have; columns of a few values may not allow it."""


def fit_tree(
    partition: TreePartition,
    source: RowSource,
    metric: Metric,
    fit_leaf: FitLeaf,
    fallback: tuple[KernelMachine, Int[Tensor, " s"]],
    context: FitContext,
    own: OwnFeatures | None = None,
) -> tuple[TreeMachine | KernelMachine, SolveInfo, Int[Tensor, " k"] | None]:
    """Split the rows, and fit a machine to each leaf; the result is one machine where nothing can be split.

    The third value lists the rows that are centres, where these are not all rows.

    Parameters
    ----------
    partition : TreePartition
    source : RowSource
    metric : Metric
        The features that all leaves share.
    fit_leaf : function
        Rows → machine with these features, and how its system was solved.
    fallback : pair (machine, its rows)
        Predicts for leaves that are not fitted before the time limit or Ctrl-C.
    context : FitContext
        Its pool fits the leaves; its progress bar counts them.
    own : OwnFeatures, optional
        How leaves may learn features of their own.
    """
    splits: Splits | None = None
    fitted = _FittedLeaves([torch.arange(source.n_rows)])
    workers = partition.workers if source.device.type == "cpu" else 1
    try:
        with side_by_side(context.pool, workers) as pool:
            splits, parts = grow(partition, source, fit_leaf, pool, context.clock)
            fitted = _FittedLeaves(parts)
            context.tick.expect(len(parts))
            task = _LeafTask(source, fitted, pool, context)
            task.fit(task.select(fit_leaf, own, splits))
    except (KeyboardInterrupt, TimeLimitReached) as error:
        left = len(fitted.missing)
        if left:
            warn(
                f"{context.clock.reason(error)}: {left} of {len(fitted.parts)} leaves fall back to a model fitted to "
                f"{fallback[0].n} random rows"
            )
    info = fitted.worst()
    if splits is None:
        only = fitted.machines.get(0)
        return (fallback[0], info, fallback[1]) if only is None else (only, info, None)
    found = [(fitted.machines[i], part) if i in fitted.machines else fallback for i, part in enumerate(fitted.parts)]
    machines, centers = zip(*found, strict=True)
    if fitted.own:
        metric = mean_metric(machines, metric)
    if not fitted.missing:
        return TreeMachine(splits, machines, centers, metric), info, None
    present = torch.cat(centers).unique()  # type: ignore[no-untyped-call]
    places = tuple(torch.searchsorted(present, rows) for rows in centers)
    return TreeMachine(splits, machines, places, metric), info, present


@dataclass(eq=False)
class _FittedLeaves:
    """The rows of all leaves, and the machines of those that are fitted; ``own`` tells of features of their own."""

    parts: list[Int[Tensor, " _"]]
    machines: dict[int, KernelMachine] = field(default_factory=dict)
    infos: dict[int, SolveInfo] = field(default_factory=dict)
    own: bool = False

    @property
    def missing(self) -> list[int]:
        """Leaves that are not fitted yet."""
        return [index for index in range(len(self.parts)) if index not in self.machines]

    def worst(self) -> SolveInfo:
        """Summarise the solves of all leaves by the worst of each number."""
        infos, sizes = list(self.infos.values()), sorted(map(len, self.parts))
        early = "stopped early, " if self.missing else ""
        features = " with features of their own" if self.own else ""
        leaves = f"{len(infos)} of {len(self.parts)} leaves of {sizes[0]:,} to {sizes[-1]:,} rows"
        status = f"{early}{leaves} solved{features}"
        if not infos:
            return SolveInfo("tree", status, 0, float("nan"), float("nan"), 0.0, "", 0)
        worst = max(infos, key=lambda info: info.residual)
        return replace(
            worst,
            solver="tree",
            status=f"{status}; the worst: {worst.status}",
            steps=max(info.steps for info in infos),
            jitter=max(info.jitter for info in infos),
            bytes=max(info.bytes for info in infos),
        )


@dataclass(frozen=True, eq=False)
class _LeafTask:
    """Fits leaves in batches, by the workers of a pool."""

    source: RowSource
    fitted: _FittedLeaves
    pool: Pool
    context: FitContext

    def fit(self, fit_leaf: FitLeaf) -> None:
        """Fit all leaves, and keep each as soon as it is finished."""
        for batch in spans(len(self.fitted.parts), _BATCH):
            rows = [self.source.take(part) for part in self.fitted.parts[batch]]
            for index, (machine, info) in self.pool.run(_fit_released, fit_leaf, rows):
                leaf = batch.start + index
                self.fitted.machines[leaf], self.fitted.infos[leaf] = machine, info
                self.context.tick()
                self.context.clock.check(1.0)

    def select(self, fit_leaf: FitLeaf, own: OwnFeatures | None, splits: Splits | None) -> FitLeaf:
        """Return the way to fit the leaves: with shared features or with their own, as given or as trials decide."""
        if own is None or splits is None:
            return fit_leaf
        if own.loss is not None:
            rows = [self.source.take(self.fitted.parts[leaf]) for leaf in own.tried(len(self.fitted.parts))]
            trials = sorted(self.pool.run(OwnFeatureSolver.trial, own.solver, rows), key=itemgetter(0))
            self.context.clock.check(1.0)
            if not own.are_better([trial for _, trial in trials]):
                return fit_leaf
        self.fitted.own = True
        return own.solver


def grow(
    partition: TreePartition, source: RowSource, fit_leaf: FitLeaf, pool: Pool, clock: Clock
) -> tuple[Splits | None, list[Int[Tensor, " _"]]]:
    """Grow the splits level by level, and return the rows of each leaf; None where all rows are in one leaf."""
    rng = torch.Generator().manual_seed(partition.seed)
    nodes: list[tuple[Tensor, float, float]] = []
    children: list[list[int]] = []
    leaves: list[Tensor] = []
    level: list[tuple[Tensor, tuple[int, int] | None]] = [(torch.arange(source.n_rows), None)]
    while level:
        following: list[tuple[Tensor, tuple[int, int] | None]] = []
        large = [rows for rows, _ in level if len(rows) > partition.leaf_rows]
        found = _directions(source, large, fit_leaf, rng, pool)
        for rows, parent in level:
            clock.check(1.0)
            split = None
            if len(rows) > partition.leaf_rows:
                directions = next(found)
                split = _split(_heights(source, rows, directions), partition.overlap)
            number = -1 - len(leaves) if split is None else len(nodes)
            if parent is not None:
                children[parent[0]][parent[1]] = number
            if split is None:
                if len(rows) > 2 * partition.leaf_rows:
                    log.warning("%d rows could not be split: they have too few distinct values", len(rows))
                leaves.append(rows)
                continue
            nodes.append((directions[split.direction], split.threshold, split.width))
            children.append([0, 0])
            following += [(rows[split.left], (number, 0)), (rows[split.right], (number, 1))]
        level = following
    if not nodes:
        return None, leaves
    numbers = torch.tensor([node[1:] for node in nodes], dtype=nodes[0][0].dtype, device=source.device)
    splits = Splits(
        torch.stack([node[0] for node in nodes]),
        numbers[:, 0].contiguous(),
        numbers[:, 1].contiguous(),
        torch.tensor(children, device=source.device),
    )
    return splits, leaves


@dataclass(frozen=True, eq=False)
class _Split:
    """The direction of a split, its threshold and band, and the rows on either side."""

    direction: int
    threshold: float
    width: float
    left: Tensor
    right: Tensor


def _fit_released(fit_leaf: FitLeaf, rows: Rows) -> tuple[KernelMachine, SolveInfo]:
    machine, info = fit_leaf(rows)
    return machine.released(), info  # the prepared rows of all leaves at once would take much memory


def _heights(source: RowSource, rows: Int[Tensor, " k"], directions: Float[Tensor, "e d"]) -> Float[Tensor, "k e"]:
    """Project the rows of a node on its directions, block by block, to the same bits as :class:`Splits`."""
    right = directions.mT.contiguous()
    parts = [
        rowwise_matmul(source.take(rows[part]).X.to(right.dtype), right).cpu() for part in spans(len(rows), _BLOCK_ROWS)
    ]
    return torch.cat(parts)


def _directions(
    source: RowSource, nodes: Sequence[Tensor], fit_leaf: FitLeaf, rng: torch.Generator, pool: Pool
) -> Iterator[Float[Tensor, "k d"]]:
    """Yield for each node the leading eigenvectors of the AGOP of a machine fitted to a few of its rows."""
    for batch in spans(len(nodes), _BATCH):
        probes = [
            source.take(rows[torch.randperm(len(rows), generator=rng)[:PROBE_ROWS].sort().values])
            for rows in nodes[batch]
        ]
        for _, agop in sorted(pool.run(_probe, fit_leaf, probes), key=itemgetter(0)):
            yield psd_eigh(agop)[1].mT[:_DIRECTIONS].contiguous()


def _probe(fit_leaf: FitLeaf, rows: Rows) -> Float[Tensor, "d d"]:
    machine = fit_leaf(rows)[0]
    at = torch.arange(0, machine.n, max(1, machine.n // _GRADIENT_ROWS))  # probes are drawn at random
    return agop_from_moments(*machine.moments(at))


def _split(heights: Float[Tensor, "n k"], overlap: float) -> _Split | None:
    """Split near the median of the first direction that has about as many rows on either side, between two heights."""
    for index, height in enumerate(heights.mT):
        order = height.sort().values
        # A threshold in the middle of a gap: equal rows stay together, whatever the last bit of a product.
        gaps = order.diff()
        real = (gaps > 1e-9 * order.abs().max()).nonzero().squeeze(1)
        if not len(real):
            continue
        cut = int(real[(real + 1 - len(order) / 2).abs().argmin()])
        share = (cut + 1) / len(order)
        if min(share, 1 - share) < _MIN_SHARE:
            continue
        threshold = float((order[cut] + order[cut + 1]) / 2)
        away = (height - threshold).abs()
        width = float(away.sort().values[int(overlap * len(away))]) if overlap > 0 else 0.0
        if width <= 0.5001 * float(gaps[cut]):
            left, right, width = height < threshold, height > threshold, 0.0
        else:
            left, right = height < threshold + width, height > threshold - width
        return _Split(index, threshold, width, left.nonzero().squeeze(1), right.nonzero().squeeze(1))
    return None
