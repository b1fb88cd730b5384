"""Doing the same to many items, here or elsewhere: one by one, in threads, or whatever a room above brings along.

Results come as they are finished, so that an interrupt loses none that was.
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


@runtime_checkable
class Pool(Protocol):
    """Where independent pieces of work are done."""

    @property
    def remote(self) -> bool:
        """Whether another process does the work: what it is given is copied, and it cannot call back."""

    def run(self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """``(i, function(shared, items[i]))`` in whatever order they are finished; ``shared`` travels once."""


@dataclass(frozen=True)
class Serial:
    """One by one, in this thread.

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
    """In so many threads of this process.

    Whoever stops asking for results calls off the items that have not begun; those under way finish unheard.

    >>> sorted(Threads(2).run(pow, 2, [1, 3]))
    [(0, 2), (1, 8)]
    """

    workers: int
    remote: bool = False

    def run(self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """See :meth:`Pool.run`."""
        pool = ThreadPoolExecutor(self.workers)
        try:
            places = {pool.submit(function, shared, item): i for i, item in enumerate(items)}
            for future in as_completed(places):
                yield places[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def local_pool(n_jobs: int | None) -> Serial | Threads:
    """The pool for a number of jobs, counted as joblib does: None is 1, −1 is one per core.

    >>> local_pool(None), local_pool(2)
    (Serial(remote=False), Threads(workers=2, remote=False))
    """
    workers = effective_n_jobs(n_jobs)
    return Serial() if workers == 1 else Threads(workers)


@contextmanager
def side_by_side(pool: Pool, workers: int | None = None) -> Iterator[Pool]:
    """The pool, or instead of this thread alone as many as torch has, with one of torch's in each.

    Small pieces of work keep one thread busy each, and rarely two. At most ``workers`` are under way, unless they are
    elsewhere.

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
