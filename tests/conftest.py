"""Fixtures shared by the suite."""

import os
import signal
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

# On a busy machine an example takes as long as it takes; and each run tries the same examples.
settings.register_profile(
    "suite", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(autouse=True)
def nothing_global():
    """No test may leave a trace in torch's global state: generator, default dtype, threads."""
    state, dtype, threads = torch.get_rng_state(), torch.get_default_dtype(), torch.get_num_threads()
    yield
    assert torch.get_default_dtype() == dtype
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state), "the global torch generator was used"


@pytest.fixture
def ctrl_c():
    """Python's handler of SIGINT, also where the run was started in the background, which ignores the signal.

    A process that the test starts inherits a signal that is ignored, but not a handler: it gets the default one too.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data, from GRAMIAN_DATA; tests that need it skip where it is absent."""
    folder = os.environ.get("GRAMIAN_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("GRAMIAN_DATA does not name a folder of real data")
    return Path(folder)
