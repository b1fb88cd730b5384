"""The streaming pass behind inspect: each batch goes into the sums of every layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from gramian.nets.batches import Batch, output_tensor
from gramian.nets.capture import Call, Capture
from gramian.nets.decay import Decay, resolve_decay
from gramian.nets.featurewatch import FeatureWatch
from gramian.nets.geometry import balancedness
from gramian.nets.graph import layer_graph
from gramian.nets.layers import Layer
from gramian.nets.losses import batch_total, resolve_loss
from gramian.nets.moments import FirstMoment, Probes, SecondMoment, choose_side, make_probes, signs
from gramian.nets.record import LayerRecord

ALL_UP_TO = 512  # outputs; beyond this one backward pass each would take longer than anyone expects
PROJECTIONS = 64


@dataclass(frozen=True)
class Options:
    """What the caller of inspect asked for."""

    loss: Any
    outputs: str | int | Sequence[int]
    projections: str
    weight_decay: float | torch.optim.Optimizer | Mapping[str, float] | None
    step: float
    geometry: bool
    ridge: float
    output: Callable[[Any], Tensor] | None
    initial: dict[str, Tensor] | None
    max_dim: int
    sketch: int
    seed: int


class _Sums:
    """The running sums of one layer."""

    def __init__(self, layer: Layer, options: Options, halves: int, outputs: int | None, rng: torch.Generator):
        W = layer.matrix(layer.weight().detach())
        g, m, k = W.shape
        side = choose_side(m, k, g, options.max_dim)
        probes: Probes | None = make_probes(m, k, options.sketch, rng) if side == "sketch" else None
        self.probes = probes
        self.agop = [SecondMoment(W, side, probes) for _ in range(halves)]
        self.mean = None if outputs is None else FirstMoment(outputs, g, m)
        self.loss = SecondMoment(W, side, probes) if options.loss is not None else None
        self.change = SecondMoment(W, "output") if options.initial is not None and side == "output" else None
        self.gradient: Tensor | None = None
        self.rows = 0
        self.reached = False

    def moments(self) -> list[SecondMoment]:
        return [moment for moment in (*self.agop, self.loss, self.change) if moment is not None]


class Collector:
    """Sums over batches for all layers; :meth:`add` a batch, then :meth:`finish`."""

    def __init__(self, model: nn.Module, layers: Sequence[Layer], options: Options):
        self.model, self.layers, self.options = model, list(layers), options
        self.loss, self.reduction = resolve_loss(options.loss)
        self.rng = torch.Generator().manual_seed(options.seed)
        self.decays: dict[str, Decay] = {
            layer.name: resolve_decay(options.weight_decay, layer.name, layer.weight()) for layer in layers
        }
        self.sums: dict[str, _Sums] = {}
        self.samples = self.batches = 0
        self.loss_total = 0.0
        self.features = FeatureWatch(options.max_dim)
        self.projections: list[int] = []
        self.shared = torch.empty(0, 0, dtype=torch.int8)  # ±1 (projections, outputs), the same for all samples
        self.projected_from = 0
        self.output_count = 0
        self.chosen: list[int] | None = None
        self.depth: dict[str, int] = {}
        self.pairs: list[tuple[str, str]] = []

    def forward(self, capture: Capture, batch: Batch, state: dict[str, Tensor] | None = None) -> tuple[Any, Tensor]:
        """Run the model, with other weights when ``state`` is given: its raw output, and the tensor of it."""
        self.features.clear()
        capture.clear(batch.size)
        if state is None:
            raw = self.model(*batch.args, **batch.kwargs)
        else:
            # The state dict names a tied weight once per use, each with its value.
            raw = functional_call(self.model, state, batch.args, batch.kwargs, tie_weights=False)
        return raw, output_tensor(raw if self.options.output is None else self.options.output(raw), batch.size)

    def add(self, capture: Capture, batch: Batch) -> None:
        """Add one batch to all sums."""
        raw, f = self.forward(capture, batch)
        calls = capture.take()
        if not bool(torch.isfinite(f).all()):
            raise ValueError(f"the model's output is not finite in batch {self.batches}: nothing can be measured")
        if not f.requires_grad:
            raise ValueError("the model's output carries no gradient (does it run under torch.no_grad or detach?)")
        if not self.sums:
            self._start(f, calls)
        if self.options.geometry:
            self.features.add(batch, f)
        if self.options.loss is not None:
            self._loss(capture, calls, raw, f, batch)
        before = None
        if self.options.initial is not None:
            state = {
                key: value.to(f.device, copy=True).requires_grad_(value.is_floating_point())
                for key, value in self.options.initial.items()
            }
            before = (self.forward(capture, batch, state)[1].flatten(1), capture.take())
        self._outputs(capture, calls, f.flatten(1), before)
        for sums in self.sums.values():
            for moment in sums.moments():
                moment.flush()
        self.samples += batch.size
        self.batches += 1

    def _start(self, f: Tensor, calls: dict[str, list[Call]]) -> None:
        outputs = self.options.outputs
        self.output_count = f[0].numel()
        if outputs == "all" and self.output_count > ALL_UP_TO:
            outputs, self.projected_from = PROJECTIONS, self.output_count
        if isinstance(outputs, int) and not isinstance(outputs, bool):
            if outputs < 2:
                raise ValueError(f"outputs={outputs}: the error bar needs at least 2 random projections")
            self.projections = [outputs // 2, outputs - outputs // 2]
            self.shared = self.shared.new_empty(outputs, 0)
        elif outputs == "all":
            self.chosen = list(range(self.output_count))
        elif isinstance(outputs, Sequence) and not isinstance(outputs, str) and len(outputs):
            self.chosen = [int(c) for c in outputs]
            if not all(0 <= c < self.output_count for c in self.chosen):
                raise ValueError(f"outputs={list(outputs)}: the model has outputs 0 to {self.output_count - 1}")
        else:
            raise ValueError(f'outputs must be "all", a number of projections or a list of outputs, got {outputs!r}')
        self.depth, self.pairs = layer_graph(f, calls)
        fixed = len(self.chosen) if self.chosen is not None else None
        if fixed is None and self.options.projections == "shared":
            fixed = sum(self.projections)
        for layer in self.layers:
            halves = len(self.projections) or 1
            self.sums[layer.name] = _Sums(layer, self.options, halves, fixed, self.rng)

    def _loss(self, capture: Capture, calls: dict[str, list[Call]], raw: Any, f: Tensor, batch: Batch) -> None:
        if self.loss is None:
            value = raw.get("loss") if isinstance(raw, Mapping) else getattr(raw, "loss", None)
            if not isinstance(value, Tensor):
                raise ValueError("loss='model', but the model's output has no .loss: do the batches hold labels?")
        else:
            if batch.target is None:
                raise ValueError("a loss was given, but the batches hold no target: yield (input, target) pairs")
            value = self.loss(f, batch.target)
        total = batch_total(value, batch.size, self.reduction)
        self.loss_total += float(total.detach())
        rows, weights = capture.gradients_and_weights(total, calls, retain=True)
        for name, sums in self.sums.items():
            for D in rows[name]:
                assert sums.loss is not None
                sums.loss.add(D)
            if name in weights:
                grad = weights[name].double().cpu()
                sums.gradient = grad if sums.gradient is None else sums.gradient + grad

    def _outputs(
        self,
        capture: Capture,
        calls: dict[str, list[Call]],
        f: Tensor,
        before: tuple[Tensor, dict[str, list[Call]]] | None,
    ) -> None:
        if self.chosen is not None and f.shape[1] != self.output_count:
            raise ValueError(
                f"the model has {f.shape[1]} outputs per sample in this batch and {self.output_count} in "
                "the first (texts of different length?): pass outputs=<number of random projections>"
            )
        plan = self.chosen if self.chosen is not None else range(sum(self.projections))
        for j, c in enumerate(plan):
            last = j == len(plan) - 1
            r = None if self.chosen is not None else self._signs(j, f).to(f.device, f.dtype)
            pick = lambda y, c=c, r=r: y[:, c].sum() if r is None else (y * r).sum()  # noqa: E731
            rows = capture.gradients(pick(f), calls, retain=not last)
            rows0 = None
            if before is not None:
                rows0 = capture.gradients(pick(before[0]), before[1], retain=not last)
            half = int(bool(self.projections) and j >= self.projections[0])
            for name, sums in self.sums.items():
                for u, D in enumerate(rows[name]):
                    sums.agop[half].add(D)
                    if sums.mean is not None:
                        sums.mean.add(j, D)
                    if rows0 is not None and sums.change is not None:
                        sums.change.add(D - rows0[name][u])
                sums.reached |= bool(rows[name])
                if j == 0:
                    sums.rows += sum(D.shape[0] for D in rows[name])

    def _signs(self, projection: int, f: Tensor) -> Tensor:
        """±1 for every output: anew for each sample, or the same row for all samples of all batches."""
        if self.options.projections == "fresh":
            return signs(tuple(f.shape), self.rng)
        count, known = self.shared.shape
        if f.shape[1] > known:  # a longer text than any before: its further outputs get signs of their own
            more = signs((count, f.shape[1] - known), self.rng).to(torch.int8)
            self.shared = torch.cat([self.shared, more], 1)
        return self.shared[projection, : f.shape[1]]

    def finish(self, capture: Capture) -> tuple[dict[str, LayerRecord], dict[str, str]]:
        """Records of the measured layers in the order of the forward pass, and why others have none."""
        if not self.samples:
            raise ValueError("data holds no batch")
        position = {name: j for j, name in enumerate(capture.order)}
        skipped: dict[str, str] = {}
        records: dict[str, LayerRecord] = {}
        for layer in sorted(self.layers, key=lambda layer: position.get(layer.name, len(position))):
            name = layer.name
            if name in capture.without_graph:
                skipped[name] = (
                    "it runs without gradients in the forward pass (torch.no_grad, or a reentrant checkpoint)"
                )
            elif name not in position:
                skipped[name] = "it was not used in the forward pass"
            elif not self.sums[name].reached:
                skipped[name] = "its output does not reach the model's output"
            else:
                records[name] = self._record(layer)
        for before, after in self.pairs:
            self._balance(records, before, after)
        return records, skipped

    def _record(self, layer: Layer) -> LayerRecord:
        sums, decay, options = self.sums[layer.name], self.decays[layer.name], self.options
        for moment in sums.moments():
            moment.finish()
        weight = layer.weight()
        scale = self.samples / self.batches if self.reduction == "sum" else 1.0
        gradient = at_rest = None
        if sums.gradient is not None:
            mean = sums.gradient / (self.batches if self.reduction == "sum" else self.samples)
            gradient = layer.matrix(mean)
            at_rest = gradient if decay.precondition is None else layer.matrix(decay.precondition(mean))
        initial = None
        if options.initial is not None:
            key = "" if layer.module is self.model else _path(self.model, layer.module) + "."
            start = options.initial.get(key + layer.parameter)
            initial = None if start is None else layer.matrix(start).cpu().clone()
        return LayerRecord(
            name=layer.name,
            kind=layer.kind,
            weight=layer.matrix(weight.detach()).cpu().clone(),
            samples=self.samples,
            rows=sums.rows,
            agop=sums.agop,
            projections=self.projections,
            outputs=self.output_count if self.chosen is None else len(self.chosen),
            mean=None if sums.mean is None else sums.mean.total,
            loss=sums.loss,
            gradient=gradient,
            at_rest=at_rest,
            decay=decay,
            loss_scale=scale,
            step=options.step,
            initial=initial,
            change=sums.change,
            depth=self.depth.get(layer.name, 1),
            max_dim=options.max_dim,
            probes=sums.probes,
            geometry=self.features.measure(layer, self.options.ridge, self.samples),
            why_no_fact=None
            if weight.is_leaf
            else "its weight is computed from other parameters (a parametrisation), "
            "so it is not itself at rest when training stops",
        )

    def _balance(self, records: dict[str, LayerRecord], before: str, after: str) -> None:
        follow = [pair for pair in self.pairs if pair[0] == before]
        if len(follow) > 1 or before not in records or after not in records:
            return
        W, W_next = records[before].weight, records[after].weight
        linear = not {records[before].kind, records[after].kind} & {"attention", "Embedding", "EmbeddingBag"}
        if linear and W.shape[0] == W_next.shape[0] == 1 and W.shape[1] == W_next.shape[2]:
            records[before].geometry["balancedness"] = balancedness(W[0], W_next[0])

    def settings(self) -> dict[str, Any]:
        """What the report says about how it was made."""
        return {
            "samples": self.samples,
            "outputs": self.output_count,
            "projections": sum(self.projections),
            "loss": None if self.options.loss is None else self.loss_total / self.samples,
            "loss_name": _name_of(self.options.loss),
            "classes": self.features.classes,
            "ridge": self.options.ridge,
            "step": self.options.step,
            "seed": self.options.seed,
        }


def _path(model: nn.Module, module: nn.Module) -> str:
    return next(name for name, child in model.named_modules() if child is module)


def _name_of(loss: Any) -> str | None:
    if loss is None or isinstance(loss, str):
        return loss
    return getattr(loss, "__name__", type(loss).__name__)
