"""Hooks in a context manager: the gradients at every layer's output, from one graph, and no trace afterwards.

The forward hook stores the *gradient edge* of a layer's output, not the tensor: an in-place activation that
follows rewrites the tensor but not the edge, so the gradient is still the one with respect to the
pre-activation, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from gramian.nets.batch_axes import BatchAxes, Shapes, same_outputs
from gramian.nets.batches import Batch, explain_types, output_tensor
from gramian.nets.forward_pass import ForwardPass
from gramian.nets.layer_forms import Layer, Undo, Watch
from gramian.nets.normal_form import NormalForm, find_normal_form, reason_to_refuse
from gramian.nets.prepare import model_dtype
from gramian.nets.products import WeightUses, unexplained
from gramian.nets.recording import Recording


class Capture:
    """Context manager that records, for each :meth:`forward` pass, where every layer's output is in the graph.

    On leaving, also through an exception, all hooks are removed, every module is in the mode it was in, and
    ``requires_grad`` of every weight is what it was.

    Parameters
    ----------
    model, layers
        The model, and the layers of it to record.
    read_output
        Function that reads the output tensor from what the model returns; by default see
        :func:`gramian.nets.batches.output_tensor`.
    pool_features
        Record the pooled features of each layer too.

    >>> from gramian.nets.batches import batches
    >>> from gramian.nets.layers import find_layers
    >>> model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(inplace=True))
    >>> layers, _ = find_layers(model)
    >>> with Capture(model, layers) as capture:
    ...     done = capture.forward(next(batches(torch.ones(1, 2))))
    ...     rows = done.gradients(done.output.sum())["0"]
    >>> rows[0].shape
    torch.Size([1, 1, 2])
    """

    def __init__(
        self,
        model: nn.Module,
        layers: Sequence[Layer],
        read_output: Callable[[Any], Tensor] | None = None,
        *,
        pool_features: bool = False,
    ):
        self.model, self.layers, self.read_output = model, list(layers), read_output
        self.pool_features = pool_features
        self._recording: Recording | None = None
        self._forms: dict[str, NormalForm] = {}  # of the layers that were checked
        self._refused: dict[str, str] = {}
        self._reused: frozenset[str] | None = None  # layers whose weight is used outside their module; None before
        self._axes = BatchAxes()
        self._axes_found = False
        self._changes_inputs: bool | None = None  # in place; None before the first pass over a batch
        self.mixes_samples = False  # True where the output for a sample depends on the others of its batch
        self._undo: list[Undo] = []
        self._training: list[tuple[nn.Module, bool]] = []
        self._grad: list[tuple[Tensor, bool]] = []

    def __enter__(self) -> Capture:
        self._training = [(module, module.training) for module in self.model.modules()]
        try:
            self.model.eval()
            for layer in self.layers:
                weight = layer.weight()
                if weight.is_leaf and not weight.requires_grad:
                    # A frozen layer still needs a graph, or its gradients could not be computed.
                    self._grad.append((weight, False))
                    weight.requires_grad_(True)
            self._register()
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def forward(self, batch: Batch, state: Mapping[str, Tensor] | None = None) -> ForwardPass:
        """Run the model on a batch, with the weights of ``state`` instead of its own when it is given."""
        if state is not None or batch.size == 1 or self._axes_found:
            return self._run(batch, state)[0]
        alone, shapes = self._attempt(batch.sample(0))
        self._axes.alone = shapes
        done, whole = self._run(batch)
        independent = alone is not None and same_outputs(alone, done.output[:1])
        if not independent:
            self.mixes_samples = self._mixes(batch)
        if alone is not None and not independent:
            # The model mixes samples, or it is random, or an argument with as many rows as samples was cut.
            self._axes = BatchAxes()
            done, whole = self._run(batch)
        self._axes.find_shared(whole, batch.size)
        self._axes_found = True
        return replace(done, shared=self._axes.shared)

    def _mixes(self, batch: Batch) -> bool:
        """Tell whether the output for the first sample changes with the other samples, and not by itself."""
        if not batch.can_be_cut:
            return False  # its samples are not rows, so none can be exchanged
        first, again = self._trial(batch), self._trial(batch)
        if first is None or again is None or not same_outputs(first, again):
            return False  # it is random by itself
        for alone in map(self._trial, batch.first_by_one_tensor()):
            if alone is not None and same_outputs(alone, first):
                return False  # the other tensors have as many rows as there are samples by accident
        repeated = self._trial(batch.with_first_repeated())
        # Outputs of another length are those of a model that cuts padding off at the longest sample.
        return repeated is not None and repeated.shape == first.shape and not same_outputs(repeated, first)

    def _trial(self, batch: Batch) -> Tensor | None:
        """The output for the first sample of a batch, or None; random numbers and hooked weights stay as they were."""
        with _plain_tensors_restored(self.model):
            output, _ = self._attempt(batch)
        return None if output is None else output[:1]

    def _attempt(self, batch: Batch) -> tuple[Tensor | None, Shapes | None]:
        """The output and the shapes of a pass that may fail, or None; random numbers stay as they were."""
        try:
            with torch.random.fork_rng(devices=[]):
                done, shapes = self._run(batch, check=False)
        except Exception:  # the user's forward may fail in any way on one sample; then sizes are compared instead
            return None, None
        return done.output.detach(), shapes

    def _run(
        self, batch: Batch, state: Mapping[str, Tensor] | None = None, *, check: bool = True
    ) -> tuple[ForwardPass, Shapes]:
        recording = Recording(
            batch.size,
            {layer.name: [] for layer in self.layers},
            self._axes,
            pools=self.pool_features,
            mask=batch.mask,
            target_positions=batch.target_positions,
            unmasked=batch.unmasked_positions,
            refused=dict(self._refused),
        )
        if state is None and check:
            settled = {name for name, form in self._forms.items() if not form.changed} | set(self._refused)
            recording.unchecked = {layer.name for layer in self.layers} - settled
        self._recording = recording
        inputs = batch.copied() if self._copies(batch) else batch
        computed: dict[str, Tensor] = {}
        try:
            if state is None:
                raw = self._call(inputs, recording)
            else:
                with _plain_tensors_restored(self.model):
                    # The state dict names a tied weight once per use, each with its value.
                    raw = functional_call(self.model, dict(state), inputs.args, inputs.kwargs, tie_weights=False)
                    computed = self._computed_weights()
        except RuntimeError as error:
            advice = explain_types(batch, model_dtype(self.model))
            if advice is None:
                raise
            raise ValueError(f"the model fails on a batch ({error}); {advice}") from error
        finally:
            # Activation checkpointing runs the forward pass again inside the backward pass: that is not recorded.
            self._recording = None
        if self._changes_inputs is None and check and state is None:
            self._changes_inputs = any(T._version > 0 for T in inputs.inputs())
        output = output_tensor(raw if self.read_output is None else self.read_output(raw), batch.size)
        self._refused |= recording.refused
        self._check_products(recording, output)
        done = ForwardPass(
            raw=raw,
            output=output,
            layers=self.layers,
            calls=recording.calls,
            order=tuple(recording.order),
            without_graph=frozenset(recording.without_graph),
            refused=dict(self._refused),
            shared=self._axes.shared if batch.size > 1 else frozenset(),
            features=recording.features,
            reused=self._reused or frozenset(),
            effective={name: form.effective for name, form in self._forms.items() if form.effective is not None},
            computed=computed,
        )
        return done, recording.shapes

    def _copies(self, batch: Batch) -> bool:
        """Tell whether the model gets copies of its inputs: until a pass shows that it leaves them unchanged."""
        return self._changes_inputs is not False or any(T.is_inference() for T in batch.inputs())

    def _call(self, batch: Batch, recording: Recording) -> Any:
        """Run the model; the first time, find the weights that are used outside their modules too."""
        if self._reused is not None or any(_is_compiled(module) for module in self.model.modules()):
            return self.model(*batch.args, **batch.kwargs)
        plain = [layer for layer in self.layers if layer.watch is None]
        with WeightUses([layer.weight() for layer in plain]) as uses:
            raw = self.model(*batch.args, **batch.kwargs)
        calls: dict[int, int] = {}
        for layer in plain:
            key = id(layer.weight())
            calls[key] = calls.get(key, 0) + len(recording.shapes.get(layer.name, []))
        more = [layer for layer in plain if uses.count(layer.weight()) > calls[id(layer.weight())] > 0]
        self._reused = frozenset(layer.name for layer in more)
        return raw

    def _computed_weights(self) -> dict[str, Tensor]:
        """The weight matrices that hooks have computed in the last forward pass (pruning, weight norm)."""
        return {layer.name: layer.weight_matrix() for layer in self.layers if not layer.has_parameter}

    def _register(self) -> None:
        inside: dict[tuple[nn.Module, Watch], list[Layer]] = {}
        for layer in self.layers:
            if layer.watch is not None:
                inside.setdefault((layer.module, layer.watch), []).append(layer)
            else:
                # Before the hooks of the user, which are then part of what follows the layer.
                handle = layer.module.register_forward_hook(self._module_hook(layer), with_kwargs=True, prepend=True)
                self._undo.append(handle.remove)
        for (module, watch), parts in inside.items():
            self._undo += watch(module, parts, lambda: self._recording)

    def _module_hook(self, layer: Layer) -> Callable[[nn.Module, tuple[object, ...], dict[str, object], object], None]:
        def hook(module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object], output: object) -> None:
            recording = self._recording
            if recording is None or not isinstance(output, Tensor):
                return
            if layer.name in recording.unchecked:
                self._check(layer, args, kwargs, output)
            tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
            H = None if not tensors else tensors[0] if layer.features is None else layer.features(*tensors)
            shape = None if H is None else tuple(H.shape)
            scale = self._forms[layer.name].scale if layer.name in self._forms else 1.0

            def rows(gradient: Tensor) -> Tensor:
                D = layer.normal_rows(gradient, shape)
                return D if scale == 1 else scale * D

            recording.add(layer, output, rows, input_shape=shape)
            if H is not None:
                recording.add_features(layer, H, output, recording.call_axes(layer))

        return hook

    def _check(self, layer: Layer, args: tuple[object, ...], kwargs: dict[str, object], output: Tensor) -> None:
        """Compare the output with the normal form; modules inside the layer are not recorded meanwhile."""
        recording, self._recording = self._recording, None
        try:
            with torch._C.DisableTorchFunction():  # the functions of the check are no uses of the weight
                form = find_normal_form(layer, args, kwargs, output, self._forms.get(layer.name))
        finally:
            self._recording = recording
        if form is None:
            self._refused[layer.name] = reason_to_refuse(layer)
        else:
            self._forms[layer.name] = form

    def _check_products(self, recording: Recording, output: Tensor) -> None:
        """Compare the gradient of parameters that modules multiply by themselves with that of the recorded products."""
        checked = [layer for layer in self.layers if layer.name in recording.factors]
        for layer in unexplained(recording, output, checked):
            self._refused[layer.name] = (
                "its gradient is not that of the products that were seen (it is also used in another way), so it has "
                "no known normal form"
            )
        self._forms |= {layer.name: NormalForm() for layer in checked}

    def _restore(self) -> None:
        while self._undo:
            self._undo.pop()()
        for module, training in self._training:
            module.training = training
        for weight, required in self._grad:
            weight.requires_grad_(required)
        self._grad.clear()


@contextmanager
def _plain_tensors_restored(model: nn.Module) -> Iterator[None]:
    """Restore tensors that are neither parameters nor buffers: hooks compute some of them in each forward pass."""
    before = [
        (module, name, value)
        for module in model.modules()
        for name, value in vars(module).items()
        if isinstance(value, Tensor)
    ]
    try:
        yield
    finally:
        for module, name, value in before:
            vars(module)[name] = value


def _is_compiled(module: nn.Module) -> bool:
    return hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
