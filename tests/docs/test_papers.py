"""The papers are named, and their letters are expanded at first use on every page."""

import re

import pytest

from gramian.experiments.papers import TITLES
from pages import FOLDER, ROOT, pages

NAMES = {
    "A": "alignment paper (A)",
    "B": "RFM paper (B)",
    "C": "deep NFA paper (C)",
    "D": "FACT paper (D)",
    "E": "Gram matrix paper (E)",
}
LETTERS = re.compile(r"(?<!-)\b[Pp]apers? ([A-E](?:(?:, | and | to |; papers? )[A-E])*)\b(?! *\))")
"""Letters used as names: paper B, papers A and C. The option ``--paper A`` is none."""
DEFINING = {"papers", "cli"}
"""The page that defines the names, and the page of commands, whose examples pass letters as arguments."""
WRITTEN = [*pages(), ROOT / "README.md"]


def test_the_page_and_the_readme_name_every_paper():
    for path in (FOLDER / "papers.md", ROOT / "README.md"):
        text = path.read_text(encoding="utf-8")
        assert all(title in text for title in TITLES.values())
    assert all(name in (FOLDER / "papers.md").read_text(encoding="utf-8") for name in NAMES.values())


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_letters_are_expanded_at_first_use(path):
    text = path.read_text(encoding="utf-8")
    if path.stem in DEFINING:
        return
    for match in LETTERS.finditer(text):
        for letter in re.findall(r"\b[A-E]\b", match[1]):
            assert NAMES[letter] in text[: match.start()], (
                f"line {text[: match.start()].count(chr(10)) + 1}: {match[0]}"
            )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("as in paper B", ["B"]),
        ("papers A, C and D", ["A, C and D"]),
        ("the FACT paper (D)", []),
        ("gramian reproduce --paper A", []),
        ("A paper Archive", []),
    ],
)
def test_letters_are_found(text, found):
    assert LETTERS.findall(text) == found
