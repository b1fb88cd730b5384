"""Chromium, controlled by playwright, for the tests of pages; they skip where one of the two is missing."""

import shutil
from contextlib import contextmanager

import pytest

PATIENCE = 180_000
"""Milliseconds that a busy machine may take for one step of a page; a page that never answers fails all the same."""


@contextmanager
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("no chromium or google-chrome on this machine: apt-get install chromium")
    arguments = ["--no-sandbox", "--disable-dev-shm-usage"]  # shared memory is small in a container
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=arguments, timeout=PATIENCE)
        yield opened
        opened.close()


def window(browser, **options):
    """Return a browser window with storage of its own, whose pages have the time that a busy machine needs."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    return context
