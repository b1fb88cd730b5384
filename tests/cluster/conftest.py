"""Two worker processes, and a way to kill one."""

import os
import signal
import threading
from contextlib import contextmanager

import pytest


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": None}
    with distributed.LocalCluster(**options) as workers, distributed.Client(workers, set_as_default=False) as client:
        client.run(_imported)  # the first fit need not wait for it
        yield client


@pytest.fixture
def one_dies(client):
    """A context in which, after some seconds, a worker's process gets ``kill -9``; its nanny starts another."""

    @contextmanager
    def dying(after=0.3):
        dead = []

        def kill():
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            dead.append(pid)

        killer = threading.Timer(after, kill)
        killer.start()
        yield
        killer.join()
        assert dead, "nobody was killed"
        client.wait_for_workers(2, timeout=60)

    return dying


def _imported():
    import gramian  # noqa: F401
