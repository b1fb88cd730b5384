"""The products of recurrent modules, which multiply by all their weights in one fused call.

While a model is measured, ``forward`` of a recurrent module is replaced by the same computation as a loop over steps,
whose products are recorded; on the first call its output is compared with that of the fused call. Every weight is a
layer of its own, with the pre-activations of all gates as its rows: ``weight_ih`` multiplies the input, ``weight_hh``
the hidden state of the step before, ``weight_hr`` projects the hidden state (``proj_size``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from gramian.nets.batch_axes import LayerAxes, same_outputs
from gramian.nets.layer_forms import Layer, Undo
from gramian.nets.recording import Recording

Hidden = tuple[Tensor, ...]
"""The state of a step: the hidden state, and the cell state of an LSTM."""
Product = Callable[[str, Tensor], Tensor]
"""A function of a weight's name without its prefix (``ih_l0``) and an input, which multiplies and records."""

_NOT_ITS_STEPS = "its output is not that of its steps (a fused kernel of another kind), so they are not known"
_KNOWN = (nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell, nn.RNNCell)


def recurrent_layers(name: str, module: nn.RNNBase | nn.RNNCellBase) -> tuple[list[Layer], str | None]:
    """Every weight matrix of a recurrent module as a layer, or the reason why it is skipped.

    >>> [layer.name for layer in recurrent_layers("lstm", nn.LSTM(3, 2))[0]]
    ['lstm.weight_ih_l0', 'lstm.weight_hh_l0']
    """
    kind = type(module).__name__
    known = next((cls for cls in _KNOWN if isinstance(module, cls)), None)
    if known is None or type(module).forward is not known.forward or "forward" in vars(module):
        return (
            [],
            f"the forward method of {kind} is not that of a recurrent module of torch, so its steps are not known",
        )
    weights = _weight_names(module)
    return [
        Layer(
            f"{name}.{key}" if name else key,
            kind,
            module,
            key,
            matrix=lambda p: p[None],
            watch=watch_recurrent,
        )
        for key in weights
    ], None


def _weight_names(module: nn.RNNBase | nn.RNNCellBase) -> list[str]:
    if isinstance(module, nn.RNNCellBase):
        return ["weight_ih", "weight_hh"]
    return [key for group in module._all_weights for key in group if key.startswith("weight")]


def watch_recurrent(module: nn.Module, parts: list[Layer], current: Callable[[], Recording | None]) -> list[Undo]:
    """Replace the forward method of a recurrent module; returns the function that restores it."""
    layers = {part.parameter.removeprefix("weight_"): part for part in parts}
    checked: list[bool] = []

    def forward(input: Tensor | PackedSequence, hx: Tensor | tuple[Tensor, Tensor] | None = None) -> object:
        recording, fused = current(), type(module).forward
        if checked and not checked[0]:
            if recording is not None:
                recording.refused |= {part.name: _NOT_ITS_STEPS for part in parts}
            return fused(module, input, hx)
        # Without a recording too: activation checkpointing runs a pass again, and it must be the same one.
        steps = Steps(module, layers, recording)
        result = steps.run_cell(input, hx) if isinstance(module, nn.RNNCellBase) else steps.run(input, hx)
        if not checked:
            with torch.no_grad():
                expected = fused(module, input, hx)
            checked.append(all(same_outputs(a, b) for a, b in zip(_flat(result), _flat(expected), strict=True)))
            if not checked[0]:
                return forward(input, hx)
        return result

    module.forward = forward

    def restore() -> None:
        vars(module).pop("forward", None)

    return [restore]


def _flat(result: object) -> list[Tensor]:
    if isinstance(result, PackedSequence):
        return [result.data]
    if isinstance(result, tuple):
        return [T for part in result for T in _flat(part)]
    assert isinstance(result, Tensor)
    return [result]


@dataclass
class Steps:
    """A recurrent module as a loop over steps, with every product recorded where there is a recording."""

    module: nn.Module
    layers: dict[str, Layer]
    recording: Recording | None

    def run_cell(self, input: object, hx: object) -> Tensor | Hidden:
        """One step of a cell, for a batch or for one sample without a batch dimension."""
        assert isinstance(input, Tensor)
        module = self.module
        batched = input.ndim == 2
        x = input if batched else input[None]
        state = _cell_state(module, hx, x)
        if hx is not None and not batched:
            state = tuple(T[None] if T.ndim == 1 else T for T in state)
        ih, hh = self.product("ih", x), self.product("hh", state[0])
        if batched:
            for key, H, Z in (("ih", x, ih), ("hh", state[0], hh)):
                layer = self.layers.get(key)
                if layer is not None and self.recording is not None:
                    self.recording.add_features(layer, H, Z, self.recording.call_axes(layer))
        new = self._step("", ih, hh, state)
        new = new if batched else tuple(T[0] for T in new)
        return new if isinstance(module, nn.LSTMCell) else new[0]

    def run(self, input: object, hx: object) -> tuple[object, Tensor | Hidden]:
        """All layers and directions over a sequence, padded or packed."""
        module = self.module
        assert isinstance(module, nn.RNNBase)
        packed = input if isinstance(input, PackedSequence) else None
        if packed is not None:
            x, batched = packed.data, True
            sizes = packed.batch_sizes.tolist()
        else:
            assert isinstance(input, Tensor)
            batched = input.ndim == 3
            x = input if batched else input[:, None]
            x = x.transpose(0, 1) if module.batch_first and batched else x
            sizes = [x.shape[1]] * x.shape[0]
        directions = 2 if module.bidirectional else 1
        state = _start(module, hx, sizes[0], x, batched, packed)
        final: list[Hidden] = []
        for level in range(module.num_layers):
            outputs = []
            for direction in range(directions):
                key = f"_l{level}" + ("_reverse" if direction else "")
                first = tuple(T[level * directions + direction] for T in state)
                output, last = self._direction(key, x, sizes, first, packed is not None)
                outputs.append(output)
                final.append(last)
            x = torch.cat(outputs, -1) if directions == 2 else outputs[0]
        hidden = tuple(torch.stack(parts) for parts in zip(*final, strict=True))
        if packed is not None:
            hidden = tuple(T if packed.unsorted_indices is None else T[:, packed.unsorted_indices] for T in hidden)
            result: object = PackedSequence(x, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
        else:
            result = x[:, 0] if not batched else x.transpose(0, 1) if module.batch_first else x
            hidden = hidden if batched else tuple(T[:, 0] for T in hidden)
        return result, hidden if isinstance(module, nn.LSTM) else hidden[0]

    def _direction(
        self, key: str, x: Tensor, sizes: Sequence[int], first: Hidden, packed: bool
    ) -> tuple[Tensor, Hidden]:
        """One layer in one direction: outputs of all steps in the order of time, and the state of each last step."""
        Z = self.product(f"ih{key}", x)
        if not packed:
            self._features(f"ih{key}", x, Z)
        steps = list(Z.split(list(sizes)) if packed else Z.unbind(0))
        order = range(len(steps))[::-1] if key.endswith("_reverse") else range(len(steps))
        outputs: dict[int, Tensor] = {}
        seen: list[tuple[Tensor, Tensor]] = []
        finished: list[Hidden] = []
        state = tuple(T[: sizes[order[0]]] for T in first)
        for t in order:
            now, before = sizes[t], state[0].shape[0]
            if now < before:  # samples that have ended
                finished.append(tuple(T[now:] for T in state))
                state = tuple(T[:now] for T in state)
            elif now > before:  # samples that begin later in the reversed order
                state = tuple(torch.cat([T, start[before:now]]) for T, start in zip(state, first, strict=True))
            product = self.product(f"hh{key}", state[0])
            seen.append((state[0], product))
            state = self._step(key, steps[t], product, state)
            outputs[t] = state[0]
        if not packed:
            H, P = (torch.stack([pair[j].detach() for pair in seen]) for j in (0, 1))
            self._features(f"hh{key}", H, P)
        last = tuple(torch.cat(parts) for parts in zip(state, *finished[::-1], strict=True))
        ordered = [outputs[t] for t in range(len(steps))]
        return (torch.cat(ordered) if packed else torch.stack(ordered)), last

    def _step(self, key: str, ih: Tensor, hh: Tensor, state: Hidden) -> Hidden:
        module = self.module
        if isinstance(module, nn.LSTM | nn.LSTMCell):
            i, f, g, o = (ih + hh).chunk(4, -1)
            c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            return (self.product(f"hr{key}", h) if getattr(module, "proj_size", 0) else h), c
        if isinstance(module, nn.GRU | nn.GRUCell):
            (ir, iz, inew), (hr, hz, hnew) = ih.chunk(3, -1), hh.chunk(3, -1)
            z = (iz + hz).sigmoid()
            new = (inew + (ir + hr).sigmoid() * hnew).tanh()
            return ((1 - z) * new + z * state[0],)
        Z = ih + hh
        return (Z.relu() if module.nonlinearity == "relu" else Z.tanh(),)

    def product(self, key: str, H: Tensor) -> Tensor:
        """Multiply by a weight, record the product of the layer if it is measured, and add the bias."""
        weight, bias = getattr(self.module, f"weight_{key}"), getattr(self.module, f"bias_{key}", None)
        Z = F.linear(H, weight, bias)
        layer = self.layers.get(key)
        if layer is not None and self.recording is not None:
            self.recording.add(layer, Z, layer.normal_rows, input_shape=tuple(H.shape))
        return Z

    def _features(self, key: str, H: Tensor, Z: Tensor) -> None:
        layer = self.layers.get(key)
        if layer is not None and self.recording is not None:  # (steps, batch, features)
            self.recording.add_features(layer, H, Z, LayerAxes(1, 1))


def _cell_state(module: nn.Module, hx: object, x: Tensor) -> Hidden:
    """The first state as a tuple; zeros where none is given."""
    if hx is None:
        size = int(module.hidden_size)  # type: ignore[arg-type]
        zeros = x.new_zeros(x.shape[0], size)
        return (zeros, zeros) if isinstance(module, nn.LSTMCell) else (zeros,)
    return tuple(hx) if isinstance(hx, tuple | list) else (hx,)  # type: ignore[return-value]


def _start(
    module: nn.RNNBase, hx: object, batch: int, x: Tensor, batched: bool, packed: PackedSequence | None
) -> Hidden:
    """The first states of all layers and directions, each (layers · directions, batch, size)."""
    count = module.num_layers * (2 if module.bidirectional else 1)
    if hx is None:
        sizes = [module.proj_size or module.hidden_size]
        sizes += [module.hidden_size] if isinstance(module, nn.LSTM) else []
        return tuple(x.new_zeros(count, batch, size) for size in sizes)
    state: Hidden = tuple(hx) if isinstance(hx, tuple | list) else (hx,)  # type: ignore[assignment]
    if not batched:
        state = tuple(T[:, None] for T in state)
    if packed is not None and packed.sorted_indices is not None:
        state = tuple(T[:, packed.sorted_indices] for T in state)
    return state
