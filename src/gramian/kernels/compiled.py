"""Compiled inner loops of the ℓp kernels: one pass over the pairs for each coordinate, where tensors need five.

They need numba, see :mod:`gramian.core.jit`. Without it, on other devices and for other powers than 1, 3/2 and 2,
:class:`~gramian.kernels.Lp` uses tensor operations, which give the same numbers.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core.jit import compiled, in_threads
from gramian.core.tiles import spans

_WORTH = 2**26
"""Number of pairs times coordinates from which compiled loops are used: to import numba and load them takes 1.5 s."""
_THREAD_WORTH = 2**20
"""Number of pairs times coordinates from which each further thread helps."""


def power_sums(u: Float[Tensor, "k n"], v: Float[Tensor, "k m"], p: float) -> Float[Tensor, "n m"] | None:
    """Return ``Σ_k |u_ki − v_kj|^p``, or None where the compiled loops cannot be used or are not faster.

    >>> u, v = torch.zeros(1, 8192), torch.full((1, 8192), 4.0)
    >>> D = power_sums(u, v, 1.5)
    >>> D is None or float(D[0, 0]) == 8.0
    True
    """
    work, n = u.numel() * v.shape[1], u.shape[1]
    if p not in (1, 1.5, 2) or work < _WORTH or u.device.type != "cpu" or u.dtype not in (torch.float32, torch.float64):
        return None
    loop = compiled(_add_powers)
    if loop is None:
        return None
    out = u.new_zeros(n, v.shape[1])
    threads = min(torch.get_num_threads(), work // _THREAD_WORTH)
    in_threads(
        lambda rows: loop(u[:, rows].contiguous().numpy(), v.numpy(), out[rows].numpy(), int(2 * (p - 1))),
        list(spans(n, -(-n // threads))),
    )
    return out


def fill_slopes(
    u: Float[Tensor, "k n"], v: Float[Tensor, "k m"], scale: Float[Tensor, "n m"], p: float, out: Float[Tensor, "k n m"]
) -> None:
    """Set ``out_kij = scale_ij · sign(Δ)|Δ|^{p−1}``, ``Δ = u_ki − v_kj``, for arguments :func:`power_sums` accepted."""
    loop = compiled(_fill_slopes)
    assert loop is not None
    loop(u.numpy(), v.numpy(), scale.numpy(), out.numpy(), int(2 * (p - 1)))


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
