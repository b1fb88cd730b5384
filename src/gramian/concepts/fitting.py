"""Find a concept in hidden states: probes and baselines of every layer under the same folds, and the detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gramian.concepts.activations import Activations
from gramian.concepts.baselines import BASELINES, baseline
from gramian.concepts.concept import METHODS, Concept, LayerSetting
from gramian.concepts.detector import fit_detector
from gramian.concepts.directions import LayerDirection
from gramian.concepts.layer_machine import LayerFit, fit_layer
from gramian.concepts.probe import Fold, ProbeOptions, Selected, select
from gramian.concepts.row_space import RowSpace
from gramian.concepts.scores import Interval, auc_interval, paired_interval
from gramian.concepts.targets import LabelKind, Target, make_target
from gramian.core import threads
from gramian.core.pool import Serial, side_by_side
from gramian.core.progress import progress

MOST_ROWS = 4000
"""Probes hold several matrices of rows × rows: 64 MB each at this number, in float32."""


@dataclass(frozen=True, eq=False)
class LayerResult:
    """Everything that is found in one layer: the probe; by method, held-out scores, their AUC, and directions.

    ``gain`` is the AUC of the probe minus that of the best baseline.
    """

    selected: Selected
    fit: LayerFit
    outputs: dict[str, Float[Tensor, "n c"]]
    vectors: dict[str, Float[Tensor, "d c"]]
    aucs: dict[str, Interval]
    gain: Interval


def fit_concept(
    activations: Activations,
    labels: Sequence[object] | np.ndarray | Tensor,
    *,
    name: str = "concept",
    kind: LabelKind = "auto",
    options: ProbeOptions | None = None,
    seed: int = 0,
    show: bool = True,
) -> Concept:
    """Find a concept in each layer of a model, from hidden states with labels.

    Every layer gets a recursive feature machine and three linear baselines, all compared on the same five folds. The
    cost of a layer does not depend on the width of the hidden states, apart from one product ``X Xᵀ``; layers run side
    by side in as many threads as torch has.

    Parameters
    ----------
    activations : Activations
        From :func:`gramian.concepts.collect`; a few hundred rows are enough.
    labels : sequence or array
        One label per row; see :func:`gramian.concepts.targets.make_target`.
    name : str
    kind : "auto", "classes", "soft" or "graded"
    options : ProbeOptions, optional
        Kernels, ridges and rounds that are compared.
    seed : int
        Seed of the folds.
    show : bool
        Show a progress bar with the time left on a terminal or in a notebook.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(60) % 2
    >>> hidden = (rng.normal(size=(60, 100)) + 0.8 * labels[:, None]).astype(np.float32)
    >>> states = Activations(("0",), {"0": hidden}, np.arange(60), np.full(60, -1))
    >>> concept = fit_concept(states, labels, name="shift")
    >>> concept, concept.aucs["rfm"][0].value > 0.9
    (Concept('shift', classes=('0', '1'), layers=1, rows=60), True)
    """
    options = ProbeOptions() if options is None else options
    target = make_target(labels, kind)
    if len(target.Y) != len(activations):
        raise ValueError(f"labels: {len(target.Y)} labels for {len(activations)} rows of activations")
    if len(activations) > MOST_ROWS:
        raise ValueError(
            f"activations: {len(activations):,} rows, and a probe uses at most {MOST_ROWS:,}: "
            "choose some of them with activations.part"
        )
    work = LayerWork(activations, target, target.folds(seed), options)
    return make_concept(name, work, fit_layers(work, show))


@dataclass(frozen=True, eq=False)
class LayerWork:
    """Rows, labels, folds and options: the same for all layers."""

    activations: Activations
    target: Target
    folds: list[Fold]
    options: ProbeOptions


def fit_layers(work: LayerWork, show: bool = False) -> list[LayerResult]:
    """Fit probe and baselines of every layer, side by side in threads."""
    names = work.activations.layers
    results: dict[int, LayerResult] = {}
    with progress("probes", len(names), show) as tick, side_by_side(Serial(), workers=len(names)) as pool:
        for index, result in pool.run(_fit_one, work, names):
            results[index] = result
            tick()
    return [results[index] for index in range(len(names))]


def _fit_one(work: LayerWork, layer: str) -> LayerResult:
    X, Y = work.activations.layer(layer), work.target.Y
    if not bool(torch.isfinite(X).all()):
        raise ValueError(f"activations: the hidden states of {layer} are not finite")
    if bool((X[:1] == X).all()):
        raise ValueError(f"activations: all hidden states of {layer} are equal: leave this layer out")
    space = RowSpace.of(X)
    selected = select(space, Y, work.folds, work.options)
    fit = fit_layer(X, space, Y, selected, work.options)
    outputs, vectors = {"rfm": selected.outputs.float()}, {"rfm": fit.directions}
    for name in BASELINES:
        probe = baseline(name, space.Z, Y, work.folds)
        outputs[name] = probe.outputs.float()
        vectors[name] = torch.nn.functional.normalize(space.back(X, probe.weights), dim=0)
    aucs = {method: auc_interval(scores, Y, work.target.kind) for method, scores in outputs.items()}
    best = max(BASELINES, key=lambda method: aucs[method].value)
    gain = paired_interval(outputs["rfm"], outputs[best], Y, work.target.kind)
    return LayerResult(selected, fit, outputs, vectors, aucs, gain)


def make_concept(name: str, work: LayerWork, results: Sequence[LayerResult]) -> Concept:
    """Combine the results of all layers: detector, intervals and directions."""
    target, kind, layers = work.target, work.target.kind, work.activations.layers
    outputs = torch.stack([result.outputs["rfm"] for result in results], dim=1)
    with threads(1):  # thousands of small operations, which several threads make slower
        detector = fit_detector(outputs, target.Y, work.folds, graded=kind == "graded")
    aucs = {method: tuple(result.aucs[method] for result in results) for method in METHODS}
    found, spreads = {}, {}
    centres = {layer: work.activations.layer(layer).mean(dim=0) for layer in layers}
    norms = {layer: work.activations.typical_norm(layer) for layer in layers}
    for method in METHODS:
        found[method] = tuple(
            tuple(
                LayerDirection(layer, r.vectors[method][:, c].clone(), norms[layer], centres[layer], a.value)
                for layer, r, a in zip(layers, results, aucs[method], strict=True)
            )
            for c in range(target.Y.shape[1])
        )
        along = [work.activations.layer(layer) @ r.vectors[method] for layer, r in zip(layers, results, strict=True)]
        spreads[method] = torch.stack([values.std(dim=0) for values in along], dim=1)
    return Concept(
        name=name,
        kind=kind,
        classes=target.classes,
        columns=target.names,
        position=work.activations.position,
        rows=len(target.Y),
        scale=(target.low, target.high),
        found=found,
        spreads=spreads,
        aucs=aucs,
        gains=tuple(result.gain for result in results),
        settings=tuple(
            LayerSetting(layer, r.selected.kernel, r.selected.flatten, r.selected.ridge, r.selected.round)
            for layer, r in zip(layers, results, strict=True)
        ),
        detector=detector,
        machines=tuple(results[index].fit for index in detector.layers),
    )
