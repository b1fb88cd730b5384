"""The page of reproductions in a browser: figures are drawn when they are near, and a long table is shown in part."""

import pytest

from gramian.experiments import Null, between
from gramian.experiments.page import page
from gramian.experiments.verdict import Findings, judge
from toy_experiments import toy

COUNT = 260
SHOWN = 200
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 100"><path d="M0 0L9 9" style="stroke: #000000"/></svg>'


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A page of two experiments, of which the second has a figure far below the window."""
    folder = tmp_path_factory.mktemp("reproduction")
    figure = folder / "b-fig14-paper.svg"
    figure.write_text(SVG, encoding="utf-8")
    claims = tuple(between(f"n{k}", 0.0, 1.0, "law", label=f"number {k}", null=Null(9.0, "none")) for k in range(COUNT))
    numbers = {claim.key: 0.5 for claim in claims}
    records = [
        {"key": str(seed), "class": "Walk", "spec": {}, "seed": seed, "error": None, "missing": False, "arrays": {}}
        | {"numbers": numbers, "seconds": 1.0, "version": 1, "versions": {}, "finished": "2026-01-01"}
        | {"machine": {"cpu": "a", "cores": 1}}
        for seed in range(2)
    ]
    found = []
    for id in ("a/fig1", "b/fig14"):
        experiment = toy(id, title="A walk", notes=None, claims=claims, derive=None)
        found.append(Findings(experiment, {"paper": records}, {"paper": judge(experiment, "paper", records)}))
    file = folder / "index.html"
    file.write_text(page(found, {("b/fig14", "paper"): figure}), encoding="utf-8")
    return file


def visible(opened):
    return opened.eval_on_selector_all("#table tbody tr", "rows => rows.filter(row => row.offsetParent).length")


def test_a_figure_is_drawn_when_it_comes_near(open_page, path):
    opened = open_page(path)
    assert opened.locator("#b-fig14 .late svg").count() == 0
    opened.evaluate("location.hash = 'b-fig14'")
    opened.wait_for_selector("#b-fig14 .late svg path")
    box = opened.locator("#b-fig14").bounding_box()
    assert 0 <= box["y"] < 900, "the link leads to the experiment"


def test_a_page_with_a_link_is_not_scrolled_back_when_it_is_loaded_again(open_page, path):
    """The former place is wrong then, since sections get their height late; a small page does not show it."""
    opened = open_page(path)
    assert opened.evaluate("history.scrollRestoration") == "auto"
    opened.evaluate("location.hash = 'b-fig14'")
    opened.wait_for_function("history.scrollRestoration === 'manual'")
    opened.reload()
    opened.wait_for_selector("#b-fig14 .late svg path")
    assert 0 <= opened.locator("#b-fig14").bounding_box()["y"] < 900


def test_a_folded_table_is_read_when_it_is_unfolded(open_page, path):
    opened = open_page(path)
    assert opened.locator("#b-fig14 details table").count() == 0
    opened.evaluate("location.hash = 'b-fig14'")
    opened.locator("#b-fig14 summary", has_text="how it was computed").click()
    opened.wait_for_selector("#b-fig14 details table")


def test_printing_draws_every_figure(open_page, path):
    opened = open_page(path)
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.locator(".late svg path").count() == 1
    assert opened.locator(".late script").count() == 0


def test_a_long_table_is_shown_in_part_until_all_is_asked_for(open_page, path):
    opened = open_page(path)
    every = 2 * COUNT
    assert visible(opened) == SHOWN
    assert opened.locator("#shown").text_content() == f"{every} rows"
    opened.locator("#table thead th", has_text="number").click()
    opened.locator("#table thead th", has_text="number").click()
    opened.wait_for_timeout(50)
    assert visible(opened) == SHOWN
    opened.get_by_label("search").fill("number 259")
    assert visible(opened) == 2, "the search looks at all rows"
    assert not opened.locator("#more").is_visible()
    opened.get_by_label("search").fill("")
    opened.locator("#more").click()
    assert visible(opened) == every
