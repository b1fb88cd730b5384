"""The Gram-whitened optimiser: any torch optimiser, its step rotated back towards its start (paper E)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from gramian.optim.polar import METHODS, Method, nearest_with_gram


class GramWhitened(Optimizer):
    """Wrap a torch optimiser so that each weight moves only as far as its Gram matrix ``WᵀW`` requires.

    The base moves ``W₁ → W₂``; the weight becomes ``W₂' = polar(W₁W₂ᵀ) W₂``, which has the Gram matrix of W₂
    and, among all such matrices, is nearest to W₁. The part of the step that does not change the features ``WᵀW``
    is removed. A convolution weight ``(out, in, k, k)`` is flattened to ``(out, in·k·k)``.

    Parameters
    ----------
    base_optimizer
        The optimiser that makes the step; its groups and state are shared, not copied.
    whiten
        The parameters to whiten. By default every one with two or more dimensions; all others (biases, scales) get
        the base's step as it is. Pass a list to leave out e.g. an embedding, whose rows are words and not neurons.
    method
        ``"svd"`` (exact) or ``"newton-schulz"`` (quintic iteration, matrix products only).

    Notes
    -----
    The wrapper has no state of its own: its state dict is the base's, and either can load the other's.
    Momentum buffers are the base's too and are not rotated.

    >>> net = torch.nn.Linear(4, 3)
    >>> optimizer = GramWhitened(torch.optim.Adam(net.parameters(), lr=0.1))
    >>> schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> net(torch.ones(2, 4)).square().mean().backward()
    >>> optimizer.step(); schedule.step(); optimizer.zero_grad()
    >>> optimizer.param_groups[0]["lr"], [tuple(p.shape) for p in optimizer.whitened]
    (0.05, [(3, 4)])
    """

    def __init__(
        self, base_optimizer: Optimizer, *, whiten: Iterable[Tensor] | None = None, method: Method = "svd"
    ) -> None:
        if not isinstance(base_optimizer, Optimizer):
            raise TypeError(f"base_optimizer must be a torch.optim.Optimizer, got {type(base_optimizer).__name__}")
        if method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}, got {method!r}")
        # Optimizer.__init__ would empty the groups and the state that this wrapper shares with its base;
        # __setstate__ is torch's own way to set up an optimiser without it (hooks, profiling).
        members = [p for group in base_optimizer.param_groups for p in group["params"]]
        super().__setstate__({"base": base_optimizer, "method": method, "whitened": _choose(whiten, members)})

    base: Optimizer
    method: Method
    whitened: list[Tensor]

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The base's parameter groups: a learning rate changed here is changed there."""
        return self.base.param_groups

    @param_groups.setter
    def param_groups(self, groups: list[dict[str, Any]]) -> None:
        self.base.param_groups = groups

    @property
    def state(self) -> defaultdict[Tensor, Any]:
        """The base's per-parameter state."""
        return self.base.state

    @state.setter
    def state(self, state: defaultdict[Tensor, Any]) -> None:
        self.base.state = state

    @property
    def defaults(self) -> dict[str, Any]:
        """The base's default options."""
        return self.base.defaults

    @defaults.setter
    def defaults(self, defaults: dict[str, Any]) -> None:
        self.base.defaults = defaults

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of the base, then ``W₂' = polar(W₁W₂ᵀ) W₂`` per whitened weight; returns the loss."""
        before = [p.detach().clone() for p in self.whitened]
        loss = self.base.step() if closure is None else self.base.step(closure)
        with torch.no_grad():
            for W1, p in zip(before, self.whitened, strict=True):
                # A frozen weight must stay equal bit by bit, and a rotation by a computed identity would change it.
                if not torch.equal(W1, p):
                    _check_finite(p)
                    p.copy_(nearest_with_gram(W1.flatten(1), p.flatten(1), self.method).view_as(p))
        return loss

    def add_param_group(self, param_group: dict[str, Any], whiten: Iterable[Tensor] | None = None) -> None:
        """Add a group to the base; ``whiten`` chooses within the group, as in the constructor."""
        self.base.add_param_group(param_group)
        try:
            self.whitened += _choose(whiten, self.base.param_groups[-1]["params"])
        except (TypeError, ValueError):
            # A refused choice must not leave the group half added.
            self.base.param_groups.pop()
            raise

    def __getstate__(self) -> dict[str, Any]:
        return {"base": self.base, "method": self.method, "whitened": self.whitened}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "base" in state:
            super().__setstate__(state)
        else:  # load_state_dict hands over groups and state, which belong to the base
            self.base.__setstate__(state)

    def __repr__(self) -> str:
        return f"GramWhitened({self.base!r}, method={self.method!r}, whitened={len(self.whitened)})"


def _choose(whiten: Iterable[Tensor] | None, members: list[Tensor]) -> list[Tensor]:
    if whiten is None:
        return [p for p in members if _refusal(p) is None]
    if isinstance(whiten, Tensor):
        raise TypeError("whiten must be an iterable of parameters, got a single tensor; write whiten=[weight]")
    known = {id(p) for p in members}
    chosen = {id(p): p for p in whiten}
    for p in chosen.values():
        if id(p) not in known:
            raise ValueError(f"a parameter of shape {tuple(p.shape)} in whiten is not one the base optimiser holds")
        if (reason := _refusal(p)) is not None:
            raise ValueError(f"cannot whiten a parameter of shape {tuple(p.shape)}: {reason}")
    return list(chosen.values())


def _refusal(p: Tensor) -> str | None:
    if p.ndim < 2:
        return "a Gram matrix needs two or more dimensions"
    if p.numel() == 0:
        return "it is empty"
    if not p.is_floating_point():
        return f"{p.dtype} is not a real floating-point type"
    return None


def _check_finite(p: Tensor) -> None:
    if not bool(torch.isfinite(p).all()):
        raise FloatingPointError(
            f"the base optimiser left a non-finite weight of shape {tuple(p.shape)}: training has diverged; "
            "lower the learning rate or clip the gradients"
        )
