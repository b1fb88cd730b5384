"""Pages in a browser: sorting, slider, tabs, theme, keyboard, print, narrow screens, and no requests to other files."""

import json

import numpy as np
import pandas as pd
import pytest

from browser import window
from gramian import RFMClassifier, RFMRegressor
from gramian.experiments.cell import ExperimentCell
from gramian.experiments.page import write_page
from gramian.experiments.store import ExperimentStore
from gramian.report import write_comparison, write_report
from toy_experiments import toy, walk

KINDS = ("model", "comparison", "reproduction")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """One page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(160, 30)), columns=[f"column <{j}>" for j in range(30)])
    y = X.iloc[:, 0] + X.iloc[:, 3] * X.iloc[:, 4] + 0.1 * rng.normal(size=160)
    model = RFMRegressor(preset="fast", n_rounds=3, update="agop", select_round="last").fit(X[:120], y[:120])
    a, b = (RFMClassifier(preset="fast", n_rounds=t).fit(X[:120], y[:120] > 0) for t in (0, 1))
    store, experiment = ExperimentStore(folder / "runs"), toy()
    for spec in experiment.specs["small"]:
        result = walk(spec, 0)
        store.put(
            ExperimentCell(experiment, spec, 0).head()
            | {"numbers": result.numbers, "arrays": result.arrays, "error": None, "missing": False, "seconds": 70.0}
            | {"finished": "2026-01-01T00:00:00+00:00", "versions": {}, "machine": {"cores": 2, "cpu": "x"}}
        )
    return {
        "model": write_report(model, folder / "model.html", X=X[120:], y=y[120:]),
        "comparison": write_comparison(a, b, folder / "two.html", X=X[120:], y=y[120:] > 0, names=("one", "two")),
        "reproduction": write_page([experiment], store),
    }


def column(page, table, place):
    return page.eval_on_selector_all(
        f"{table} tbody tr:not([hidden])",
        f"rows => rows.map(row => row.cells[{place}].dataset.value ?? row.cells[{place}].textContent.trim())",
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_is_that_of_the_system_until_the_button_is_pressed(open_page, pages, kind, theme):
    page = open_page(pages[kind], theme)
    back = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(251, 251, 250)", "rgb(22, 24, 27)"
    here, there = (light, dark) if theme == "light" else (dark, light)
    assert page.evaluate(back) == here
    button = page.get_by_role("button", name="dark theme")
    assert button.get_attribute("aria-pressed") == str(theme == "dark").lower()
    button.focus()
    page.keyboard.press("Enter")
    assert page.evaluate(back) == there
    assert button.get_attribute("aria-pressed") == str(theme != "dark").lower()
    for _ in range(50):  # the browser writes the choice to its storage some time after the script has set it
        page.reload()
        if button.get_attribute("aria-pressed") == str(theme != "dark").lower():
            break
        page.wait_for_timeout(100)
    assert button.get_attribute("aria-pressed") == str(theme != "dark").lower()
    button.click()
    assert page.evaluate(back) == here


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_as_wide_as_the_screen_and_links_have_targets(open_page, pages, kind, width):
    page = open_page(pages[kind], width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for link in page.query_selector_all("nav a"):
        assert page.query_selector(link.get_attribute("href")) is not None
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, select, a')].filter(e => !(e.textContent.trim()"
        " || e.labels?.length || e.getAttribute('aria-label'))).length"
    )
    assert unnamed == 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_sortable_table_sorts_by_numbers_both_ways(open_page, pages, kind):
    page = open_page(pages[kind])
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.evaluate("document.querySelectorAll('table.sortable').forEach((t, i) => t.setAttribute('data-test', i))")
    count = len(page.query_selector_all("table.sortable"))
    assert count >= 1
    sorted_numbers = 0
    for i in range(count):
        chosen = f"table[data-test='{i}']"
        heads = page.query_selector_all(f"{chosen} thead tr > *")
        for place, head in enumerate(heads):
            button = head.query_selector("button")
            if button is None:
                assert head.text_content() == ""
                continue
            before = sorted(column(page, chosen, place))
            for direction in ("ascending", "descending"):
                button.evaluate("button => button.click()")
                assert head.get_attribute("aria-sort") == direction
                assert len(page.query_selector_all(f"{chosen} [aria-sort]")) == 1
                found = column(page, chosen, place)
                assert sorted(found) == before
                try:
                    numbers = [float(value) for value in found if value not in ("", "–", "nan")]
                except ValueError:
                    continue
                assert numbers == sorted(numbers, reverse=direction == "descending")
                sorted_numbers += len(set(numbers)) > 1
    assert sorted_numbers > 0


def test_the_keyboard_sorts_a_table(open_page, pages):
    page = open_page(pages["model"])
    table = "#importances table"
    first = column(page, table, 0)
    button = page.locator("#importances").get_by_role("button", name="sensitivity").first
    button.focus()
    page.keyboard.press("Space")
    assert column(page, table, 0) != first
    page.keyboard.press("Enter")
    assert column(page, table, 0) == first  # the most sensitive first, as the page began


def test_the_slider_shows_one_round_at_a_time(open_page, pages):
    page = open_page(pages["model"])
    knob = page.get_by_role("slider", name="round")
    frames = page.locator("#rounds .frame")
    assert frames.count() == 4
    assert page.locator("#rounds .frame:visible").count() == 1
    assert "selected" in page.locator("#rounds output").text_content()
    knob.focus()
    page.keyboard.press("Home")
    assert page.locator("#rounds output").text_content().startswith("round 0 of 3")
    assert frames.nth(0).is_visible()
    page.keyboard.press("ArrowRight")
    assert frames.nth(1).is_visible()
    assert not frames.nth(0).is_visible()
    assert knob.get_attribute("aria-valuetext").startswith("round 1 of 3")
    # the identity and what was learned are two pictures
    sources = frames.evaluate_all("all => all.map(frame => frame.querySelector('image').getAttribute('href'))")
    assert len(set(sources)) == 4


def test_tabs_are_chosen_by_mouse_and_by_keyboard(open_page, pages):
    page = open_page(pages["model"])
    here = page.locator("#directions")
    tabs, panels = here.get_by_role("tab"), here.locator("[role=tabpanel]")
    assert tabs.count() == panels.count() == 4
    assert [panels.nth(i).is_visible() for i in range(4)] == [True, False, False, False]
    tabs.nth(2).click()
    assert [panels.nth(i).is_visible() for i in range(4)] == [False, False, True, False]
    for key, place in (("ArrowRight", 3), ("ArrowRight", 0), ("ArrowLeft", 3), ("Home", 0), ("End", 3)):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == f"directions-tab-{place}"
        assert panels.nth(place).is_visible()
        assert tabs.nth(place).get_attribute("aria-selected") == "true"
    assert page.locator("#directions [role=tab][tabindex='0']").count() == 1


def test_the_keyboard_reaches_the_content_and_the_focus_is_visible(open_page, pages):
    page = open_page(pages["model"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "theme"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_printed_page_is_light_and_all_parts_are_open(open_page, pages):
    page = open_page(pages["model"], "dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 250)"
    assert not page.locator("nav").is_visible()
    assert page.locator("#directions [role=tabpanel]:visible").count() == 4
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


def test_without_scripts_all_panels_are_visible(browser, pages):
    context = window(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["model"].as_uri())
    assert page.locator("#directions [role=tabpanel]:visible").count() == 4
    assert page.locator("#rounds .frame:visible").count() == 4
    context.close()


def test_verdicts_are_filtered_by_words_and_outcomes(open_page, pages):
    page = open_page(pages["reproduction"])
    every = len(column(page, "#table", 0))
    page.get_by_label("search").fill("misprint")
    assert len(column(page, "#table", 0)) == 1
    assert "1 of" in page.locator("#shown").text_content()
    page.get_by_label("search").fill("")
    box = page.locator("[data-only=differs]")
    box.click()
    assert box.get_attribute("aria-pressed") == "false"
    assert 0 < len(column(page, "#table", 0)) < every


def test_a_search_hides_experiments_and_a_link_shows_them_again(open_page, pages):
    page = open_page(pages["reproduction"])
    card = page.locator("#x-walk")
    page.get_by_label("search").fill("no such experiment")
    assert card.is_hidden()
    page.evaluate("location.hash = 'x-walk'")
    card.wait_for(state="visible")
    assert page.get_by_label("search").input_value() == ""
    page.get_by_label("search").fill("misprint")
    page.get_by_label("search").press("Enter")
    assert page.evaluate("location.hash") == "#x-walk"
    assert card.is_visible()


def test_names_are_shown_as_text(open_page, pages):
    page = open_page(pages["model"])
    assert "column <0>" in json.dumps(column(page, "#importances table", 0))


@pytest.mark.parametrize("width", [390, 1280])
def test_tables_are_whole_or_say_that_they_scroll_and_names_break_within_no_word(open_page, pages, width):
    page = open_page(pages["model"], width=width)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.wait_for_function(  # the sign is set by an event that follows the opening
        "[...document.querySelectorAll('.gramian-result')].filter(r => r.scrollWidth > r.clientWidth + 1)"
        ".every(r => getComputedStyle(r, '::before').content.includes('Scroll sideways'))"
    )
    main = ("summary", "scores", "predicted-and-true-values", "importances", "effects-of-columns", "calibration")
    hidden = page.evaluate(
        f"{list(main)}.flatMap(id => [...document.getElementById(id).querySelectorAll('.gramian-result')])"
        ".filter(r => r.scrollWidth > r.clientWidth + 1).length"
    )
    assert hidden == 0, "the tables that everyone reads fit on the screen"
    broken = page.evaluate(
        "[...document.querySelectorAll('#importances tbody th, #directions tbody th')].filter(cell => {"
        " const words = document.createRange(); let lines = new Set();"
        " for (const node of cell.childNodes) if (node.nodeType === 3)"
        "  for (const word of node.data.matchAll(/[^ _=]+/g)) {"
        "  words.setStart(node, word.index); words.setEnd(node, word.index + word[0].length);"
        "  if (new Set([...words.getClientRects()].map(r => Math.round(r.top))).size > 1) lines.add(word[0]); }"
        " return lines.size; }).length"
    )
    assert broken == 0
