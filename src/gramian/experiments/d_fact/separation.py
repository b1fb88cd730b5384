"""Fig. 4 and Lemma D.2: data where FACT holds and the AGOP is uncorrelated with ``WᵀW``; minimum-norm networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.core import cosine, threads
from gramian.experiments import Null, Result, at_most, between, experiment, number
from gramian.report import style
from gramian.theory import (
    Minimiser,
    Separation,
    minimise,
    minimum_norm_cost,
    minimum_norm_network,
    quadratic_form,
    random_start,
)
from gramian.theory import printed as as_printed
from gramian.theory.lbfgs import LBFGS

_PRINTED, _CORRECTED = 1e-5, 1e-6


@dataclass(frozen=True)
class Fit:
    """The network of Fig. 4 at one weight decay: `starts` runs of L-BFGS, or `steps` steps of Adam as in the paper."""

    weight_decay: float
    method: str
    starts: int = 3
    steps: int = 4000


def adam(task: Separation, start: tuple[torch.Tensor, torch.Tensor], steps: int, rate: float = 0.01) -> Minimiser:
    """Minimise the population loss by Adam (paper D: 10⁶ steps at rate 0.01), with a hand-written gradient.

    At a fixed rate Adam jumps occasionally, when gradients have become small relative to its second moment. FACT
    divides the gradient by λ and amplifies such jumps. Therefore, of 101 steps in the last tenth, the one with the
    median loss is returned instead of the last.

    >>> run = adam(Separation(), random_start(torch.Generator().manual_seed(0)), steps=10)
    >>> run.W.shape
    torch.Size([10, 4])
    """
    X, p, y = (part.numpy() for part in (task.inputs(), task.probabilities(), task.targets()))
    a, W = (part.numpy() for part in start)
    m = len(a)
    theta = np.concatenate([a, W.ravel()])
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    recorded = set(np.linspace(0.9 * steps, steps, 101).astype(int).tolist())
    seen: list[Minimiser] = []
    for step in range(1, steps + 1):
        a, W = theta[:m], theta[m:].reshape(m, -1)
        Z = X @ W.T
        pull = 2 * p * ((Z * Z) @ a - y)
        gradient = np.concatenate([(Z * Z).T @ pull, (2 * a[:, None] * (Z.T @ (pull[:, None] * X))).ravel()])
        gradient += task.weight_decay * theta
        if step in recorded:
            now = torch.from_numpy(a.copy()), torch.from_numpy(W.copy())
            residual = float(np.linalg.norm(gradient) / (task.weight_decay * np.linalg.norm(theta)))
            seen.append(Minimiser(*now, float(task.loss(*now)), residual))
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient * gradient - second)
        theta -= rate / (1 - 0.9**step) * first / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return sorted(seen, key=lambda run: run.loss)[len(seen) // 2]


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(8.5, 2.6)
    axes = figure.subplots(1, 4)
    shown = [r for r in records if r["spec"]["weight_decay"] == _CORRECTED and r["seed"] == 0]
    for ax, name in zip(axes, ("nfm", "fact", "agop"), strict=False):
        M = np.asarray(shown[0]["arrays"][name])
        ax.imshow(M, cmap=style.SIGNED, vmin=-np.abs(M).max(), vmax=np.abs(M).max())
        ax.set_title({"nfm": "WᵀW", "fact": "FACT", "agop": "AGOP"}[name], fontsize=9)
        ax.set(xticks=range(4), yticks=range(4), xticklabels=["1", "2", "3", "4"], yticklabels=["1", "2", "3", "4"])
    for index, (name, colour) in enumerate(zip(("fact", "agop"), style.SERIES, strict=False)):
        for side, decay in enumerate((_PRINTED, _CORRECTED)):
            values = [r["numbers"][k] for r in records for k in r["numbers"] if k.startswith(f"{name}/{decay:g}/lbfgs")]
            axes[3].bar(
                side + 0.35 * index, np.mean(values), 0.3, color=colour, label=name.upper() if side == 0 else ""
            )
    axes[3].set(
        xticks=[0.18, 1.18], xticklabels=["λ = 1e-5\n(printed)", "λ = 1e-6"], ylabel="cosine with WᵀW", ylim=(0, 1.3)
    )
    axes[3].legend(frameon=False, fontsize=8, loc="upper center", ncols=2)
    style.declutter(axes[3], "y")


_SETTING = (
    "λ = 1e-6 in place of the printed 1e-5, which shows no separation: there the minimiser is a single neuron, for "
    "which WᵀW and AGOP are proportional (Theorem 3.4 itself needs λ ≪ p)"
)


def _seeds(spec: Fit, count: int) -> range:
    """L-BFGS takes seconds and has five seeds; a million steps of Adam at the printed λ are an illustration of one."""
    if spec.method == "lbfgs":
        return range(5 if spec.starts > 1 else 1)
    return range(count if spec.weight_decay == _CORRECTED else 1)


@experiment(
    "d/fig4",
    "D",
    "Data where FACT holds and the AGOP is uncorrelated with the features",
    specs={
        "smoke": (Fit(_CORRECTED, "lbfgs", starts=1, steps=300), Fit(_PRINTED, "lbfgs", starts=1, steps=300)),
        "small": (
            Fit(_CORRECTED, "lbfgs"),
            Fit(_PRINTED, "lbfgs"),
            Fit(_CORRECTED, "adam", 1, 200_000),
            Fit(_PRINTED, "adam", 1, 200_000),
        ),
        "paper": (
            Fit(_CORRECTED, "lbfgs"),
            Fit(_PRINTED, "lbfgs"),
            Fit(_CORRECTED, "adam", 1, 1_000_000),
            Fit(_PRINTED, "adam", 1, 1_000_000),
        ),
    },
    seeds={"small": 1, "paper": 3},
    seeds_of=_seeds,
    claims=[
        claim
        for method, where, why, kind in (
            (
                "adam",
                "after Adam",
                "Adam at a fixed rate leaves some noise; ours is the step with the median loss",
                "printed number",
            ),
            (
                "lbfgs",
                "at the minimum",
                "ours: L-BFGS finds the minimum near which the paper's Adam stops",
                "side condition",
            ),
        )
        for claim in (
            number(
                f"fact/1e-06/{method}",
                0.994,
                0.006,
                why,
                label=f"Cosine of FACT with WᵀW {where}",
                kind=kind,
                setting=_SETTING,
                printed_key=f"fact/1e-05/{method}",
                null=Null(0.0, "an unrelated matrix"),
            ),
            at_most(
                f"agop/1e-06/{method}",
                0.068,
                "the paper prints “< 0.068”, which is a bound without a tolerance",
                label=f"Cosine of AGOP with WᵀW {where}",
                kind=kind,
                setting=_SETTING,
                printed_key=f"agop/1e-05/{method}",
                null=Null(1.0, "a single neuron"),
            ),
        )
    ],
    draw=_draw,
)
def separation(spec: Fit, seed: int) -> Result:
    """Find the network of lowest loss over several starts, and compare its feature matrices on the population."""
    task = Separation(weight_decay=spec.weight_decay)
    rng = torch.Generator().manual_seed(seed)
    starts = [random_start(rng) for _ in range(spec.starts)]
    with threads(1):
        if spec.method == "adam":
            runs = [adam(task, start, spec.steps) for start in starts]
        else:
            runs = [minimise(task, start, max_steps=spec.steps) for start in starts]
    best = min(runs, key=lambda run: run.loss)
    M = task.feature_matrices(best.a, best.W)
    where = f"{spec.weight_decay:g}/{spec.method}"
    numbers = {
        f"fact/{where}": cosine(M["fact"], M["nfm"]),
        f"agop/{where}": cosine(M["agop"], M["nfm"]),
        f"residual/{where}": best.residual,
        f"rank/{where}": float(torch.linalg.matrix_rank(quadratic_form(best.a, best.W), rtol=1e-3)),
    }
    return Result(numbers, {name: (A / A.abs().max()).round(decimals=4).tolist() for name, A in M.items()})


@dataclass(frozen=True)
class Form:
    """A random quadratic form in d variables, whose network of minimum norm is searched from random starts."""

    d: int
    starts: int


@experiment(
    "d/lemma-d2",
    "D",
    "The minimum-norm quadratic network for xᵀQx has cost 3·2^(−2/3) Σ|λᵢ|^(2/3), not 2 Σ|λᵢ|^(2/3)",
    specs={"smoke": (Form(3, 1),), "small": (Form(4, 3),), "paper": (Form(8, 3),)},
    claims=[
        between(
            "found/corrected",
            0.999,
            1.01,
            "the minimum over random starts, which may be slightly above the global minimum",
            slack=0.01,
            label="Lowest cost found by descent, relative to that of the lemma",
            kind="proved identity",
            null=Null(1.058, "neurons with ‖w‖² = a²"),
            misprint="the printed 2 Σ σ^(2/3) is the cost of neurons with ‖w‖² = a²; ‖w‖² = 2a² costs 6 % less",
            printed_key="found/printed",
        ),
        between(
            "construction",
            1 - 1e-9,
            1 + 1e-9,
            "an identity",
            label="Cost of the lemma's network relative to its bound",
            kind="proved identity",
            null=Null(1.058, "neurons with ‖w‖² = a²"),
        ),
        between(
            "reproduces",
            0.0,
            1e-12,
            "an identity",
            label="Distance of that network's form from Q",
            kind="proved identity",
            null=Null(1.0, "an unrelated form"),
        ),
    ],
)
def smallest_network(spec: Form, seed: int) -> Result:
    """Minimise ``‖a‖² + ‖W‖²`` subject to ``Wᵀdiag(a)W = Q`` by descent on the free parameters.

    The constraint is enforced by an increasing penalty. The cost is compared with that of the form which the weights
    compute exactly, so the penalty causes no bias.
    """
    rng = torch.Generator().manual_seed(seed)
    G = torch.randn(spec.d, spec.d, generator=rng, dtype=torch.float64)
    Q = (G + G.mT) / 2
    a, W = minimum_norm_network(Q)
    cost = float(a.square().sum() + W.square().sum())
    ratios = []
    with threads(1):
        for _ in range(spec.starts):
            a_found, W_found = _descend(Q, rng)
            form = quadratic_form(a_found, W_found)
            found = float(a_found.square().sum() + W_found.square().sum())
            ratios.append((found / minimum_norm_cost(form), found / as_printed.minimum_norm_cost(form)))
    least = min(ratios)
    return Result(
        {
            "found/corrected": least[0],
            "found/printed": least[1],
            "construction": cost / minimum_norm_cost(Q),
            "reproduces": float((quadratic_form(a, W) - Q).norm()),
        }
    )


def _descend(Q: torch.Tensor, rng: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    d = len(Q)
    width = 2 * d
    a = torch.randn(width, generator=rng, dtype=torch.float64).requires_grad_()
    W = torch.randn(width, d, generator=rng, dtype=torch.float64).requires_grad_()
    for decay in (1e-1, 1e-2, 1e-3):

        def loss(decay: float = decay) -> torch.Tensor:
            return (quadratic_form(a, W) - Q).square().sum() / decay + a.square().sum() + W.square().sum()

        LBFGS([a, W], loss, max_steps=500, history=30, tolerance_grad=1e-7, tolerance_change=1e-9).run()
    return a.detach(), W.detach()
