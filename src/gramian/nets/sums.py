"""The sums over all samples from which every feature matrix of one layer follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.nets.decay import Decay
from gramian.nets.moments import MomentSum, Probes, Side


@dataclass(frozen=True, eq=False)
class LayerSums:
    """Streamed sums of one layer; :mod:`gramian.nets.feature_matrix` turns them into matrices.

    Attributes
    ----------
    name : str
        Dotted name of the layer.
    weight : Tensor (g, m, k)
        Weights, one matrix per group.
    samples, rows : int
        Number of samples, and of rows: a convolution has one row per patch, a transformer one per token.
    agop : tuple of MomentSum
        One exact sum over all outputs, or two independent halves of random projections.
    projections : tuple of int
        Number of random projections in each half; empty when every output was used.
    mean : Tensor (c, g, m), optional
        Sum over rows of the gradient of each output, or of each shared projection.
    loss : MomentSum, optional
        Sum over the gradients of the per-sample loss.
    gradient : Tensor (g, m, k), optional
        ``∇_W L`` of the training loss without weight decay.
    stationary_gradient : Tensor (g, m, k), optional
        The term that equals −λW at a stationary point: ``∇_W L``, preconditioned for AdamW.
    decay : Decay
        Weight decay λ of the layer, or the reason why FACT has none.
    loss_scale : float
        Factor between the per-sample loss in the mean and the one that was summed (samples per batch for a loss with
        ``reduction="sum"``, otherwise 1).
    step : float
        Step η of the virtual covariance shift.
    initial : Tensor (g, m, k), optional
        Weights at initialisation.
    change : MomentSum, optional
        Sum over the change of the output gradients since initialisation.
    untrained : MomentSum, optional
        Sum over the output gradients of the network with its initial weights.
    max_dim : int
        Largest number of rows of a matrix that may be formed.
    probes : Probes, optional
        Random directions of a layer for which only sketches are stored.
    no_fact_reason : str, optional
        Reason why FACT is not defined for this weight.
    tied_to : str, optional
        Another layer that uses the same weight, so that ``gradient`` covers the uses of both.
    """

    name: str
    weight: Float[Tensor, "g m k"]
    samples: int
    rows: int
    agop: tuple[MomentSum, ...]
    projections: tuple[int, ...]
    mean: Float[Tensor, "c g m"] | None
    loss: MomentSum | None
    gradient: Float[Tensor, "g m k"] | None
    stationary_gradient: Float[Tensor, "g m k"] | None
    decay: Decay
    loss_scale: float
    step: float
    initial: Float[Tensor, "g m k"] | None
    change: MomentSum | None
    max_dim: int
    untrained: MomentSum | None = None
    probes: Probes | None = None
    no_fact_reason: str | None = None
    tied_to: str | None = None

    @property
    def W(self) -> Float[Tensor, "g m k"]:
        """The weights in float64."""
        return self.weight.double()

    @property
    def initial_W(self) -> Float[Tensor, "g m k"]:
        """The initial weights in float64; the caller has checked that there are any."""
        assert self.initial is not None
        return self.initial.double()

    def at_start(self) -> LayerSums | None:
        """The same sums of the network with its initial weights: weights and AGOP; None where they are not known."""
        if self.initial is None or self.untrained is None:
            return None
        return replace(
            self,
            weight=self.initial,
            agop=(self.untrained,),
            projections=(sum(self.projections),) if self.projections else (),
            mean=None,
            loss=None,
            gradient=None,
            stationary_gradient=None,
            initial=None,
            change=None,
            untrained=None,
        )

    @property
    def stored_side(self) -> Side:
        """The side of the layer on which the second moments are stored, or ``"sketch"``."""
        return self.agop[0].side

    @property
    def sketched(self) -> bool:
        """True where only products of the matrices with random probes are known."""
        return self.stored_side == "sketch"

    @property
    def projection_count(self) -> int:
        """Number of random projections that each sum of squares over the outputs runs over; 1 without them."""
        return sum(self.projections) if self.projections else 1

    @property
    def agop_second(self) -> Tensor:
        """``Σ d dᵀ`` of the output gradients, on the stored side; an unbiased estimate from random projections."""
        if not self.projections:
            return self.agop[0].total
        shares = [1 / (p * len(self.projections)) for p in self.projections]
        total = self.agop[0].total * shares[0]
        for moment, share in zip(self.agop[1:], shares[1:], strict=True):
            total.add_(moment.total, alpha=share)
        return total

    @property
    def agop_halves(self) -> tuple[Tensor, ...]:
        """Independent estimates of :attr:`agop_second`, each the average over the projections of one half."""
        return tuple(moment.total / p for moment, p in zip(self.agop, self.projections, strict=True))

    @property
    def loss_second(self) -> Tensor:
        """``Σ d dᵀ`` of the gradients of the loss, on the stored side."""
        assert self.loss is not None
        return self.loss.total

    def mean_gradients(self) -> Float[Tensor, "c g d"]:
        """Mean gradients over the rows, on the stored side, whose outer products sum to what centring subtracts.

        The mean gradient of a combination of outputs is that combination of their mean gradients. With projections
        that all samples share, centring each projection separately is therefore unbiased; projections are weighted by
        the half they belong to.
        """
        assert self.mean is not None
        mean = self.mean
        if self.projections:
            shares = [torch.full((p,), 1 / (p * len(self.projections))) for p in self.projections]
            mean = mean * torch.cat(shares).to(mean).sqrt()[:, None, None]
        if self.stored_side != "output":
            mean = torch.einsum("cgm,gmk->cgk", mean, self.W)
        return mean / self.rows

    def probe(self, side: Side) -> Float[Tensor, "d q"]:
        """The random directions Ω on one side of a sketched layer."""
        assert self.probes is not None
        return self.probes.input if side == "input" else self.probes.output
