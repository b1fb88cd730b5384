"""The packages of the papers; the only module that imports them, and only those that are needed."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from gramian.experiments import registry
from gramian.experiments.bibliography import BIBLIOGRAPHY, find_letter
from gramian.experiments.index import check_patterns
from gramian.experiments.registry import Experiment

PAPERS = {
    module.name[0].upper(): f"gramian.experiments.{module.name}"
    for module in sorted(iter_modules([str(Path(__file__).parent)]), key=lambda module: module.name)
    if module.ispkg and module.name[1] == "_"
}
"""Letter of a paper → the package whose import registers its experiments: the packages named like ``d_fact``."""
TITLES = {letter: paper.title for letter, paper in BIBLIOGRAPHY.items()}
"""Titles of the papers."""


def load(papers: Iterable[str] | None = None) -> tuple[Experiment, ...]:
    """Import the papers of these names (see :func:`find_letter`), or all, and return their experiments by id."""
    letters = sorted(PAPERS) if papers is None else [find_letter(paper, PAPERS) for paper in papers]
    for letter in letters:
        import_module(PAPERS[letter])
    return tuple(e for e in registry.experiments() if papers is None or e.paper in letters)


def find(id: str) -> Experiment:
    """Return the experiment with this id; imports its paper only."""
    letter = id[:1].upper()
    if letter in PAPERS:
        import_module(PAPERS[letter])
    return registry.get(id)


def select(patterns: Iterable[str] = (), papers: Iterable[str] = ()) -> tuple[Experiment, ...]:
    """Return the experiments whose id matches a pattern (``a/fig1``, ``d/*``) or whose paper is named, by id.

    Imports only the papers that the patterns can match. A pattern without a match is an error that names similar ids.
    """
    wanted = {experiment.id: experiment for letter in papers for experiment in load([letter])}
    for pattern in patterns:
        found = load(_letters(pattern))
        check_patterns([pattern], [experiment.id for experiment in found])
        wanted |= {experiment.id: experiment for experiment in found if fnmatchcase(experiment.id, pattern)}
    return tuple(wanted[id] for id in sorted(wanted))


def _letters(pattern: str) -> list[str] | None:
    """The papers whose ids a pattern can match; None for all of them."""
    letter = pattern[:1].upper()
    return [letter] if letter in PAPERS else None
