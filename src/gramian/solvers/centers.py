"""Selection of centres, the training rows that have coefficients in a Nyström model.

The importance of a row is its ridge leverage ``[K (K + λI)⁻¹]ᵢᵢ``, the part of it that the other rows do not explain.
It is estimated under the model's own metric from a uniform sample of pilot rows. Centres are drawn without replacement,
half in proportion to the leverage and half uniformly.
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
"""Candidates per centre; a larger pool does not change the result."""


@dataclass(frozen=True, eq=False)
class Centers:
    """Centres: their indices in the training set, their rows, and the weight of training rows each represents."""

    index: Int[Tensor, " m"]
    X: Float[Tensor, "m d"]
    weights: Float[Tensor, " m"] | None

    def __len__(self) -> int:
        return len(self.index)


def choose_centers(
    kernel: Kernel, metric: Metric, source: RowSource, m: int, choice: str, ridge: float, seed: int
) -> Centers:
    """Draw m centres from the rows of a source.

    Parameters
    ----------
    kernel, metric
        Kernel and metric of the model.
    source : RowSource
    m : int
        Number of centres; all rows, in their order, if there are no more than m.
    choice : "leverage" or "uniform"
    ridge : float
        Regularisation in the leverage: directions with a smaller eigenvalue hardly count.
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
        return _taken(source, order[:m].sort().values, torch.full((m,), n / m))
    pool = order[: _POOL * m].sort().values
    rows = source.take(pool)
    pilot = rows.X[torch.randperm(len(pool), generator=rng)[:_PILOT].to(rows.X.device)]
    leverage = _leverages(KernelOperator(kernel, pilot, metric), rows.X, ridge, n).cpu()
    # Half by leverage, half uniformly: no centre then represents more than twice its share of rows.
    probability = 0.5 * leverage / leverage.sum() + 0.5 / len(pool)
    chosen = torch.multinomial(probability, m, generator=rng).sort().values
    return _taken(source, pool[chosen], n / len(pool) / (m * probability[chosen]).clamp(max=1))


def _leverages(pilot: KernelOperator, X: Float[Tensor, "p d"], ridge: float, n: int) -> Float[Tensor, " p"]:
    """``k(x, x) − k_xᵀ (K + σI)⁻¹ k_x``, the part of each row that the pilot rows do not explain.

    σ is the ridge times the pilot's share of all rows.
    """
    wide = pilot.wide
    K = pilot.widened().dense()  # round-off of float32 can make it indefinite by more than σ
    scale = float(K.diagonal().mean()) or 1.0
    sigma = max(ridge * len(K) / n, 1e-6 * scale)
    K.diagonal().add_(sigma)
    L = torch.linalg.cholesky(K)
    out = torch.empty(len(X), dtype=wide, device=X.device)
    for span in spans(len(X), 1024):
        new = pilot.prepare(X[span])
        C = pilot.kernel.block(new, pilot.points, batch_invariant=False).to(wide)
        explained = torch.linalg.solve_triangular(L, C.mT, upper=False).square().sum(dim=0)
        out[span] = pilot.kernel.diagonal(new).to(wide) - explained
    return out.clamp_min(1e-3 * scale)


def _taken(source: RowSource, chosen: Int[Tensor, " m"], represented: Tensor) -> Centers:
    """Take the chosen rows; ``represented`` is the number of training rows that each represents."""
    rows = source.take(chosen)
    weights = represented.to(rows.Y.dtype).to(rows.X.device)
    return Centers(chosen, rows.X, weights if rows.weights is None else weights * rows.weights)
