"""The feature matrices of the five papers, as pure functions of arrays.

This is the hinge of the house: the AGOP of a kernel machine and that of a network's layer are the same function of
the gradients ``G (n, c, d)``, so a comparison between the two can never differ in normalisation.

Letters follow ``docs/notation.md``: ``H (n, k)`` inputs of a layer, ``W (k', k)`` its weights, ``G (n, c, k)``
gradients of the outputs with respect to H, ``V (n, k)`` gradients of the per-sample loss with respect to H.
The backward twins (bAGOP = PTK, beNFA, bFACT) are the same functions at the layer's output: pass gradients with
respect to ``Z = H Wᵀ`` and, for bFACT, swap the two factors (:func:`backward_fact`).
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import symmetrize

Reduction = Literal["mean", "sum"]


def nfm(W: Float[Tensor, "m k"]) -> Float[Tensor, "k k"]:
    """Neural feature matrix ``WᵀW`` (all papers); ``nfm(W.T)`` is the backward twin ``WWᵀ``.

    >>> nfm(torch.tensor([[1.0, 2.0]]))
    tensor([[1., 2.],
            [2., 4.]])
    """
    return W.mT @ W


def agop(
    G: Float[Tensor, "n c k"],
    *,
    center: bool = False,
    weights: Float[Tensor, " n"] | None = None,
    reduction: Reduction = "mean",
) -> Float[Tensor, "k k"]:
    """Average gradient outer product ``(1/n) Σᵢ Σ_c g_ic g_icᵀ`` (paper B).

    With ``center`` the mean gradient over i is subtracted from each output first. ``weights`` turn the mean over i
    into a weighted one; ``reduction="sum"`` leaves out the division. With G = ∂f/∂z this is the pre-activation
    tangent kernel (PTK) of paper A.

    >>> G = torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]]])
    >>> agop(G).diag()
    tensor([0.5000, 2.0000])
    """
    if weights is None:
        weights = G.new_ones(G.shape[0])
    flat = G.flatten(0, 1)
    second = (flat * weights.repeat_interleave(G.shape[1])[:, None]).mT @ flat
    mean = torch.einsum("n,nck->ck", weights, G) / weights.sum()
    return agop_from_moments(second, mean, float(weights.sum()), center=center, reduction=reduction)


def agop_from_moments(
    second: Float[Tensor, "k k"],
    mean: Float[Tensor, "c k"],
    count: float,
    *,
    center: bool = False,
    reduction: Reduction = "mean",
) -> Float[Tensor, "k k"]:
    """AGOP from streamed moments: ``second = Σᵢ Σ_c g gᵀ``, ``mean (c, k)`` the average gradient, ``count`` points.

    The same quantity as :func:`agop` without ever holding the gradients of all points.

    >>> G = torch.randn(20, 3, 4, dtype=torch.float64)
    >>> second = torch.einsum("nck,ncl->kl", G, G)
    >>> torch.allclose(agop_from_moments(second, G.mean(0), 20, center=True), agop(G, center=True))
    True
    """
    total = second - count * mean.mT @ mean if center else second
    return symmetrize(total if reduction == "sum" else total / count)


def enfa(V: Float[Tensor, "n k"]) -> Float[Tensor, "k k"]:
    """Empirical loss-gradient outer product ``(1/n) Σ ∇ₕℓᵢ ∇ₕℓᵢᵀ`` (paper D's eNFA).

    >>> enfa(torch.tensor([[2.0], [0.0]]))
    tensor([[2.]])
    """
    return V.mT @ V / V.shape[0]


def fact(
    V: Float[Tensor, "n k"], H: Float[Tensor, "n k"], weight_decay: float, n: int | None = None
) -> Float[Tensor, "k k"]:
    """FACT matrix ``F = −(1/(nλ)) Σ ∇ₕℓᵢ hᵢᵀ`` (paper D); equals ``WᵀW`` at a stationary point of the training loss.

    F is not symmetric away from stationarity; see :func:`fact_symmetric`. ``n`` (the number of samples in the mean
    loss) defaults to the number of rows, and differs from it where a sample has several rows, as in a convolution.

    >>> V, H = torch.tensor([[-1.0]]), torch.tensor([[2.0]])
    >>> fact(V, H, weight_decay=0.5)
    tensor([[4.]])
    """
    _check_weight_decay(weight_decay)
    return -(V.mT @ H) / ((n or V.shape[0]) * weight_decay)


def backward_fact(
    Vz: Float[Tensor, "n m"], Z: Float[Tensor, "n m"], weight_decay: float, n: int | None = None
) -> Float[Tensor, "m m"]:
    """Backward FACT ``−(1/(nλ)) Σ zᵢ ∇_zℓᵢᵀ`` with z = W h, without the bias; equals ``WWᵀ`` at stationarity.

    >>> backward_fact(torch.tensor([[-1.0]]), torch.tensor([[2.0]]), weight_decay=0.5)
    tensor([[4.]])
    """
    return fact(Z, Vz, weight_decay, n)


def fact_symmetric(F: Float[Tensor, "k k"], how: Literal["average", "polar"] = "polar") -> Float[Tensor, "k k"]:
    """Symmetric forms of FACT: ``"average"`` is ``½(F + Fᵀ)``, ``"polar"`` is ``(F Fᵀ)^½``, which is also PSD.

    >>> F = torch.tensor([[0.0, 2.0], [0.0, 0.0]])
    >>> fact_symmetric(F, "polar")
    tensor([[2., 0.],
            [0., 0.]])
    """
    if how == "average":
        return symmetrize(F)
    if how == "polar":
        return _left_modulus(F, 1.0)
    raise ValueError(f'how must be "average" or "polar", got {how!r}')


def fact_geometric(F: Float[Tensor, "k k"], M: Float[Tensor, "k k"]) -> Float[Tensor, "k k"]:
    """Geometric mean of FACT with the current feature matrix, ``(F M Mᵀ Fᵀ)^¼`` (paper D's second update).

    Its fixed point is still ``F = M``. For an inner-product kernel F M is PSD, and this is ``(F M)^½``.

    >>> M = torch.diag(torch.tensor([3.0, 1.0]))
    >>> torch.allclose(fact_geometric(M, M), M)
    True
    """
    return _left_modulus(F @ M, 0.5)


def virtual_covariance_shift(
    V: Float[Tensor, "n k"], H: Float[Tensor, "n k"], step: float, *, first_order: bool = False
) -> Float[Tensor, "k k"]:
    """Shift of ``Σ hhᵀ`` under one virtual step ``hᵢ⁺ = hᵢ − (η/n) ∇ₕℓᵢ`` of size η on the mean loss (paper E).

    ``first_order`` drops the η² term; then ``VCS = 2ηλ · ½(F + Fᵀ)`` with F the FACT matrix, exactly.

    >>> V, H = torch.tensor([[-1.0]]), torch.tensor([[2.0]])
    >>> virtual_covariance_shift(V, H, step=0.5)
    tensor([[2.2500]])
    """
    n = V.shape[0]
    cross = V.mT @ H
    shift = -(step / n) * (cross + cross.mT)
    return shift if first_order else shift + (step / n) ** 2 * (V.mT @ V)


def _left_modulus(A: Float[Tensor, "k k"], power: float) -> Float[Tensor, "k k"]:
    """``(A Aᵀ)^{power/2}`` from the singular values: squaring first would turn round-off ε into ε^{power/2}."""
    U, s, _ = torch.linalg.svd(A)
    return symmetrize((U * s.pow(power)) @ U.mT)


def _check_weight_decay(weight_decay: float) -> None:
    if not weight_decay > 0:
        raise ValueError(
            f"weight_decay must be positive, got {weight_decay}: FACT divides by it, and without weight decay "
            "stationarity says nothing about WᵀW"
        )
