"""Small linear algebra on symmetric matrices: powers, factors, similarities.

All functions are pure. Eigenvalues come largest first and the signs of eigenvectors are fixed, so that two runs (or two
computers) show the same direction and not its mirror image.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def symmetrize(A: Float[Tensor, "*g d d"]) -> Float[Tensor, "*g d d"]:
    """Return the symmetric part ``(A + Aᵀ) / 2`` of a matrix, or of each matrix in a stack.

    >>> symmetrize(torch.tensor([[0.0, 2.0], [0.0, 0.0]]))
    tensor([[0., 1.],
            [1., 0.]])
    """
    return (A + A.mT) / 2


def fix_signs(V: Float[Tensor, "d k"]) -> Float[Tensor, "d k"]:
    """Flip each column so that its entry of largest magnitude is positive.

    >>> fix_signs(torch.tensor([[-3.0], [1.0]])).squeeze()
    tensor([ 3., -1.])
    """
    if V.numel() == 0:
        return V
    top = V.gather(0, V.abs().argmax(dim=0, keepdim=True))
    return V * torch.where(top < 0, -1.0, 1.0).to(V.dtype)


def psd_eigh(A: Float[Tensor, "d d"]) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"]]:
    """Eigenvalues (largest first, negatives clipped to 0) and sign-fixed eigenvectors of a symmetric PSD matrix.

    >>> values, vectors = psd_eigh(torch.diag(torch.tensor([1.0, 3.0])))
    >>> values
    tensor([3., 1.])
    """
    # MPS has no eigensolver, and copying d × d matrices is cheap.
    values, vectors = torch.linalg.eigh(symmetrize(A.cpu() if A.device.type == "mps" else A))
    values, vectors = values.to(A.device), vectors.to(A.device)
    return values.flip(0).clamp_min(0), fix_signs(vectors.flip(1))


def solve_factored(L: Float[Tensor, "n n"], B: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    """Return ``(L Lᵀ)⁻¹ B`` for a lower triangular L.

    ``torch.cholesky_solve`` gives the same numbers, but copies L first.

    >>> solve_factored(torch.tensor([[2.0, 0.0], [1.0, 1.0]]), torch.tensor([[4.0], [3.0]])).squeeze()
    tensor([0.5000, 1.0000])
    """
    forward: Tensor = torch.linalg.solve_triangular(L, B, upper=False)
    solution: Tensor = torch.linalg.solve_triangular(L.mT, forward, upper=True)
    return solution


def psd_power(A: Float[Tensor, "d d"], power: float) -> Float[Tensor, "d d"]:
    """Power ``A^s`` of a symmetric PSD matrix through its eigenvalues; negative eigenvalues count as 0.

    ``s = 1`` returns A unchanged (no eigendecomposition). ``s`` must be positive: the inverse powers of a matrix
    with zero eigenvalues do not exist.

    >>> psd_power(torch.diag(torch.tensor([9.0, 4.0])), 0.5).diag()
    tensor([3., 2.])
    """
    if not power > 0:
        raise ValueError(f"power must be positive, got {power}")
    if power == 1:
        return A
    values, vectors = psd_eigh(A)
    return symmetrize((vectors * values.pow(power)) @ vectors.mT)


def psd_factor(A: Float[Tensor, "d d"], power: float = 1.0, tol: float | None = None) -> Float[Tensor, "d k"]:
    """Thin factor ``F (d, k)`` with ``F Fᵀ = A^s``; directions with eigenvalue below ``tol · largest`` are dropped.

    The columns are ordered from the strongest direction to the weakest. ``tol`` defaults to ``d · eps`` of the dtype.

    >>> psd_factor(torch.diag(torch.tensor([0.0, 4.0])))
    tensor([[0.],
            [2.]])
    """
    values, vectors = psd_eigh(A)
    values = values.pow(power)
    cut = A.shape[0] * torch.finfo(A.dtype).eps if tol is None else tol
    keep = values > cut * values[0]
    return vectors[:, keep] * values[keep].sqrt()


def haar(m: int, rng: torch.Generator, columns: int | None = None) -> Float[Tensor, "m c"]:
    """Leading ``columns`` columns of a Haar-distributed orthogonal matrix, in float64.

    ``Q R = G`` of a Gaussian G with the signs of ``diag R`` moved into Q; without that move Q is not Haar.

    >>> Q = haar(4, torch.Generator().manual_seed(0), columns=2)
    >>> torch.allclose(Q.mT @ Q, torch.eye(2, dtype=torch.float64))
    True
    """
    columns = m if columns is None else columns
    if not 0 < columns <= m:
        raise ValueError(f"an orthogonal {m} × {m} matrix has no {columns} leading columns")
    Q, R = torch.linalg.qr(torch.randn(m, columns, generator=rng, dtype=torch.float64))
    orthogonal: Tensor = Q * R.diagonal().sign()
    return orthogonal


def cosine(A: Tensor, B: Tensor) -> float:
    """Cosine ``ρ(A, B) = tr(AᵀB) / (‖A‖ ‖B‖)`` of two arrays of the same shape, the similarity of papers A and C.

    NaN when one of them is zero: a zero matrix has no direction.

    >>> cosine(torch.eye(2), torch.ones(2, 2))
    0.707...
    """
    a, b = A.double().flatten(), B.double().flatten()
    if a.shape != b.shape:
        raise ValueError(f"cosine needs two arrays of one shape, got {tuple(A.shape)} and {tuple(B.shape)}")
    a, b = _unit_scale(a), _unit_scale(b)
    return float(a @ b / (a.norm() * b.norm()))


def pearson(A: Tensor, B: Tensor) -> float:
    """Pearson correlation of the entries: :func:`cosine` after subtracting each array's mean entry, as in paper D.

    >>> round(pearson(torch.eye(2), 5 + torch.eye(2)), 6)
    1.0
    """
    return cosine(A.double() - A.double().mean(), B.double() - B.double().mean())


def effective_rank(values: Float[Tensor, " d"]) -> float:
    """Effective rank ``exp(−Σ p log p)`` of a spectrum, with ``p`` the eigenvalues divided by their sum.

    d equal eigenvalues give d, a single one gives 1, no positive one gives 0.

    >>> round(effective_rank(torch.ones(4)), 6)
    4.0
    """
    v = values.double().clamp_min(0)
    total = v.sum()
    if total == 0:
        return 0.0
    p = v / total
    return float(torch.exp(-torch.special.xlogy(p, p).sum()))


def _unit_scale(v: Tensor) -> Tensor:
    # Norms of entries near 1e±200 over- or underflow; a common factor does not change a direction.
    top = v.abs().max() if v.numel() else v.new_tensor(0.0)
    return v / top if top > 0 else v
