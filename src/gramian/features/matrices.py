"""Feature matrices of the five papers, as pure functions of arrays.

Every matrix has a *moment form* ``..._from_moments``, a function of sums that can be accumulated in batches, and a
per-sample form that is defined through it. The kernel machine and the layers of a network both call the moment forms,
so their matrices cannot differ in sign or normalisation: no other module divides by the number of samples, by the
weight decay or by the step.

Letters follow ``docs/notation.md``: ``H (n, k)`` inputs of a layer, ``W (k', k)`` its weights, ``G (n, c, k)``
gradients of the outputs with respect to H, ``V (n, k)`` gradients of the per-sample loss with respect to H.
The backward twins (PTK = bAGOP, beNFA, bFACT) are the same functions at the layer's output: pass gradients with
respect to ``Z = H Wᵀ`` and, for bFACT, swap the two factors (:func:`backward_fact`).
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import symmetrize


def nfm(W: Float[Tensor, "m k"]) -> Float[Tensor, "k k"]:
    """Neural feature matrix ``WᵀW`` (all papers); ``nfm(W.T)`` is the backward twin ``WWᵀ``.

    >>> nfm(torch.tensor([[1.0, 2.0]]))
    tensor([[1., 2.],
            [2., 4.]])
    """
    return W.mT @ W


def agop(
    G: Float[Tensor, "n c k"], *, center: bool = False, weights: Float[Tensor, " n"] | None = None
) -> Float[Tensor, "k k"]:
    """Average gradient outer product ``(1/n) Σᵢ Σ_c g_ic g_icᵀ`` (paper B).

    With ``center`` the mean gradient over i is subtracted from each output first. ``weights`` turn the mean over i
    into a weighted one. With G = ∂f/∂z this is the pre-activation tangent kernel (PTK) of paper A.

    >>> G = torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]]])
    >>> agop(G).diag()
    tensor([0.5000, 2.0000])
    """
    if weights is None:
        weights = G.new_ones(G.shape[0])
    mean = torch.einsum("n,nck->ck", weights, G) / weights.sum()
    return agop_from_moments(gradient_second_moment(G, weights), mean, float(weights.sum()), center=center)


def gradient_second_moment(
    G: Float[Tensor, "n c k"], weights: Float[Tensor, " n"] | None = None
) -> Float[Tensor, "k k"]:
    """The sum ``Σᵢ wᵢ Σ_c g_ic g_icᵀ`` that :func:`agop_from_moments` takes, for one batch of gradients.

    >>> gradient_second_moment(torch.ones(3, 2, 1))
    tensor([[6.]])
    """
    flat = G.flatten(0, 1)
    if weights is None:
        return flat.mT @ flat
    return (flat * weights.repeat_interleave(G.shape[1])[:, None]).mT @ flat


def agop_from_moments(
    second: Float[Tensor, "*g k q"],
    mean: Float[Tensor, "c k"] | None,
    count: float,
    *,
    center: bool = False,
    samples: float | None = None,
    probed: bool = False,
) -> Float[Tensor, "*g k q"]:
    """AGOP from sums over gradients g: the same quantity as :func:`agop`, accumulated in batches.

    Parameters
    ----------
    second : Tensor (k, k)
        ``Σ g gᵀ`` over rows and outputs; without ``center`` also a stack of such sums, one per group of a layer.
    mean : Tensor (c, k), optional
        Average gradient of each output over the rows; only centring needs it.
    count : float
        Number of rows, or their total weight.
    center : bool
        Subtract the mean gradient of each output first.
    samples : float, optional
        Number of samples to divide by, where a sample has several rows (a convolution); ``count`` by default.
    probed : bool
        ``second`` is ``Σ g (gᵀP)`` with some probes P (k, q), and the result is AGOP · P, which is not symmetric.

    >>> G = torch.randn(20, 3, 4, dtype=torch.float64)
    >>> second = torch.einsum("nck,ncl->kl", G, G)
    >>> torch.allclose(agop_from_moments(second, G.mean(0), 20, center=True), agop(G, center=True))
    True
    """
    if center:
        if mean is None:
            raise ValueError("center=True needs mean, the average gradient of each output")
        second = second - count * mean.mT @ mean
    average = second / (count if samples is None else samples)
    return average if probed else symmetrize(average)


def enfa(V: Float[Tensor, "n k"]) -> Float[Tensor, "k k"]:
    """Empirical loss-gradient outer product ``(1/n) Σ ∇ₕℓᵢ ∇ₕℓᵢᵀ`` (paper D's eNFA).

    >>> enfa(torch.tensor([[2.0], [0.0]]))
    tensor([[2.]])
    """
    return enfa_from_moments(V.mT @ V, V.shape[0])


def enfa_from_moments(second: Float[Tensor, "*g k q"], samples: float) -> Float[Tensor, "*g k q"]:
    """eNFA from ``second = Σ ∇ₕℓᵢ ∇ₕℓᵢᵀ`` over all rows, or from its product with probes.

    >>> enfa_from_moments(torch.tensor([[8.0]]), samples=4)
    tensor([[2.]])
    """
    return second / samples


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
    return fact_from_moments(V.mT @ H, n or V.shape[0], weight_decay)


def fact_from_moments(cross: Float[Tensor, "*g k q"], samples: float, weight_decay: float) -> Float[Tensor, "*g k q"]:
    """FACT from ``cross = Σ ∇ₕℓᵢ hᵢᵀ`` over all rows, or from its product with probes.

    By the Feature Learning Equation ``Wᵀ ∇_W L = (1/n) Σ ∇ₕℓᵢ hᵢᵀ`` the gradient of the mean loss gives the same
    sum already divided by n: pass ``Wᵀ ∇_W L`` with ``samples=1``. The backward twin takes ``Σ zᵢ ∇_zℓᵢᵀ``.

    >>> fact_from_moments(torch.tensor([[-6.0]]), samples=3, weight_decay=0.5)
    tensor([[4.]])
    """
    if not weight_decay > 0:
        raise ValueError(
            f"weight_decay must be positive, got {weight_decay}: FACT divides by it, and without weight decay "
            "stationarity says nothing about WᵀW"
        )
    return -cross / (samples * weight_decay)


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
    return vcs_from_moments(V.mT @ H, None if first_order else V.mT @ V, V.shape[0], step)


def vcs_from_moments(
    cross: Float[Tensor, "*g k k"], second: Float[Tensor, "*g k k"] | None, samples: float, step: float
) -> Float[Tensor, "*g k k"]:
    """Virtual covariance shift from ``cross = Σ ∇ₕℓᵢ hᵢᵀ`` and ``second = Σ ∇ₕℓᵢ ∇ₕℓᵢᵀ`` over all rows.

    ``−(η/n)(C + Cᵀ) + (η/n)² S``; without ``second`` to first order in the step η. As for
    :func:`fact_from_moments`, ``Wᵀ ∇_W L`` with ``samples=1`` is the cross moment of the mean loss.

    >>> vcs_from_moments(torch.tensor([[-2.0]]), torch.tensor([[1.0]]), samples=1, step=0.5)
    tensor([[2.2500]])
    """
    shift = -(step / samples) * (cross + cross.mT)
    return shift if second is None else shift + (step / samples) ** 2 * second


def _left_modulus(A: Float[Tensor, "k k"], power: float) -> Float[Tensor, "k k"]:
    """``(A Aᵀ)^{power/2}`` from the singular values: squaring first would turn round-off ε into ε^{power/2}."""
    U, s, _ = torch.linalg.svd(A)
    return symmetrize((U * s.pow(power)) @ U.mT)
