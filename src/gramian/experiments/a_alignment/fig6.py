"""Fig. 6: first-order prediction of the early alignment with two hidden layers, by the decay of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from gramian.experiments.claims import Claim, Null, positive
from gramian.experiments.registry import Result, experiment
from gramian.report import style
from gramian.theory import (
    alignment_from_dual_ptk,
    chain_monomial,
    decaying_gaussian,
    expected_dual_ptk,
    sample_dual_ptk,
    sum_of_squares,
)
from gramian.theory.deep import Activation

ACTIVATIONS: tuple[Activation, ...] = ("quadratic", "relu")
TASKS = ("low", "high")


@dataclass(frozen=True)
class DeepPrediction:
    """Gaussian data with ``λ_k = 1/(1 + k^α)`` for each α, networks of each width (paper A, appendices C and H)."""

    n: int = 128
    d: int = 128
    widths: tuple[int, ...] = (128, 1024)
    rank: int = 5
    decays: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
    networks: int = 4


_SHAPE = (
    "'for intermediate values of α', both decrease: a sign, of the mean of the first and last α minus that over "
    "1/2 ≤ α ≤ 3/2"
)
_NAMES = {"low": "low-rank task", "high": "high-rank task"}


_RANDOM = "a random kernel that is not related to the data, at most"
_DIPS = {
    ("low", "predicted"): Null(0.0074, _RANDOM),
    ("low", "observed"): Null(0.0074, _RANDOM),
    ("high", "predicted"): Null(0.0055, _RANDOM),
    ("high", "observed"): Null(0.0, "no dip; that of a random kernel is not told apart from 0 either"),
}
"""Dips that pass without the paper's effect: with fast decay the data have rank 1, where any kernel is aligned."""


def _claims() -> tuple[Claim, ...]:
    claims = []
    for task in TASKS:
        for activation in ACTIVATIONS:
            name = f"{activation}, {_NAMES[task]}"
            for kind, label in (("predicted", "predicted"), ("observed", "k = 1,024")):
                key = f"{task}_{activation}_dip_{kind}"
                text = f"dip, {name}, {label}"
                claims.append(positive(key, _SHAPE, label=text, null=_DIPS[task, kind]))
        claims += [
            positive(
                f"{task}_quadratic_closer_than_constant",
                "'the prediction more closely matches the observed values': a sign, beyond the best constant, which is "
                "closer to the wider networks too",
                label=f"gap at k = 128 minus at 1,024, quadratic, {_NAMES[task]}, prediction minus best constant",
            ),
            positive(
                f"{task}_relu_worse_relative",
                "'to a lesser extent, ReLU': a sign only, of gaps relative to that of the best constant, since the "
                "alignment of ReLU varies more",
                label=f"relative gap of ReLU (linear φ') minus of quadratic, {_NAMES[task]}",
            ),
            positive(
                f"{task}_relu_terms",
                "“additional terms corresponding to the nonlinear part of ϕ′ … are required”: a sign",
                label=f"gap of ReLU, linear φ' minus full φ', {_NAMES[task]}",
            ),
        ]  # fmt: skip
    return tuple(claims)


def beyond_constants(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return gaps relative to that of the best constant, for one seed.

    The best constant of a curve is its median. A curve that varies less is nearer to any prediction.
    """
    found = {}
    for record in records:
        small, large = (str(record["spec"]["widths"][place]) for place in (0, -1))
        for task in TASKS:
            quadratic, relu = (record["arrays"][f"{task}_{activation}"] for activation in ACTIVATIONS)
            closer = [_gap(quadratic["predicted"], quadratic[width]) for width in (small, large)]
            constant = [_constant_gap(quadratic[width]) for width in (small, large)]
            found[f"{task}_quadratic_closer_than_constant"] = (closer[0] - closer[1]) - (constant[0] - constant[1])
            relative = [
                _gap(curves[predicted], curves[large]) / _constant_gap(curves[large])
                for curves, predicted in ((relu, "linear"), (quadratic, "predicted"))
            ]
            found[f"{task}_relu_worse_relative"] = relative[0] - relative[1]
    return found


def linear_part_ptk(X: Tensor) -> Tensor:
    """Return ``E[𝒦]`` of a ReLU network with two hidden layers and linear φ': ``Π_l (1/4 + cos_l / 2π)``.

    ``φ'(u) = 1/2 + u/√(2π) + …`` in Hermite polynomials, so ``E[φ'(u)φ'(v)] = 1/4 + cos/2π + …``.

    >>> linear_part_ptk(torch.eye(2))[0, 0].item() < expected_dual_ptk(torch.eye(2), 2, "relu")[0, 0].item()
    True
    """
    unit = X / X.norm(dim=1, keepdim=True)
    first = (unit @ unit.mT).clamp(-1, 1)
    angle = torch.arccos(first)
    second = (angle.sin() + (math.pi - angle) * first) / math.pi
    return (1 / 4 + first / (2 * math.pi)) * (1 / 4 + second / (2 * math.pi))


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the prediction (grey) and the observation at the small width (dashed) and the large (solid)."""
    figure.set_size_inches(10, 2.8)
    widths = records[0]["spec"]["widths"]
    axes = figure.subplots(1, 4, sharey=True)
    for ax, (task, activation) in zip(axes, ((t, a) for t in TASKS for a in ACTIVATIONS), strict=True):
        styles = [("predicted", style.GREY, "-"), (widths[0], style.BLUE, "--"), (widths[-1], style.BLUE, "-")]
        if activation == "relu":
            styles.append(("linear", style.GREY, ":"))
        for key, colour, line in styles:
            values = np.mean([record["arrays"][f"{task}_{activation}"][str(key)] for record in records], axis=0)
            label = f"observed, k = {key}" if isinstance(key, int) else key
            ax.plot(records[0]["spec"]["decays"], values, color=colour, linestyle=line, label=label)
        ax.set(xlabel="data decay α")
        ax.set_title(f"{activation}, {_NAMES[task]}", fontsize=10)
        style.declutter(ax, grid="y")
    axes[0].set_ylabel("early alignment")
    axes[1].legend(fontsize=8, frameon=False)


@experiment(
    "a/fig6",
    "A",
    "First-order prediction of the centred NFA with two hidden layers",
    specs={
        "smoke": (DeepPrediction(24, 24, (24, 96), decays=(0.0, 1.0, 4.0), networks=1),),
        "small": (DeepPrediction(decays=(0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0), networks=2),),
        "paper": (DeepPrediction(),),
    },
    claims=_claims(),
    draw=draw,
    derive=beyond_constants,
)
def run(spec: DeepPrediction, seed: int) -> Result:
    """Compute predicted and observed alignment at every decay for both tasks and activations."""
    rng = torch.Generator().manual_seed(seed)
    arrays: dict[str, dict[str, list[float]]] = {}
    for decay in spec.decays:
        X, _ = decaying_gaussian(spec.n, spec.d, decay, rng)
        Q = torch.randn(spec.d, spec.d, generator=rng, dtype=torch.float64)
        labels = {"low": chain_monomial(X, spec.rank), "high": sum_of_squares(X, Q)}
        for activation in ACTIVATIONS:
            kernels = {"predicted": [expected_dual_ptk(X, 2, activation)]}
            if activation == "relu":
                kernels["linear"] = [linear_part_ptk(X)]
            for width in spec.widths:
                draws = range(spec.networks)
                kernels[str(width)] = [sample_dual_ptk(X, width, rng, 2, activation) for _ in draws]
            for task, y in labels.items():
                curves = arrays.setdefault(f"{task}_{activation}", {})
                for key, sampled in kernels.items():
                    curves.setdefault(key, []).append(_alignment(X, y / y.std(), sampled))
    return Result(_numbers(spec, arrays), arrays)


def _alignment(X: Tensor, y: Tensor, kernels: Sequence[Tensor]) -> float:
    return round(math.fsum(alignment_from_dual_ptk(X, y, K) for K in kernels) / len(kernels), 5)


def _numbers(spec: DeepPrediction, arrays: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, float]:
    small, large = (str(width) for width in (spec.widths[0], spec.widths[-1]))
    numbers = {}
    for name, curves in arrays.items():
        numbers[f"{name}_dip_predicted"] = _dip(spec.decays, curves["predicted"])
        numbers[f"{name}_dip_observed"] = _dip(spec.decays, curves[large])
        for width in (small, large):
            numbers[f"{name}_gap_{width}"] = _gap(curves["predicted"], curves[width])
    for task in TASKS:
        quadratic, relu = (numbers[f"{task}_{activation}_gap_{large}"] for activation in ACTIVATIONS)
        linear = _gap(arrays[f"{task}_relu"]["linear"], arrays[f"{task}_relu"][large])
        numbers |= {
            f"{task}_relu_linear_gap": linear,
            f"{task}_quadratic_closer": numbers[f"{task}_quadratic_gap_{small}"] - quadratic,
            f"{task}_relu_worse": linear - quadratic,
            f"{task}_relu_terms": linear - relu,
        }
    return numbers


def _dip(decays: Sequence[float], curve: Sequence[float]) -> float:
    """Mean of the two ends of a curve minus its mean over 1/2 ≤ α ≤ 3/2."""
    inside = [value for decay, value in zip(decays, curve, strict=True) if 0.5 <= decay <= 1.5]
    return (curve[0] + curve[-1]) / 2 - math.fsum(inside) / len(inside)


def _gap(predicted: Sequence[float], observed: Sequence[float]) -> float:
    return math.fsum(abs(p - o) for p, o in zip(predicted, observed, strict=True)) / len(observed)


def _constant_gap(observed: Sequence[float]) -> float:
    return _gap([float(np.median(observed))] * len(observed), observed)
