"""The names of the papers: letters, short names, authors with years, words of the title."""

import pytest

from gramian.experiments.bibliography import BIBLIOGRAPHY, find_letter
from gramian.experiments.papers import PAPERS

NAMES = {
    "d": "D",
    " D ": "D",
    "FACT": "D",
    "fact": "D",
    "features at convergence": "D",
    "Features At Convergence Theorem": "D",
    "boix-adsera2025": "D",
    "Boix-Adsera 2025": "D",
    "Boix-Adsera et al., 2025": "D",
    "boixadsera2025": "D",
    "2507.05644": "D",
    "arXiv:2212.13881": "B",
    "RFM": "B",
    "recursive feature machines": "B",
    "radhakrishnan2022": "B",
    "alignment": "A",
    "beaglehole2024": "A",
    "tansley2025": "C",
    "deep NFA": "C",
    "Massart": "C",
    "gram": "E",
    "GramLin": "E",
    "cha2026": "E",
    "sequential feature linearization": "E",
}


@pytest.mark.parametrize(("name", "letter"), NAMES.items())
def test_a_paper_is_found(name, letter):
    assert find_letter(name) == letter


def test_every_paper_with_experiments_is_listed_and_its_own_names_find_it():
    assert set(BIBLIOGRAPHY) == set(PAPERS)
    for letter, paper in BIBLIOGRAPHY.items():
        for name in (letter, *paper.names, paper.id, paper.arxiv, paper.title):
            assert find_letter(name) == letter, name


def test_an_unknown_name_lists_the_papers_with_titles():
    with pytest.raises(ValueError, match="there is no paper 'nope'; there are") as caught:
        find_letter("nope")
    assert all(paper.title in str(caught.value) for paper in BIBLIOGRAPHY.values())


def test_a_name_of_several_papers_lists_those():
    with pytest.raises(ValueError, match="'Beaglehole' fits 3 papers") as caught:
        find_letter("Beaglehole")
    assert [line.strip()[0] for line in str(caught.value).splitlines()[1:]] == ["A", "B", "E"]


@pytest.mark.parametrize("name", ["", " ", "paper", "2031"])
def test_no_word_names_no_paper(name):
    with pytest.raises(ValueError, match="there is no paper"):
        find_letter(name)


def test_other_papers_are_known_by_their_letters():
    assert find_letter("x", ["X", "Y"]) == "X"
    with pytest.raises(ValueError, match=r"there is no paper 'FACT'; there are\nX, Y"):
        find_letter("FACT", ["X", "Y"])
