"""Many rows by parts: a tree of splits along learned directions, and an exact kernel machine for each leaf.

A node's rows are split at the median along the direction in which a machine fitted to a few of them changes most (the
leading eigenvector of its AGOP), so that a leaf's rows are alike in what matters. Rows in a band around the threshold
go into both children; see :mod:`gramian.rfm.tree`. Cost: ``n/leaf`` solves of ``leaf`` rows, linear in n.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.linalg import psd_eigh
from gramian.core.pool import Pool, side_by_side
from gramian.core.progress import Tick
from gramian.core.rows import Rows, RowSource
from gramian.core.tiles import rowwise_matmul, spans
from gramian.kernels import Metric
from gramian.rfm.machine import KernelMachine
from gramian.rfm.tree import Splits, TreeMachine
from gramian.solvers import Partition, SolveInfo

log = logging.getLogger(__name__)

Fit = Callable[[Rows], tuple[KernelMachine, SolveInfo]]
_PROBE_ROWS = 1500
"""Rows of a node that a machine is fitted to in order to find a direction."""
_BATCH = 8
"""Leaves whose rows are brought into memory at a time."""
_BLOCK_ROWS = 2**16
"""Rows that are projected at a time."""
_DIRECTIONS = 5
"""Eigenvectors that are tried before a node counts as one that cannot be split."""
_UNEVEN = 0.2
"""Each child must have at least this share of a node's rows, bands apart; columns of a few values may not allow it."""


def fit_tree(
    partition: Partition,
    source: RowSource,
    metric: Metric,
    fit: Fit,
    spare: tuple[KernelMachine, Int[Tensor, " s"]],
    *,
    pool: Pool,
    clock: Clock,
    tick: Tick | None = None,
) -> tuple[TreeMachine | KernelMachine, SolveInfo, Int[Tensor, " k"] | None]:
    """Split the rows, and fit a machine to each leaf; one machine where nothing can be split.

    The third result says which rows carry the machine, where those are not all.

    Parameters
    ----------
    partition : Partition
    source : RowSource
    metric : Metric
        The features all leaves have in common.
    fit : function
        Rows → machine with these features, and how its system was solved.
    spare : pair (machine, rows it stands on)
        Serves leaves that were not reached before time was up or Ctrl-C was pressed.
    pool : Pool
        Where leaves are fitted.
    clock : Clock
    tick : Tick, optional
        Is told how many leaves there are, and called after each.
    """
    tick = Tick() if tick is None else tick
    splits: Splits | None = None
    parts = [torch.arange(source.n_rows)]
    leaves: list[KernelMachine | None] = [None]
    infos: list[SolveInfo] = []
    workers = partition.workers if source.device.type == "cpu" else 1
    try:
        with side_by_side(pool, workers) as pool:
            splits, parts = grow(partition, source, fit, pool, clock)
            leaves = [None] * len(parts)
            tick.expect(len(parts))
            for batch in spans(len(parts), _BATCH):
                rows = [source.take(part) for part in parts[batch]]
                for index, (machine, info) in pool.run(_fit_leaf, fit, rows):
                    leaves[batch.start + index] = machine
                    infos.append(info)
                    tick()
                    clock.check(1.0)
    except (KeyboardInterrupt, TimeLimitReached) as error:
        left = sum(leaf is None for leaf in leaves)
        if left:
            warnings.warn(
                f"{clock.reason(error)}: {left} of {len(leaves)} leaves predict with the machine that was fitted to "
                f"{spare[0].n} rows of all",
                stacklevel=2,
            )
    told = _told(infos, parts)
    if splits is None:
        return (spare[0], told, spare[1]) if leaves[0] is None else (leaves[0], told, None)
    found = [spare if leaf is None else (leaf, rows) for leaf, rows in zip(leaves, parts, strict=True)]
    machines, stands_on = zip(*found, strict=True)
    if None not in leaves:
        return TreeMachine(splits, machines, stands_on, metric), told, None
    present = torch.cat(stands_on).unique()
    return (
        TreeMachine(splits, machines, tuple(torch.searchsorted(present, rows) for rows in stands_on), metric),
        told,
        present,
    )


def grow(
    partition: Partition, source: RowSource, fit: Fit, pool: Pool, clock: Clock
) -> tuple[Splits | None, list[Int[Tensor, " _"]]]:
    """The splits, level by level, and the rows of each leaf; None where all rows are in one leaf."""
    rng = torch.Generator().manual_seed(partition.seed)
    nodes: list[tuple[Tensor, float, float]] = []
    children: list[list[int]] = []
    leaves: list[Tensor] = []
    level: list[tuple[Tensor, tuple[int, int] | None]] = [(torch.arange(source.n_rows), None)]
    while level:
        following: list[tuple[Tensor, tuple[int, int] | None]] = []
        found = _directions(source, [rows for rows, _ in level if len(rows) > partition.leaf_rows], fit, rng, pool)
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
                    log.warning("%d rows could not be split: they are too much alike", len(rows))
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
    """Which direction, where, and who goes left and right."""

    direction: int
    threshold: float
    width: float
    left: Tensor
    right: Tensor


def _fit_leaf(fit: Fit, rows: Rows) -> tuple[KernelMachine, SolveInfo]:
    machine, info = fit(rows)
    return machine.released(), info  # the prepared rows of all leaves at once would take much memory


def _told(infos: list[SolveInfo], parts: list[Tensor]) -> SolveInfo:
    """How all leaves went: the worst of each."""
    sizes = sorted(map(len, parts))
    early = "stopped early, " if len(infos) < len(parts) else ""
    status = f"{early}{len(infos)} of {len(parts)} leaves of {sizes[0]:,} to {sizes[-1]:,} rows solved"
    if not infos:
        return SolveInfo("partition", status, 0, float("nan"), float("nan"), 0.0, "", 0)
    worst = max(infos, key=lambda info: info.residual)
    return replace(
        worst,
        solver="partition",
        status=f"{status}; the worst: {worst.status}",
        steps=max(info.steps for info in infos),
        jitter=max(info.jitter for info in infos),
        bytes=max(info.bytes for info in infos),
    )


def _heights(source: RowSource, rows: Int[Tensor, " k"], directions: Float[Tensor, "e d"]) -> Float[Tensor, "k e"]:
    """Rows of a node along its directions, a block at a time; to the digit as :class:`Splits` computes them."""
    right = directions.mT.contiguous()
    parts = [
        rowwise_matmul(source.take(rows[part]).X.to(right.dtype), right).cpu() for part in spans(len(rows), _BLOCK_ROWS)
    ]
    return torch.cat(parts)


def _directions(
    source: RowSource, nodes: Sequence[Tensor], fit: Fit, rng: torch.Generator, pool: Pool
) -> Iterator[Float[Tensor, "k d"]]:
    """For each node, leading eigenvectors of the AGOP of a machine on a few of its rows: where it changes most."""
    for batch in spans(len(nodes), _BATCH):
        probes = [
            source.take(rows[torch.randperm(len(rows), generator=rng)[:_PROBE_ROWS].sort().values])
            for rows in nodes[batch]
        ]
        for _, agop in sorted(pool.run(_probe, fit, probes), key=itemgetter(0)):
            yield psd_eigh(agop)[1].mT[:_DIRECTIONS].contiguous()


def _probe(fit: Fit, rows: Rows) -> Float[Tensor, "d d"]:
    return fit(rows)[0].agop


def _split(heights: Float[Tensor, "n k"], overlap: float) -> _Split | None:
    """Near the median of the first direction that has about as many rows on either side, between two heights."""
    for index, height in enumerate(heights.mT):
        order = height.sort().values
        # A threshold in the middle of a gap: rows that tie stay together, whatever the last digit of a product.
        gaps = order.diff()
        real = (gaps > 1e-9 * order.abs().max()).nonzero().squeeze(1)
        if not len(real):
            continue
        cut = int(real[(real + 1 - len(order) / 2).abs().argmin()])
        share = (cut + 1) / len(order)
        if min(share, 1 - share) < _UNEVEN:
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
