"""Shape checks for the whole run: every jaxtyping annotation in gramian is enforced, in tests only."""

import gc

from shapes import install

install()


def pytest_collection_finish() -> None:
    """Exempt the modules and the thousands of collected tests from the garbage collector: they stay until the end."""
    gc.freeze()
