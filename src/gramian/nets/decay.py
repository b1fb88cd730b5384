"""The weight decay that a layer was trained with, and the stationarity condition of its optimiser.

Coupled decay (SGD, Adam, …) adds λW to the gradient, so at a stationary point ``∇L + λW = 0`` and FACT holds as
written. Decoupled decay (AdamW) moves ``W ← W − η(λW + P∘m)`` with P = 1/(√v̂ + ε): at a stationary point
``P∘∇L + λW = 0``, so FACT holds for the preconditioned gradient, which is used then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

WeightDecay = float | torch.optim.Optimizer | Mapping[str, float] | None
"""λ as users pass it: a number, the optimiser that trained the model, or a number per layer."""

_COUPLED = (
    torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad, torch.optim.RMSprop, torch.optim.Adadelta,
    torch.optim.Adamax, torch.optim.NAdam, torch.optim.RAdam, torch.optim.ASGD,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """Division by the scale that AdamW gives to each entry of a gradient.

    >>> Preconditioner(torch.tensor([2.0]))(torch.tensor([4.0]))
    tensor([2.], dtype=torch.float64)
    """

    scale: Tensor

    def __call__(self, gradient: Tensor) -> Tensor:
        return gradient.double() / self.scale.to(gradient.device)


@dataclass(frozen=True)
class Decay:
    """λ of one parameter, the scaling of its gradient in the stationarity condition, or why FACT has none."""

    weight_decay: float = 0.0
    precondition: Preconditioner | None = None
    reason: str | None = None

    @property
    def usable(self) -> bool:
        """True where FACT can be formed."""
        return self.reason is None


def resolve_decay(weight_decay: WeightDecay, name: str, parameter: Tensor) -> Decay:
    """λ of one layer from a number, a mapping of layer names to numbers, or the optimiser itself.

    >>> p = torch.nn.Parameter(torch.ones(2, 2))
    >>> resolve_decay(torch.optim.SGD([p], lr=0.1, weight_decay=0.01), "0", p).weight_decay
    0.01
    >>> resolve_decay(None, "0", p).reason
    'no weight_decay was given'
    """
    if weight_decay is None:
        return Decay(reason="no weight_decay was given")
    if isinstance(weight_decay, torch.optim.Optimizer):
        return _from_optimizer(weight_decay, name, parameter)
    if isinstance(weight_decay, Mapping):
        if name not in weight_decay:
            return Decay(reason=f"weight_decay has no entry for layer {name!r}")
        weight_decay = weight_decay[name]
    if not isinstance(weight_decay, int | float) or isinstance(weight_decay, bool) or weight_decay < 0:
        raise ValueError(
            "weight_decay must be a number ≥ 0, a mapping of layer names to numbers, or the torch optimiser that "
            f"trained the model, got {weight_decay!r}"
        )
    return _positive(float(weight_decay))


def _positive(value: float, precondition: Preconditioner | None = None) -> Decay:
    if value == 0:
        return Decay(reason="its weight decay is 0, and without decay stationarity says nothing about WᵀW")
    return Decay(value, precondition)


def _from_optimizer(optimizer: torch.optim.Optimizer, name: str, parameter: Tensor) -> Decay:
    group = next((g for g in optimizer.param_groups if any(p is parameter for p in g["params"])), None)
    if group is None:
        return Decay(reason="the optimiser does not train this weight")
    kind = type(optimizer).__name__
    base = getattr(optimizer, "base", None)
    if isinstance(base, torch.optim.Optimizer):  # a wrapper with the groups and the state of its base
        if any(p is parameter for p in getattr(optimizer, "whitened", ())):
            return Decay(
                reason="it is trained by a Gram-whitened optimiser, at whose stationary points only the symmetric "
                "part of FACT is known"
            )
        return _from_optimizer(base, name, parameter)
    if group.get("maximize"):
        raise ValueError(f"weight_decay={kind}(maximize=True): FACT is defined for a loss that is minimised")
    if "weight_decay" not in group:
        return Decay(reason=f"{kind} has no weight decay")
    decoupled = group.get("decoupled_weight_decay", isinstance(optimizer, torch.optim.AdamW))
    if decoupled and isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW):
        return _adamw(optimizer.state.get(parameter, {}), group, kind)
    if decoupled or not isinstance(optimizer, _COUPLED):
        raise ValueError(
            f"weight_decay={kind}: its stationarity condition is not known, so FACT cannot be trusted. If it adds λW "
            "to the gradient, pass weight_decay=λ as a number; otherwise pass None"
        )
    return _positive(float(group["weight_decay"]))


def _adamw(state: Mapping[str, Any], group: Mapping[str, Any], kind: str) -> Decay:
    second = state.get("max_exp_avg_sq" if group.get("amsgrad") else "exp_avg_sq")
    if second is None:
        return Decay(
            reason=f"{kind} decouples the decay, so its stationarity needs its preconditioner, and it has no state "
            "yet (pass the optimiser after training, or the trained one with its state loaded)"
        )
    step, beta = float(state["step"]), float(group["betas"][1])
    scale = second.double().div(1 - beta**step).sqrt() + float(group["eps"])
    return _positive(float(group["weight_decay"]), Preconditioner(scale))
