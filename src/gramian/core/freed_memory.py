"""Memory that the C library holds after it is freed."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

TIGHT_BYTES = 2**30
"""Within less memory than this, the blocks that the C library holds count, and are returned after every round."""


def return_freed_memory() -> bool:
    """Return freed blocks to the operating system, where the C library is glibc; tell whether there were any.

    glibc holds freed blocks of up to 32 MB, in an arena for each thread. A screening in several threads frees many
    matrices of such sizes, and the next stage of a fit would come on top of them.

    >>> return_freed_memory() in (True, False)
    True
    """
    trim = _trim()
    return trim is not None and trim(0) == 1


@cache
def _trim() -> Any:
    """Return glibc's ``malloc_trim``; None elsewhere (other C libraries return freed blocks themselves)."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
