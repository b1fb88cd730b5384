"""Hooks in a context manager: the gradients at every layer's output, from one graph, and no trace afterwards.

The forward hook stores the *gradient edge* of a layer's output, not the tensor: an in-place activation that
follows rewrites the tensor but not the edge, so the gradient is still the one with respect to the
pre-activation, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge
from torch.func import functional_call
from torch.utils.hooks import RemovableHandle

from gramian.nets.batch_axes import BatchAxes, CallShapes, LayerAxes, Shapes, same_outputs
from gramian.nets.batches import Batch, explain_types, output_tensor
from gramian.nets.forward_pass import Call, Calls, ForwardPass, PooledFeatures
from gramian.nets.layers import Layer
from gramian.nets.normal_form import output_scale, reason_to_refuse
from gramian.nets.prepare import model_dtype


@dataclass
class _Recording:
    """State that the hooks fill during one forward pass."""

    batch: int
    calls: Calls
    unchecked: set[str]
    shapes: Shapes = field(default_factory=dict)
    order: dict[str, None] = field(default_factory=dict)
    without_graph: set[str] = field(default_factory=set)
    features: dict[str, PooledFeatures] = field(default_factory=dict)


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
        self._recording: _Recording | None = None
        self._scales: dict[str, float] = {}  # of the layers that were checked
        self._refused: dict[str, str] = {}
        self._axes = BatchAxes()
        self._axes_found = False
        self._handles: list[RemovableHandle] = []
        self._training: list[tuple[nn.Module, bool]] = []
        self._grad: list[tuple[Tensor, bool]] = []
        self._linear: list[Callable[..., Tensor]] = []

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
        alone, shapes = self._run_alone(batch.sample(0))
        self._axes.alone = shapes
        done, whole = self._run(batch)
        if alone is not None and not same_outputs(alone, done.output[:1]):
            # The model mixes samples, or an argument with as many rows as samples was cut.
            self._axes = BatchAxes()
            done, whole = self._run(batch)
        self._axes.find_shared(whole, batch.size)
        self._axes_found = True
        return replace(done, shared=self._axes.shared)

    def _run_alone(self, sample: Batch) -> tuple[Tensor | None, Shapes | None]:
        try:
            with torch.random.fork_rng(devices=[]):
                done, shapes = self._run(sample, check=False)
        except Exception:  # the user's forward may fail in any way on one sample; then sizes are compared instead
            return None, None
        return done.output.detach(), shapes

    def _run(
        self, batch: Batch, state: Mapping[str, Tensor] | None = None, *, check: bool = True
    ) -> tuple[ForwardPass, Shapes]:
        recording = _Recording(batch.size, {layer.name: [] for layer in self.layers}, set())
        if state is None and check:
            recording.unchecked = {layer.name for layer in self.layers} - set(self._scales) - set(self._refused)
        self._recording = recording
        try:
            if state is None:
                raw = self.model(*batch.args, **batch.kwargs)
            else:
                # The state dict names a tied weight once per use, each with its value.
                raw = functional_call(self.model, dict(state), batch.args, batch.kwargs, tie_weights=False)
        except RuntimeError as error:
            advice = explain_types(batch, model_dtype(self.model))
            if advice is None:
                raise
            raise ValueError(f"the model fails on a batch ({error}); {advice}") from error
        finally:
            # Activation checkpointing runs the forward pass again inside the backward pass: that is not recorded.
            self._recording = None
        output = output_tensor(raw if self.read_output is None else self.read_output(raw), batch.size)
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
        )
        return done, recording.shapes

    def _register(self) -> None:
        attention: dict[nn.Module, list[Layer]] = {}
        for layer in self.layers:
            if layer.inside_attention:
                attention.setdefault(layer.module, []).append(layer)
            else:
                self._handles.append(layer.module.register_forward_hook(self._module_hook(layer), with_kwargs=True))
        for module, parts in attention.items():
            self._handles.append(module.register_forward_pre_hook(self._before_attention(parts)))
            self._handles.append(module.register_forward_hook(self._after_attention, always_call=True))

    def _module_hook(self, layer: Layer) -> Callable[[nn.Module, tuple[object, ...], dict[str, object], object], None]:
        def hook(module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object], output: object) -> None:
            recording = self._recording
            if recording is not None and isinstance(output, Tensor):
                if layer.name in recording.unchecked:
                    self._check(layer, args, kwargs, output)
                H = next((value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)), None)
                self._record_call(recording, layer, output)
                calls = recording.shapes.setdefault(layer.name, [])
                calls.append(CallShapes(None if H is None else tuple(H.shape), tuple(output.shape)))
                if H is not None:
                    axes = self._axes.of(layer.name, len(calls) - 1, calls[-1], recording.batch)
                    self._record_features(recording, layer, H, output, axes)

        return hook

    def _check(self, layer: Layer, args: tuple[object, ...], kwargs: dict[str, object], output: Tensor) -> None:
        """Compare the output with the normal form; modules inside the layer are not recorded meanwhile."""
        recording, self._recording = self._recording, None
        try:
            scale = output_scale(layer, args, kwargs, output)
        finally:
            self._recording = recording
        if scale is None or self._scales.setdefault(layer.name, scale) != scale:
            self._refused[layer.name] = reason_to_refuse(layer)

    def _record_call(self, recording: _Recording, layer: Layer, output: Tensor, columns: slice | None = None) -> None:
        if output.grad_fn is None:
            recording.without_graph.add(layer.name)
            return
        recording.order.setdefault(layer.name)
        scale = self._scales.get(layer.name, 1.0)
        recording.calls[layer.name].append(Call(get_gradient_edge(output), columns, scale))

    def _record_features(self, recording: _Recording, layer: Layer, H: Tensor, Z: Tensor, axes: LayerAxes) -> None:
        if self.pool_features and layer.reads_features:
            with torch.no_grad():
                h, z = layer.pooled(H.detach(), axes.input), layer.pooled(Z.detach(), axes.output)
            recording.features.pop(layer.name, None)
            if h is not None and z is not None and h.shape[0] == z.shape[0] == recording.batch:
                recording.features[layer.name] = PooledFeatures(h, z)

    def _before_attention(self, parts: list[Layer]) -> Callable[[nn.Module, tuple[object, ...]], None]:
        """Attention multiplies by its weights without calling a module: replace F.linear while it runs."""

        def hook(module: nn.Module, args: tuple[object, ...]) -> None:
            plain = F.linear
            sizes: list[tuple[int, int]] = []

            def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
                output = plain(input, weight, bias)
                if self._recording is not None:
                    if not sizes and input.ndim == 3:
                        sizes.append((input.shape[0], input.shape[1]))
                    for part in parts:
                        self._record_slice(self._recording, part, input, weight, output, sizes)
                return output

            self._linear.append(plain)
            F.linear = linear

        return hook

    def _record_slice(
        self,
        recording: _Recording,
        part: Layer,
        input: Tensor,
        weight: Tensor,
        output: Tensor,
        sizes: list[tuple[int, int]],
    ) -> None:
        parameter = part.weight()
        if weight is parameter:
            start, stop = 0, weight.shape[0]
        elif weight._base is parameter and part.rows is not None:
            start = weight.storage_offset() // weight.shape[1]
            stop = start + weight.shape[0]
        else:
            return
        columns = slice(None)
        if part.rows is not None:
            if not start <= part.rows[0] < stop:
                return
            columns = slice(part.rows[0] - start, part.rows[1] - start)
        self._record_call(recording, part, output, columns)
        if sizes:
            # Inside attention tensors are (tokens, batch, ·), or those two flattened.
            length, batch = sizes[0] if input.ndim == 2 else input.shape[:2]
            H, Z = (T.reshape(length, batch, -1).transpose(0, 1) for T in (input, output[..., columns]))
            self._record_features(recording, part, H, Z, LayerAxes(0, 0))

    def _after_attention(self, module: nn.Module, args: tuple[object, ...], output: object) -> None:
        if self._linear:
            F.linear = self._linear.pop()

    def _restore(self) -> None:
        while self._linear:
            F.linear = self._linear.pop()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        for module, training in self._training:
            module.training = training
        for weight, required in self._grad:
            weight.requires_grad_(required)
        self._grad.clear()
