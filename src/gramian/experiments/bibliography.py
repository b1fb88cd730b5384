"""The five papers: letters, titles, authors and years, and the names by which a user may ask for one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """One paper.

    Attributes
    ----------
    letter, title : str
    names : tuple of str
        Short names, the first of which is printed.
    authors : tuple of str
        Surnames.
    year : int
        Year of the first version.
    arxiv : str
        Number at arXiv.
    """

    letter: str
    names: tuple[str, ...]
    title: str
    authors: tuple[str, ...]
    year: int
    arxiv: str

    @property
    def id(self) -> str:
        """The surname of the first author and the year.

        >>> BIBLIOGRAPHY["D"].id
        'boix-adsera2025'
        """
        return f"{self.authors[0].lower()}{self.year}"

    @property
    def line(self) -> str:
        """The paper in one line: letter, short name, title, authors, year and id.

        >>> BIBLIOGRAPHY["C"].line
        'C, deep NFA (tansley2025): On the Neural Feature Ansatz for Deep Neural Networks. Tansley, ..., 2025'
        """
        authors = ", ".join(self.authors)
        return f"{self.letter}, {self.names[0]} ({self.id}): {self.title}. {authors}, {self.year}"

    @property
    def words(self) -> str:
        """All names of the paper as one text, for a search: short names, title, authors, year, id and arXiv number."""
        return " ".join((*self.names, self.title, *self.authors, str(self.year), self.id, self.arxiv))

    def is_named(self, name: str) -> bool:
        """Return whether a name is exactly the letter, a short name, the id, the arXiv number or the title."""
        exact = (self.letter, *self.names, self.id, self.arxiv, f"arXiv:{self.arxiv}", self.title)
        return _plain(name) in {_plain(text) for text in exact}

    def is_meant(self, name: str) -> bool:
        """Return whether every word of a name begins a word of the title, a short name, an author or the year."""
        own = _words(self.words)
        asked = [word for word in _words(name) if word not in ("et", "al", "and", "paper")]
        return bool(asked) and all(any(word.startswith(part) for word in own) for part in asked)


BIBLIOGRAPHY = {
    paper.letter: paper
    for paper in (
        Paper(
            "A",
            ("alignment", "NFA"),
            "Gradient descent induces alignment between weights and the pre-activation tangents for deep non-linear "
            "networks",
            ("Beaglehole", "Mitliagkas", "Agarwala"),
            2024,
            "2402.05271",
        ),
        Paper(
            "B",
            ("RFM", "recursive feature machines"),
            "Feature learning in neural networks and kernel machines that recursively learn features",
            ("Radhakrishnan", "Beaglehole", "Pandit", "Belkin"),
            2022,
            "2212.13881",
        ),
        Paper(
            "C",
            ("deep NFA", "neural feature ansatz"),
            "On the Neural Feature Ansatz for Deep Neural Networks",
            ("Tansley", "Massart", "Cartis"),
            2025,
            "2510.15563",
        ),
        Paper(
            "D",
            ("FACT", "features at convergence theorem"),
            "FACT: the Features At Convergence Theorem for neural networks",
            ("Boix-Adsera", "Mallinar", "Simon", "Belkin"),
            2025,
            "2507.05644",
        ),
        Paper(
            "E",
            ("Gram matrix", "Gram", "GramLin"),
            "The Weight Gram Matrix Captures Sequential Feature Linearization in Deep Networks",
            ("Cha", "Beaglehole", "Radhakrishnan", "Lee"),
            2026,
            "2605.06258",
        ),
    )
}
"""The papers by letter."""


def find_letter(name: str, letters: Iterable[str] = BIBLIOGRAPHY) -> str:
    """Return the letter of the paper that a name means, among papers with these ``letters``.

    A name is the letter, a short name, the first author with the year, the arXiv number, or words of the title or of
    the authors. A name that fits no paper, or several, is a ValueError that lists them.

    >>> find_letter("FACT"), find_letter("features at convergence"), find_letter("boix-adsera2025"), find_letter("rfm")
    ('D', 'D', 'D', 'B')
    """
    known = sorted(letters)
    for letter in known:
        if name.strip().upper() == letter:
            return letter
    papers = [BIBLIOGRAPHY[letter] for letter in known if letter in BIBLIOGRAPHY]
    found = [paper for paper in papers if paper.is_named(name)] or [paper for paper in papers if paper.is_meant(name)]
    if len(found) == 1:
        return found[0].letter
    lines = "\n".join(f"  {paper.line}" for paper in found or papers)
    if found:
        raise ValueError(f"{name!r} fits {len(found)} papers:\n{lines}")
    raise ValueError(f"there is no paper {name!r}; there are\n{lines or ', '.join(known)}")


def _plain(text: str) -> str:
    """Return a name without case, spaces, hyphens and other marks."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
