"""Loops compiled by numba, for work that no tensor operation does in one pass over memory.

numba is an optional extra (``gramian[numba]``). Every caller has tensor operations for the same work, which it uses
without numba and on other devices than the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from inspect import unwrap
from typing import Any

from gramian.core.pool import Serial, Threads


@cache
def compiled(loop: Callable[..., None], *, reorder: bool = False) -> Callable[..., None] | None:
    """Return the compiled function, or None without numba; it is compiled at its first call for each argument type.

    Parameters
    ----------
    loop : function of NumPy arrays and numbers
    reorder : bool
        Allow another order of the sums, as BLAS does; otherwise results are those of the code as written.

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
    source = unwrap(loop)  # without the type checks that a test run wraps round every function
    fast = {"reassoc", "contract"} if reorder else False
    cached = source.__module__ != "__main__" and "<" not in source.__code__.co_filename
    jit: Any = numba.njit(nogil=True, error_model="numpy", cache=cached, fastmath=fast)
    fast_loop: Callable[..., None] = jit(source)
    return fast_loop


def in_threads(task: Callable[[Any], None], parts: Sequence[Any]) -> None:
    """Run the task on all parts at once, one thread for each; numba's own pool would compete with torch's threads.

    >>> done = []
    >>> in_threads(done.append, [1, 2])
    >>> sorted(done)
    [1, 2]
    """
    pool = Serial() if len(parts) == 1 else Threads(len(parts))
    for _ in pool.run(lambda _, part: task(part), None, parts):
        pass
