"""Loops compiled by numba where it is installed: some things no tensor operation does in one pass over memory.

numba is an optional extra (``gramian[numba]``). Whoever has a loop has tensor operations for the same job too,
and takes them without numba and on other devices than the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from inspect import unwrap
from typing import Any

from gramian.core.pool import Serial, Threads


@cache
def compiled(loop: Callable[..., None], *, reorder: bool = False) -> Callable[..., None] | None:
    """The function compiled, at its first call for each kind of argument; None without numba.

    Parameters
    ----------
    loop : function of NumPy arrays and numbers
    reorder : bool
        Sums may be taken in another order, as BLAS does; otherwise results are those of the code as written.

    >>> def double(x):
    ...     for i in range(len(x)):
    ...         x[i] *= 2
    >>> import numpy as np
    >>> fast, x = compiled(double) or double, np.ones(2)
    >>> fast(x)
    >>> x.tolist()
    [2.0, 2.0]
    """
    try:
        import numba
    except ImportError:
        return None
    source = unwrap(loop)  # as written: a test run wraps type checks round every function
    fast = {"reassoc", "contract"} if reorder else False
    cached = source.__module__ != "__main__" and "<" not in source.__code__.co_filename
    jit: Any = numba.njit(nogil=True, error_model="numpy", cache=cached, fastmath=fast)
    return jit(source)


def in_threads(task: Callable[[Any], None], parts: Sequence[Any]) -> None:
    """Run the task on all parts at once, a thread each; numba's own pool of threads would fight torch's.

    >>> done = []
    >>> in_threads(done.append, [1, 2])
    >>> sorted(done)
    [1, 2]
    """
    pool = Serial() if len(parts) == 1 else Threads(len(parts))
    for _ in pool.run(lambda _, part: task(part), None, parts):
        pass
