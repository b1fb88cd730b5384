"""The artefacts and words by which the page finds an experiment."""

import pytest

from gramian.experiments.search import artefacts_in, artefacts_of, search_text
from toy_experiments import toy

IDS = {
    "d/fig3": {"figure3"},
    "b/fig16a": {"figure16", "figure16a"},
    "d/table2-why": {"table2"},
    "a/prop2-4": {"proposition2", "proposition3", "proposition4"},
    "d/prop-5-1": {"proposition5.1"},
    "c/theorem-3-1": {"theorem3.1"},
    "d/lemma-d2": {"lemmad2"},
    "e/eq1": {"equation1"},
    "a/appendix-e": {"appendixe"},
    "b/metrics": set(),
    "e/fig11-second": {"figure11"},
}
TEXTS = {
    "Fig. 3 and 9: FACT at every layer": {"figure3", "figure9"},
    "Tables 1 and 2": {"table1", "table2"},
    "Propositions 2, 3 and 4: the decompositions": {"proposition2", "proposition3", "proposition4"},
    "Lemma B.1, the scale (B.2) of a start, and algorithm 1": {"lemmab1", "algorithm1"},
    "Fig. 5c and d": {"figure5", "figure5c"},
    "(Fig. 13), and its gap (Fig. 14)": {"figure13", "figure14"},
    "a corner of 3 planes with the properties of 2": set(),
    "Section 4: cases": {"section4"},
}


@pytest.mark.parametrize(("id", "found"), IDS.items())
def test_artefacts_of_ids(id, found):
    assert set(artefacts_of(toy(id, title="A walk"))) == found


@pytest.mark.parametrize(("text", "found"), TEXTS.items())
def test_artefacts_of_titles(text, found):
    assert artefacts_in(text) == found


def test_an_artefact_is_not_the_beginning_of_another():
    assert "figure1" not in artefacts_of(toy("b/fig10", title="A walk"))


def test_words_are_those_of_the_experiment_and_of_its_paper():
    text = search_text(toy("d/fig1", title="A parity"))
    for word in ("d/fig1", "parity", "fact", "features at convergence", "mallinar", "boix-adsera2025", "2507.05644"):
        assert word in text
    assert search_text(toy("x/fig1", title="A Walk")).strip() == "x/fig1 a walk"
