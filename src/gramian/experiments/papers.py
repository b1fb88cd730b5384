"""Which package holds which paper; the one place that imports them, and only when asked to."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib import import_module

from gramian.experiments import registry
from gramian.experiments.registry import Experiment

PAPERS = {
    "A": "gramian.experiments.a_alignment",
    "C": "gramian.experiments.c_deep_nfa",
    "D": "gramian.experiments.d_fact",
}
"""Letter of a paper → the package whose import enters its experiments in the registry."""
TITLES = {
    "A": "Gradient descent induces alignment between weights and the pre-activation tangents",
    "B": "Feature learning in neural networks and kernel machines that recursively learn features",
    "C": "On the Neural Feature Ansatz for Deep Neural Networks",
    "D": "FACT: the Features At Convergence Theorem for neural networks",
    "E": "The Weight Gram Matrix Captures Sequential Feature Linearization in Deep Networks",
}
"""What the papers are called, for people."""


def load(papers: Iterable[str] | None = None) -> tuple[Experiment, ...]:
    """Import the papers with these letters, or all, and return their experiments by id."""
    letters = sorted(PAPERS) if papers is None else [_letter(paper) for paper in papers]
    for letter in letters:
        import_module(PAPERS[letter])
    return tuple(e for e in registry.experiments() if papers is None or e.paper in letters)


def find(id: str) -> Experiment:
    """The experiment with that id; imports its paper only."""
    letter = id[:1].upper()
    if letter in PAPERS:
        import_module(PAPERS[letter])
    return registry.get(id)


def select(patterns: Iterable[str] = (), papers: Iterable[str] = ()) -> tuple[Experiment, ...]:
    """Experiments whose id is one of the patterns (``a/fig1``, ``d/*``) or whose paper is named, by id.

    A pattern that fits nothing is an error that names what is near it.
    """
    everything = load()
    wanted = {e.id for letter in papers for e in everything if e.paper == _letter(letter)}
    for pattern in patterns:
        fitting = {e.id for e in everything if fnmatchcase(e.id, pattern)}
        if not fitting:
            raise ValueError(f"no experiment fits {pattern!r}{registry.near(pattern)}")
        wanted |= fitting
    return tuple(e for e in everything if e.id in wanted)


def _letter(paper: str) -> str:
    if paper.upper() not in PAPERS:
        raise ValueError(f"there is no paper {paper!r}; there are {', '.join(sorted(PAPERS))}")
    return paper.upper()
