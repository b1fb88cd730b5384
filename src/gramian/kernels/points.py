"""Rows prepared for a kernel, and squared distances between them that are right where it matters.

``‖u − v‖² = ‖u‖² + ‖v‖² − 2u·v`` is one matrix product, and loses everything when u and v are close. Here it is
accumulated in float64, and pairs whose distance is tiny beside their length are computed again from ``u − v``. So equal
rows are at distance exactly 0, near rows keep their digits, in float32 as in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gramian.core import wide_dtype
from gramian.core.tiles import pad_inner

_NEAR = {torch.float64: 1e-6, torch.float32: 1e-3}
"""Below this multiple of ``‖u‖²`` a squared distance is computed from the difference, by accumulation format."""

_MANY = 16
"""One in so many pairs may be near before a whole tile is computed in the wide format."""


@dataclass(frozen=True, eq=False)
class Points:
    """Rows ``u (n, k)`` in kernel coordinates, with the factors of the distance product, made when first needed.

    >>> Points(torch.tensor([[3.0, 4.0]])).square_norms
    tensor([25.], dtype=torch.float64)
    """

    u: Float[Tensor, "n k"]

    def __len__(self) -> int:
        return self.u.shape[0]

    def __getitem__(self, rows: slice | Tensor) -> Points:
        part = Points(self.u[rows])
        for name in ("wide_factors", "quick_factors"):
            if name in self.__dict__:
                part.__dict__[name] = tuple(factor[rows] for factor in self.__dict__[name])
        return part

    @cached_property
    def wide_factors(self) -> tuple[Float[Tensor, "n k2"], Float[Tensor, "n k2"]]:
        """``[u, ‖u‖², 1]`` and ``[−2u, 1, ‖u‖²]`` in the accumulation format."""
        return _factors(self.u.to(wide_dtype(self.u.device)))

    @cached_property
    def quick_factors(self) -> tuple[Float[Tensor, "n k2"], Float[Tensor, "n k2"]]:
        """The same in the rows' own format."""
        return _factors(self.u)

    @property
    def square_norms(self) -> Float[Tensor, " n"]:
        """``‖u‖²`` of each row, in the accumulation format."""
        return self.wide_factors[0][:, self.u.shape[1]]

    @property
    def wide(self) -> Float[Tensor, "n k"]:
        """The rows in the accumulation format."""
        return self.wide_factors[0][:, : self.u.shape[1]]

    def dot(self, other: Points) -> Float[Tensor, "n m"]:
        """Inner products ``u·v`` with the rows of other points, in the accumulation format."""
        return pad_inner(self.wide) @ pad_inner(other.wide).mT


def _factors(u: Float[Tensor, "n k"]) -> tuple[Float[Tensor, "n k2"], Float[Tensor, "n k2"]]:
    square = u.square().sum(dim=1, keepdim=True)
    one = torch.ones_like(square)
    return pad_inner(torch.cat([u, square, one], dim=1)), pad_inner(torch.cat([-2 * u, one, square], dim=1))


class Distances(NamedTuple):
    """Squared distances of a tile, and whether some pair of distinct rows is so near that slopes need care."""

    square: Float[Tensor, "n m"]
    near: bool


def squared_distances(
    x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True, values: bool = False
) -> Distances:
    """Squared distances between all rows of x and z.

    Parameters
    ----------
    same : bool
        x and z are the same rows, whose diagonal is then 0 without looking.
    batch_invariant : bool
        If False, compute the product in the rows' own format first, and use it where the tile has no near pair. The
        last digits then depend on the other rows of the tile, which training tolerates and prediction does not.
    values : bool
        Only the distances count, not the directions between near rows: near pairs are then mended one by one in the
        rows' own format, and the rest of such a tile is kept.

    >>> x = Points(1e6 + torch.tensor([[0.0], [0.5]]))
    >>> squared_distances(x, x).square
    tensor([[0.0000, 0.2500],
            [0.2500, 0.0000]], dtype=torch.float64)
    """
    if not batch_invariant and x.u.dtype != wide_dtype(x.u.device):
        left, right = x.quick_factors[0], z.quick_factors[1]
        square = left @ right.mT
        if same:
            square.fill_diagonal_(float("inf"))
        bound = _NEAR[square.dtype] * left[:, x.u.shape[1]]
        rows = (square.amin(dim=1) <= bound).nonzero().squeeze(1)
        if not len(rows) or (values and _mend_pairs(square, x, z, rows, bound)):
            return Distances(square.fill_diagonal_(0) if same else square, bool(len(rows)))
    square = x.wide_factors[0] @ z.wide_factors[1].mT
    bound = _NEAR[square.dtype] * x.square_norms
    if same:
        square.fill_diagonal_(float("inf"))
    rows = (square.amin(dim=1) <= bound).nonzero().squeeze(1)
    if len(rows):
        _mend(square, x, z, rows, square[rows] <= bound[rows, None])
    if same:
        square.fill_diagonal_(0)
    return Distances(square, bool(len(rows)))


def _mend_pairs(square: Float[Tensor, "n m"], x: Points, z: Points, rows: Tensor, bound: Float[Tensor, " n"]) -> bool:
    """Near pairs from their differences, in place; False where they are so many that a wide product costs less."""
    at, cols = (square[rows] <= bound[rows, None]).nonzero(as_tuple=True)
    if len(at) > square.numel() // _MANY:
        return False
    at = rows[at]
    square[at, cols] = (x.u[at] - z.u[cols]).square_().sum(dim=1)
    return True


def _mend(square: Float[Tensor, "n m"], x: Points, z: Points, rows: Tensor, close: Bool[Tensor, "r m"]) -> None:
    exact = torch.cdist(x.wide[rows], z.wide, compute_mode="donot_use_mm_for_euclid_dist").square_()
    square[rows] = torch.where(close, exact, square[rows])
