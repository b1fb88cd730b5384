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
        client.run(_import_gramian)  # the first fit need not wait for it
        yield client


@pytest.fixture(scope="session")
def client():
    with two_workers() as client:
        yield client


class FailingCluster:
    """A client with two workers, of which one is killed with ``kill -9``; Dask starts another."""

    def __init__(self, client):
        self.client = client
        self.killed = None

    @contextmanager
    def one_worker_dies(self, after):
        """Kill one worker some seconds after the block begins, and check that this was before its end."""
        killer = threading.Timer(after, self.kill)
        killer.start()
        yield
        assert self.killed is not None, "the work was finished before a worker could be killed"
        killer.join()

    def kill(self):
        self.killed = next(iter(self.client.run(os.getpid).values()))
        os.kill(self.killed, signal.SIGKILL)


@pytest.fixture
def failing_cluster():
    with two_workers() as client:
        yield FailingCluster(client)


def _import_gramian():
    import gramian  # noqa: F401
