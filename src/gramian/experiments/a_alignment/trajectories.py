"""Correlations of paper A during training, for several scales of the first layer, as shown in Fig. 2, 4, 5, 7 and 8."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gramian.experiments.a_alignment.network import (
    ChainTask,
    NetworkPass,
    Weights,
    agop_of,
    chain_task,
    descend,
    draw_weights,
    evaluate,
    nfa_of,
)
from gramian.report import style

Curves = dict[str, list[float]]
"""Name of a quantity → its values at the measured times; for example ``uc1`` is the UC-NFA of the first layer."""


@dataclass(frozen=True)
class ChainTraining:
    """A two-hidden-layer ReLU network on the chain monomial, trained once per scale s₀ of the first layer.

    ``decay`` is the α of the data (0: isotropic). With ``both_layers`` the second layer has the scale s₀ too, instead
    of 1. The scales are our choice, since we do not have the legend of the figure. On isotropic inputs the largest is
    0.1: from ``s₀ = 1`` the paper's step of 0.05 is unstable at the beginning.
    """

    record_name: ClassVar[str] = "Training"

    decay: float = 0.0
    n: int = 256
    d: int = 32
    width: int = 256
    rank: int = 5
    scales: tuple[float, ...] = (0.001, 0.01, 0.1)
    both_layers: bool = False
    step: float = 0.05
    steps: int = 800
    every: int = 5

    def small(self) -> ChainTraining:
        """Return the spec of the scale small: half the width, half as many measurements."""
        return _changed(self, width=128, every=10)

    def smoke(self) -> ChainTraining:
        """Return the spec of the scale smoke, which takes seconds."""
        return _changed(self, n=64, d=12, width=24, steps=60, every=10)


_UP_TO_ONE = (0.01, 0.1, 1.0)
ISOTROPIC = ChainTraining()
SLOW = ChainTraining(1.0, scales=_UP_TO_ONE)
FAST = ChainTraining(2.0, scales=_UP_TO_ONE)
"""The three spectra of the paper: 1, 1/(1 + k), 1/(1 + k²)."""


def both(spec: ChainTraining) -> ChainTraining:
    """Return the spec with the scale s₀ in both hidden layers, up to the paper's default 1."""
    return _changed(spec, both_layers=True, scales=_UP_TO_ONE)


def _changed(spec: ChainTraining, **new: Any) -> ChainTraining:
    return ChainTraining(**(vars(spec) | new))


def train_all(spec: ChainTraining, seed: int) -> dict[float, Curves]:
    """Train at each scale and return the curves; all scales of a seed share data and random numbers.

    >>> curves = train_all(ChainTraining(n=20, d=6, width=8, steps=10, every=5, scales=(0.1,)), seed=0)
    >>> curves[0.1]["t"]
    [0.0, 5.0, 10.0]
    """
    found = {}
    for scale in spec.scales:
        rng = torch.Generator().manual_seed(seed)
        task = chain_task(spec.n, spec.d, spec.rank, spec.decay, rng, tests=500)
        second = scale if spec.both_layers else 1.0
        weights = draw_weights(spec.d, spec.width, (scale, second, 1.0), rng)
        found[scale] = _train(spec, _single(task), weights)
    return found


def _single(task: ChainTask) -> ChainTask:
    # Cosines in float32 agree with float64 to four digits, and take half the time.
    return ChainTask(task.X.float(), task.y.float(), task.X_test.float(), task.y_test.float())


def _train(spec: ChainTraining, task: ChainTask, start: Weights) -> Curves:
    first, second, third = (W.float() for W in start)
    start = first, second, third
    curves: Curves = {}
    initial = evaluate(start, task.X)
    for t, weights, seen in descend(start, task.X, task.y, spec.step, spec.steps):
        if t % spec.every == 0:
            test = evaluate(weights, task.X_test).f
            row = {
                "t": float(t),
                "train": float((seen.f - task.y).square().mean()),
                "test": float((test - task.y_test).square().mean()),
            }
            for layer in (0, 1):
                row |= measure(layer, weights, start, seen, initial)
            for key, value in row.items():
                curves.setdefault(key, []).append(value)
    return curves


def measure(layer: int, weights: Weights, start: Weights, seen: NetworkPass, initial: NetworkPass) -> dict[str, float]:
    """Measure UC-NFA, C-NFA, PTK-centred NFA and the share of the double-centred term in one layer.

    Keys number the layers from 1. ``double = tr(W̄ᵀW̄ W̄ᵀK̄W̄) / tr(W̄ᵀW̄ W̄ᵀKW̄)`` is plotted in Fig. 4. All but the UC-NFA
    are NaN at the start.
    """
    W, W0 = weights[layer], start[layer]
    J, J0 = seen.tangents[layer], initial.tangents[layer]
    moved, turned = W - W0, J - J0
    gram = moved.mT @ moved
    whole = (gram * agop_of(moved, J)).sum()
    return {
        f"uc{layer + 1}": nfa_of(W, J),
        f"c{layer + 1}": nfa_of(moved, J),
        f"ptk{layer + 1}": nfa_of(W0, turned),
        f"double{layer + 1}": float((gram * agop_of(moved, turned)).sum() / whole),
    }


def at(curves: Curves, key: str, time: float) -> float:
    """Return the value at the first measured time that is at least ``time``.

    >>> at({"t": [0, 5, 10], "c1": [0.1, 0.2, 0.3]}, "c1", 4)
    0.2
    """
    index = next(i for i, t in enumerate(curves["t"]) if t >= time)
    return curves[key][index]


def spread(found: Mapping[float, Curves], key: str, time: float) -> float:
    """Return the largest minus the smallest value over the scales at one time.

    >>> spread({0.1: {"t": [5], "c1": [0.5]}, 1.0: {"t": [5], "c1": [0.75]}}, "c1", 5)
    0.25
    """
    values = [at(curves, key, time) for curves in found.values()]
    return max(values) - min(values)


def thin(found: Mapping[float, Curves], keys: Sequence[str], points: int = 41) -> dict[str, Any]:
    """Shorten the curves for a record: about `points` times, four digits."""
    out: dict[str, Any] = {}
    for scale, curves in found.items():
        every = max(1, (len(curves["t"]) - 1) // (points - 1))
        out[f"{scale:g}"] = {key: [round(v, 4) for v in curves[key][::every]] for key in ("t", *keys)}
    return out


_COLOURS = {"0.001": style.PURPLE, "0.01": style.BLUE, "0.1": style.ORANGE, "1": style.GREEN}
"""Colours by scale, the same in all panels."""
Panel = tuple[Sequence[Mapping[str, Any]], str, str]
"""Records, key of the curve, and title of a panel."""


def draw_grid(
    figure: Figure,
    panels: Sequence[Sequence[Panel]],
    change: Callable[[str, torch.Tensor], torch.Tensor] = lambda key, values: values,
) -> None:
    """Draw rows of panels with one curve per scale: the mean over records, and a thin line for each record."""
    figure.set_size_inches(2.9 * len(panels[0]), 2.4 * len(panels) + 0.3)
    grid = figure.subplots(len(panels), len(panels[0]), squeeze=False, sharex=True)
    for row, contents in zip(grid, panels, strict=True):
        for ax, (records, key, title) in zip(row, contents, strict=True):
            _panel(ax, records, key, change)
            ax.set_title(title, fontsize=10)
    for ax in grid[-1]:
        ax.set_xlabel("step of gradient descent", fontsize=9)
    shown: set[str] = set()
    for ax in grid.flat:  # a legend where a scale appears for the first time
        labels = set(ax.get_legend_handles_labels()[1])
        if not labels <= shown:
            ax.legend(title="$s_0$", fontsize=8, title_fontsize=8, frameon=False)
            shown |= labels


def _panel(
    ax: Axes, records: Sequence[Mapping[str, Any]], key: str, change: Callable[[str, torch.Tensor], torch.Tensor]
) -> None:
    for scale in records[0]["arrays"]["curves"]:
        colour = _COLOURS.get(scale, style.GREY)
        runs = [record["arrays"]["curves"][scale] for record in records]
        t = runs[0]["t"]
        lines = torch.stack([change(key, torch.tensor(run[key])) for run in runs]).numpy()
        for line in lines:
            ax.plot(t, line, color=colour, linewidth=0.6, alpha=0.3)
        ax.plot(t, lines.mean(0), color=colour, label=scale)
    style.declutter(ax, grid="y")
    ax.set_ylim(0, 1.05)
