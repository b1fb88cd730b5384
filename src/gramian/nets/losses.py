"""One convention for all losses: a batch loss whose gradients are those of the mean over samples.

With ``L = (1/n) Σ ℓᵢ`` the gradient of ``n · L`` at sample i's row is ∇ℓᵢ, for any further average inside the loss
(over outputs, tokens). The batch loss is therefore used as it was trained and never derived again. A weighted mean
(class weights, ignored labels) is summed over batches with its own normaliser, the sum of the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast

import torch.nn.functional as F
from torch import Tensor, nn

Loss = Callable[[Tensor, Any], Tensor]
LossLike = Loss | nn.Module | str
"""A loss as users pass it: a function, a torch criterion or a name."""
Reduction = Literal["mean", "sum"]

IGNORED = -100  # label that losses over classes leave out by default


def cross_entropy(output: Tensor, target: Tensor) -> Tensor:
    """Cross entropy of torch, which also takes labels (n, T) beside outputs (n, T, classes), as language models have.

    Targets may also be probabilities (n, T, classes). Torch itself reads outputs as (n, classes, T). Where both fit,
    because there are as many positions as classes, the classes are last, as
    :func:`gramian.nets.targets.read_targets` reads them too.

    >>> import torch
    >>> output, labels = torch.eye(3).repeat(2, 1, 1), torch.tensor([[0, 1, 2], [0, 1, 2]])
    >>> bool(cross_entropy(output, labels) == F.cross_entropy(output.flatten(0, 1), labels.flatten()))
    True
    """
    if output.ndim == 3 and target.shape == output.shape[:2]:
        return F.cross_entropy(output.mT, target)
    if output.ndim == 3 and target.shape == output.shape and target.is_floating_point():
        return F.cross_entropy(output.mT, target.mT)
    return F.cross_entropy(output, target)


_NAMED: dict[str, Loss] = {"mse": F.mse_loss, "cross_entropy": cross_entropy}

_CLASS_CRITERIA = (nn.CrossEntropyLoss, nn.NLLLoss)
_CLASS_FUNCTIONS = (cross_entropy, F.cross_entropy, F.nll_loss)
_ENTRY_CRITERIA = (
    nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss, nn.BCEWithLogitsLoss, nn.BCELoss, nn.PoissonNLLLoss,
    nn.GaussianNLLLoss, nn.SoftMarginLoss, nn.KLDivLoss,
)  # fmt: skip
_ENTRY_FUNCTIONS = (
    F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy_with_logits, F.binary_cross_entropy,
    F.poisson_nll_loss, F.gaussian_nll_loss, F.soft_margin_loss, F.kl_div,
)  # fmt: skip


def resolve_loss(loss: object) -> tuple[Loss | None, Reduction]:
    """The callable behind ``loss``, and whether it averages or sums over a batch.

    ``"mse"`` and ``"cross_entropy"`` are torch's, with its means; a torch criterion, or a function of torch inside
    ``functools.partial``, has its own ``reduction``; any other callable ``loss(output, target)`` returns one value per
    sample ``(n,)``, or their mean.

    >>> import torch
    >>> resolve_loss(torch.nn.MSELoss(reduction="sum"))[1], resolve_loss(partial(F.mse_loss, reduction="sum"))[1]
    ('sum', 'sum')
    """
    if loss is None or loss == "model":
        return None, "mean"
    if isinstance(loss, str):
        if loss not in _NAMED:
            raise ValueError(f"loss must be one of {[*_NAMED, 'model']} or a callable, got {loss!r}")
        return _NAMED[loss], "mean"
    if not callable(loss):
        raise ValueError(f"loss must be a name or a callable loss(output, target), got {type(loss).__name__}")
    call, keywords = _unwrapped(loss)
    reduction = keywords.get("reduction", getattr(call, "reduction", "mean"))
    return cast(Loss, loss), "sum" if reduction == "sum" else "mean"


def _unwrapped(loss: object) -> tuple[object, dict[str, Any]]:
    """The loss inside ``functools.partial``, and the keywords that were given there."""
    return (loss.func, loss.keywords) if isinstance(loss, partial) else (loss, {})


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
    call, _ = _unwrapped(loss)
    if isinstance(call, _CLASS_CRITERIA) or call in _CLASS_FUNCTIONS:
        if call is not cross_entropy and _is_torchs(call, _CLASS_CRITERIA) and _classes_are_last(output, target):
            raise ValueError(
                f"loss: with labels of shape {tuple(target.shape)} torch takes outputs (n, classes, positions), and "
                f"these have shape {tuple(output.shape)}: pass loss='cross_entropy', which takes classes last, or a "
                "function that moves them"
            )
        return target if target.is_floating_point() else target.long()
    if isinstance(call, _ENTRY_CRITERIA) or call in _ENTRY_FUNCTIONS:
        if target.numel() != output.numel():
            if not _is_torchs(call, _ENTRY_CRITERIA):
                return target
            raise ValueError(
                f"loss: targets of shape {tuple(target.shape)} do not fit outputs of shape {tuple(output.shape)}; give "
                "one target per output"
            )
        return target.to(output.dtype).reshape(output.shape)
    return target


def _is_torchs(call: object, criteria: tuple[type[nn.Module], ...]) -> bool:
    """True for a function or a criterion of torch; a subclass with a forward method of its own may take any shapes."""
    if not isinstance(call, nn.Module):
        return True
    return any(isinstance(call, one) and type(call).forward is one.forward for one in criteria)


def _classes_are_last(output: Tensor, target: Tensor) -> bool:
    """True for outputs (n, T, classes) beside labels (n, T) that cannot be read as (n, classes, T)."""
    return output.ndim == 3 and target.shape == output.shape[:2] and target.shape[1] != output.shape[2]


def target_weight(loss: Loss, target: object) -> float | None:
    """The sum of weights by which a loss of torch over classes divides; None for losses that divide by the samples.

    Class weights and ``ignore_index`` make the loss a weighted mean, which is no mean of the batches' means.

    >>> import torch
    >>> target_weight(nn.CrossEntropyLoss(weight=torch.tensor([1.0, 8.0])), torch.tensor([0, 1, 1, -100]))
    17.0
    """
    options = _class_options(loss)
    if options is None or not isinstance(target, Tensor) or target.is_floating_point():
        return None
    weight, ignored = options
    kept = target[target != ignored].long()
    return float(kept.numel() if weight is None else weight.double()[kept.to(weight.device)].sum())


class Normaliser:
    """The number by which the mean loss divides, summed over batches, in samples.

    Tokens count by their number in a sample of the first batch. ``masked`` is True where the model computes a loss that
    leaves labels out, so that its normaliser is not known.

    >>> import torch
    >>> normaliser = Normaliser(F.cross_entropy)
    >>> normaliser.add(torch.tensor([0, -100]), 2), normaliser.add(torch.tensor([1, 1]), 2), normaliser.total
    (1.0, 2.0, 3.0)
    """

    def __init__(self, loss: Loss | None):
        self.loss = loss
        self.total = 0.0
        self.masked = False
        self._positions = 0

    def add(self, target: object, size: int) -> float:
        """Add a batch and return its share."""
        share: float = size
        if self.loss is None:
            self.masked |= isinstance(target, Tensor) and bool((target == IGNORED).any())
        else:
            weight = target_weight(self.loss, target)
            if weight is not None and isinstance(target, Tensor):
                self._positions = self._positions or target[0].numel()
                share = weight / self._positions
        self.total += share
        return share


def _class_options(loss: Loss) -> tuple[Tensor | None, int] | None:
    """Class weights and ignored index of a loss over classes, None for other losses."""
    call, keywords = _unwrapped(loss)
    if isinstance(call, _CLASS_CRITERIA) and _is_torchs(call, _CLASS_CRITERIA):
        return (call.weight, call.ignore_index) if call.reduction == "mean" else None
    if call in _CLASS_FUNCTIONS and keywords.get("reduction", "mean") == "mean":
        return keywords.get("weight"), keywords.get("ignore_index", IGNORED)
    return None


def batch_total(value: Tensor, size: float, reduction: Reduction, samples: int | None = None) -> Tensor:
    """``Σᵢ ℓᵢ`` over the batch from the value of the loss: a mean (times its normaliser), a sum, or one per sample.

    ``size`` is the normaliser of the mean, which is the number of ``samples`` unless the loss weights them.

    >>> import torch
    >>> batch_total(torch.tensor(2.0), 3, "mean"), batch_total(torch.ones(3), 3, "mean")
    (tensor(6.), tensor(3.))
    """
    if not isinstance(value, Tensor):
        raise ValueError(f"loss must return a tensor, got {type(value).__name__}")
    if value.ndim == 0:
        return value if reduction == "sum" else value * size
    size = int(size) if samples is None else samples
    if value.shape == (size,):
        return value.sum()
    raise ValueError(
        f"loss returned shape {tuple(value.shape)} for a batch of {size}: return one loss per sample ({size},), or "
        "the mean as it was trained (the mean over outputs or tokens is part of the loss, and cannot be guessed)"
    )
