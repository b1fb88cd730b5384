"""Work done side by side comes out as if it had been done one by one."""

import threading
import time

import pytest
import torch

from gramian.core import threads
from gramian.core.pool import Pool, Serial, Threads, local_pool
from gramian.core.tiles import each_block
from gramian.kernels import KernelOperator, Laplace


@pytest.mark.parametrize("pool", [Serial(), Threads(1), Threads(3)])
def test_every_item_once(pool):
    assert isinstance(pool, Pool)
    assert dict(pool.run(lambda shared, item: shared + item, 10, range(20))) == {i: 10 + i for i in range(20)}


def test_results_come_as_they_are_finished():
    free = threading.Event()

    def work(_, item):
        if item == 0:
            assert free.wait(10)
        return item

    results = Threads(2).run(work, None, [0, 1])
    assert next(results) == (1, 1)
    free.set()
    assert next(results) == (0, 0)


def test_who_stops_asking_calls_off_the_rest():
    done = []

    def work(_, item):
        time.sleep(0.01)
        done.append(item)

    results = Threads(1).run(work, None, range(100))
    next(results)
    results.close()
    time.sleep(0.1)
    assert len(done) < 5


@pytest.mark.parametrize("pool", [Serial(), Threads(2)])
def test_an_error_is_an_error(pool):
    with pytest.raises(ZeroDivisionError):
        list(pool.run(lambda one, item: one / item, 1, [1, 0]))


def test_jobs_are_counted_as_joblib_does():
    assert local_pool(1) == Serial()
    assert local_pool(3) == Threads(3)
    assert isinstance(local_pool(-1), Serial | Threads)


def test_blocks_side_by_side_give_the_same_bits():
    rng = torch.Generator().manual_seed(0)
    X, new = torch.randn(500, 5, generator=rng), torch.randn(700, 5, generator=rng)
    coef = torch.randn(500, 2, generator=rng, dtype=torch.float64)
    outcomes = []
    for count in (1, 3):
        with threads(count):
            operator = KernelOperator(Laplace(2.0), X)
            outcomes.append((operator.predict(new, coef), operator.gradient(new, coef)))
            assert torch.get_num_threads() == count
    assert torch.equal(outcomes[0][0], outcomes[1][0])
    assert torch.equal(outcomes[0][1], outcomes[1][1])


def test_an_error_in_a_block_reaches_the_caller_and_threads_are_put_back():
    with threads(2):
        with pytest.raises(RuntimeError, match="boom"):
            each_block(torch.ones(1000, 1), lambda rows, block: (_ for _ in ()).throw(RuntimeError("boom")))
        assert torch.get_num_threads() == 2
