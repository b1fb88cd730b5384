"""The streaming pass behind inspect: the gradients of each batch are added to the sums of every layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from gramian.nets.batch_axes import same_outputs
from gramian.nets.batches import Batch
from gramian.nets.decay import Decay, WeightDecay, resolve_decay
from gramian.nets.finished_sums import finished_sums, initial_weight
from gramian.nets.forward_pass import ForwardPass
from gramian.nets.graph import layer_graph
from gramian.nets.layer_forms import Layer
from gramian.nets.losses import LossLike, Normaliser, batch_total, matched_target, resolve_loss
from gramian.nets.moments import signs
from gramian.nets.options import GRADIENT_COLUMNS, LOSS_COLUMNS, InspectOptions
from gramian.nets.record import Settings
from gramian.nets.running_sums import RunningSums
from gramian.nets.sums import LayerSums

MAX_EXACT_OUTPUTS = 512  # beyond this one backward pass per output would take too long
PROJECTIONS = 64

Outputs = str | int | Sequence[int]
"""``"all"``, a number of random projections, or a list of outputs."""


class Collector:
    """Sums over batches for all layers; :meth:`add` each batch, then :meth:`finish`.

    ``initial`` is the state dict at initialisation; :meth:`add` then takes a forward pass with those weights too.
    ``only`` names the layers of which sums are taken.
    """

    def __init__(
        self,
        model: nn.Module,
        layers: Sequence[Layer],
        *,
        loss: LossLike | None = None,
        outputs: Outputs = "all",
        weight_decay: WeightDecay = None,
        initial: Mapping[str, Tensor] | None = None,
        seed: int = 0,
        options: InspectOptions | None = None,
        only: frozenset[str] | None = None,
    ):
        self.model, self.layers = model, list(layers)
        self.names = frozenset(layer.name for layer in layers) if only is None else only
        self.options = InspectOptions() if options is None else options
        self.outputs, self.initial, self.seed = outputs, initial, seed
        self.loss_given = loss
        self.loss, self.reduction = resolve_loss(loss)
        self.rng = torch.Generator().manual_seed(seed)
        self.sample_rng = torch.Generator().manual_seed(seed + 1)
        self.probe_rng = torch.Generator().manual_seed(seed + 2)
        self.output_gradient: Tensor | None = None  # of the loss of the last batch
        self.decays: dict[str, Decay] = {
            layer.name: resolve_decay(weight_decay, layer.name, layer.weight()) for layer in layers
        }
        self.sums: dict[str, RunningSums] = {}
        self.order: dict[str, None] = {}  # layers in the order of their first call
        self.without_graph: set[str] = set()
        self.refused: dict[str, str] = {}
        self.samples = self.batches = 0
        self.loss_total = 0.0
        self.normaliser = Normaliser(self.loss)
        self.projections: tuple[int, ...] = ()
        self.shared = torch.empty(0, 0, dtype=torch.int8)  # ±1 (projections, outputs), the same for all samples
        self.projected_from = 0
        self.output_count = 0
        self.chosen: list[int] | None = None
        self.reused: frozenset[str] = frozenset()  # layers whose weight is used outside their module too
        self.routed: dict[str, Tensor] = {}  # rows of each weight matrix, of layers that route rows to one of several
        self.unoriented: list[Layer] = []  # parameters whose use no batch has shown yet
        self.unpaired: set[str] = set()  # layers whose rows are others with the initial weights
        self.initial_computed: Mapping[str, Tensor] = {}  # initial matrices of weights that hooks compute
        self.depth: dict[str, int] = {}
        self.pairs: list[tuple[str, str]] = []

    def add(self, batch: Batch, done: ForwardPass, initial: ForwardPass | None = None) -> None:
        """Add one batch to all sums, from its forward pass and the one with the initial weights."""
        f = done.output
        if not bool(torch.isfinite(f).all()):
            raise ValueError(f"the model's output is not finite in batch {self.batches}: nothing can be measured")
        if not f.requires_grad:
            raise ValueError("the model's output carries no gradient (does it run under torch.no_grad or detach?)")
        if not self.sums:
            self.initial_computed = {} if initial is None else initial.computed
            self.layers = [_with_effective(layer, done.effective) for layer in self.layers]
            self._start(done)
        for layer in [layer for layer in self.unoriented if layer.is_oriented]:
            self.unoriented.remove(layer)
            self.sums[layer.name] = self._new_sums(layer)
        if len(self.names) < len(self.layers):
            done, initial = done.only(self.names), None if initial is None else initial.only(self.names)
        for name in done.order:
            self.order.setdefault(name)
        self.without_graph |= done.without_graph
        self.refused |= done.refused
        self.reused |= done.reused
        if self.loss_given is not None:
            self._add_loss(batch, done)
        self._add_outputs(done, initial)
        for sums in self.sums.values():
            for moment in sums.moments():
                moment.flush()
        self.samples += batch.size
        self.batches += 1

    def _start(self, done: ForwardPass) -> None:
        outputs = self.outputs
        self.output_count = done.output[0].numel()
        if outputs == "all" and self.output_count > MAX_EXACT_OUTPUTS:
            outputs, self.projected_from = PROJECTIONS, self.output_count
        if isinstance(outputs, int) and not isinstance(outputs, bool):
            if outputs < 2:
                raise ValueError(f"outputs={outputs}: the error bar needs at least 2 random projections")
            self.projections = (outputs // 2, outputs - outputs // 2)
            self.shared = self.shared.new_empty(outputs, 0)
        elif outputs == "all":
            self.chosen = list(range(self.output_count))
        elif isinstance(outputs, Sequence) and not isinstance(outputs, str) and len(outputs):
            self.chosen = [int(c) for c in outputs]
            if not all(0 <= c < self.output_count for c in self.chosen):
                raise ValueError(f"outputs={list(outputs)}: the model has outputs 0 to {self.output_count - 1}")
        else:
            raise ValueError(f'outputs must be "all", a number of projections or a list of outputs, got {outputs!r}')
        self.depth, self.pairs = layer_graph(done.output, done.calls)
        chosen = [layer for layer in self.layers if layer.name in self.names]
        self.sums = {layer.name: self._new_sums(layer) for layer in chosen}
        self.unoriented = [layer for layer in chosen if not layer.is_oriented]

    def _new_sums(self, layer: Layer) -> RunningSums:
        means = len(self.chosen) if self.chosen is not None else None
        if means is None and self.options.projections == "shared":
            means = sum(self.projections)
        return RunningSums(
            layer,
            self.options,
            self.probe_rng,
            halves=len(self.projections) or 1,
            means=means,
            loss=self.loss_given is not None,
            initial=initial_weight(layer, self),
        )

    def _add_loss(self, batch: Batch, done: ForwardPass) -> None:
        raw = done.raw
        if self.loss is None:
            value = raw.get("loss") if isinstance(raw, Mapping) else getattr(raw, "loss", None)
            if not isinstance(value, Tensor):
                raise ValueError("loss='model', but the model's output has no .loss: do the batches hold labels?")
        else:
            if batch.target is None:
                raise ValueError("a loss was given, but the batches hold no target: yield (input, target) pairs")
            value = self.loss(done.output, matched_target(self.loss, done.output, batch.target))
        normaliser = self.normaliser.add(batch.target, batch.size)
        # A batch in which every label is ignored has the mean 0/0, and adds nothing.
        total = batch_total(value, normaliser, self.reduction, batch.size) if normaliser else 0 * done.output.sum()
        self.loss_total += float(total.detach())
        if not self.options.wants(*LOSS_COLUMNS, *GRADIENT_COLUMNS):
            return
        if done.shared:
            (found,) = torch.autograd.grad(total, done.output, retain_graph=True, allow_unused=True)
            self.output_gradient = None if found is None else _flat(found)
        rows, weights = done.gradients_and_weights(total, retain=True)
        for name, sums in self.sums.items():
            if name not in done.shared:
                sums.add_loss(rows[name])
            if name in weights:
                grad = weights[name].double().cpu()
                sums.gradient = grad if sums.gradient is None else sums.gradient + grad

    def add_sample(
        self, index: int, whole: ForwardPass, alone: ForwardPass, initial: ForwardPass | None = None
    ) -> None:
        """Add one sample of the last batch for the layers whose rows the samples of the batch share.

        Gradients at such rows would be summed over the samples before their outer product, so every sample has a
        forward pass of its own.
        """
        shared = whole.shared & self.names
        if not shared:
            return
        if not same_outputs(alone.output, whole.output[index : index + 1]):
            self._refuse(shared, "and the model's output for a sample depends on the other samples of its batch")
            return
        if self.loss_given is not None:
            if self.output_gradient is None:
                self._refuse(shared, "and the loss is not a function of the model's output")
                return
            scalar = (_flat(alone.output)[0] * self.output_gradient[index]).sum()
            for name, rows in alone.only(shared).gradients(scalar, retain=True).items():
                self.sums[name].add_loss(rows)
        self._add_rows(alone.only(shared), None if initial is None else initial.only(shared), self.sample_rng)
        for name in shared:
            for moment in self.sums[name].moments():
                moment.flush()

    def _refuse(self, names: Iterable[str], why: str) -> None:
        reason = f"its rows are shared by several samples of a batch, {why}: pass batch_size=1"
        self.refused |= dict.fromkeys(names, reason)

    def _add_outputs(self, done: ForwardPass, initial: ForwardPass | None) -> None:
        f = _flat(done.output)
        if self.chosen is not None and f.shape[1] != self.output_count:
            raise ValueError(
                f"the model has {f.shape[1]} outputs per sample in this batch and {self.output_count} in "
                "the first (texts of different length?): pass outputs=<number of random projections>"
            )
        if done.shared:
            own = frozenset(self.sums) - done.shared
            done, initial = done.only(own), None if initial is None else initial.only(own)
        if done.layers:
            self._add_rows(done, initial, self.rng)

    def _add_rows(self, done: ForwardPass, initial: ForwardPass | None, rng: torch.Generator) -> None:
        """Add the gradients of every output, or of every projection, at the layers of a forward pass."""
        f = _flat(done.output)
        f0 = None if initial is None else _flat(initial.output)
        plan = self.chosen if self.chosen is not None else range(sum(self.projections))
        for j, c in enumerate(plan):
            last = j == len(plan) - 1
            r = None if self.chosen is not None else self._signs(j, f, rng).to(f.device, f.dtype)
            rows = done.gradients(_combine(f, c, r), retain=not last)
            rows0 = None
            if initial is not None and f0 is not None:
                rows0 = initial.gradients(_combine(f0, c, r), retain=not last)
            half = int(bool(self.projections) and j >= self.projections[0])
            for layer in done.layers:
                name = layer.name
                start = None if rows0 is None else rows0[name]
                paired = start is not None and self._are_paired(layer, rows[name], start, done)
                self.sums[name].add_output(j, half, rows[name], start, paired=paired)
                if j == 0:
                    self._count_rows(layer, rows[name], done)

    def _are_paired(self, layer: Layer, now: list[Tensor], start: list[Tensor], done: ForwardPass) -> bool:
        """Tell whether the rows of both passes are the same ones; routed rows are not."""
        routed = done.routed_rows(layer.name) is not None
        if routed or [D.shape for D in now] != [D.shape for D in start]:
            self.unpaired.add(layer.name)
            return False
        return True

    def _count_rows(self, layer: Layer, rows: list[Tensor], done: ForwardPass) -> None:
        counts = done.routed_rows(layer.name)
        if counts is None:
            self.sums[layer.name].rows += sum(D.shape[0] for D in rows)
            return
        found = torch.tensor(counts)
        before = self.routed.get(layer.name)
        self.routed[layer.name] = found if before is None else before + found

    def _signs(self, projection: int, f: Tensor, rng: torch.Generator) -> Tensor:
        """±1 for every output: drawn for each sample separately, or one row for all samples of all batches."""
        if self.options.projections == "fresh":
            return signs(tuple(f.shape), rng)
        count, known = self.shared.shape
        if f.shape[1] > known:  # a longer text than any before: its further outputs get signs of their own
            more = signs((count, f.shape[1] - known), self.rng).to(torch.int8)
            self.shared = torch.cat([self.shared, more], 1)
        return self.shared[projection, : f.shape[1]]

    def finish(self) -> tuple[dict[str, LayerSums], dict[str, str]]:
        """Sums of the measured layers in the order of the forward pass, and the reasons why others have none."""
        if not self.samples:
            raise ValueError("data holds no batch")
        position = {name: j for j, name in enumerate(self.order)}
        skipped: dict[str, str] = {}
        measured: dict[str, LayerSums] = {}
        chosen = [layer for layer in self.layers if layer.name in self.names]
        for layer in sorted(chosen, key=lambda layer: position.get(layer.name, len(position))):
            name = layer.name
            if name in self.refused:
                skipped[name] = self.refused[name]
            elif name in self.without_graph:
                skipped[name] = (
                    "it runs without gradients in the forward pass (torch.no_grad, or a reentrant checkpoint)"
                )
            elif name not in position:
                hidden = "" if layer.orientation is None else ", or by functions that are not torch's"
                skipped[name] = f"it was not used in the forward pass{hidden}"
            elif not self.sums[name].reached:
                skipped[name] = "its output does not reach the model's output"
            else:
                measured[name] = finished_sums(layer, self)
        return measured, skipped

    @property
    def undecomposed(self) -> bool:
        """True where the mean loss over all batches cannot be known from their means."""
        return self.normaliser.masked and self.batches > 1

    def settings(self) -> Settings:
        """Sizes, loss and options behind the report."""
        return {
            "samples": self.samples,
            "outputs": self.output_count,
            "projections": sum(self.projections),
            "loss": None if self.loss_given is None else self.loss_total / self.normaliser.total,
            "loss_name": _name_of(self.loss_given),
            "ridge": self.options.ridge,
            "step": self.options.step,
            "seed": self.seed,
        }


def _with_effective(layer: Layer, effective: Mapping[str, Tensor]) -> Layer:
    """The layer with the matrix by which it multiplies, where that is not its weight."""
    W = effective.get(layer.name)
    return layer if W is None else replace(layer, effective=W, kind=f"{layer.kind}, effective weight")


def _flat(f: Tensor) -> Tensor:
    """Outputs as (n, outputs); a model with one output per sample may return (n,)."""
    return f.reshape(f.shape[0], -1)


def _combine(f: Tensor, output: int, combination: Tensor | None) -> Tensor:
    """The sum over samples of one output, or of a random combination of outputs."""
    return f[:, output].sum() if combination is None else (f * combination).sum()


def _name_of(loss: LossLike | None) -> str | None:
    if loss is None or isinstance(loss, str):
        return loss
    return getattr(loss, "__name__", type(loss).__name__)
