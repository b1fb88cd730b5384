"""Explanation of Adam's AGOP in Fig. 4: the minimum that Adam is in, by step, for several starts and schedules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.core import cosine, threads
from gramian.experiments import Null, Result, at_least, between, experiment
from gramian.report import style
from gramian.theory import Separation, minimise, quadratic_form, random_start

_BAND = (0.048, 0.088)
"""Region around the minimum's cosine of AGOP with WᵀW, 0.08; the paper prints < 0.068."""


@dataclass(frozen=True)
class Watched:
    """Adam from `starts` starts: with a fixed rate, as in the paper, or one that decreases to 0 on a cosine."""

    weight_decay: float
    schedule: str
    starts: int = 8
    steps: int = 1_000_000
    moments: int = 50
    rate: float = 0.01


def adam_many(
    task: Separation, a: np.ndarray, W: np.ndarray, spec: Watched
) -> tuple[list[int], list[tuple[np.ndarray, np.ndarray]]]:
    """Run Adam on the population loss for B starts at once, ``a (B, m)``, ``W (B, m, 4)``; return steps and weights.

    >>> rng = torch.Generator().manual_seed(0)
    >>> starts = [random_start(rng) for _ in range(2)]
    >>> a, W = (np.stack([start[i].numpy() for start in starts]) for i in (0, 1))
    >>> steps, seen = adam_many(Separation(), a, W, Watched(1e-6, "fixed", 2, steps=20, moments=2))
    >>> steps, seen[0][1].shape
    ([10, 20], (2, 10, 4))
    """
    X, p, y = (part.numpy() for part in (task.inputs(), task.probabilities(), task.targets()))
    B, m, d = W.shape
    split = B * m
    theta = np.concatenate([a.ravel(), W.ravel()])
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    recorded = {round(spec.steps * (k + 1) / spec.moments) for k in range(spec.moments)}
    steps: list[int] = []
    seen = []
    for step in range(1, spec.steps + 1):
        flat, V = theta[:split], theta[split:].reshape(split, d)
        Z = X @ V.T
        squares = Z * Z
        pull = 2 * p[:, None] * ((squares * flat).reshape(-1, B, m).sum(2) - y[:, None])
        pulls = np.repeat(pull, m, axis=1)
        slope = np.concatenate([(squares * pulls).sum(0), (2 * flat[:, None] * ((Z * pulls).T @ X)).ravel()])
        slope += task.weight_decay * theta
        first += 0.1 * (slope - first)
        second += 0.001 * (slope * slope - second)
        rate = spec.rate
        if spec.schedule == "cosine":
            rate *= (1 + math.cos(math.pi * step / spec.steps)) / 2
        theta = theta - rate / (1 - 0.9**step) * first / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        if step in recorded:
            steps.append(step)
            seen.append((theta[:split].reshape(B, m), theta[split:].reshape(B, m, d)))
    return steps, seen


def _rank(a: torch.Tensor, W: torch.Tensor) -> int:
    return int(torch.linalg.matrix_rank(quadratic_form(a, W), rtol=1e-3))


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(3.1 * len(records) + 0.6, 4.4)
    axes = figure.subplots(2, len(records), squeeze=False, sharex=True)
    for column, record in zip(axes.T, records, strict=True):
        spec, arrays = record["spec"], record["arrays"]
        for ranks, gaps, cosines in zip(arrays["rank"], arrays["gap"], arrays["agop"], strict=True):
            colour = style.SERIES[max(ranks[-1], 1) - 1]
            column[0].plot(arrays["step"], [max(gap, 1e-7) for gap in gaps], color=colour, linewidth=0.8)
            column[1].plot(arrays["step"], cosines, color=colour, linewidth=0.8)
        column[0].set_yscale("log")
        column[0].set_title(f"λ = {spec['weight_decay']:g}, rate {spec['schedule']}", fontsize=9)
        column[1].set_xlabel("step of Adam", fontsize=9)
        column[1].set_ylim(-0.03, 1.03)
        for ax in column:
            ax.ticklabel_format(axis="x", style="sci", scilimits=(0, 0))
            style.declutter(ax, "y")
    axes[0, 0].set_ylabel("excess over the lowest loss", fontsize=9)
    axes[1, 0].set_ylabel("cosine of AGOP with WᵀW", fontsize=9)
    for rank in (1, 2, 3):
        axes[1, -1].plot([], [], color=style.SERIES[rank - 1], label=f"ends at rank {rank}")
    axes[1, -1].legend(frameon=False, fontsize=8, loc="center")


def _specs(steps: int, starts: int) -> tuple[Watched, ...]:
    return (
        Watched(1e-6, "fixed", starts, steps),
        Watched(1e-6, "cosine", starts, steps),
        Watched(1e-5, "fixed", starts, steps),
    )


@experiment(
    "d/fig4-why",
    "D",
    "Explanation of Fig. 4 by Adam: the minimum that Adam is in, by step, start and schedule of the rate",
    specs={"smoke": _specs(200, 2)[:2], "small": _specs(200_000, 5), "paper": _specs(1_000_000, 5)},
    seeds={"smoke": 1, "small": 1, "paper": 1},
    claims=[
        between(
            "1e-06/fixed: AGOP in the lowest minimum",
            *_BAND,
            "in the minimum of lowest loss the AGOP is nearly uncorrelated with WᵀW, as in the paper",
            slack=0.04,
            label="Explanation: λ = 1e-6: cosine of AGOP with WᵀW in the lowest minimum found",
            kind="side condition",
            null=Null(1.0, "a single neuron"),
            deterministic=True,
        ),
        at_least(
            "1e-06/fixed: least excess loss of ends with another AGOP",
            1e-3,
            "where the AGOP is outside the band the loss must be higher: another minimum, or not converged",
            label="Explanation: λ = 1e-6, fixed rate: smallest excess loss of ends with an AGOP outside that band",
            kind="side condition",
            null=Null(0.0, "the same minimum"),
        ),
        at_least(
            "1e-06/cosine: share of starts with the paper's AGOP",
            0.5,
            "if jumps at a fixed rate are the reason, most starts stay in the minimum when the rate decreases to 0",
            label="Explanation: λ = 1e-6, rate decreasing to 0: share of starts whose AGOP ends in that band",
            kind="side condition",
            null=Null(0.4, "a fixed rate"),
        ),
    ],
    draw=_draw,
)
def watched(spec: Watched, seed: int) -> Result:
    """Run Adam, then L-BFGS from its end points and from the initial weights, to compare the minima."""
    task = Separation(weight_decay=spec.weight_decay)
    rng = torch.Generator().manual_seed(seed)
    starts = [random_start(rng) for _ in range(spec.starts)]
    most = 4000 if spec.steps > 1000 else 50
    with threads(1):
        a, W = (np.stack([start[i].numpy() for start in starts]) for i in (0, 1))
        steps, seen = adam_many(task, a, W, spec)
        ends = [(torch.from_numpy(a), torch.from_numpy(W)) for a, W in zip(*seen[-1], strict=True)]
        below = [minimise(task, end, max_steps=most) for end in ends]
        fresh = [minimise(task, start, max_steps=most) for start in starts[:3]]
    best = min((*below, *fresh), key=lambda run: run.loss)
    gaps, cosines, ranks = [], [], []
    for b in range(spec.starts):
        course = [(torch.from_numpy(a[b]), torch.from_numpy(W[b])) for a, W in seen]
        gaps.append([float(task.loss(*now)) / best.loss - 1 for now in course])
        cosines.append([_agop(task, *now) for now in course])
        ranks.append([_rank(*now) for now in course])
    inside = [_BAND[0] <= line[-1] <= _BAND[1] for line in cosines]
    at = f"{spec.weight_decay:g}/{spec.schedule}"
    numbers = {
        f"{at}: AGOP in the lowest minimum": _agop(task, best.a, best.W),
        f"{at}: rank of the lowest minimum": float(_rank(best.a, best.W)),
        f"{at}: share of starts with the paper's AGOP": sum(inside) / spec.starts,
        f"{at}: AGOP at the end, median of starts": float(np.median([line[-1] for line in cosines])),
        f"{at}: excess loss at the end, median of starts": float(np.median([line[-1] for line in gaps])),
        f"{at}: share of starts above the lowest minimum": _share(run.loss > 1.001 * best.loss for run in below),
        f"{at}: share of moments with the loss doubled": _share(
            g > 1 for line in gaps for g in line[len(steps) // 2 :]
        ),
    }
    if not all(inside):
        others = [line[-1] for line, held in zip(gaps, inside, strict=True) if not held]
        numbers[f"{at}: least excess loss of ends with another AGOP"] = min(others)
    arrays = {"gap": gaps, "agop": cosines}
    rounded = {key: [[float(f"{v:.3g}") for v in line] for line in lines] for key, lines in arrays.items()}
    return Result(numbers, {"step": steps, "rank": ranks, **rounded})


def _share(found: Iterable[bool]) -> float:
    flags = list(found)
    return sum(flags) / len(flags)


def _agop(task: Separation, a: torch.Tensor, W: torch.Tensor) -> float:
    M = task.feature_matrices(a, W)
    return cosine(M["agop"], M["nfm"])
