"""The four projections inside ``nn.MultiheadAttention``, which multiplies by its weights without calling a module."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from gramian.nets.batch_axes import LayerAxes
from gramian.nets.layer_forms import Layer, Undo
from gramian.nets.recording import Recording


def attention_layers(name: str, module: nn.MultiheadAttention) -> list[Layer]:
    """Queries, keys, values and output of an attention module; ``name`` is empty for a model that is one.

    >>> [layer.name for layer in attention_layers("attn", nn.MultiheadAttention(4, 2))]
    ['attn.q_proj', 'attn.k_proj', 'attn.v_proj', 'attn.out_proj']
    """
    E = module.embed_dim

    def layer(letter: str, parameter: str, part: tuple[int, int] | None = None) -> Layer:
        return Layer(
            f"{name}.{letter}_proj" if name else f"{letter}_proj",
            "attention",
            module,
            parameter,
            matrix=(lambda p: p[None]) if part is None else (lambda p: p[part[0] : part[1]][None]),
            part=part,
            watch=watch_attention,
        )

    if module.in_proj_weight is not None:
        layers = [layer(letter, "in_proj_weight", (j * E, (j + 1) * E)) for j, letter in enumerate("qkv")]
    else:
        layers = [layer(letter, f"{letter}_proj_weight") for letter in "qkv"]
    return [*layers, layer("out", "out_proj.weight")]


def watch_attention(module: nn.Module, parts: list[Layer], current: Callable[[], Recording | None]) -> list[Undo]:
    """Replace ``F.linear`` while an attention module runs; returns the functions that end it."""
    replaced: list[Callable[..., Tensor]] = []

    def before(module: nn.Module, args: tuple[object, ...]) -> None:
        plain = F.linear
        sizes: list[tuple[int, int]] = []

        def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
            output = plain(input, weight, bias)
            recording = current()
            if recording is not None:
                if not sizes and input.ndim == 3:
                    sizes.append((input.shape[0], input.shape[1]))
                for part in parts:
                    _record_part(recording, part, input, weight, output, sizes)
            return output

        replaced.append(plain)
        F.linear = linear

    def after(*ignored: object) -> None:
        if replaced:
            F.linear = replaced.pop()

    def restore() -> None:
        while replaced:
            F.linear = replaced.pop()

    undo: list[Undo] = [restore, module.register_forward_pre_hook(before).remove]
    try:
        undo.append(module.register_forward_hook(after, always_call=True).remove)
    except BaseException:
        for function in undo:
            function()
        raise
    return undo


def _record_part(
    recording: Recording, part: Layer, input: Tensor, weight: Tensor, output: Tensor, sizes: list[tuple[int, int]]
) -> None:
    parameter = part.weight()
    if weight is parameter:
        start, stop = 0, weight.shape[0]
    elif weight._base is parameter and part.part is not None:
        start = weight.storage_offset() // weight.shape[1]
        stop = start + weight.shape[0]
    else:
        return
    columns = slice(None)
    if part.part is not None:
        if not start <= part.part[0] < stop:
            return
        columns = slice(part.part[0] - start, part.part[1] - start)
    recording.add(
        part, output, lambda gradient: part.normal_rows(gradient[..., columns]), input_shape=tuple(input.shape)
    )
    if sizes:
        # Inside attention tensors are (tokens, batch, ·), or those two flattened.
        length, batch = sizes[0] if input.ndim == 2 else input.shape[:2]
        H, Z = (T.reshape(length, batch, -1).transpose(0, 1) for T in (input, output[..., columns]))
        recording.add_features(part, H, Z, LayerAxes(0, 0))
