"""Shape checks for the whole run: every jaxtyping annotation in gramian is enforced, in tests only."""

import gc

import shapes

shapes.install()


def pytest_runtest_setup() -> None:
    """Let every test begin with calls that are checked."""
    shapes.calls.clear()


def pytest_collection_finish() -> None:
    """Exempt the modules and the thousands of collected tests from the garbage collector: they stay until the end."""
    gc.freeze()
