"""What was summed for one layer, and every feature matrix that follows from it.

All input-side matrices are ``Wᵀ X`` for a small X (m, k): ``X = W`` (NFM), ``KW`` (AGOP), ``BW`` (eNFA),
``−∇L/λ`` (FACT). So a table of 30,000 tokens is compared exactly without a 30,000 × 30,000 matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import psd_eigh, psd_power
from gramian.features import agop_from_moments, backward_fact, fact, fact_symmetric, nfm
from gramian.nets.alignment import congruence
from gramian.nets.decay import Decay
from gramian.nets.moments import Probes, SecondMoment
from gramian.nets.sketch import gram_eigh, nystrom_factor

INPUT = (
    "nfm",
    "agop",
    "agop_centered",
    "enfa",
    "fact",
    "fact_sym",
    "fact_polar",
    "vcs",
    "nfm_initial",
    "nfm_change",
)
OUTPUT = ("bnfm", "ptk", "bagop", "benfa", "bfact", "ptk_change")
PSD = ("nfm", "agop", "agop_centered", "enfa", "bnfm", "ptk", "bagop", "benfa", "fact_polar")
NAMES = INPUT + OUTPUT


class Unavailable(ValueError):
    """A matrix that was not measured; the message says why, and what to pass."""


@dataclass(frozen=True)
class LayerRecord:
    """The streamed sums of one layer (see :mod:`gramian.nets.moments`); matrices are made on request."""

    name: str
    kind: str
    weight: Float[Tensor, "g m k"]
    samples: int
    rows: int
    agop: list[SecondMoment]  # one exact sum, or two independent halves of random projections
    projections: list[int]  # random projections in each half; [] when every output was taken
    outputs: int
    mean: Float[Tensor, "c g m"] | None  # Σ over rows of each output's gradient, or of each shared projection's
    loss: SecondMoment | None
    gradient: Float[Tensor, "g m k"] | None  # ∇_W L of the training loss without decay
    at_rest: Float[Tensor, "g m k"] | None  # what balances −λW at rest: ∇_W L, preconditioned for AdamW
    decay: Decay
    loss_scale: float
    step: float
    initial: Float[Tensor, "g m k"] | None
    change: SecondMoment | None
    depth: int
    max_dim: int
    probes: Probes | None = None
    geometry: dict[str, float] = field(default_factory=dict)
    why_no_fact: str | None = None

    @property
    def W(self) -> Float[Tensor, "g m k"]:
        """The weights in float64."""
        return self.weight.double()

    @property
    def sketched(self) -> bool:
        """Whether only random probes of the matrices are known."""
        return self.agop[0].side == "sketch"

    def dim(self, name: str) -> int:
        """Rows of a matrix, over all groups."""
        g, m, k = self.weight.shape
        return g * (k if side_of(name) == "input" else m)

    def dense(self, name: str) -> bool:
        """Whether the matrix may be formed."""
        _, m, k = self.weight.shape
        return not self.sketched and (k if side_of(name) == "input" else m) <= self.max_dim

    def blocks(self, name: str) -> Float[Tensor, "g d d"]:
        """A matrix as one block per group."""
        self._require(name)
        if not self.dense(name):
            raise Unavailable(
                f"{name!r} of layer {self.name!r} has {self.dim(name)} rows > max_dim={self.max_dim}: use "
                "similarity(), spectrum() and directions(), which do not form it, or raise max_dim"
            )
        W = self.W
        if name in ("nfm", "bnfm"):
            return grams(W if name == "nfm" else W.mT)
        if name == "nfm_initial":
            return grams(self._initial())
        if name == "nfm_change":
            return grams(W) - grams(self._initial())
        if name in ("fact", "fact_sym", "fact_polar"):
            F = torch.stack([fact(w, g, self.decay.weight_decay, n=1) for w, g in zip(W, self._rest(), strict=True)])
            how = {"fact_sym": "average", "fact_polar": "polar"}.get(name)
            return F if how is None else torch.stack([fact_symmetric(f, how) for f in F])  # type: ignore[arg-type]
        if name == "bfact":
            pairs = zip(W, self._rest(), strict=True)
            return torch.stack([backward_fact(g.mT, w.mT, self.decay.weight_decay, n=1) for w, g in pairs])
        if name == "vcs":
            assert self.gradient is not None
            # h⁺ = h − (η/n)∇ₕℓ: cross terms are Wᵀ∇_W L, and the square of the step is the eNFA over n.
            eta = self.step * self.loss_scale
            cross = W.mT @ self.gradient
            return -self.step * (cross + cross.mT) + eta**2 / self.samples * self.blocks("enfa")
        return self._moment(name)

    def factor(self, name: str) -> Float[Tensor, "r d"]:
        """Thin ``Y (r, d)`` with ``YᵀY`` = a PSD matrix of a one-group layer (≈ where it is sketched)."""
        if name not in PSD:
            raise Unavailable(f"{name!r} is not positive semi-definite, so it has no factor; choose one of {PSD}")
        self._require(name)
        if name in ("nfm", "bnfm"):
            return self.W[0] if name == "nfm" else self.W[0].mT
        if self.sketched:
            return nystrom_factor(self.probed(name), self._probe(name))
        twin = {"agop": "ptk", "enfa": "benfa", "agop_centered": "ptk_centered"}.get(name)
        if twin is None or self.weight.shape[2] <= self.weight.shape[1]:
            values, vectors = psd_eigh(self.blocks(name)[0])
            return (vectors * values.sqrt()).mT
        values, vectors = psd_eigh(self._moment(twin)[0])
        return (vectors * values.sqrt()).mT @ self.W[0]

    def eigenpairs(self, name: str) -> list[tuple[Tensor, Tensor]]:
        """Positive eigenvalues and eigenvectors of each block, largest first."""
        if self.weight.shape[0] > 1:
            return [psd_eigh(block) for block in self.blocks(name)]
        if self.dense(name) and name not in ("nfm", "bnfm"):
            _, m, k = self.weight.shape
            if side_of(name) == "output" or k <= m:
                values, vectors = psd_eigh(self.blocks(name)[0])
                keep = values > values.shape[0] * torch.finfo(values.dtype).eps * values[:1]
                return [(values[keep], vectors[:, keep])]
        return [gram_eigh(self.factor(name))]

    def wide(self, name: str) -> Float[Tensor, "m k"]:
        """``X`` with matrix = ``WᵀX``, for comparisons that never form the matrix (one group, input side)."""
        self._require(name)
        W = self.W[0]
        if name == "nfm":
            return W
        if name == "fact":
            return -self._rest()[0] / self.decay.weight_decay
        twin = {"agop": "ptk", "enfa": "benfa", "agop_centered": "ptk_centered"}.get(name)
        if twin is None:
            raise Unavailable(
                f"{name!r} of layer {self.name!r} needs a dense matrix: raise max_dim above {self.dim(name)}"
            )
        return self._moment(twin)[0] @ W

    def probed(self, name: str) -> Float[Tensor, "d q"]:
        """``AΩ`` for a sketched layer."""
        W, omega = self.W[0], self._probe(name)
        q = omega.shape[1]
        if name in ("nfm", "bnfm"):
            return W.mT @ (W @ omega) if name == "nfm" else W @ (W.mT @ omega)
        if name == "fact":
            return -(W.mT @ (self._rest()[0] @ omega)) / self.decay.weight_decay
        if name == "bfact":
            return -(W @ (self._rest()[0].mT @ omega)) / self.decay.weight_decay
        source = {"agop": "agop", "ptk": "agop", "bagop": "agop", "enfa": "loss", "benfa": "loss"}.get(name)
        if source is None:
            raise Unavailable(f"{name!r} is not kept for the sketched layer {self.name!r}; raise max_dim")
        total = self._totals(source)[0] / self.samples
        return W.mT @ total[:, :q] if side_of(name) == "input" else total[:, q:]

    def agop_error(self) -> float:
        """Relative Frobenius error of the AGOP from random output projections; 0 when every output was taken.

        With two independent halves A₁, A₂ the mean's error is estimated by ``‖A₁ − A₂‖ / 2``.
        """
        if not self.projections:
            return 0.0
        one, two = (moment.total / p for moment, p in zip(self.agop, self.projections, strict=True))
        W, side = self.W, self.agop[0].side
        if side == "output":  # ‖WᵀMW‖² = tr(BMBM) with B = WWᵀ, without the k × k matrix
            difference, total = (W @ W.mT @ M for M in (one - two, one + two))
            return float(((difference * difference.mT).sum() / (total * total.mT).sum()).clamp_min(0).sqrt())
        if side == "sketch":
            q = self._probe("agop").shape[1]
            one, two = (W.mT @ M[..., :q] for M in (one, two))
        return float((one - two).norm() / (one + two).norm())

    def _moment(self, name: str) -> Float[Tensor, "g d d"]:
        if name == "ptk_change":
            if self.change is None:
                raise Unavailable(f"{name!r} needs the initial weights: pass initial=state_dict")
            return self.change.total / (self._per_output() * self.samples)
        loss = name in ("enfa", "benfa")
        moment = self._totals("loss" if loss else "agop")
        W, side = self.W, (self.loss if loss else self.agop[0]).side  # type: ignore[union-attr]
        if name in ("agop_centered", "ptk_centered"):
            if self.mean is None:
                raise Unavailable(
                    f"{name!r} needs the mean gradient of every output, which projections drawn anew for each "
                    "sample lack: pass projections='shared', outputs='all' or a list of outputs"
                )
            mean = self._weighted_mean(self.mean)
            mean = mean if side == "output" else torch.einsum("cgm,gmk->cgk", mean, W)
            moment = torch.stack([
                agop_from_moments(moment[g], mean[:, g] / self.rows, self.rows, center=True, reduction="sum")
                for g in range(W.shape[0])
            ])  # fmt: skip
        moment = moment / self.samples
        if side_of(name) == "output":
            if side != "output":
                raise Unavailable(
                    f"{name!r} of layer {self.name!r} has {W.shape[1]} rows, over max_dim={self.max_dim}: raise max_dim"
                )
            return moment
        return congruence(W, moment) if side == "output" else moment

    def _totals(self, source: str) -> Tensor:
        if source == "loss":
            assert self.loss is not None
            return self.loss.total
        if not self.projections:
            return self.agop[0].total
        parts = [moment.total / p for moment, p in zip(self.agop, self.projections, strict=True)]
        return torch.stack(parts).mean(0)

    def _weighted_mean(self, mean: Float[Tensor, "c g m"]) -> Float[Tensor, "c g m"]:
        """Means whose outer products sum to what centring subtracts.

        The mean gradient of a combination of outputs is that combination of their means, so with projections that all
        samples share, each one centred by itself is an unbiased estimate; they weigh as their half does.
        """
        if not self.projections:
            return mean
        weights = torch.cat([torch.full((p,), 1 / (p * len(self.projections))) for p in self.projections])
        return mean * weights.to(mean).sqrt()[:, None, None]

    def _per_output(self) -> float:
        return float(sum(self.projections)) if self.projections else 1.0

    def _require(self, name: str) -> None:
        if name not in NAMES:
            raise ValueError(f"there is no matrix {name!r}; choose one of {', '.join(NAMES)}")
        if name in ("enfa", "benfa", "vcs", "fact", "fact_sym", "fact_polar", "bfact") and self.loss is None:
            raise Unavailable(f"{name!r} needs the loss: pass loss= to inspect, and data with targets")
        if name in ("fact", "fact_sym", "fact_polar", "bfact"):
            reason = self.why_no_fact or self.decay.reason
            if reason is not None:
                raise Unavailable(f"{name!r} of layer {self.name!r} cannot be formed: {reason}")
        if name.endswith(("_initial", "_change")):
            self._initial()

    def _rest(self) -> Float[Tensor, "g m k"]:
        assert self.at_rest is not None
        return self.at_rest

    def _initial(self) -> Float[Tensor, "g m k"]:
        if self.initial is None:
            raise Unavailable("this needs the initial weights: pass initial=state_dict (or the untrained model)")
        return self.initial.double()

    def _probe(self, name: str) -> Float[Tensor, "d q"]:
        assert self.probes is not None
        return self.probes.input if side_of(name) == "input" else self.probes.output


def side_of(name: str) -> str:
    """Whether a matrix lives on the layer's ``"input"`` or ``"output"`` side.

    >>> side_of("agop"), side_of("ptk")
    ('input', 'output')
    """
    return "output" if name in OUTPUT or name == "ptk_centered" else "input"


def grams(W: Float[Tensor, "g m k"]) -> Float[Tensor, "g k k"]:
    """``WᵀW`` of every group."""
    return torch.stack([nfm(w) for w in W])


def block_power(A: Float[Tensor, "g d d"], power: float) -> Float[Tensor, "g d d"]:
    """Power of every block."""
    return torch.stack([psd_power(block, power) for block in A])
