"""The probe of a layer fitted to all rows: its directions, and a machine that scores new hidden states."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.concepts.gram_rounds import fit_round, gradient_weights, next_gram, unit_gram
from gramian.concepts.probe import ProbeOptions, Selected
from gramian.concepts.row_space import Flattening, RowSpace
from gramian.core import psd_eigh, psd_factor, wide_dtype
from gramian.core.tiles import rowwise_matmul
from gramian.features import agop
from gramian.kernels import KernelOperator, Metric
from gramian.rfm.machine import KernelMachine
from gramian.solvers import Direct, RidgeSystem

_THIN = 1e-6
"""Directions of M below this multiple of the largest eigenvalue are left out of the factor that is stored."""


@dataclass(frozen=True, eq=False)
class ThinPlusIdentity(Metric):
    """``M = V Vᵀ + σ I`` with a thin factor ``V (d, k)``: products cost ``d k`` and M itself is never formed.

    >>> metric = ThinPlusIdentity(torch.tensor([[1.0], [0.0]]), 4.0)
    >>> metric.transform(torch.tensor([[3.0, 5.0]]))
    tensor([[ 3.,  6., 10.]])
    """

    factor: Float[Tensor, "d k"]
    identity: float

    @property
    def dim(self) -> int:
        return self.factor.shape[0]

    @property
    def rank(self) -> int:
        return self.factor.shape[1] + (self.dim if self.identity else 0)

    def transform(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n m"]:
        learned = rowwise_matmul(X, self.factor.to(X.dtype))
        return torch.cat([learned, X * self.identity**0.5], dim=1) if self.identity else learned

    def pull(self, G: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch d"]:
        k = self.factor.shape[1]
        learned = G[..., :k] @ self.factor.mT.to(G.dtype)
        return learned + G[..., k:] * self.identity**0.5 if self.identity else learned

    def matrix(self) -> Float[Tensor, "d d"]:
        wide = self.factor.to(wide_dtype(self.factor.device))
        return wide @ wide.mT + self.identity * torch.eye(self.dim, dtype=wide.dtype, device=wide.device)


@dataclass(frozen=True, eq=False)
class LayerFit:
    """The fitted machine of a layer, the directions of its outputs ``(d, c)``, and the mean of its targets."""

    machine: KernelMachine
    flattening: Flattening | None
    offset: Float[Tensor, " c"]
    directions: Float[Tensor, "d c"]

    def outputs(self, hidden: Float[Tensor, "m d"]) -> Float[Tensor, "m c"]:
        """Return the outputs for new hidden states, near 1 where the concept is present and near 0 where it is not."""
        rows = hidden if self.flattening is None else self.flattening.apply(hidden)
        return (self.machine.predict(rows) + self.offset).float()


def fit_layer(
    X: Float[Tensor, "n d"], space: RowSpace, Y: Float[Tensor, "n c"], selected: Selected, options: ProbeOptions
) -> LayerFit:
    """Fit the selected setting to all rows.

    The rounds run in the (flattened) coordinates of the row space, where ``M = Zᵀ C Z + σ I``; only the factor of the
    first term and the directions are taken back to the d coordinates of the hidden states. The direction of an output
    is the leading eigenvector of its AGOP, with the sign that makes the predictor grow on average.
    """
    Y = Y.double()
    gains = space.gains(selected.flatten)
    Z = space.Z * gains
    gram = Z @ Z.mT
    G = unit_gram(gram)
    size = float(gram.diagonal().mean())
    every = torch.arange(len(X))
    ridges = torch.tensor([options.feature_ridge, selected.ridge], dtype=torch.float64)
    N, C, sigma = G, torch.zeros_like(G), 1 / size
    for index in range(selected.round + 1):
        fit = fit_round(N, Y, every, selected.kernel, ridges)
        if index < selected.round:
            B = gradient_weights(fit, 0)
            # Gradients are combinations E of the rows: g = M Xᵀ b = Xᵀ (C X Xᵀ + σ) b.
            E = (B @ (gram @ C) + sigma * B).flatten(0, 1)
            second = E.mT @ E
            scale = float(torch.einsum("ij,jk,ki->", gram, second, gram)) / len(X)
            C, sigma = (1 - options.share) * second / scale, options.share / size
            N = next_gram(N, G, every, B, options.share)
    B = gradient_weights(fit, 1)
    # A gradient with respect to the hidden state passes through the flattening, so the gains enter twice.
    gradients = (B @ (gram @ C) + sigma * B) @ Z * gains
    flattening = space.flattening(X, selected.flatten) if selected.flatten else None
    metric = ThinPlusIdentity(space.back(X, psd_factor(Z.mT @ C @ Z, tol=_THIN)), sigma)
    mean = Y.mean(dim=0)
    operator = KernelOperator(fit.kernel, X if flattening is None else flattening.apply(X), metric)
    solution = Direct().solve(RidgeSystem(operator, Y - mean, selected.ridge))
    machine = KernelMachine(solution.operator.released(), solution.coef)
    return LayerFit(machine, flattening, mean, _directions(X, space, gradients))


def _directions(X: Float[Tensor, "n d"], space: RowSpace, gradients: Float[Tensor, "c m r"]) -> Float[Tensor, "d c"]:
    """Return the leading eigenvector of each output's AGOP, from its gradients in the row space."""
    columns = []
    for G in gradients:
        leading = psd_eigh(agop(G[:, None, :]))[1][:, 0]
        columns.append(leading * torch.where(G.mean(dim=0) @ leading < 0, -1.0, 1.0))
    V = space.back(X, torch.stack(columns, dim=1))
    unit: Tensor = V / V.norm(dim=0)
    return unit
