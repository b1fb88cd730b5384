"""Which of many rows a machine should stand on.

A row counts as much as the others fail to speak for it: its ridge leverage ``[K (K + λI)⁻¹]ᵢᵢ``. It is estimated under
the machine's own metric through a pilot of rows drawn alike, and centres are drawn without replacement, half in
proportion to it and half alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.rows import RowSource
from gramian.core.tiles import spans
from gramian.kernels import Kernel, KernelOperator, Metric

_PILOT = 1000
_POOL = 10
"""Candidates for each centre, beyond which more of them change nothing."""


@dataclass(frozen=True, eq=False)
class Centers:
    """Rows to stand on: where they are in the training set, what they are, and the weight of rows each speaks for."""

    index: Int[Tensor, " m"]
    X: Float[Tensor, "m d"]
    weights: Float[Tensor, " m"] | None

    def __len__(self) -> int:
        return len(self.index)


def choose_centers(
    kernel: Kernel, metric: Metric, source: RowSource, m: int, choice: str, ridge: float, seed: int
) -> Centers:
    """m rows of the source to stand on.

    Parameters
    ----------
    kernel, metric
        What the rows are compared by.
    source : RowSource
    m : int
        How many; all rows, in their order, where there are no more.
    choice : "leverage" or "uniform"
    ridge : float
        Scale below which a direction does not count.
    seed : int

    >>> from gramian.core.rows import MemoryRows, Rows
    >>> from gramian.kernels import Gaussian, Identity
    >>> rows = MemoryRows(Rows(torch.rand(50, 2), torch.rand(50, 1)))
    >>> len(choose_centers(Gaussian(1.0), Identity(2), rows, 10, "uniform", 0.1, seed=0))
    10
    """
    n = source.n_rows
    rng = torch.Generator().manual_seed(seed)
    if m >= n:
        every = torch.arange(n)
        rows = source.take(every)
        return Centers(every, rows.X, rows.weights)
    order = torch.randperm(n, generator=rng)
    if choice == "uniform":
        return _kept(source, order[:m].sort().values, torch.full((m,), n / m))
    pool = order[: _POOL * m].sort().values
    rows = source.take(pool)
    pilot = rows.X[torch.randperm(len(pool), generator=rng)[:_PILOT].to(rows.X.device)]
    leverage = _leverages(KernelOperator(kernel, pilot, metric), rows.X, ridge, n).cpu()
    # Half by leverage, half alike: nobody then speaks for more than twice its share of rows.
    probability = 0.5 * leverage / leverage.sum() + 0.5 / len(pool)
    chosen = torch.multinomial(probability, m, generator=rng).sort().values
    return _kept(source, pool[chosen], n / len(pool) / (m * probability[chosen]).clamp(max=1))


def _leverages(pilot: KernelOperator, X: Float[Tensor, "p d"], ridge: float, n: int) -> Float[Tensor, " p"]:
    """``k(x, x) − k_xᵀ (K + σI)⁻¹ k_x``, what the pilot leaves open of each row, with σ its share of the ridge."""
    wide = pilot.wide
    K = pilot.dense().to(wide)
    scale = float(K.diagonal().mean()) or 1.0
    sigma = max(ridge * len(K) / n, 1e-6 * scale)
    K.diagonal().add_(sigma)
    L = torch.linalg.cholesky(K)
    out = torch.empty(len(X), dtype=wide, device=X.device)
    for span in spans(len(X), 1024):
        new = pilot.prepare(X[span])
        C = pilot.kernel.block(new, pilot.points, batch_invariant=False).to(wide)
        seen = torch.linalg.solve_triangular(L, C.mT, upper=False).square().sum(dim=0)
        out[span] = pilot.kernel.diagonal(new).to(wide) - seen
    return out.clamp_min(1e-3 * scale)


def _kept(source: RowSource, chosen: Int[Tensor, " m"], speaks_for: Tensor) -> Centers:
    rows = source.take(chosen)
    weights = speaks_for.to(rows.Y.dtype).to(rows.X.device)
    return Centers(chosen, rows.X, weights if rows.weights is None else weights * rows.weights)
