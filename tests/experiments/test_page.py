"""The page: every claim in it, nothing from elsewhere, elements that close, figures that are drawn or explained."""

import os
import re

import matplotlib as mpl
import pytest
from gramian.experiments.text import with_interval

from gramian.experiments import between, figures
from gramian.experiments.page import write_page
from gramian.experiments.store import Cell, Store
from gramian.experiments.verdict import Estimate
from gramian.report.web import shown
from html_checks import check
from toys import CLAIMS, SPECS, draw, toy, walk


def fill(store, experiment, seeds=2, **more):
    for spec in experiment.specs["small"]:
        for seed in range(seeds):
            result = walk(spec, seed)
            store.put(
                Cell(experiment, spec, seed).head()
                | {"numbers": result.numbers, "arrays": result.arrays, "error": None, "missing": False, "seconds": 70.0}
                | {"finished": "2026-01-01T00:00:00+00:00", "versions": {"torch": "2.9"}}
                | {"machine": {"cores": 2, "cpu": "a <cpu>"}}
                | more
            )


def test_the_page_holds_everything(tmp_path):
    store = Store(tmp_path)
    walked, idle = toy(), toy("y/idle", title="Nobody's", notes="")
    fill(store, walked)
    path = write_page([walked, idle], store)
    text = path.read_text()
    assert sum("data-outcome" in found for _, found in check(text).elements) == 2 * len(CLAIMS)
    assert (tmp_path / "figures/x-walk-paper.svg").read_bytes().startswith(b"<?xml")
    for part in ("A walk, at &lt;random&gt;", "a number &lt; 4", "a &lt;cpu&gt;, 2 cores", "torch 2.9", "280 s|5 min"):
        assert re.search(part, text), part
    for part in ("<code>x &lt; 1</code>", "The sign is wrong. Corrected: 3; as printed: −∞.", "the moon is too far"):
        assert part in text
    assert "5 of 6 judged numbers (83%)" in text or "4 of 6 judged numbers (67%)" in text
    assert "1 of 2 experiments have run" in text
    figure = tmp_path / "figures/x-walk-paper.svg"
    drawn = figure.read_bytes()
    figure.write_bytes(b"younger than its records")
    assert write_page([walked, idle], store, redraw=["y/idle"]).read_text() != text
    assert write_page([walked, idle], store).read_text() == text  # figures and page are functions of the records
    assert figure.read_bytes() == drawn
    fill(store, walked)
    os.utime(figure, (0, 0))
    assert write_page([walked, idle], store, redraw=[]).read_text() == text
    assert figure.stat().st_mtime > 0


def test_a_figure_that_fails_is_explained(tmp_path):
    def fails(records, figure):
        raise KeyError("path <3>")

    store = Store(tmp_path)
    experiment = toy(draw=fails, claims=())
    fill(store, experiment, error="bad <luck>", missing=False, numbers={}, arrays={})
    text = write_page([experiment], store).read_text()
    assert "cannot be drawn" not in text  # nothing finished, nothing to draw
    assert text.count("bad &lt;luck&gt;") == 4
    fill(store, experiment)
    text = write_page([experiment], store).read_text()
    check(text)
    assert "The figure cannot be drawn from these records: KeyError: &#x27;path &lt;3&gt;&#x27;" in text


def test_an_empty_folder_makes_a_page(tmp_path):
    check(write_page([], Store(tmp_path / "new")).read_text())


def test_the_style_does_not_leak_and_many_points_become_pixels(tmp_path, rng):
    before = dict(mpl.rcParams)
    seen = []

    def crowd(records, figure):
        seen.append(mpl.rcParams["axes.spines.top"])
        draw(records, figure)
        figure.axes[0].scatter(range(20_000), [(7 * i) % 1000 for i in range(20_000)])

    store = Store(tmp_path)
    experiment = toy(draw=crowd)
    fill(store, experiment)
    records = store.of(experiment, "small")
    path = figures.write(experiment, records, tmp_path / "big")
    assert path.suffix == ".png"
    assert path.stat().st_size < 500_000
    assert seen == [False]
    assert dict(mpl.rcParams) == before
    small = figures.write(toy(), records, tmp_path / "big")
    assert [entry.name for entry in tmp_path.glob("big*")] == [small.name] == ["big.svg"]
    assert figures.draw(toy(draw=None), records) is None


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (0.92714, 0.0123, "0.927 ± 0.012"),
        (-1234.5, 56.0, "−1234 ± 56"),
        (1926.4, 213.0, "1926 ± 213"),
        (2.5e-9, 1e-10, "2.5e−9 ± 1e−10"),
        (3.0, 0.0, "3"),
        (0.5, None, "0.5"),
        (float("nan"), None, "nan"),
    ],
)
def test_intervals_as_text(mean, half, text):
    assert with_interval(Estimate(mean, half, ())) == text


def test_numbers_as_text():
    assert [shown(x) for x in (0, 1e-7, 123456.7, -0.25, float("inf"))] == ["0", "1e−7", "123457", "−0.25", "∞"]


def test_a_claim_without_bounds_is_drawn(tmp_path):
    store = Store(tmp_path)
    experiment = toy(claims=(between("end5", float("-inf"), 3.0, "law"), between("end5", 0.5, float("inf"), "law")))
    fill(store, experiment)
    text = write_page([experiment], store).read_text()
    assert text.count('class="ruler"') == 2 + 2
    assert "≤ 3" in text
    assert SPECS[0].steps == 5
