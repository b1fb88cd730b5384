"""The packages of the papers; the only module that imports them, and only those that are needed."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from gramian.experiments import registry
from gramian.experiments.registry import Experiment

PAPERS = {
    module.name[0].upper(): f"gramian.experiments.{module.name}"
    for module in sorted(iter_modules([str(Path(__file__).parent)]), key=lambda module: module.name)
    if module.ispkg and module.name[1] == "_"
}
"""Letter of a paper → the package whose import registers its experiments: the packages named like ``d_fact``."""
TITLES = {
    "A": "Gradient descent induces alignment between weights and the pre-activation tangents",
    "B": "Feature learning in neural networks and kernel machines that recursively learn features",
    "C": "On the Neural Feature Ansatz for Deep Neural Networks",
    "D": "FACT: the Features At Convergence Theorem for neural networks",
    "E": "The Weight Gram Matrix Captures Sequential Feature Linearization in Deep Networks",
}
"""Titles of the papers."""


def load(papers: Iterable[str] | None = None) -> tuple[Experiment, ...]:
    """Import the papers with these letters, or all, and return their experiments by id."""
    letters = sorted(PAPERS) if papers is None else [_letter(paper) for paper in papers]
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
        matching = {e.id: e for e in load(_letters(pattern)) if fnmatchcase(e.id, pattern)}
        if not matching:
            raise ValueError(f"no experiment matches {pattern!r}{registry.near(pattern)}")
        wanted |= matching
    return tuple(wanted[id] for id in sorted(wanted))


def _letters(pattern: str) -> list[str] | None:
    """The papers whose ids a pattern can match; None for all of them."""
    letter = pattern[:1].upper()
    return [letter] if letter in PAPERS else None


def _letter(paper: str) -> str:
    if paper.upper() not in PAPERS:
        raise ValueError(f"there is no paper {paper!r}; there are {', '.join(sorted(PAPERS))}")
    return paper.upper()
