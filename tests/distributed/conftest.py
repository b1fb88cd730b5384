"""Two worker processes, and two more of which one will be killed."""

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


@pytest.fixture
def failing_client():
    """The client of workers that a test may kill; Dask starts others in their place."""
    with two_workers() as client:
        yield client


def _import_gramian():
    import gramian  # noqa: F401
