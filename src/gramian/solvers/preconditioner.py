"""Nyström preconditioner: the kernel matrix approximated from m of its columns.

With ``C = K[:, S] (n, m)`` and ``K[S, S] = L Lᵀ``, ``B = C L⁻ᵀ`` gives ``K ≈ B Bᵀ``, and by Woodbury
``(B Bᵀ + σI)⁻¹ = (I − B (σI + BᵀB)⁻¹ Bᵀ)/σ``. The error of the approximation is ``K − B Bᵀ``, of trace ``n·rest``: its
eigenvalues are around ``rest``, so ``σ = ridge + rest``. With the ridge alone, thousands of times smaller for a kernel
such as Laplace's, conjugate gradients took up to twice the steps, and ``1/σ`` multiplies round-off.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gramian.core.tiles import spans
from gramian.solvers.base import SingularKernelError

_ROWS = 4096
_COLUMNS = 128
"""Columns that are converted to the wide format at a time, so that C is never in memory in both formats."""
_STRIPS = 4
_JITTERS = 8
_CLEAR = 4
"""The wide format is used if σ is less than this multiple of the round-off of the largest eigenvalue."""


class NystromPreconditioner:
    """Product with ``(K̂ + σI)⁻¹``, where K̂ is the Nyström approximation from some columns.

    Parameters
    ----------
    columns : callable
        Function of indices in increasing order that computes these columns of K; the result is overwritten.
    chosen : Tensor of int (m,)
        Indices of the columns.
    diagonal : Tensor (n,)
        Diagonal of K.
    ridge : float
    wide : torch.dtype
        Format to use if that of C does not have enough digits.

    >>> K = torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    >>> exact = NystromPreconditioner(lambda at: K[:, at], torch.arange(2), K.diagonal(), 1.0, torch.float64)
    >>> exact(torch.tensor([[1.0, 0.0]], dtype=torch.float64))
    tensor([[ 0.3750, -0.1250]], dtype=torch.float64)
    """

    def __init__(
        self,
        columns: Callable[[Tensor], Tensor],
        chosen: Int[Tensor, " m"],
        diagonal: Float[Tensor, " n"],
        ridge: float,
        wide: torch.dtype,
    ) -> None:
        C = columns(chosen)
        corner = C[chosen].to(wide)
        scale = float(corner.diagonal().mean())
        L = _corner_factor((corner + corner.mT) / 2, torch.finfo(C.dtype).eps * scale)
        del corner
        # The largest eigenvalue of K is at most its trace; σ must exceed the round-off of that.
        least = _CLEAR * torch.finfo(C.dtype).eps * float(diagonal.sum())
        self.B = _whitened(C, L)
        self.shift = self._shift(diagonal, ridge, scale)
        narrow = C.dtype != wide
        device = C.device
        del C
        if narrow and self.shift < least:
            del self.B  # before the memory of the next one is allocated
            C = torch.empty(len(diagonal), len(chosen), dtype=wide, device=device)
            for few in spans(len(chosen), _COLUMNS):
                C[:, few] = columns(chosen[few])
            self.B = _whitened(C, L)
            del C
            self.shift = self._shift(diagonal, ridge, scale)
        m = self.B.shape[1]
        gram = torch.zeros(m, m, dtype=wide, device=device)
        for rows in spans(len(self.B), _ROWS):
            part = self.B[rows]
            for strip in spans(m, -(-m // _STRIPS)):  # only the lower triangle is needed
                gram[strip.start :, strip] += part[:, strip.start :].mT @ part[:, strip]
        gram.diagonal().add_(self.shift)
        self.inner = torch.cholesky_inverse(torch.linalg.cholesky(gram))

    @property
    def bytes(self) -> int:
        """Memory of the preconditioner."""
        return self.B.nbytes + self.inner.nbytes

    def __call__(self, Rt: Float[Tensor, "c n"]) -> Float[Tensor, "c n"]:
        """``Rᵀ (K̂ + σI)⁻¹``, in the format of ``Rᵀ``."""
        R = Rt.to(self.B.dtype)
        inside = (R @ self.B).to(self.inner.dtype) @ self.inner
        return (R - inside.to(R.dtype) @ self.B.mT).to(Rt.dtype) / self.shift

    def _shift(self, diagonal: Tensor, ridge: float, scale: float) -> float:
        """``ridge + rest``, where ``rest`` is the mean error of the approximation on the diagonal."""
        approximated = torch.cat([self.B[rows].square().sum(dim=1) for rows in spans(len(self.B), _ROWS)])
        rest = float((diagonal.to(approximated.dtype) - approximated).clamp_min(0).mean())
        return max(ridge + rest, 1e-9 * scale)


def _corner_factor(corner: Float[Tensor, "m m"], noise: float) -> Float[Tensor, "m m"]:
    """``L`` of ``K[S, S]`` plus a jitter, at least that which round-off of its entries (``noise`` each) requires."""
    jitter = len(corner) ** 0.5 * noise
    for _ in range(_JITTERS):
        corner.diagonal().add_(jitter)
        L: Tensor
        L, failed = torch.linalg.cholesky_ex(corner)
        if not int(failed):
            return L
        jitter *= 10
    raise SingularKernelError("the kernel matrix has columns that are not finite or far from positive definite")


def _whitened(C: Float[Tensor, "n m"], L: Float[Tensor, "m m"]) -> Float[Tensor, "n m"]:
    """``C L⁻ᵀ``, which overwrites C."""
    Lt = L.mT.to(C.dtype)
    for rows in spans(len(C), _ROWS):
        C[rows] = torch.linalg.solve_triangular(Lt, C[rows], upper=True, left=False)
    return C
