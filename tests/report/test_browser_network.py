"""The pages about networks in a browser: sorting, tabs, slider, hints, themes, a narrow screen."""

import warnings

import pytest
import torch
from torch import nn

from gramian.nets import Trajectory, inspect, inspect_weights
from gramian.report import write_comparison, write_report
from nets.checkpoints.made import state
from report.plot_cases import monitor

KINDS = ("network", "deep", "two", "weights", "run")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks")
    report = monitor().report
    X = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        names = [f"encoder.layers.{i}.a_rather_long_name" for i in range(9)]
        deep = nn.Sequential()
        for name in names:
            deep.add_module(name.replace(".", "_"), nn.Linear(6, 6))
        wide = inspect(deep, X)
        again = inspect(nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 1)),
                        torch.randn(80, 16))  # fmt: skip
    earlier, later = (state(seed, width=12, blocks=9) for seed in (0, 1))
    rows = [
        {"step": step, "checkpoint": f"step-{step}", **row}
        for step in (0, 100)
        for row in inspect_weights(later if step else earlier, initial=earlier if step else None).rows
    ]
    run = Trajectory((0, 100), ("step-0", "step-100"), rows, kind="weights")
    return {
        "weights": write_report(inspect_weights(later, initial=earlier), folder / "weights.html"),
        "run": write_report(run, folder / "run.html"),
        "network": write_report(report, folder / "net.html", monitor=monitor(), image_shape=(4, 4)),
        "deep": write_report(wide, folder / "deep.html"),
        "two": write_comparison(again, report, folder / "two.html", names=("untrained", "trained")),
    }


def column(page, place):
    return page.eval_on_selector_all(
        "#layer-table tbody tr",
        f"rows => rows.map(row => row.cells[{place}].dataset.value ?? row.cells[{place}].textContent)",
    )


def test_the_layer_table_sorts_both_ways_and_by_name(open_page, pages):
    page = open_page(pages["network"])
    head = page.locator("#layer-table thead button", has_text="residual")
    place = head.evaluate("button => button.parentElement.cellIndex")
    head.click()
    up = [float(value) for value in column(page, place)]
    assert up == sorted(up)
    head.click()
    assert [float(value) for value in column(page, place)] == sorted(up, reverse=True)
    page.locator("#layer-table thead button", has_text="layer").click()
    assert column(page, 0) == ["0", "2", "4"]


def test_headings_have_explanations(open_page, pages):
    page = open_page(pages["network"])
    heads = page.query_selector_all("#layer-table thead button")
    assert len(heads) > 8
    assert all(head.get_attribute("title") for head in heads)
    page.locator("summary", has_text="Meaning of the columns").click()
    assert page.get_by_text("0 at a stationary point").first.is_visible()


def test_tabs_show_one_layer_at_a_time(open_page, pages):
    page = open_page(pages["network"])
    tabs = page.locator("#layer-by-layer [role=tab]")
    assert tabs.all_inner_texts() == ["layer 0", "layer 2", "layer 4"]
    panels = page.locator("#layer-by-layer [role=tabpanel]")
    assert [panel.is_visible() for panel in panels.all()] == [True, False, False]
    assert panels.nth(0).locator("svg.heat").count() == 2 * 5, "five matrices, and their diagonals as images"
    tabs.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert [panel.is_visible() for panel in panels.all()] == [False, True, False]
    assert panels.nth(1).locator("svg.heat").count() == 5
    training = page.locator("#training [role=tabpanel]")
    assert training.nth(0).is_visible(), "the tabs of the training are separate"


def test_matrices_are_side_by_side_on_a_desk_and_in_pairs_on_a_phone(open_page, pages):
    for width, least in ((1280, 4), (390, 2)):
        page = open_page(pages["network"], width=width)
        pictures = page.locator("#layer-by-layer [role=tabpanel]").nth(0).locator(".side").nth(0).locator("svg.heat")
        tops = pictures.evaluate_all("found => found.map(svg => Math.round(svg.getBoundingClientRect().top))")
        assert tops.count(tops[0]) >= least


def test_many_layers_are_chosen_by_a_slider(open_page, pages):
    page = open_page(pages["deep"])
    knob = page.get_by_label("layer", exact=True)
    assert knob.get_attribute("type") == "range"
    knob.focus()
    page.keyboard.press("End")
    assert page.locator(".frame").nth(8).is_visible()
    assert not page.locator(".frame").nth(0).is_visible()
    assert "encoder_layers_8" in page.locator("output").inner_text()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_the_page_is_as_wide_as_the_screen_in_any_theme(open_page, pages, kind, theme, width):
    page = open_page(pages[kind], theme, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(page.screenshot()) > 10_000
    for link in page.query_selector_all("nav a"):
        assert page.query_selector(link.get_attribute("href")) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_drawings_are_visible_in_the_dark_theme(open_page, pages, kind):
    """Letters of drawings are light."""
    page = open_page(pages[kind], "dark")
    colours = page.eval_on_selector_all(
        "figure.plot svg:not(.heat) text", "found => [...new Set(found.map(text => getComputedStyle(text).fill))]"
    )
    assert colours
    for colour in colours:
        parts = [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        assert min(parts) > 120, f"{colour} on a dark card"


def test_two_networks_share_their_scales(open_page, pages):
    page = open_page(pages["two"])
    assert page.locator("#comparison-table tbody tr").count() == 3
    assert page.locator("#layer-by-layer [role=tabpanel]:visible svg.heat").count() >= 4
