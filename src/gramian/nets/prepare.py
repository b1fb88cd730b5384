"""Arrays of samples as the tensors that a network takes, and the loss that suits their targets."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gramian.nets.batches import output_tensor


def input_tensor(model: nn.Module, X: NDArray[Any]) -> Tensor:
    """Convert inputs to the precision of the model; whole numbers stay whole for a model with an embedding.

    >>> input_tensor(nn.Linear(2, 1), np.eye(2)).dtype
    torch.float32
    """
    looks_up = any(isinstance(module, nn.Embedding | nn.EmbeddingBag) for module in model.modules())
    tensor = torch.from_numpy(np.ascontiguousarray(X))
    return tensor.long() if looks_up and not tensor.is_floating_point() else tensor.to(model_dtype(model))


def model_dtype(model: nn.Module) -> torch.dtype:
    """Return the dtype of the first parameter, or float32 for a model without parameters."""
    first = next(model.parameters(), None)
    return torch.float32 if first is None else first.dtype


def try_outputs(model: nn.Module, X: Tensor) -> Tensor:
    """Return the outputs of a model for a few samples, so that samples of a wrong shape are refused before the work."""
    first = next(model.parameters(), None)
    before = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            outputs = model(X.to("cpu" if first is None else first.device, copy=True))  # it may change X in place
    except Exception as error:  # the user's forward may fail in any way
        what = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"the network does not take samples of shape {tuple(X.shape[1:])} ({X.dtype}): {what}. Give it the inputs "
            "it was trained on, or a function that prepares them"
        ) from error
    finally:
        for module, training in before.items():
            module.training = training
    return output_tensor(outputs, len(X))


def infer_loss(y: Tensor, outputs: Tensor) -> Literal["mse", "cross_entropy"]:
    """Return the loss that targets and outputs suggest.

    Whole numbers that can be positions in the output are classes (cross entropy); as many targets as outputs are
    regression (mean squared error).

    >>> infer_loss(torch.tensor([0, 2]), torch.zeros(2, 3)), infer_loss(torch.zeros(2), torch.zeros(2, 1))
    ('cross_entropy', 'mse')
    """
    whole = not y.is_floating_point()
    if whole and y.ndim == 1 and outputs.ndim == 2 and outputs.shape[1] > max(1, int(y.max())) and int(y.min()) >= 0:
        return "cross_entropy"
    if y[0].numel() == outputs[0].numel():
        return "mse"
    raise ValueError(
        f"targets of shape {tuple(y.shape[1:])} and outputs of shape {tuple(outputs.shape[1:])} fit neither mse nor "
        "cross_entropy: give the loss by a function, or measure without a loss"
    )


def target_tensor(y: Tensor, outputs: Tensor, loss: str, dtype: torch.dtype) -> Tensor:
    """Convert targets to the type and shape that a loss takes; a loss of the user gets them unshaped.

    >>> target_tensor(torch.zeros(2), torch.zeros(2, 1), "mse", torch.float32).shape
    torch.Size([2, 1])
    """
    if loss == "mse":
        if y[0].numel() != outputs[0].numel():
            raise ValueError(
                f"loss mse: targets of shape {tuple(y.shape[1:])} and outputs of shape {tuple(outputs.shape[1:])}"
            )
        return y.to(dtype).reshape(len(y), *outputs.shape[1:])  # (n,) with (n, 1) would broadcast to n × n pairs
    if loss == "cross_entropy":
        if not y.is_floating_point():
            return y.long()
        if y.shape[1:] != outputs.shape[1:]:  # equal shapes are probabilities
            raise ValueError("loss cross_entropy needs whole numbers as targets, and these have decimals")
    return y.to(dtype) if y.is_floating_point() else y.long()
