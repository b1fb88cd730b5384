"""Two worker processes, and two more of which one will be killed."""

import os
import signal
import threading
from contextlib import contextmanager

import pytest


@contextmanager
def two_workers():
    distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": None}
    with distributed.LocalCluster(**options) as workers, distributed.Client(workers, set_as_default=False) as client:
        client.run(_imported)  # the first fit need not wait for it
        yield client


@pytest.fixture(scope="session")
def client():
    with two_workers() as client:
        yield client


class Doomed:
    """A client with two workers, of which one gets ``kill -9``; its nanny starts another."""

    def __init__(self, client):
        self.client = client
        self.dead = None

    @contextmanager
    def one_dies(self, after):
        """Kill one some seconds after the block begins, and see that it was before it ended."""
        killer = threading.Timer(after, self.kill)
        killer.start()
        yield
        assert self.dead is not None, "the work was over before a worker could be killed"
        killer.join()

    def kill(self):
        self.dead = next(iter(self.client.run(os.getpid).values()))
        os.kill(self.dead, signal.SIGKILL)


@pytest.fixture
def doomed():
    with two_workers() as client:
        yield Doomed(client)


def _imported():
    import gramian  # noqa: F401
