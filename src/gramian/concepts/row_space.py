"""Rows of high dimension in coordinates of the space they span."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from gramian.core import psd_eigh

_RANK = 1e-10
"""Squared singular values below this multiple of the largest are round-off."""


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

        >>> import torch
        >>> space = RowSpace.of(torch.tensor([[1.0, 5.0, 0.0], [3.0, 5.0, 0.0]]))
        >>> space.Z.abs()
        tensor([[1.],
                [1.]], dtype=torch.float64)
        """
        centre = X.mean(dim=0)
        centred = X - centre
        values, vectors = psd_eigh((centred @ centred.mT).double())
        keep = values > _RANK * values[0]
        values, vectors = values[keep], vectors[:, keep]
        return cls(centre, vectors * values.sqrt(), values, vectors)

    @property
    def gram(self) -> Float[Tensor, "n n"]:
        """Inner products of the centred rows."""
        return self.Z @ self.Z.mT

    def back(self, X: Float[Tensor, "n d"], W: Float[Tensor, "r k"]) -> Float[Tensor, "d k"]:
        """Return vectors ``B W`` in the coordinates of X, which must be the rows that the space was made of."""
        mixed = self.vectors @ (W / self.values.sqrt()[:, None])
        return (X - self.centre).mT @ mixed.to(X.dtype)
