"""The built site in a browser: no errors, nothing from the network, navigation, search, themes, a phone."""

from collections.abc import Iterator

import pytest

from browser import chromium, window
from pages import FOLDER

SITE = FOLDER / "_build/html"
pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no built site: make docs")
PAGES = ["index", "start", "tutorial_table", "howto", "peers", "architecture", "scale", "glossary", "papers",
         "reference", "api/gramian.kernels", "idea_rfm", "notation", "stability",
         "api/names/gramian.RFMRegressor", "auto_examples/index", "theory"]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with chromium() as opened:
        yield opened


@pytest.fixture(params=[("light", 1280), ("dark", 1280), ("light", 390)], ids=["light", "dark", "phone"])
def view(request, browser) -> Iterator:
    """Return a page that records errors and requests to the network."""
    scheme, width = request.param
    context = window(browser, viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.wrong = []
    page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("request", lambda asked: page.wrong.append(asked.url) if asked.url.startswith("http") else None)
    page.scheme = scheme
    yield page
    context.close()


def test_pages_are_quiet_offline_and_as_wide_as_the_window(view):
    for name in PAGES if view.scheme == "light" else PAGES[::3]:  # every page in one theme, and a third in the others
        view.goto((SITE / f"{name}.html").as_uri())
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than the window"
        assert view.evaluate("document.documentElement.dataset.theme") == view.scheme
    assert view.wrong == []


def found_by_search(page, name):
    """Wait until all results are listed, which appear one by one, and check that a page is among them."""
    page.wait_for_function("document.querySelector('#search-results .search-summary')?.textContent")
    found = [link.get_attribute("href") for link in page.locator("#search-results li a").all()]
    assert any(f"{name}.html" in address for address in found), (page.url, found)


def test_navigation_and_search(view):
    view.goto((SITE / "index.html").as_uri())
    view.get_by_role("link", name="Start in five minutes").last.click()
    view.wait_for_url("**/start.html")
    assert view.title().startswith("Start in five minutes")
    view.goto((SITE / "search.html").as_uri() + "?q=leverage")
    found_by_search(view, "scale")
    assert view.wrong == []


def test_formulas_are_drawn_without_the_network(browser):
    page = window(browser).new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.startswith("http") else None)
    for name in ("idea_alignment", "idea_rfm", "idea_fact", "idea_gram", "theory", "notation", "networks"):
        page.goto((SITE / f"{name}.html").as_uri())
        page.evaluate("MathJax.startup.promise.then(() => true)")
        assert page.evaluate("document.querySelectorAll('mjx-container svg').length") > 10, name
        assert page.evaluate("document.querySelectorAll('.math:not(:has(mjx-container))').length") == 0, name
        assert page.evaluate("document.querySelectorAll('mjx-merror, [data-mjx-error]').length") == 0, name
    page.context.close()
    assert asked == []


def test_words_of_newcomers_are_found(browser):
    page = window(browser).new_page()
    for word, wanted in {"sparse": "tables", "cite": "papers", "arxiv": "papers"}.items():
        page.goto((SITE / "search.html").as_uri() + f"?q={word}")
        found_by_search(page, wanted)
    page.context.close()
