"""The words by which the page finds an experiment: its artefacts (Figure 3, Table 2), its title and its paper."""

from __future__ import annotations

import re

from gramian.experiments.bibliography import BIBLIOGRAPHY
from gramian.experiments.registry import Experiment

_KINDS = {
    "figure": r"fig(?:ure)?s?",
    "table": r"tab(?:le)?s?",
    "theorem": r"theorems?|thms?",
    "proposition": r"prop(?:osition)?s?",
    "lemma": r"lemmas?",
    "corollary": r"cor(?:ollary|ollaries)?",
    "equation": r"eq(?:uation)?s?",
    "section": r"sec(?:tion)?s?",
    "algorithm": r"alg(?:orithm)?s?",
}
"""Kinds of artefacts with the words for them; ``claims.js`` has the same table for what is typed."""
_NUMBER = r"(?:[a-z]\.?)?\d+(?:[.-]\d+)*[a-z]?"
_LIST = rf"{_NUMBER}(?:(?:,? and |, |–){_NUMBER})*"
_NAMED = {kind: re.compile(rf"\b(?:{words})\.?[\s-]*({_LIST})(?![a-z])") for kind, words in _KINDS.items()}
_IN_ID = {kind: re.compile(rf"(?:{words})(-?)([a-z]?\d+[a-z]?)(?:-(\d+))?(?:-|$)") for kind, words in _KINDS.items()}
_APPENDIX = re.compile(r"\bappendix[\s-]+([a-z])\b")


def artefacts_of(experiment: Experiment) -> list[str]:
    """Return the artefacts of a paper that an experiment is about, as ``figure3`` or ``theorem3.1``, in order.

    They are read from the id and from the title; a part of a figure (5c) stands for the whole figure too.
    """
    name = experiment.id.partition("/")[2]
    return sorted({*_from_id(name), *artefacts_in(experiment.title)})


def artefacts_in(text: str) -> set[str]:
    """Return the artefacts that a text names.

    >>> sorted(artefacts_in("Tables 1 and 2; Fig. 5c, and Theorem 3.1 by Lemma D.2"))
    ['figure5', 'figure5c', 'lemmad2', 'table1', 'table2', 'theorem3.1']
    """
    text = text.casefold()
    found = {f"appendix{letter}" for letter in _APPENDIX.findall(text)}
    for kind, pattern in _NAMED.items():
        for numbers in pattern.findall(text):
            for number in re.findall(_NUMBER, numbers):
                found |= _with_whole(kind, number)
    return found


def search_text(experiment: Experiment) -> str:
    """Return the text in which the page searches for words: id, title, and names, title and authors of the paper."""
    paper = BIBLIOGRAPHY.get(experiment.paper)
    return " ".join((experiment.id, experiment.title, "" if paper is None else paper.words)).casefold()


def _from_id(name: str) -> set[str]:
    """Return the artefacts in the name of an experiment: ``prop2-4`` has three, and ``prop-5-1`` is number 5.1."""
    found = artefacts_in(name) if name.startswith("appendix") else set()
    for kind, pattern in _IN_ID.items():
        match = pattern.match(name)
        if match is None:
            continue
        hyphen, number, last = match.groups()
        if last is not None and not hyphen:
            found |= {f"{kind}{k}" for k in range(int(number), int(last) + 1)}
        else:
            found |= _with_whole(kind, number if last is None else f"{number}.{last}")
    return found


def _with_whole(kind: str, number: str) -> set[str]:
    number = re.sub(r"^([a-z])\.", r"\1", number.replace("-", "."))
    whole = re.sub(r"(?<=\d)[a-z]$", "", number)
    return {f"{kind}{number}", f"{kind}{whole}"}
