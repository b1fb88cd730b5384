"""Minimisation by L-BFGS with a strong Wolfe line search, to stationarity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import final

import torch
from torch import Tensor


@final
class LBFGS:
    """Minimise a loss over tensors in place.

    Parameters
    ----------
    parameters : iterable of Tensor
        Tensors that require gradients; they are changed in place.
    loss : function
        Returns the loss of the current parameters as a scalar tensor.
    max_steps : int
        Largest number of iterations of one :meth:`run`.
    history : int
        Number of past gradients in the approximation of the Hessian.
    tolerance_grad, tolerance_change : float
        Stop where the largest entry of the gradient, or the change of the loss, is at most this. By default only a
        vanishing gradient or a line search without a decrease stops early.

    >>> x = torch.tensor([3.0, -1.0], dtype=torch.float64, requires_grad=True)
    >>> LBFGS([x], lambda: (x - 2).square().sum(), max_steps=20, history=5).run()
    >>> x.detach().round(decimals=6).tolist()
    [2.0, 2.0]
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        loss: Callable[[], Tensor],
        *,
        max_steps: int,
        history: int,
        tolerance_grad: float = 1e-12,
        tolerance_change: float = 0.0,
    ) -> None:
        self._loss = loss
        self._optimizer = torch.optim.LBFGS(
            list(parameters),
            max_iter=max_steps,
            history_size=history,
            tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change,
            line_search_fn="strong_wolfe",
        )

    def run(self) -> None:
        """Do at most ``max_steps`` iterations; a further call continues with the same history."""
        with torch.enable_grad():
            self._optimizer.step(self._closure)

    def _closure(self) -> Tensor:
        self._optimizer.zero_grad()
        loss = self._loss()
        loss.backward()
        return loss
