"""The inner loops of the ℓp kernels, compiled: one pass over the pairs for each coordinate, where tensors need five.

numba compiles them at their first use (it is an optional extra, ``gramian[numba]``); without it, on other devices and
for other powers than 1, 3/2 and 2, :class:`~gramian.kernels.Lp` takes tensor operations, which give the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from inspect import unwrap
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.tiles import spans

_WORTH = 2**20
"""Pairs times coordinates from which a call pays, and from which each further thread does."""


class Loops(NamedTuple):
    """The two compiled functions; they take 2(p − 1) for p."""

    add_powers: Callable[..., None]
    fill_slopes: Callable[..., None]


def power_sums(u: Float[Tensor, "k n"], v: Float[Tensor, "k m"], p: float) -> Float[Tensor, "n m"] | None:
    """``Σ_k |u_ki − v_kj|^p``, or None where the compiled loops do not serve.

    >>> u, v = torch.zeros(1, 1024), torch.full((1, 1024), 4.0)
    >>> D = power_sums(u, v, 1.5)
    >>> D is None or float(D[0, 0]) == 8.0
    True
    """
    loops = _loops_for(u, v, p)
    if loops is None:
        return None
    out = u.new_zeros(u.shape[1], v.shape[1])
    _over_rows(loops.add_powers, u, v, out, p)
    return out


def fill_slopes(
    u: Float[Tensor, "k n"], v: Float[Tensor, "k m"], scale: Float[Tensor, "n m"], p: float, out: Float[Tensor, "k n m"]
) -> None:
    """``out_kij = scale_ij · sign(Δ)|Δ|^{p−1}`` with ``Δ = u_ki − v_kj``, for arguments :func:`power_sums` accepted."""
    loops = _compile()
    assert loops is not None
    loops.fill_slopes(u.numpy(), v.numpy(), scale.numpy(), out.numpy(), int(2 * (p - 1)))


def _loops_for(u: Tensor, v: Tensor, p: float) -> Loops | None:
    work = u.numel() * v.shape[1]
    quick = p in (1, 1.5, 2)
    if not quick or work < _WORTH or u.device.type != "cpu" or u.dtype not in (torch.float32, torch.float64):
        return None
    return _compile()


def _over_rows(loop: Callable[..., None], u: Tensor, v: Tensor, out: Tensor, p: float) -> None:
    """The loop on blocks of rows, as many at a time as torch may use threads; numba's own pool would fight torch's."""
    n, halves, right, target = u.shape[1], int(2 * (p - 1)), v.numpy(), out.numpy()
    threads = min(torch.get_num_threads(), max(1, u.numel() * v.shape[1] // _WORTH))
    if threads == 1:
        loop(u.numpy(), right, target, halves)
        return
    parts = list(spans(n, -(-n // threads)))
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(lambda rows: loop(u[:, rows].contiguous().numpy(), right, target[rows], halves), parts))


@cache
def _compile() -> Loops | None:
    """The compiled loops; None without numba."""
    try:
        import numba
    except ImportError:
        return None
    # Nothing is summed out of order, so compiled loops and tensor operations agree to the last digits.
    jit: Any = numba.njit(nogil=True, error_model="numpy", cache=True)
    # As written: a test run wraps type checks round every function.
    return Loops(jit(unwrap(_add_powers)), jit(unwrap(_fill_slopes)))


def _add_powers(u, v, out, halves):  # type: ignore[no-untyped-def]
    for i in range(u.shape[1]):
        for k in range(u.shape[0]):
            x = u[k, i]
            if halves == 0:
                for j in range(v.shape[1]):
                    out[i, j] += abs(x - v[k, j])
            elif halves == 1:
                for j in range(v.shape[1]):
                    delta = abs(x - v[k, j])
                    out[i, j] += delta * math.sqrt(delta)
            else:
                for j in range(v.shape[1]):
                    delta = x - v[k, j]
                    out[i, j] += delta * delta


def _fill_slopes(u, v, scale, out, halves):  # type: ignore[no-untyped-def]
    for k in range(u.shape[0]):
        for i in range(u.shape[1]):
            x = u[k, i]
            if halves == 0:
                zero = u.dtype.type(0)
                for j in range(v.shape[1]):
                    delta, s = x - v[k, j], scale[i, j]
                    out[k, i, j] = s if delta > 0 else (-s if delta < 0 else zero)
            elif halves == 1:
                for j in range(v.shape[1]):
                    delta = x - v[k, j]
                    out[k, i, j] = scale[i, j] * math.copysign(math.sqrt(abs(delta)), delta)
            else:
                for j in range(v.shape[1]):
                    out[k, i, j] = scale[i, j] * (x - v[k, j])
