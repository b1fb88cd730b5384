"""Quadratic networks ``f(x) = Σᵢ aᵢ (wᵢ·x)² = xᵀQx`` of smallest norm (paper D, Lemma D.2)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import symmetrize


def quadratic_form(a: Float[Tensor, " m"], W: Float[Tensor, "m d"]) -> Float[Tensor, "d d"]:
    """The matrix ``Q = Wᵀ diag(a) W`` of the function the network computes.

    >>> quadratic_form(torch.tensor([-1.0]), torch.tensor([[1.0, 2.0]]))
    tensor([[-1., -2.],
            [-2., -4.]])
    """
    return (W.mT * a) @ W


def minimum_norm_cost(Q: Float[Tensor, "d d"]) -> float:
    """``min {‖a‖² + ‖W‖² : network = xᵀQx} = 3 · 2^{−2/3} Σᵢ |λᵢ(Q)|^{2/3}``, corrected from Lemma D.2.

    One neuron of eigenvalue λ costs ``a² + w²`` with ``|a| w² = |λ|``. Splitting ``w²`` in two equal parts,
    the inequality of the means gives ``3 (λ²/4)^{1/3}``, attained at ``w² = 2a²``; the printed
    ``2|λ|^{2/3}`` is what ``w² = a²`` costs, 6 % more.

    >>> round(minimum_norm_cost(torch.diag(torch.tensor([8.0, -1.0]))), 4)
    9.4494
    """
    eigenvalues = torch.linalg.eigvalsh(symmetrize(Q))
    return 3 * 2 ** (-2 / 3) * float(eigenvalues.abs().pow(2 / 3).sum())


def minimum_norm_network(
    Q: Float[Tensor, "d d"], width: int | None = None
) -> tuple[Float[Tensor, " m"], Float[Tensor, "m d"]]:
    """Weights ``(a, W)`` of that smallest network: ``aᵢ = sgn(λᵢ)|λᵢ/2|^{1/3}``, ``wᵢ = √2 |aᵢ| vᵢ``.

    At most d neurons are used; the other rows up to ``width`` are zero. Its Gram matrix is
    ``WᵀW = 2^{1/3} (Q²)^{1/3}`` for any data.

    >>> a, W = minimum_norm_network(torch.diag(torch.tensor([2.0, 0.0])))
    >>> a.abs().max(), W.norm()
    (tensor(1.), tensor(1.4142))
    """
    d = Q.shape[0]
    width = d if width is None else width
    if width < d:
        raise ValueError(f"width {width} is less than the {d} neurons a general {d} × {d} form needs")
    eigenvalues, vectors = torch.linalg.eigh(symmetrize(Q))
    a = eigenvalues.sign() * (eigenvalues.abs() / 2).pow(1 / 3)
    W = 2**0.5 * a.abs()[:, None] * vectors.mT
    return torch.cat([a, a.new_zeros(width - d)]), torch.cat([W, W.new_zeros(width - d, d)])
