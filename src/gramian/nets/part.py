"""One part of a measurement: sums over all batches for some layers, and the records that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from torch import Tensor, nn

from gramian.nets.batches import Batch
from gramian.nets.capture import Capture
from gramian.nets.collect import Collector
from gramian.nets.columns import choose_columns
from gramian.nets.forward_pass import ForwardPass
from gramian.nets.geometry import balancedness_of_pairs
from gramian.nets.geometry_collector import GeometryCollector, nearest_mean_agreement
from gramian.nets.layer_forms import Layer
from gramian.nets.metrics import measure
from gramian.nets.reading import Reader
from gramian.nets.record import LayerRecord
from gramian.nets.sums import LayerSums
from gramian.nets.table import TABLE_COLUMNS

_NOT_LINEAR = {"attention", "Embedding", "EmbeddingBag"}  # kinds of layers that have no balance with a neighbour


@dataclass(frozen=True)
class Part:
    """Records of some layers, reasons why others have none, and the features of layers with too few samples.

    ``units`` counts the samples, or the positions with a target of their own, and ``unread`` the batches whose targets
    could not be read while others could. ``changed`` is True where NC4 found other samples than those of the means.
    """

    records: dict[str, LayerRecord]
    skipped: dict[str, str]
    few: dict[str, int]
    units: int
    classes: int
    unread: int
    changed: bool


def measure_part(
    collector: Collector,
    capture: Capture,
    read: Reader,
    geometry: GeometryCollector | None,
    tick: Callable[[], object],
    *,
    again: bool,
    keep: bool,
) -> Part:
    """Read all batches once, and once more for NC4 where ``again`` allows it.

    ``keep`` keeps the sums of the layers in their records; without it only their numbers are. Other samples than those
    of the part before raise a ValueError.
    """
    last: tuple[Batch, ForwardPass] | None = None
    for batch in read():
        last = batch, _add_batch(batch, capture, collector, geometry)
        tick()
    if not read.same:
        raise ValueError(
            "layers_at_a_time reads the data once for every few layers, and data gave other samples the second time: "
            "pass a list of batches, or a loader that yields the same samples each time"
        )
    sums, skipped = collector.finish()
    measured = [layer for layer in collector.layers if layer.name in sums]
    numbers: dict[str, dict[str, float]] = {}
    changed = False
    if geometry is not None:
        heads = [name for name, depth in collector.depth.items() if depth == 1]
        numbers = geometry.measure(measured, collector.options.ridge, heads)
        means = geometry.class_means()
        if means and (again or collector.batches == 1):
            one_batch = collector.batches == 1 and last is not None
            passes = iter([last]) if one_batch else ((batch, capture.forward(batch)) for batch in read())
            nc4 = nearest_mean_agreement(means, passes)  # type: ignore[arg-type]
            changed = not read.same
            numbers = {name: values | {"nc4": math.nan if changed else nc4[name]} for name, values in numbers.items()}
    records = _records(measured, sums, numbers, collector, keep)
    few = {} if geometry is None else geometry.underdetermined()
    units, classes = (0, 0) if geometry is None else (geometry.units, geometry.classes)
    unread = 0 if geometry is None or not units else geometry.unread
    return Part(records, skipped, few, units, classes, unread, changed)


def _add_batch(batch: Batch, capture: Capture, collector: Collector, geometry: GeometryCollector | None) -> ForwardPass:
    done = capture.forward(batch)
    start = collector.initial
    state = None if start is None else _differentiable(capture.model, start, done)

    def at_start(part: Batch) -> ForwardPass | None:
        return None if state is None else capture.forward(part, state)

    collector.add(batch, done, at_start(batch))
    if geometry is not None:
        chosen = {name: pooled for name, pooled in done.features.items() if name in collector.names}
        geometry.add(batch, replace(done, features=chosen))
    shared = done.shared & collector.names
    for index in range(batch.size if shared else 0):
        sample = batch.sample(index)
        collector.add_sample(index, done, capture.forward(sample), at_start(sample))
    return done


def _differentiable(model: nn.Module, state: Mapping[str, Tensor], done: ForwardPass) -> dict[str, Tensor]:
    """Copies of the initial state of which the parameters require gradients, and the buffers do not."""
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    return {
        key: value.to(done.output.device, copy=True).requires_grad_(key in parameters and value.is_floating_point())
        for key, value in state.items()
    }


def _records(
    layers: Collection[Layer],
    sums: Mapping[str, LayerSums],
    geometry: Mapping[str, Mapping[str, float]],
    collector: Collector,
    keep: bool,
) -> dict[str, LayerRecord]:
    kinds = {layer.name: layer.kind for layer in layers}
    balance = _balance(collector) if collector.options.wants("balance") else {}
    names = TABLE_COLUMNS if collector.options.columns is None else choose_columns(collector.options.columns)
    found = {}
    for name, one in sums.items():
        groups, m, k = one.weight.shape
        record = LayerRecord(
            name=name,
            kind=kinds[name],
            depth=collector.depth.get(name, 1),
            shape=(groups, m, k),
            kept=one,
            geometry={**geometry.get(name, {}), **({"balancedness": balance[name]} if name in balance else {})},
        )
        found[name] = (
            record if keep else replace(record, kept=None, numbers={**measure(record, names), **record.geometry})
        )
    return found


def _balance(collector: Collector) -> dict[str, float]:
    """Balance of every layer of this part with the one that follows it."""
    # A product whose rows are added up, or whose matrix is no parameter, has no balance either.
    linear = {
        layer.name: layer
        for layer in collector.layers
        if layer.kind not in _NOT_LINEAR and layer.rows_of_gradient is None and layer.effective is None
    }
    pairs = [pair for pair in collector.pairs if pair[0] in collector.names]
    used = {name for pair in pairs for name in pair if name in linear}
    weights = {name: linear[name].weight_matrix().cpu() for name in used}
    return balancedness_of_pairs(weights, pairs)
