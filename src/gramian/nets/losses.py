"""One convention for all losses: a batch loss whose gradients are those of the mean over samples.

With ``L = (1/n) Σ ℓᵢ`` the gradient of ``n · L`` at sample i's row is ∇ℓᵢ, whatever the loss averages over
besides (outputs, tokens, class weights): so the batch loss is taken as it was trained, never re-derived.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor

Loss = Callable[[Tensor, Any], Tensor]
Reduction = Literal["mean", "sum"]

_NAMED: dict[str, Loss] = {"mse": F.mse_loss, "cross_entropy": F.cross_entropy}


def resolve_loss(loss: Any) -> tuple[Loss | None, Reduction]:
    """The callable behind ``loss`` and how it reduces a batch.

    ``"mse"`` and ``"cross_entropy"`` are torch's, with its means; a torch criterion keeps its own
    ``reduction``; any other callable ``loss(output, target)`` returns one value per sample ``(n,)``, or
    their mean.

    >>> import torch
    >>> resolve_loss(torch.nn.MSELoss(reduction="sum"))[1]
    'sum'
    """
    if loss is None or loss == "model":
        return None, "mean"
    if isinstance(loss, str):
        if loss not in _NAMED:
            raise ValueError(f"loss must be one of {[*_NAMED, 'model']} or a callable, got {loss!r}")
        return _NAMED[loss], "mean"
    if not callable(loss):
        raise ValueError(f"loss must be a name or a callable loss(output, target), got {type(loss).__name__}")
    return loss, "sum" if getattr(loss, "reduction", "mean") == "sum" else "mean"


def batch_total(value: Tensor, size: int, reduction: Reduction) -> Tensor:
    """``Σᵢ ℓᵢ`` over the batch from what the loss returned: a mean (times n), a sum, or one value per sample.

    >>> import torch
    >>> batch_total(torch.tensor(2.0), 3, "mean"), batch_total(torch.ones(3), 3, "mean")
    (tensor(6.), tensor(3.))
    """
    if not isinstance(value, Tensor):
        raise ValueError(f"loss must return a tensor, got {type(value).__name__}")
    if value.ndim == 0:
        return value if reduction == "sum" else value * size
    if value.shape == (size,):
        return value.sum()
    raise ValueError(
        f"loss returned shape {tuple(value.shape)} for a batch of {size}: return one loss per "
        f"sample ({size},), or the "
        "mean as it was trained (the mean over outputs or tokens is part of the loss, and cannot be guessed)"
    )
