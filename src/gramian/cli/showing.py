"""Samples in the form a network takes, tried on two of them first, and the loss they go with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gramian.cli.importing import import_object
from gramian.cli.samples import Samples, as_tensors
from gramian.nets.batches import output_tensor

_LOSSES = ("mse", "cross_entropy", "model")


@dataclass(frozen=True, eq=False)
class Shown:
    """Data and loss for ``gramian.inspect``, and what there is to say about them."""

    data: Any
    loss: Any
    loss_name: str | None
    rows: int | None = None
    classes: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


def show_to(model: nn.Module, samples: Samples, loss: str) -> Shown:
    """Data in the model's precision, targets in the shape of its output, and the loss that was asked for.

    With ``"auto"``, whole numbers that can be positions in the output are classes (cross entropy); targets as many as
    outputs are regression (mean squared error); without targets there is no loss.
    """
    if samples.total is None:
        chosen = None if loss in ("auto", "none") else _named(loss)
        return Shown(samples.X, chosen, None if chosen is None else loss)
    first = next(model.parameters(), None)
    dtype = torch.float32 if first is None else first.dtype
    looks_up = any(isinstance(module, nn.Embedding | nn.EmbeddingBag) for module in model.modules())
    X, y = as_tensors(samples, dtype, looks_up)
    made = _try(model, X[:2] if first is None else X[:2].to(first.device))
    if y is None:
        if loss not in ("auto", "none", "model"):
            raise ValueError(f"--loss {loss} needs targets: name them with --target")
        return Shown(X, "model" if loss == "model" else None, None if loss != "model" else loss, samples.total)
    name = _choose(y, made) if loss == "auto" else loss
    said = [f"loss {name}, as the targets look (--loss says otherwise)"] if loss == "auto" else []
    if samples.classes:
        named = ", ".join(f"{i} {label}" for i, label in enumerate(samples.classes[:8]))
        said.append(f"classes by the alphabet: {named}{', …' if len(samples.classes) > 8 else ''}")
    chosen = None if name == "none" else _named(name)
    data = (X, _shaped(y, made, name, dtype))
    return Shown(data, chosen, None if chosen is None else name, samples.total, samples.classes, tuple(said))


def _try(model: nn.Module, X: Tensor) -> Tensor:
    """The model's output for two samples: what does not fit is better said before the work than in the midst of it."""
    before = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            made = model(X)
    except Exception as error:  # the user's forward may fail in any way
        what = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"the network does not take samples of shape {tuple(X.shape[1:])} ({X.dtype}): {what}. Give it what it was "
            "trained on, or --data MODULE:FUNCTION that prepares it"
        ) from error
    finally:
        for module, training in before.items():
            module.training = training
    return output_tensor(made, len(X))


def _choose(y: Tensor, made: Tensor) -> str:
    whole = not y.is_floating_point()
    if whole and y.ndim == 1 and made.ndim == 2 and made.shape[1] > max(1, int(y.max())) and int(y.min()) >= 0:
        return "cross_entropy"
    if y[0].numel() == made[0].numel():
        return "mse"
    raise ValueError(
        f"targets of shape {tuple(y.shape[1:])} and outputs of shape {tuple(made.shape[1:])} go with neither mse nor "
        "cross_entropy: say --loss MODULE:FUNCTION, or --loss none"
    )


def _shaped(y: Tensor, made: Tensor, loss: str, dtype: torch.dtype) -> Tensor:
    if loss == "mse":
        if y[0].numel() != made[0].numel():
            raise ValueError(
                f"--loss mse: targets of shape {tuple(y.shape[1:])} and outputs of shape {tuple(made.shape[1:])}"
            )
        return y.to(dtype).reshape(len(y), *made.shape[1:])  # (n,) beside (n, 1) would be taken for n × n pairs
    if loss == "cross_entropy":
        if not y.is_floating_point():
            return y.long()
        if y.shape[1:] != made.shape[1:]:  # else: probabilities
            raise ValueError("--loss cross_entropy needs whole numbers as targets, and these have decimals")
    return y.to(dtype) if y.is_floating_point() else y.long()


def _named(loss: str) -> Any:
    if loss in _LOSSES:
        return loss
    if ":" not in loss:
        raise ValueError(f"--loss {loss}: it is one of auto, none, {', '.join(_LOSSES)}, or MODULE:FUNCTION")
    found = import_object(loss, "--loss")
    return found() if isinstance(found, type) and issubclass(found, nn.Module) else found
