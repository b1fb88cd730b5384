"""Pools give the same results as a plain loop."""

import threading

import pytest

from gramian.core.pool import Pool, Serial, Threads, local_pool


@pytest.mark.parametrize("pool", [Serial(), Threads(1), Threads(3)])
def test_every_item_is_answered_once(pool):
    assert isinstance(pool, Pool)
    assert dict(pool.run(lambda shared, item: shared + item, 10, range(20))) == {i: 10 + i for i in range(20)}


def test_results_come_as_they_are_finished():
    free = threading.Event()

    def work(_, item):
        if item == 0:
            assert free.wait(120)
        return item

    results = Threads(2).run(work, None, [0, 1])
    assert next(results) == (1, 1)
    free.set()
    assert next(results) == (0, 0)


def test_closing_the_iterator_cancels_pending_items():
    """The only thread cannot get beyond item 1 before the iterator closes; then it ends without the others."""
    begun, closed = [], threading.Event()

    def work(_, item):
        begun.append((item, threading.current_thread()))
        assert item == 0 or closed.wait(120)

    results = Threads(1).run(work, None, range(100))
    next(results)
    results.close()
    closed.set()
    begun[0][1].join(120)
    assert not begun[0][1].is_alive()
    assert len(begun) <= 2


def test_the_threads_have_ended_once_every_item_is_answered():
    """Threads of the next stage would otherwise get memory of their own from the C library, beside what these freed."""
    for _ in range(20):
        used = dict(Threads(3).run(lambda _, item: threading.current_thread(), None, range(6)))
        assert not any(thread.is_alive() for thread in used.values())


@pytest.mark.parametrize("pool", [Serial(), Threads(2)])
def test_an_error_of_an_item_is_raised(pool):
    with pytest.raises(ZeroDivisionError):
        list(pool.run(lambda one, item: one / item, 1, [1, 0]))


def test_jobs_are_counted_as_joblib_does():
    assert local_pool(1) == Serial()
    assert local_pool(3) == Threads(3)
    assert isinstance(local_pool(-1), Serial | Threads)
