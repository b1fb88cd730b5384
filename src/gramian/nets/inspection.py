"""inspect: from (model, data) to one record per layer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import partial
from typing import overload

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from gramian.core import resolve_device
from gramian.core.progress import progress
from gramian.core.warn import warn
from gramian.nets.batches import batches, can_repeat
from gramian.nets.capture import Capture
from gramian.nets.checkpoints.opening import CheckpointLike
from gramian.nets.checkpoints.pretrained import model_and_data
from gramian.nets.checkpoints.report import WeightReport
from gramian.nets.checkpoints.weights import inspect_weights
from gramian.nets.collect import Collector, Outputs
from gramian.nets.decay import WeightDecay
from gramian.nets.geometry_collector import GeometryCollector
from gramian.nets.initial import initial_tensors
from gramian.nets.layers import Layer, LayerSelection, find_layers, unwrap
from gramian.nets.losses import LossLike
from gramian.nets.options import INITIAL_COLUMNS, InspectOptions
from gramian.nets.part import Part, measure_part
from gramian.nets.reading import Reader
from gramian.nets.record import LayerRecord
from gramian.nets.report import FeatureReport


@overload
def inspect(
    model: nn.Module | str | os.PathLike[str],
    data: object,
    loss: LossLike | None = None,
    *,
    layers: LayerSelection | None = None,
    outputs: Outputs = "all",
    weight_decay: WeightDecay = None,
    initial: CheckpointLike | None = None,
    device: str | torch.device = "auto",
    max_samples: int | None = None,
    batch_size: int = 256,
    seed: int = 0,
    options: InspectOptions | None = None,
) -> FeatureReport: ...


@overload
def inspect(
    model: str | os.PathLike[str],
    data: None = None,
    *,
    layers: str | Sequence[str] | None = None,
    initial: CheckpointLike | None = None,
) -> WeightReport: ...


def inspect(
    model: nn.Module | str | os.PathLike[str],
    data: object = None,
    loss: LossLike | None = None,
    *,
    layers: LayerSelection | None = None,
    outputs: Outputs = "all",
    weight_decay: WeightDecay = None,
    initial: CheckpointLike | None = None,
    device: str | torch.device = "auto",
    max_samples: int | None = None,
    batch_size: int = 256,
    seed: int = 0,
    options: InspectOptions | None = None,
) -> FeatureReport | WeightReport:
    """Measure what every layer of a model has learned: one row per layer, every feature matrix on request.

    Parameters
    ----------
    model
        Any ``nn.Module``. It is run in eval mode and left as it was: modes, hooks, ``requires_grad``. Or the path of a
        checkpoint: without data its weights are measured (:func:`gramian.nets.inspect_weights`), and with data the
        model of a folder of Hugging Face is built by transformers.
    data
        A tensor, a tuple of tensors ``(X, y)``, or any iterable of batches: tensors, tuples whose last
        element is the target, or mappings as Hugging Face models take them. With a folder of Hugging Face also a list
        of texts, ``(texts, labels)``, or a file of texts (``.txt``, ``.csv``, ``.tsv``).
    loss
        The loss that was trained: ``"mse"``, ``"cross_entropy"`` (which takes labels ``(n, T)`` beside outputs
        ``(n, T, classes)``), a torch criterion (with its own ``reduction``, and its layout ``(n, classes, T)``), any
        callable ``loss(output, target)`` that returns one value per sample ``(n,)`` or their mean, or
        ``"model"`` where the model's output has an attribute ``.loss``. Weighted means of torch (class weights,
        ``ignore_index``) do not depend on the batches; a weighted mean of your own needs one batch. Without a loss
        only the matrices that need none are measured.
    layers
        Names or patterns (``"encoder.*.query"``), or a function of ``(name, module)``; every layer by
        default.
    outputs
        ``"all"`` runs one backward pass per output. An integer uses that many random ±1 combinations of the
        outputs instead, which is unbiased; the error is in the column ``agop_error``. A list selects outputs.
        Beyond 512 outputs ``"all"`` becomes 64 projections, with a warning.
    weight_decay
        λ of the training loss ``(1/n) Σ ℓᵢ + (λ/2)‖θ‖²``, per layer as a mapping, or the optimiser itself:
        SGD and Adam add λW to the gradient, AdamW does not, and its preconditioner is read from its state.
    initial
        The state dict at initialisation (or the untrained model, or a checkpoint), also of the wrapped model or in
        another precision: adds C-NFA, double-centred and PTK-centred NFA.
    device
        ``"auto"`` uses the device of the model; anything else moves the model there and back.
    max_samples, batch_size
        Largest number of samples to read, and the batch size when ``data`` is one tensor.
    seed
        Seed of the private generator behind projections and probes.
    options
        Everything that few calls need, see :class:`gramian.nets.InspectOptions`.

    Returns
    -------
    FeatureReport, or WeightReport for a path without data

    Examples
    --------
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    ...     X = torch.randn(64, 5)
    >>> report = inspect(model, (X, X[:, :1]), loss="mse", weight_decay=1e-3)
    >>> report.layers
    ['0', '2']
    >>> report.matrix("0", "agop").shape
    (5, 5)
    >>> round(report.similarity("2", "nfm", "agop", power=0.5), 6)
    1.0
    """
    if not isinstance(model, nn.Module):
        if data is None:
            if callable(layers):
                raise ValueError("layers: a function needs modules, and weights alone have names only: pass patterns")
            return inspect_weights(model, initial=initial, layers=layers)
        model, data, loss = model_and_data(model, data, loss, batch_size=batch_size)
    options = InspectOptions() if options is None else options
    inner = unwrap(model)
    found, skipped = find_layers(inner, layers)
    if not found:
        raise ValueError(
            "the model has no layer that can be measured"
            + (f"; skipped: {skipped}" if skipped else ": it has no weight matrix")
        )
    if any(p.is_meta for p in inner.parameters()):
        raise ValueError(
            "model is on the meta device, which holds no weights: load a checkpoint into it first "
            "(model.to_empty(...), then load_state_dict)"
        )
    start = None
    if initial is not None and options.wants(*INITIAL_COLUMNS):
        start = initial_tensors(inner, initial)
    parts = _parts(found, options.layers_at_a_time, data)
    geometry = options.geometry and options.wants("features")
    records: dict[str, LayerRecord] = {}
    few: dict[str, int] = {}
    # A model with randomness of its own must not advance the user's generator.
    with _on_device(inner, device) as place, torch.random.fork_rng(devices=[]), parametrize.cached():
        once = partial(
            batches,
            data,
            device=place,
            batch_size=batch_size,
            keep_target=loss == "model",
            unpack=options.unpack,
            mask=options.mask,
            max_samples=max_samples,
        )
        with (
            Reader(once, data) as read,
            Capture(inner, found, options.output, pool_features=geometry) as capture,
            torch.enable_grad(),
            progress("inspecting", _count(data, len(parts)), show=True) as tick,
        ):
            for names in parts:
                collector = Collector(
                    inner,
                    found,
                    loss=loss,
                    outputs=outputs,
                    weight_decay=weight_decay,
                    initial=start,
                    seed=seed,
                    options=options,
                    only=names,
                )
                features = GeometryCollector(options.max_dim) if geometry else None
                keep = options.layers_at_a_time is None
                part = measure_part(collector, capture, read, features, tick, again=can_repeat(data), keep=keep)
                records |= part.records
                skipped |= part.skipped
                few |= part.few
    if not records:
        raise ValueError(f"no layer could be measured; skipped: {skipped}")
    _warn_about_projections(collector)
    _warn_about_masked_labels(collector)
    _warn_about_mixed_samples(capture)
    _warn_about_targets(part, collector)
    _warn_about_few_samples(few, part.units)
    ordered = {name: records[name] for name in collector.order if name in records}
    return FeatureReport(ordered, skipped, collector.settings() | {"classes": part.classes}, options.columns)


def _parts(layers: Sequence[Layer], size: int | None, data: object) -> list[frozenset[str]]:
    """The names of the layers whose sums are held at the same time."""
    names = [layer.name for layer in layers]
    if size is None or size >= len(names):
        return [frozenset(names)]
    if not can_repeat(data):
        raise ValueError(
            "layers_at_a_time reads the data once for every few layers, and data is an iterator, which is empty after "
            "the first time: pass a list or a loader"
        )
    return [frozenset(names[start : start + size]) for start in range(0, len(names), size)]


def _warn_about_projections(collector: Collector) -> None:
    if collector.projected_from:
        warn(
            f"{collector.projected_from} outputs were sampled with {sum(collector.projections)} random projections; "
            "the column agop_error gives the relative error (pass outputs=<number> to choose)"
        )


def _warn_about_masked_labels(collector: Collector) -> None:
    if collector.undecomposed:
        warn(
            "loss='model' with labels of -100 in several batches: every batch divides by its own number of labels, so "
            "FACT is left out and eNFA weights samples by their batch; pass all samples as one batch"
        )


def _warn_about_mixed_samples(capture: Capture) -> None:
    if capture.mixes_samples:
        warn(
            "the model's output for a sample depends on the other samples of its batch, so it has no gradients per "
            "sample, and all numbers depend on the batches: use a normalisation whose eval mode does not depend on "
            "the batch (BatchNorm with track_running_stats=True, LayerNorm), or pass batches of one sample"
        )


def _warn_about_targets(part: Part, collector: Collector) -> None:
    if part.unread:
        warn(
            f"the targets of {part.unread} of {collector.batches} batches cannot be read as labels or values (labels "
            "outside the classes of the model?), so target linearity and neural collapse are left out; -100 marks "
            "samples without a label"
        )
    if part.changed:
        warn(
            "data gave other samples when it was read again for NC4, which is left out: pass a list of batches, or a "
            "loader that yields the same samples each time"
        )


def _warn_about_few_samples(few: Mapping[str, int], samples: int) -> None:
    if few:
        warn(
            f"{samples} samples for up to {max(few.values())} features in {len(few)} layers: any target is "
            "linear in at least as many features as samples, so target_linearity and nc1 say little (use more data)"
        )


@contextmanager
def _on_device(model: nn.Module, device: str | torch.device) -> Iterator[torch.device]:
    first = next(model.parameters(), None)
    home = torch.device("cpu") if first is None else first.device
    chosen = home if device == "auto" else resolve_device(device)  # raises before anything moves
    if chosen == home:
        yield home
        return
    if len({p.device for p in model.parameters()}) > 1:
        raise ValueError("device: the model is spread over several devices, use device='auto'")
    try:
        model.to(chosen)
        yield chosen
    finally:
        model.to(home)


def _count(data: object, times: int) -> int | None:
    """Number of batches that are read, where the data has a length."""
    if not isinstance(data, Sized) or isinstance(data, Tensor | tuple):
        return None
    try:
        return times * len(data)
    except (TypeError, NotImplementedError):  # a loader over a stream has the method, and no length
        return None
