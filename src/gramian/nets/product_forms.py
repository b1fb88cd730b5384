"""The torch functions that multiply by a matrix, each as ``Z = H Wᵀ``: the place of the rows in input and output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_MATMUL = (torch.matmul, torch.mm, torch.bmm, Tensor.matmul, Tensor.mm, Tensor.bmm, Tensor.__matmul__)
_GROUPED = tuple(
    function for function in (getattr(F, "grouped_mm", None), getattr(torch, "_grouped_mm", None)) if function
)
_ADDED = (torch.addmm, torch.baddbmm, Tensor.addmm, Tensor.baddbmm)


@dataclass(frozen=True, eq=False)
class Product:
    """One product with a parameter p of shape (m, k), (k, m) or a stack (E, ·, ·) of either.

    ``rows_in`` and ``rows_out`` turn the input and the output (or its gradient) into rows (n, groups, ·); ``parts`` are
    the groups, each with its slice of the rows, or None for all groups. ``plain`` is True where the features are the
    last dimension of both.
    """

    input: Tensor
    transposed: bool
    rows_in: Callable[[Tensor], Tensor]
    rows_out: Callable[[Tensor], Tensor]
    parts: list[tuple[int | None, slice]]
    plain: bool = False


def find_product(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], operand: Tensor, p: Tensor, result: Any
) -> Product | None:
    """The product that a torch function computed with ``operand``, a view of the parameter p; None for other functions.

    >>> x, p = torch.ones(5, 3), torch.ones(2, 3)
    >>> find_product(F.linear, (x, p), {}, p, p, F.linear(x, p)).rows_out(torch.ones(5, 2)).shape
    torch.Size([5, 1, 2])
    >>> find_product(torch.mul, (p, p), {}, p, p, p * p) is None
    True
    """
    place = _locate(operand, p)
    if place is None or not isinstance(result, Tensor):
        return None
    group, flipped = place
    stacked = p.ndim == 3 and group is None
    if func is F.linear:
        return _linear(operand, args, kwargs, group, flipped, stacked)
    if func in _GROUPED:
        return _grouped(operand, args, kwargs, flipped) if stacked else None
    if func is torch.functional.einsum or func is torch.einsum:
        return _einsum(operand, args, group, flipped, stacked)
    if func in _ADDED:
        args = args[1:] if not kwargs else ()
    elif func is Tensor.__rmatmul__:
        args = args[::-1]
    elif func not in _MATMUL or kwargs:
        return None
    # A stack of one matrix repeats it for every batch.
    return _matmul(operand, args, group, flipped, stacked and p.shape[0] > 1, result)


def _locate(v: Tensor, p: Tensor) -> tuple[int | None, bool] | None:
    """The matrix of a stack p that v is (None for all or the only one), and whether v is its transpose.

    None where v is a part of a matrix, or lies otherwise in memory.
    """
    if v.dtype != p.dtype or v.ndim < 2:
        return None
    (a, b), (down, right) = p.shape[-2:], p.stride()[-2:]
    if v.shape[-2:] == (a, b) and _steps(v, (down, right)):
        flipped = False
    elif v.shape[-2:] == (b, a) and _steps(v, (right, down)):
        flipped = True
    else:
        return None
    offset = v.storage_offset() - p.storage_offset()
    leading = list(zip(v.shape[:-2], v.stride()[:-2], strict=True))
    group: int | None = None
    if p.ndim == 3:
        if leading and leading[-1][0] == p.shape[0] and (leading[-1][1] == p.stride(0) or p.shape[0] == 1):
            leading.pop()
        elif offset % p.stride(0) == 0:
            group, offset = offset // p.stride(0), 0
    # Further dimensions may only repeat the matrix.
    return (group, flipped) if offset == 0 and all(size == 1 or step == 0 for size, step in leading) else None


def _steps(v: Tensor, expected: tuple[int, int]) -> bool:
    return all(
        size == 1 or step == wanted for size, step, wanted in zip(v.shape[-2:], v.stride()[-2:], expected, strict=True)
    )


def _one_part(group: int | None) -> list[tuple[int | None, slice]]:
    return [(group, slice(None))]


def _last_rows(T: Tensor) -> Tensor:
    return T.reshape(-1, 1, T.shape[-1])


def _linear(
    operand: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any], group: int | None, flipped: bool, stacked: bool
) -> Product | None:
    named = dict(zip(("input", "weight", "bias"), args, strict=False)) | kwargs
    if named.get("weight") is not operand or named.get("input") is operand or stacked:
        return None
    return Product(named["input"], flipped, _last_rows, _last_rows, _one_part(group), plain=True)


def _matmul(
    operand: Tensor, args: tuple[Any, ...], group: int | None, flipped: bool, stacked: bool, result: Tensor
) -> Product | None:
    if len(args) != 2 or args[0] is args[1]:
        return None
    left = args[0] is operand  # Z = W x in columns; otherwise Z = x Wᵀ in rows
    x = args[1] if left else args[0]
    if x.ndim == 1:
        if stacked or operand.ndim > 2:
            return None
        return Product(x, flipped != (not left), _last_rows, _last_rows, _one_part(group))
    lead = result.shape[:-2]

    def rows(T: Tensor) -> Tensor:
        T = T.mT if left else T
        T = T.expand(*lead, *T.shape[-2:])
        if not stacked:
            return _last_rows(T)
        T = T.movedim(-3, -2)
        return T.reshape(-1, *T.shape[-2:])

    return Product(x, flipped != (not left), rows, rows, _one_part(group), plain=not left and not stacked)


def _grouped(operand: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any], flipped: bool) -> Product | None:
    """Rows that are sorted by group, with the end of each group in ``offs``."""
    offs = kwargs.get("offs", args[2] if len(args) > 2 else None)
    if len(args) < 2 or args[1] is not operand or args[0].ndim != 2 or not isinstance(offs, Tensor):
        return None
    ends = [0, *offs.tolist()]
    parts: list[tuple[int | None, slice]] = [
        (e, slice(ends[e], ends[e + 1])) for e in range(len(ends) - 1) if ends[e + 1] > ends[e]
    ]
    return Product(args[0], not flipped, _last_rows, _last_rows, parts)


def _einsum(operand: Tensor, args: tuple[Any, ...], group: int | None, flipped: bool, stacked: bool) -> Product | None:
    operands = args[1] if len(args) == 2 and isinstance(args[1], tuple | list) else args[1:]
    if not isinstance(args[0], str) or "..." in args[0] or "->" not in args[0] or len(operands) != 2:
        return None
    inputs, out = args[0].replace(" ", "").split("->")
    letters = inputs.split(",")
    if operands[0] is operands[1]:
        return None
    own, other = (0, 1) if operands[0] is operand else (1, 0)
    x, x_letters, w = operands[other], letters[other], letters[own]
    stack = w[0] if stacked else ""  # the letter of the stack
    contracted = [c for c in w if c in x_letters and c not in out]
    free = [c for c in w if c not in x_letters and c in out and c != stack]
    rows = [c for c in out if c not in w]
    if len(contracted) != 1 or len(free) != 1 or stack not in out or len(set(w)) != 2 + len(stack):
        return None
    if {*x_letters} - {stack} != {*rows, *contracted} or len(set(x_letters)) != x.ndim:
        return None

    def as_rows(source: str, last: str) -> Callable[[Tensor], Tensor]:
        shared = "" if stack in source else stack  # all matrices of the stack multiply the same rows
        order = [source.index(c) for c in (*rows, *(stack if not shared else ""), last)]

        def arrange(T: Tensor) -> Tensor:
            T = T.permute(order)
            if not stack or shared:
                T = T.reshape(-1, 1, T.shape[-1])
                return T.expand(-1, operand.shape[0], -1) if shared else T
            return T.reshape(-1, *T.shape[-2:])

        return arrange

    transposed = flipped != (w.index(contracted[0]) < w.index(free[0]))
    return Product(x, transposed, as_rows(x_letters, contracted[0]), as_rows(out, free[0]), _one_part(group))
