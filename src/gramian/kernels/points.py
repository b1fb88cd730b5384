"""Rows prepared for a kernel, and squared distances between them that are accurate for near pairs too.

``‖u − v‖² = ‖u‖² + ‖v‖² − 2u·v`` is one matrix product, and loses all digits when u and v are close. Here it is
accumulated in float64, and pairs whose distance is tiny compared with their length are computed again from ``u − v``.
So equal rows are at distance exactly 0 and near rows keep their digits, in float32 as in float64.
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

_NEAR_SHARE = 16
"""If more than one pair in 16 is near, the whole tile is computed in the wide format."""


@dataclass(frozen=True, eq=False)
class Points:
    """Rows ``u (n, k)`` in kernel coordinates, with the factors of the distance product, computed when first needed.

    >>> Points(torch.tensor([[3.0, 4.0]])).square_norms
    tensor([25.], dtype=torch.float64)
    """

    u: Float[Tensor, "n k"]

    def __len__(self) -> int:
        return self.u.shape[0]

    def __getitem__(self, rows: slice | Tensor) -> Points:
        part = Points(self.u[rows])
        for name in ("wide_factors", "narrow_factors"):
            if name in self.__dict__:
                part.__dict__[name] = tuple(factor[rows] for factor in self.__dict__[name])
        return part

    @cached_property
    def wide_factors(self) -> tuple[Float[Tensor, "n k2"], Float[Tensor, "n k2"]]:
        """``[u, ‖u‖², 1]`` and ``[−2u, 1, ‖u‖²]`` in the accumulation format."""
        return _factors(self.u.to(wide_dtype(self.u.device)))

    @cached_property
    def narrow_factors(self) -> tuple[Float[Tensor, "n k2"], Float[Tensor, "n k2"]]:
        """The same in the rows' own format, for products that need not be batch-invariant."""
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
    """Squared distances of a tile; ``near`` is True if some pair is so near that slopes need the wide format."""

    square: Float[Tensor, "n m"]
    near: bool


def squared_distances(
    x: Points, z: Points, *, same: bool = False, batch_invariant: bool = True, values: bool = False
) -> Distances:
    """Squared distances between all rows of x and z.

    Parameters
    ----------
    same : bool
        Declare that x and z are the same rows; the diagonal is then set to 0 without a computation.
    batch_invariant : bool
        If False, compute the product in the rows' own format first, and use it where the tile has no near pair. The
        last digits then depend on the other rows of the tile, which is acceptable in training and not in prediction.
    values : bool
        Only the distances are needed, not the directions between near rows: near pairs are then corrected one by one in
        the rows' own format, and the other entries of such a tile are used as they are.

    >>> x = Points(1e6 + torch.tensor([[0.0], [0.5]]))
    >>> squared_distances(x, x).square
    tensor([[0.0000, 0.2500],
            [0.2500, 0.0000]], dtype=torch.float64)
    """
    if not batch_invariant and x.u.dtype != wide_dtype(x.u.device):
        left, right = x.narrow_factors[0], z.narrow_factors[1]
        square = left @ right.mT
        if same:
            square.fill_diagonal_(float("inf"))
        bound = _NEAR[square.dtype] * left[:, x.u.shape[1]]
        rows = (square.amin(dim=1) <= bound).nonzero().squeeze(1)
        if not len(rows) or (values and _correct_pairs(square, x, z, rows, bound)):
            return Distances(square.fill_diagonal_(0) if same else square, bool(len(rows)))
    square = x.wide_factors[0] @ z.wide_factors[1].mT
    bound = _NEAR[square.dtype] * x.square_norms
    if same:
        square.fill_diagonal_(float("inf"))
    rows = (square.amin(dim=1) <= bound).nonzero().squeeze(1)
    if len(rows):
        _correct_rows(square, x, z, rows, square[rows] <= bound[rows, None])
    if same:
        square.fill_diagonal_(0)
    return Distances(square, bool(len(rows)))


def _correct_pairs(
    square: Float[Tensor, "n m"], x: Points, z: Points, rows: Tensor, bound: Float[Tensor, " n"]
) -> bool:
    """Recompute near pairs from their differences, in place; False if a wide product of the whole tile costs less."""
    at, cols = (square[rows] <= bound[rows, None]).nonzero(as_tuple=True)
    if len(at) > square.numel() // _NEAR_SHARE:
        return False
    at = rows[at]
    square[at, cols] = (x.u[at] - z.u[cols]).square_().sum(dim=1)
    return True


def _correct_rows(square: Float[Tensor, "n m"], x: Points, z: Points, rows: Tensor, close: Bool[Tensor, "r m"]) -> None:
    """Recompute near pairs from their differences in the wide format, in place.

    Few of them are computed pair by pair, many with all pairs of their rows: the same sums, to the last bit.
    """
    at, cols = close.nonzero(as_tuple=True)
    if len(at) <= close.numel() // _NEAR_SHARE:
        left, right = x.wide[rows[at], None], z.wide[cols, None]
        pairs = torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist")
        square[rows[at], cols] = pairs.flatten().square_()
        return
    exact = torch.cdist(x.wide[rows], z.wide, compute_mode="donot_use_mm_for_euclid_dist").square_()
    square[rows] = torch.where(close, exact, square[rows])
