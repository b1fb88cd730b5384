"""M of every round in a form small enough to keep: its diagonal, and its block on the columns that matter most.

All rounds of the run that won are at hand when a fit ends, and are let go; with thousands of columns their matrices
would be most of a model file. The diagonals cost ``rounds · d`` numbers, the blocks 24² for each round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from gramian.core import cosine
from gramian.kernels import Metric

_MOST_COLUMNS = 24


@dataclass(frozen=True, eq=False)
class Evolution:
    """How M changed: ``Mₜ / tr Mₜ`` of rounds t = 0, 1, …, in float32.

    ``columns (k,)`` are the (encoded) columns with the largest share of the diagonal in any round, in their own order;
    ``blocks (T, k, k)`` the entries between them, ``diagonals (T, d)`` the shares of all columns, and ``cosines (T,)``
    the cosine ``⟨Mₜ, M⟩ / ‖Mₜ‖‖M‖`` to the matrix of the round that was kept.
    """

    columns: Int[np.ndarray, " k"]
    diagonals: Float[np.ndarray, "t d"]
    blocks: Float[np.ndarray, "t k k"]
    cosines: Float[np.ndarray, " t"]


def evolution(metrics: Sequence[Metric], kept: Metric, most: int = _MOST_COLUMNS) -> Evolution:
    """The small form of the matrices of some rounds.

    Parameters
    ----------
    metrics : sequence of Metric
        Of rounds 0, 1, …
    kept : Metric
        Of the round that was kept.
    most : int
        Columns of the blocks, at most.

    >>> from gramian.kernels import Diagonal, Identity
    >>> rounds = [Identity(3), Diagonal(torch.tensor([3.0, 0.0, 1.0]))]
    >>> found = evolution(rounds, rounds[1], most=2)
    >>> found.columns.tolist(), found.diagonals[1].tolist(), [round(float(c), 2) for c in found.cosines]
    ([0, 2], [0.75, 0.0, 0.25], [0.73, 1.0])
    """
    reference = kept.matrix().cpu()
    diagonals = np.stack([_scaled(metric).diagonal().numpy().astype(np.float32) for metric in metrics])
    # a round of equal shares says nothing of which columns matter, and must not push out those that do
    telling = diagonals[np.ptp(diagonals, axis=1) > 0] if np.ptp(diagonals, axis=1).any() else diagonals
    columns = np.sort(np.argsort(-telling.max(axis=0), kind="stable")[:most])
    at = torch.from_numpy(columns)
    blocks, cosines = [], []
    for metric in metrics:  # one matrix (d, d) at a time
        M = _scaled(metric)
        blocks.append(M[at][:, at].numpy().astype(np.float32))
        cosines.append(cosine(M, reference.to(M.dtype)))
    return Evolution(columns, diagonals, np.stack(blocks), np.array(cosines, dtype=np.float32))


def _scaled(metric: Metric) -> torch.Tensor:
    M = metric.matrix().cpu()
    return M / M.diagonal().sum()
