"""The Gram-whitened optimiser: any torch optimiser, its step rotated back towards its start (paper E)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from gramian.optim.matrix_form import MatrixForm, check_fit, matrix_forms, refusal
from gramian.optim.polar import METHODS, Method, nearest_with_gram

Whiten = Iterable[Tensor] | Mapping[Tensor, MatrixForm] | None
"""Parameters to whiten: listed, or each with its form; None for all matrices."""


class GramWhitened(Optimizer):
    """Wrap a torch optimiser so that each weight moves only as far as its Gram matrix ``WᵀW`` requires.

    The base moves ``W₁ → W₂``; the weight becomes ``W₂' = polar(W₁W₂ᵀ) W₂``, which has the Gram matrix of W₂
    and, among all such matrices, is nearest to W₁. The part of the step that does not change the features ``WᵀW``
    is removed. :meth:`for_model` chooses the weights of a model and their matrix forms; use the constructor to name
    them yourself.

    Parameters
    ----------
    base_optimizer
        The optimiser that makes the step; its groups and state are shared, not copied.
    whiten
        The parameters to whiten: a list, in which a parameter is taken as the matrix ``(first dimension, all others)``,
        or a mapping to their :class:`MatrixForm`. By default every matrix that the base holds; all others (biases,
        scales) get the base's step as it is.
    method
        ``"svd"`` (exact), or ``"newton-schulz"`` (quintic iteration: a fixed number of matrix products that never waits
        for the device).

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

    def __init__(self, base_optimizer: Optimizer, *, whiten: Whiten = None, method: Method = "svd") -> None:
        if not isinstance(base_optimizer, Optimizer):
            raise TypeError(f"base_optimizer must be a torch.optim.Optimizer, got {type(base_optimizer).__name__}")
        if method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}, got {method!r}")
        # Optimizer.__init__ would empty the groups and the state that this wrapper shares with its base;
        # __setstate__ is torch's own way to set up an optimiser without it (hooks, profiling).
        members = [p for group in base_optimizer.param_groups for p in group["params"]]
        chosen = _choose(whiten, members)
        super().__setstate__({
            "base": base_optimizer, "method": method, "whitened": list(chosen), "forms": list(chosen.values()),
        })  # fmt: skip

    @classmethod
    def for_model(
        cls,
        model: nn.Module,
        base: Optimizer | Callable[[Iterable[Tensor]], Optimizer],
        *,
        whiten: Mapping[str, bool | MatrixForm] | None = None,
        method: Method = "svd",
    ) -> GramWhitened:
        """Whiten the weights of a model's hidden layers, each in its own matrix form; leave all others to the base.

        Left to the base are embeddings and weights tied with them, the head, normalisations, biases and all other
        vectors. :func:`gramian.optim.matrix_forms` lists every parameter with its form or the reason why it is left.

        Parameters
        ----------
        model
            The model. Weights that the base does not hold are not whitened.
        base
            A function that makes the base optimiser from ``model.parameters()``, such as
            ``functools.partial(torch.optim.SGD, lr=0.1)``; or an optimiser of the model's parameters, in groups of any
            kind with learning rates of their own.
        whiten
            Exceptions by the name of a module or parameter: True, False, or the :class:`MatrixForm` of a parameter.
        method
            As in the constructor.

        >>> from functools import partial
        >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 10))
        >>> optimizer = GramWhitened.for_model(model, partial(torch.optim.SGD, lr=0.1, momentum=0.9))
        >>> [tuple(p.shape) for p in optimizer.whitened]
        [(8, 3, 3, 3)]
        >>> GramWhitened.for_model(model, torch.optim.AdamW, whiten={"3": True}).whitened[1] is model[3].weight
        True
        """
        optimizer = base if isinstance(base, Optimizer) else base(model.parameters())
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"base must be an optimiser or make one from parameters, got {type(optimizer).__name__}: write e.g. "
                "functools.partial(torch.optim.SGD, lr=0.1)"
            )
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        parameters, forms = dict(model.named_parameters()), matrix_forms(model, whiten)
        chosen = {
            parameters[name]: form
            for name, form in forms.items()
            if isinstance(form, MatrixForm) and id(parameters[name]) in held
        }
        if not chosen:
            raise ValueError(
                "for_model found no weight to whiten; name one in whiten={name: True}. Left to the base: "
                + "; ".join(f"{name}, {form}" for name, form in forms.items())
            )
        return cls(optimizer, whiten=chosen, method=method)

    base: Optimizer
    method: Method
    whitened: list[Tensor]
    forms: list[MatrixForm]

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
        # A frozen weight is not computed at all.
        moving = [
            (p, form, p.detach().clone())
            for p, form in zip(self.whitened, self.forms, strict=True)
            if p.requires_grad or p.grad is not None
        ]
        loss = self.base.step() if closure is None else self.base.step(closure)
        with torch.no_grad():
            for p, form, start in moving:
                if self.method == "svd":
                    # The SVD would fail without a reason. Newton–Schulz hands on a NaN as the base does, since a look
                    # at the numbers would wait for the device.
                    _check_finite(p)
                W1, W2 = form.stack(start), form.stack(p)
                # A matrix that did not move stays equal bit by bit: a rotation by a computed identity would change it.
                moved = (W1 != W2).any(-1, keepdim=True).any(-2, keepdim=True)
                whitened = torch.where(moved, nearest_with_gram(W1, W2, self.method), W2)
                p.copy_(form.restore(whitened, p.shape))
        return loss

    def add_param_group(self, param_group: dict[str, Any], whiten: Whiten = None) -> None:
        """Add a group to the base; ``whiten`` chooses within the group, as in the constructor."""
        self.base.add_param_group(param_group)
        try:
            chosen = _choose(whiten, self.base.param_groups[-1]["params"])
        except (TypeError, ValueError):
            # A refused choice must not leave the group half added.
            self.base.param_groups.pop()
            raise
        self.whitened += chosen
        self.forms += chosen.values()

    def __getstate__(self) -> dict[str, Any]:
        return {"base": self.base, "method": self.method, "whitened": self.whitened, "forms": self.forms}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "base" in state:
            super().__setstate__(state)
        else:  # load_state_dict hands over groups and state, which belong to the base
            self.base.__setstate__(state)

    def __repr__(self) -> str:
        return f"GramWhitened({self.base!r}, method={self.method!r}, whitened={len(self.whitened)})"


def _choose(whiten: Whiten, members: list[Tensor]) -> dict[Tensor, MatrixForm]:
    if whiten is None:
        return {p: _unambiguous(p) for p in members if refusal(p) is None}
    if isinstance(whiten, Tensor):
        raise TypeError("whiten must be an iterable of parameters, got a single tensor; write whiten=[weight]")
    known = {id(p) for p in members}
    chosen = dict(whiten) if isinstance(whiten, Mapping) else dict.fromkeys(whiten)
    forms = {}
    for p, form in chosen.items():
        if id(p) not in known:
            raise ValueError(f"a parameter of shape {tuple(p.shape)} in whiten is not one the base optimiser holds")
        if (reason := refusal(p)) is not None:
            raise ValueError(f"cannot whiten a parameter of shape {tuple(p.shape)}: {reason}")
        forms[p] = MatrixForm.of(p) if form is None else form
        check_fit(forms[p], p)
    return forms


def _unambiguous(p: Tensor) -> MatrixForm:
    if p.ndim > 2:
        raise ValueError(
            f"a parameter of shape {tuple(p.shape)} may be a convolution, a transposed one or a stack of experts: use "
            "GramWhitened.for_model(model, base), or name the parameters in whiten"
        )
    return MatrixForm.of(p)


def _check_finite(p: Tensor) -> None:
    if not bool(torch.isfinite(p).all()):
        raise FloatingPointError(
            f"the base optimiser left a non-finite weight of shape {tuple(p.shape)}: training has diverged; "
            "lower the learning rate or clip the gradients"
        )
