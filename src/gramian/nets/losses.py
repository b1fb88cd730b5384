"""One convention for all losses: a batch loss whose gradients are those of the mean over samples.

With ``L = (1/n) Σ ℓᵢ`` the gradient of ``n · L`` at sample i's row is ∇ℓᵢ, for any further average inside the loss
(over outputs, tokens, class weights). The batch loss is therefore used as it was trained and never derived again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import torch.nn.functional as F
from torch import Tensor, nn

Loss = Callable[[Tensor, Any], Tensor]
LossLike = Loss | nn.Module | str
"""A loss as users pass it: a function, a torch criterion or a name."""
Reduction = Literal["mean", "sum"]

_NAMED: dict[str, Loss] = {"mse": F.mse_loss, "cross_entropy": F.cross_entropy}

_OVER_CLASSES = (nn.CrossEntropyLoss, nn.NLLLoss)
_OVER_ENTRIES = (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss, nn.BCEWithLogitsLoss, nn.BCELoss)


def resolve_loss(loss: object) -> tuple[Loss | None, Reduction]:
    """The callable behind ``loss``, and whether it averages or sums over a batch.

    ``"mse"`` and ``"cross_entropy"`` are torch's, with its means; a torch criterion has its own
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
    return cast(Loss, loss), "sum" if getattr(loss, "reduction", "mean") == "sum" else "mean"


def matched_target(loss: Loss, output: Tensor, target: object) -> object:
    """The target in the shape and type that a loss of torch takes beside this output.

    Targets ``(n,)`` beside outputs ``(n, 1)`` would broadcast to n × n pairs in a loss over entries. Other losses get
    the target as it is.

    >>> import torch
    >>> matched_target(F.mse_loss, torch.zeros(3, 1), torch.zeros(3)).shape
    torch.Size([3, 1])
    """
    if not isinstance(target, Tensor):
        return target
    if isinstance(loss, _OVER_CLASSES) or loss in (F.cross_entropy, F.nll_loss):
        return target if target.is_floating_point() else target.long()
    if isinstance(loss, _OVER_ENTRIES) or loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        if target.numel() != output.numel():
            raise ValueError(
                f"loss: targets of shape {tuple(target.shape)} do not fit outputs of shape {tuple(output.shape)}; give "
                "one target per output"
            )
        return target.to(output.dtype).reshape(output.shape)
    return target


def batch_total(value: Tensor, size: int, reduction: Reduction) -> Tensor:
    """``Σᵢ ℓᵢ`` over the batch from the value of the loss: a mean (times n), a sum, or one value per sample.

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
        f"loss returned shape {tuple(value.shape)} for a batch of {size}: return one loss per sample ({size},), or "
        "the mean as it was trained (the mean over outputs or tokens is part of the loss, and cannot be guessed)"
    )
