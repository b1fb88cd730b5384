"""Many rows by parts: a tree of splits along learned directions, and an exact kernel machine for each leaf.

A node's rows are split at the median along the direction in which a machine fitted to a few of them changes most (the
leading eigenvector of its AGOP), so that a leaf's rows are alike in what matters. Rows in a band around the threshold
go into both children; see :mod:`gramian.rfm.tree`. Cost: ``n/leaf`` solves of ``leaf`` rows, linear in n.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.pool import Pool
from gramian.core.rows import Rows, RowSource
from gramian.core.tiles import spans
from gramian.kernels import Metric
from gramian.rfm.clock import Clock, TimeIsUp
from gramian.rfm.machine import KernelMachine
from gramian.rfm.tree import Splits, TreeMachine
from gramian.solvers import Partition, SolveInfo

log = logging.getLogger(__name__)

Fit = Callable[[Rows], tuple[KernelMachine, SolveInfo]]
_PROBE_ROWS = 1500
"""Rows of a node that a machine is fitted to in order to find a direction."""
_BATCH = 8
"""Leaves whose rows are brought into memory at a time."""
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
    tick: Callable[[], object] = lambda: None,
) -> tuple[TreeMachine | KernelMachine, SolveInfo]:
    """Split the rows, and fit a machine to each leaf; one machine where nothing can be split.

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
    tick : function
        Called after each leaf.
    """
    splits, parts = grow(partition, source, fit)
    leaves: list[KernelMachine | None] = [None] * len(parts)
    infos: list[SolveInfo] = []
    try:
        for batch in spans(len(parts), _BATCH):
            rows = [source.take(part) for part in parts[batch]]
            for index, (machine, info) in pool.run(_fit_leaf, fit, rows):
                leaves[batch.start + index] = machine
                infos.append(info)
                tick()
                clock.check(1.0)
    except (KeyboardInterrupt, TimeIsUp) as error:
        left = sum(leaf is None for leaf in leaves)
        if left:
            warnings.warn(
                f"{clock.why(error)}: {left} of {len(leaves)} leaves predict with the machine that was fitted to "
                f"{spare[0].n} rows of all",
                stacklevel=2,
            )
    told = _told(infos, parts)
    if splits is None:
        return leaves[0] or spare[0], told
    found = [spare if leaf is None else (leaf, rows) for leaf, rows in zip(leaves, parts, strict=True)]
    machines, stands_on = zip(*found, strict=True)
    return TreeMachine(splits, machines, stands_on, metric), told


def grow(partition: Partition, source: RowSource, fit: Fit) -> tuple[Splits | None, list[Int[Tensor, " _"]]]:
    """The splits, level by level, and the rows of each leaf; None where all rows are in one leaf.

    All nodes of a level are projected in one pass over the rows, which may be on a disk.
    """
    rng = torch.Generator().manual_seed(partition.seed)
    n = source.n_rows
    nodes: list[tuple[Tensor, float, float]] = []
    children: list[list[int]] = []
    leaves: list[Tensor] = []
    level: list[tuple[Tensor, tuple[int, int] | None]] = [(torch.arange(n), None)]
    while level:
        found = [_directions(source, rows, fit, rng) if len(rows) > partition.leaf_rows else None for rows, _ in level]
        wanted = [directions for directions in found if directions is not None]
        heights = source.map(_project, torch.cat(wanted)).cpu() if wanted else torch.empty(n, 0)
        following: list[tuple[Tensor, tuple[int, int] | None]] = []
        at = 0
        for (rows, parent), directions in zip(level, found, strict=True):
            split = None
            if directions is not None:
                split = _split(heights[rows, at : at + len(directions)], partition.overlap)
                at += len(directions)
            number = -1 - len(leaves) if split is None else len(nodes)
            if parent is not None:
                children[parent[0]][parent[1]] = number
            if split is None:
                if len(rows) > 2 * partition.leaf_rows:
                    log.warning("%d rows could not be split: they are too much alike", len(rows))
                leaves.append(rows)
                continue
            assert directions is not None
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
    machine.__dict__.pop("operator", None)  # made again when it predicts: all leaves' at once would take much memory
    return machine, info


def _told(infos: list[SolveInfo], parts: list[Tensor]) -> SolveInfo:
    """How all leaves went: the worst of each."""
    sizes = sorted(map(len, parts))
    status = f"{len(infos)} of {len(parts)} leaves of {sizes[0]:,} to {sizes[-1]:,} rows solved"
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


def _project(block: Rows, directions: Float[Tensor, "k d"]) -> Float[Tensor, "n k"]:
    return block.X.to(directions.dtype) @ directions.mT


def _directions(source: RowSource, rows: Tensor, fit: Fit, rng: torch.Generator) -> Float[Tensor, "k d"]:
    """Leading eigenvectors of the AGOP of a machine on a few of a node's rows: where its function changes most."""
    few = rows[torch.randperm(len(rows), generator=rng)[:_PROBE_ROWS].sort().values]
    agop = fit(source.take(few))[0].agop
    _, vectors = torch.linalg.eigh(agop)
    return vectors.mT.flip(0)[:_DIRECTIONS].contiguous()


def _split(heights: Float[Tensor, "n k"], overlap: float) -> _Split | None:
    """At the median of the first direction that has about as many rows on either side."""
    for index, height in enumerate(heights.mT):
        threshold = float(height.quantile(0.5) if len(height) < 2**20 else height.sort().values[len(height) // 2])
        right = height > threshold
        share = float(right.float().mean())
        if min(share, 1 - share) < _UNEVEN:
            continue
        away = (height - threshold).abs()
        width = float(away.sort().values[int(overlap * len(away))]) if overlap > 0 else 0.0
        if width == 0:
            return _Split(index, threshold, 0.0, (~right).nonzero().squeeze(1), right.nonzero().squeeze(1))
        left, right = height < threshold + width, height > threshold - width
        return _Split(index, threshold, width, left.nonzero().squeeze(1), right.nonzero().squeeze(1))
    return None
