"""Device, number format, memory and workers of a computation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import torch

from gramian.core.hardware import resolve_device, resolve_memory
from gramian.core.plugins import plugin
from gramian.core.pool import Pool, local_pool


def is_integer(value: object) -> TypeGuard[int]:
    """Tell integers, NumPy's included, from other values; a bool is none.

    >>> is_integer(3), is_integer(True), is_integer(1.5)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


@dataclass(frozen=True)
class Compute:
    """Device, format, memory and workers of a fit; every argument resolved and checked.

    Attributes
    ----------
    device : torch.device
    dtype : "auto", "float32" or "float64"
    max_bytes : int
        Memory that may be used.
    n_jobs : int or None
    on_cluster : bool
        Use the workers of a Dask client, where the code runs inside one.

    >>> Compute.resolve("cpu", "auto", "1GB", None, "auto").max_bytes
    1000000000
    """

    device: torch.device
    dtype: str
    max_bytes: int
    n_jobs: int | None
    on_cluster: bool

    @classmethod
    def resolve(
        cls,
        device: str | torch.device,
        dtype: str,
        max_memory: int | float | str | None,
        n_jobs: object,
        cluster: str | None,
    ) -> Compute:
        """Check the arguments of an estimator that say where the work is done."""
        if n_jobs is not None and not (is_integer(n_jobs) and n_jobs != 0):
            raise ValueError(f"n_jobs must be an integer other than 0, or None, got {n_jobs!r}")
        if not (cluster is None or cluster == "auto"):
            raise ValueError(f'cluster must be "auto" or None, got {cluster!r}')
        place = resolve_device(device)
        return cls(
            place,
            dtype,
            resolve_memory(max_memory, place),
            None if n_jobs is None else int(n_jobs),
            cluster is not None,
        )

    def pool(self) -> Pool:
        """Return the workers for independent tasks: the cluster this code runs inside, or threads of this process."""
        dask = plugin("distributed") if self.on_cluster else None
        found: Pool | None = None if dask is None else dask.current()
        return local_pool(self.n_jobs) if found is None else found
