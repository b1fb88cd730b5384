"""The page: it contains every claim, needs no other file, is valid HTML, and explains figures that cannot be drawn."""

import os
import re

from gramian.experiments import at_most, positive
from gramian.experiments.cell import ExperimentCell
from gramian.experiments.page import write_page
from gramian.experiments.store import ExperimentStore
from html_checks import check
from toy_experiments import CLAIMS, FAR, SPECS, toy, walk


def fill(store, experiment, seeds=2, **more):
    for spec in experiment.specs["small"]:
        for seed in range(seeds):
            result = walk(spec, seed)
            store.put(
                ExperimentCell(experiment, spec, seed).head()
                | {"numbers": result.numbers, "arrays": result.arrays, "error": None, "missing": False, "seconds": 70.0}
                | {"finished": "2026-01-01T00:00:00+00:00", "versions": {"torch": "2.9"}}
                | {"machine": {"cores": 2, "cpu": "a <cpu>"}}
                | more
            )


def test_the_page_contains_claims_figures_notes_and_provenance(tmp_path):
    store = ExperimentStore(tmp_path)
    walked, idle = toy(), toy("y/idle", title="Not run", notes=None)
    fill(store, walked)
    path = write_page([walked, idle], store)
    text = path.read_text()
    assert sum("data-outcome" in found for _, found in check(text).elements) == 2 * len(CLAIMS)
    assert (tmp_path / "figures/x-walk-paper.svg").read_bytes().startswith(b"<?xml")
    for part in ("A walk, at &lt;random&gt;", "a number &lt; 4", "a &lt;cpu&gt;, 2 cores", "torch 2.9", "280 s|5 min"):
        assert re.search(part, text), part
    assert '<script type="text/html"><figure' in text, "figures are text until they come near the window"
    assert all(found["class"] == "ruler" for tag, found in check(text).elements if tag == "svg")
    for part in ("<code>x &lt; 1</code>", "The sign is wrong. Corrected: 3; as printed: −∞.", "the moon is too far"):
        assert part in text
    assert "Of 8 printed numbers, 3 are judged at the paper" in text
    assert 'href="#x-walk"' in text
    assert 'id="x-walk"' in text
    assert "1 of 2 experiments have run" in text
    figure = tmp_path / "figures/x-walk-paper.svg"
    drawn = figure.read_bytes()
    figure.write_bytes(b"newer than its records")
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

    store = ExperimentStore(tmp_path)
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
    check(write_page([], ExperimentStore(tmp_path / "new")).read_text())


def test_a_claim_without_bounds_is_drawn(tmp_path):
    store = ExperimentStore(tmp_path)
    experiment = toy(claims=(at_most("end5", 3.0, "law", null=FAR), positive("end5", "law")))
    fill(store, experiment)
    text = write_page([experiment], store).read_text()
    assert text.count('class="ruler"') == 2 + 2
    assert "≤ 3" in text
    assert SPECS[0].steps == 5
