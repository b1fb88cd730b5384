"""Linear algebra, tiles, memory, threads and worker pools: the tools that every other package uses.

Imports no other package of gramian.

>>> import torch
>>> from gramian.core import psd_power, cosine
>>> A = torch.diag(torch.tensor([4.0, 1.0]))
>>> psd_power(A, 0.5).diag()
tensor([2., 1.])
>>> round(cosine(A, torch.eye(2)), 4)
0.8575
"""

from typing import TYPE_CHECKING

from gramian.core.lazy import lazily

if TYPE_CHECKING:
    from gramian.core.hardware import (
        format_bytes,
        free_bytes,
        parse_bytes,
        resolve_device,
        resolve_dtype,
        resolve_memory,
        threads,
        wide_dtype,
    )
    from gramian.core.linalg import (
        cosine,
        effective_rank,
        fix_signs,
        haar,
        pearson,
        psd_eigh,
        psd_factor,
        psd_power,
        symmetrize,
    )
else:
    _LINALG = "cosine effective_rank fix_signs haar pearson psd_eigh psd_factor psd_power symmetrize"
    _HARDWARE = "format_bytes free_bytes parse_bytes resolve_device resolve_dtype resolve_memory threads wide_dtype"
    __getattr__, __dir__ = lazily(
        __name__, {"gramian.core.linalg": _LINALG.split(), "gramian.core.hardware": _HARDWARE.split()}
    )

__all__ = [
    "cosine",
    "effective_rank",
    "fix_signs",
    "format_bytes",
    "free_bytes",
    "haar",
    "parse_bytes",
    "pearson",
    "psd_eigh",
    "psd_factor",
    "psd_power",
    "resolve_device",
    "resolve_dtype",
    "resolve_memory",
    "symmetrize",
    "threads",
    "wide_dtype",
]
