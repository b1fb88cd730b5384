"""A browser for the tests of pages: chromium, controlled by playwright; tests that need it skip if it is missing."""

import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    # The scope is a module: while playwright is open an event loop runs in this thread, which other tests, such as
    # those of a cluster, must not find.
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("no chromium or google-chrome on this machine: apt-get install chromium")
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser):
    """``open_page(path, theme="light", width=1280)`` opens a page; console errors and requests to other files fail."""
    contexts, wrong = [], []

    def opened(path, theme="light", width=1280):
        context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        address = path.resolve().as_uri()
        page.on("request", lambda request: None if _within(request.url, address) else wrong.append(request.url))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def _within(url, address):
    return url.split("#")[0] == address or url.startswith("data:")
