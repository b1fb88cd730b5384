"""The search of the page of reproductions, in a browser: artefacts, words and papers."""

import pytest

from gramian.experiments.page import page
from gramian.experiments.verdict import Findings
from toy_experiments import CLAIMS, toy

TITLES = {
    "a/fig3": "Predicted and observed early alignment",
    "d/fig3": "Fig. 3 and 9: FACT at every layer",
    "d/fig1": "FACT-RFM on a parity of four bits",
    "d/fig5": "Sparse parities: the learned features",
    "b/fig30": "A figure with another number",
    "b/table2": "Table 2: R² on the regression sets",
    "d/table2": "Tables 1 and 2: features of the first layer",
    "d/prop-5-1": "AGOP and FACT in closed form",
    "a/prop2-4": "Propositions 2, 3 and 4",
    "d/lemma-d2": "The minimum-norm quadratic network",
    "d/theorem-3-1": "FACT and its backward form",
}
FOUND = {
    "Figure 3": ["a/fig3", "d/fig3"],
    "fig. 3": ["a/fig3", "d/fig3"],
    "fig3": ["a/fig3", "d/fig3"],
    "Figure 9": ["d/fig3"],
    "fig. 30": ["b/fig30"],
    "Table 2": ["b/table2", "d/table2"],
    "FACT Table 2": ["d/table2"],
    "D table 2": ["d/table2"],
    "paper D, Table 2": ["d/table2"],
    "boix-adsera2025 tab. 1": ["d/table2"],
    "radhakrishnan table 2": ["b/table2"],
    "parity": ["d/fig1", "d/fig5"],
    "parities": ["d/fig1", "d/fig5"],
    "Proposition 3": ["a/prop2-4"],
    "Prop. 5.1": ["d/prop-5-1"],
    "Lemma D.2": ["d/lemma-d2"],
    "thm 3.1": ["d/theorem-3-1"],
    "d/table2": ["d/table2"],
    "features at convergence sparse": ["d/fig5"],
    "nothing of this kind": [],
    "Figure 7": [],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A page of experiments without records."""
    found = [Findings(toy(id, title=title, notes=None), {}, {}) for id, title in sorted(TITLES.items())]
    file = tmp_path_factory.mktemp("search") / "index.html"
    file.write_text(page(found, {}), encoding="utf-8")
    return file


@pytest.fixture
def search(open_page, path):
    opened = open_page(path)

    def found(words):
        opened.get_by_label("search").fill(words)
        shown = "rows => [...new Set(rows.map(row => row.cells[0].textContent.trim()))]"
        rows = opened.eval_on_selector_all("#table tbody tr:not([hidden])", shown)
        cards = opened.eval_on_selector_all("section.card:not([hidden])", "cards => cards.map(card => card.id)")
        assert sorted(cards) == sorted(id.replace("/", "-") for id in rows)
        return sorted(rows), opened.locator("#shown").text_content()

    return found


def test_every_query_finds_its_experiments(search):
    search("")
    for words, ids in FOUND.items():
        rows, shown = search(words)
        assert rows == sorted(ids), words
        assert shown.startswith(f"{len(ids)} of {len(TITLES) * len(CLAIMS)} rows"), "one claim each cannot run"


def test_rows_that_an_outcome_hides_are_counted(open_page, path):
    opened = open_page(path)
    opened.get_by_label("search").fill("D table 2")
    shown = opened.locator("#shown")
    every = len(TITLES) * len(CLAIMS)
    assert shown.text_content() == f"1 of {every} rows, and 7 with outcomes that are not chosen above"
    opened.locator("[data-only='not run']").click()
    assert shown.text_content() == f"8 of {every} rows"
