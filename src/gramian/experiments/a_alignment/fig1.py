"""Fig. 1: EGOP, NFM, AGOP and corrupted AGOP of a network trained on the chain monomial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure

from gramian.core import cosine
from gramian.experiments.a_alignment.network import agop_of, chain_task, descend, draw_weights
from gramian.experiments.claims import Null, at_least, number
from gramian.experiments.registry import Result, experiment
from gramian.nets.alignment import congruence, corrupted_ptk
from gramian.report import style
from gramian.theory import chain_monomial_egop


@dataclass(frozen=True)
class ChainNetwork:
    """A two-hidden-layer ReLU network on the chain monomial (paper A, appendix H).

    The paper does not state the steps and the learning rate of this figure; those of Fig. 2 are used.
    """

    n: int = 384
    d: int = 32
    width: int = 128
    rank: int = 5
    scale: float = 0.01
    step: float = 0.05
    steps: int = 800
    rotations: int = 20


_ONE = "one network in the paper, which does not print steps and learning rate; two standard deviations over our seeds"
_SIMILAR = "'similar to each other and the EGOP', which the paper shows as images only"
_CLAIMS = (
    number("nfa", 0.93, 0.016, _ONE, label="ρ(NFM, AGOP)", null=Null(0.54, "an untrained network")),
    number(
        "lost", 0.40, 0.1, "the difference of the printed 0.93 and 0.53; our standard deviation over Q is 0.05",
        label="ρ(NFM, AGOP) − ρ(NFM, WᵀQW)", null=Null(0.02, "an untrained network"),
    ),
    number("corrupted", 0.53, 0.1, "as above", label="ρ(NFM, WᵀQW)", column="lost"),
    number(
        "ptk_spread", 5.9, 0.14, _ONE, label="std/mean of eigenvalues of K", null=Null(3.8, "an untrained network"),
    ),
    at_least("nfm_egop", 0.8, _SIMILAR, label="ρ(NFM, EGOP)", slack=0.1, null=Null(0.29, "an untrained network")),
    at_least("agop_egop", 0.8, _SIMILAR, label="ρ(AGOP, EGOP)", slack=0.1, null=Null(0.15, "an untrained network")),
    at_least(
        "block_lost", 0.2, "'obscures the low rank structure': the share of the 5 × 5 block must decrease visibly",
        label="ρ(AGOP, EGOP) − ρ(WᵀQW, EGOP)", slack=0.1, null=Null(0.0, "an untrained network"),
    ),
)  # fmt: skip


def derive(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the correlation that is lost with the eigenvectors of K."""
    (numbers,) = (record["numbers"] for record in records)
    return {"lost": numbers["nfa"] - numbers["corrupted"]}


_MATRICES = (("egop", "EGOP"), ("nfm", "NFM $W^TW$"), ("agop", "AGOP $W^TKW$"), ("corrupted", "$W^TQW$"))


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the four matrices of the first seed, each divided by its largest entry."""
    figure.set_size_inches(10, 3)
    first = min(records, key=lambda record: record["seed"])
    for ax, (key, title) in zip(figure.subplots(1, 4), _MATRICES, strict=True):
        image = ax.imshow(first["arrays"][key], cmap=style.SIGNED, vmin=-1, vmax=1)
        ax.set_title(title, fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
        if key in ("agop", "corrupted"):
            name = "nfa" if key == "agop" else "corrupted"
            ax.set_xlabel(f"ρ with NFM {first['numbers'][name]:.2f}", fontsize=9)
    style.colour_bar(ax, image, "relative to the largest entry")


@experiment(
    "a/fig1",
    "A",
    "Weights, gradients and the true features of the chain monomial",
    specs={
        "smoke": (ChainNetwork(n=128, d=16, width=32, steps=200, rotations=3),),
        "small": (ChainNetwork(),),
        "paper": (ChainNetwork(),),
    },
    seeds={"small": 10, "paper": 10},
    claims=_CLAIMS,
    draw=draw,
    derive=derive,
)
def run(spec: ChainNetwork, seed: int) -> Result:
    """Train one network, and corrupt its tangent kernel with `rotations` random matrices Q."""
    rng = torch.Generator().manual_seed(seed)
    task = chain_task(spec.n, spec.d, spec.rank, 0.0, rng)
    start = draw_weights(spec.d, spec.width, (spec.scale, 1.0, 1.0), rng)
    *_, (_, weights, seen) = descend(start, task.X, task.y, spec.step, spec.steps)
    W, J = weights[0], seen.tangents[0]
    K = J.mT @ J / spec.n
    nfm, agop, egop = W.mT @ W, agop_of(W, J) / spec.n, chain_monomial_egop(spec.d, spec.rank)
    corrupted = [congruence(W, corrupted_ptk(K, rng)) for _ in range(spec.rotations)]
    eigenvalues = torch.linalg.eigvalsh(K)
    agop_egop = cosine(agop, egop)
    numbers = {
        "nfa": cosine(nfm, agop),
        "corrupted": _mean([cosine(nfm, M) for M in corrupted]),
        "ptk_spread": float(eigenvalues.std() / eigenvalues.mean()),
        "nfm_egop": cosine(nfm, egop),
        "agop_egop": agop_egop,
        "block_lost": agop_egop - _mean([cosine(M, egop) for M in corrupted]),
        "train_loss": float((seen.f - task.y).square().mean()),
    }
    matrices = {"egop": egop, "nfm": nfm, "agop": agop, "corrupted": corrupted[0]}
    return Result(numbers, {key: _rounded(M) for key, M in matrices.items()} if seed == 0 else {})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _rounded(M: torch.Tensor) -> list[list[float]]:
    # An image shows no more than three digits of the largest entry.
    return [[round(v, 3) for v in row] for row in (M / M.abs().max()).tolist()]
