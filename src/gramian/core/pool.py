"""Pools that apply one function to many items: one by one, in threads, or on a cluster (``gramian.distributed``).

Results are yielded as they are finished, so that an interrupt loses no finished result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from joblib import effective_n_jobs

from gramian.core.hardware import threads
from gramian.core.warn import on_behalf_of_caller


@runtime_checkable
class Pool(Protocol):
    """Executor of independent pieces of work."""

    @property
    def remote(self) -> bool:
        """True if other processes do the work: arguments are copied, and the work cannot call back."""

    def run(self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield ``(i, function(shared, items[i]))`` in the order of completion; ``shared`` is sent once."""


@dataclass(frozen=True)
class Serial:
    """Pool that works in the calling thread, one item after the other.

    >>> list(Serial().run(pow, 2, [1, 3]))
    [(0, 2), (1, 8)]
    """

    remote: bool = False

    def run(self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """See :meth:`Pool.run`."""
        for i, item in enumerate(items):
            yield i, function(shared, item)


@dataclass(frozen=True)
class Threads:
    """Pool of ``workers`` threads in this process.

    Closing the iterator cancels pending items; running ones finish and their results are dropped.

    >>> sorted(Threads(2).run(pow, 2, [1, 3]))
    [(0, 2), (1, 8)]
    """

    workers: int
    remote: bool = False

    def run(self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """See :meth:`Pool.run`."""
        pool, done = ThreadPoolExecutor(self.workers), False
        try:
            work = on_behalf_of_caller(function)
            places = {pool.submit(work, shared, item): i for i, item in enumerate(items)}
            for future in as_completed(places):
                yield places[future], future.result()
            done = True
        finally:
            # A thread that ends passes the memory that it has freed on to the next one: wait for it where it is idle.
            pool.shutdown(wait=done, cancel_futures=True)


def local_pool(n_jobs: int | None) -> Serial | Threads:
    """Return the pool for a number of jobs, counted as joblib does: None is 1, −1 is one per core.

    >>> local_pool(None), local_pool(2)
    (Serial(remote=False), Threads(workers=2, remote=False))
    """
    workers = effective_n_jobs(n_jobs)
    return Serial() if workers == 1 else Threads(workers)


@contextmanager
def side_by_side(pool: Pool, workers: int | None = None) -> Iterator[Pool]:
    """Yield a pool for many small pieces of work: one thread of torch in each of as many threads as torch has.

    A small piece of work uses one thread fully, and rarely two. A pool of threads keeps its number of threads, at most
    ``workers``; a remote pool is yielded unchanged.

    >>> with side_by_side(Serial(), workers=1) as one, side_by_side(Threads(4), workers=2) as two:
    ...     one, two
    (Serial(remote=False), Threads(workers=2, remote=False))
    """
    if not isinstance(pool, Serial | Threads):
        yield pool
        return
    most = pool.workers if isinstance(pool, Threads) else torch.get_num_threads()
    if workers is not None:
        most = min(most, workers)
    if most <= 1:
        yield Serial()
        return
    with threads(1):
        yield Threads(most)
