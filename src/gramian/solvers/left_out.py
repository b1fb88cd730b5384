"""Residuals of rows that are left out of a ridge regression, from the solution for all rows."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def left_out_residuals(
    alpha: Float[Tensor, "n c"], inverse: Float[Tensor, " n"], ridge: float, copies: Float[Tensor, " n"] | None = None
) -> Float[Tensor, "n c"]:
    """Return residuals ``y − f₋ᵢ(x)`` without each row, or without one of its copies.

    The residual without row i is ``αᵢ / [(K + λ)⁻¹]ᵢᵢ``. Where a row stands for several ``copies`` of equal weight, the
    residual without one of them is ``r / (1 − h / copies)``, with the residual r of the fit and the leverage h.

    Parameters
    ----------
    alpha : Tensor (n, c)
        Coefficients ``(K + λ)⁻¹ Y``.
    inverse : Tensor (n,)
        The diagonal of ``(K + λ)⁻¹``.
    ridge : float
    copies : Tensor (n,), optional
        Numbers of rows that each row stands for; one each by default.

    >>> alpha, inverse = torch.tensor([[1.0]]), torch.tensor([0.5])
    >>> left_out_residuals(alpha, inverse, 1.0), left_out_residuals(alpha, inverse, 1.0, torch.tensor([2.0]))
    (tensor([[2.]]), tensor([[1.3333]]))
    """
    if copies is None:
        return alpha / inverse[:, None]
    copies = copies.to(inverse)
    # r = λα and 1 − h = λ [(K + λ)⁻¹]ᵢᵢ, divided by λ: without a ridge the other copies of a row predict it exactly.
    others = torch.where(copies > 1, (copies - 1) / ridge, 0)
    return alpha * copies[:, None] / (others + inverse)[:, None]
