"""A browser for the tests of pages: chromium, controlled by playwright; tests that need it skip if it is missing."""

import pytest

from browser import chromium, window


@pytest.fixture(scope="module")
def browser():
    # The scope is a module: while playwright is open an event loop runs in this thread, which other tests, such as
    # those of a cluster, must not find.
    with chromium() as opened:
        yield opened


@pytest.fixture
def open_page(browser):
    """``open_page(path, theme="light", width=1280)`` opens a page; console errors and requests to other files fail."""
    contexts, wrong = [], []

    def opened(path, theme="light", width=1280):
        context = window(browser, color_scheme=theme, viewport={"width": width, "height": 900})
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
