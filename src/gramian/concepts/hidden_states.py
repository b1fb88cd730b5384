"""Outputs of named modules during a forward pass, caught by hooks that are always removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class _AllCaught(Exception):
    """Ends a forward pass after the last module of interest: the rest of the model is not needed."""


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Switch off dropout and the like, and restore the mode of every module at the end."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def hidden_states(
    model: nn.Module, ids: Int[Tensor, "n t"], mask: Int[Tensor, "n t"], layers: Sequence[str]
) -> dict[str, Float[Tensor, "n t d"]]:
    """Return the outputs of modules for a batch of padded texts; the first element where an output is a tuple.

    The forward pass ends with the last of the modules, so that neither later blocks nor the output over the vocabulary
    are computed. The model is in evaluation mode meanwhile, and no gradients are recorded.
    """
    modules = dict(model.named_modules())
    caught: dict[str, Tensor] = {}
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    handles = []
    try:
        for name in layers:
            handles.append(modules[name].register_forward_hook(_catcher(name, caught, len(layers), ids.shape)))
        with _evaluating(model), torch.no_grad(), suppress(_AllCaught):
            model(input_ids=ids.to(device), attention_mask=mask.to(device))
    finally:
        for handle in handles:
            handle.remove()
    missing = [name for name in layers if name not in caught]
    if missing:
        raise ValueError(f"layers: the forward pass does not use {', '.join(missing)}; leave them out")
    return caught


def _catcher(
    name: str, caught: dict[str, Tensor], count: int, shape: torch.Size
) -> Callable[[nn.Module, object, object], None]:
    def catch(module: nn.Module, inputs: object, output: object) -> None:
        hidden = output[0] if isinstance(output, tuple) else output
        if not isinstance(hidden, Tensor) or hidden.shape[:2] != shape or hidden.ndim != 3:
            found = tuple(hidden.shape) if isinstance(hidden, Tensor) else type(hidden).__name__
            raise ValueError(
                f"layers: the output of {name} is no hidden state of shape (texts, tokens, width) = "
                f"({shape[0]}, {shape[1]}, …), but {found}"
            )
        caught[name] = hidden.detach()
        if len(caught) == count:
            raise _AllCaught

    return catch
