"""Rows of high dimension in coordinates of the space they span."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import psd_eigh
from gramian.core.tiles import rowwise_matmul

_FLOOR = 0.1
"""Squared length, as a multiple of the mean, below which coordinates are not stretched further."""
_RANK = 1e-10
"""Squared singular values below this multiple of the largest are round-off."""


@dataclass(frozen=True, eq=False)
class Flattening:
    """The linear map ``x ↦ rest · x + B (extra ∘ Bᵀ x)`` of centred rows, with orthonormal columns in ``B (d, r)``.

    >>> flat = Flattening(torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.tensor([-1.0]), 2.0)
    >>> flat.apply(torch.tensor([[3.0, 5.0]]))
    tensor([[ 3., 10.]])
    """

    centre: Float[Tensor, " d"]
    basis: Float[Tensor, "d r"]
    extra: Float[Tensor, " r"]
    rest: float

    def apply(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Map rows; the result for a row does not depend on the others."""
        centred = X - self.centre
        return self.rest * centred + rowwise_matmul(rowwise_matmul(centred, self.basis) * self.extra, self.basis.mT)


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Centred rows ``X − 1 centreᵀ = Z Bᵀ`` with orthonormal columns in B: lengths and angles are those of Z.

    Attributes
    ----------
    centre : Tensor (d,)
        Mean row.
    Z : Tensor (n, r)
        The rows in these coordinates, in float64; its columns are orthogonal, the longest first.
    values : Tensor (r,)
        Squared lengths of the columns of Z.
    """

    centre: Float[Tensor, " d"]
    Z: Float[Tensor, "n r"]
    values: Float[Tensor, " r"]
    vectors: Float[Tensor, "n r"]

    @classmethod
    def of(cls, X: Float[Tensor, "n d"]) -> RowSpace:
        """Find the coordinates from the eigenvectors of ``X Xᵀ``, so that the cost hardly depends on d.

        >>> space = RowSpace.of(torch.tensor([[1.0, 5.0, 0.0], [3.0, 5.0, 0.0]]))
        >>> space.Z.abs()
        tensor([[1.],
                [1.]], dtype=torch.float64)
        """
        centre = X.mean(dim=0)
        centred = (X - centre).double()
        values, vectors = psd_eigh(centred @ centred.mT)
        keep = values > _RANK * values[0]
        values, vectors = values[keep], vectors[:, keep]
        return cls(centre, vectors * values.sqrt(), values, vectors)

    def gains(self, power: float) -> Float[Tensor, " r"]:
        """Return factors ``((λ_k + ε) / mean λ)^(−power/2)`` of the coordinates that make their lengths more equal.

        λ are the squared lengths of the columns of Z and ε is a tenth of their mean. Power 0 changes nothing, 1 makes
        the long columns equally long. Hidden states of language models have a few directions of huge variance that
        hide all others from a distance; the factors do not depend on the choice of axes.
        """
        mean = self.values.mean()
        return ((self.values + _FLOOR * mean) / mean).pow(-power / 2)

    def flattening(self, X: Float[Tensor, "n d"], power: float) -> Flattening:
        """Return the map of new rows to which :meth:`gains` has been applied."""
        basis = self.back(X, torch.eye(len(self.values), dtype=self.Z.dtype))
        rest = _FLOOR ** (-power / 2)
        return Flattening(self.centre, basis, (self.gains(power) - rest).to(X.dtype), rest)

    @property
    def gram(self) -> Float[Tensor, "n n"]:
        """Inner products of the centred rows."""
        return self.Z @ self.Z.mT

    def back(self, X: Float[Tensor, "n d"], W: Float[Tensor, "r k"]) -> Float[Tensor, "d k"]:
        """Return vectors ``B W`` in the coordinates of X, which must be the rows that the space was made of."""
        mixed = self.vectors @ (W / self.values.sqrt()[:, None])
        return (X - self.centre).mT @ mixed.to(X.dtype)
