"""The glossary: terms are sorted, and every term that a page refers to is defined."""

import re

from pages import FOLDER, blocks, pages

TERM = re.compile(r"{term}`(?:[^`<]*<)?([^`>]+)>?`")
"""A reference to a term, as {term}`round` or {term}`rounds <round>`."""


def entries():
    """Return the terms of each entry with the text of its definition."""
    (block,) = [b for b in blocks((FOLDER / "glossary.md").read_text(encoding="utf-8")) if b.language == "{glossary}"]
    found = []
    for entry in block.text.strip("\n").split("\n\n"):
        lines = entry.split("\n")
        terms = [line for line in lines if not line.startswith(" ")]
        found.append((terms, " ".join(line.strip() for line in lines if line.startswith(" "))))
    return found


def test_entries_are_sorted_and_short():
    terms = [terms[0].lower() for terms, _ in entries()]
    assert terms == sorted(terms)
    assert len(terms) >= 25
    for names, text in entries():
        assert text.endswith("."), names
        assert len(text) < 400, names


def test_every_term_that_a_page_refers_to_is_defined():
    defined = {term.lower() for terms, _ in entries() for term in terms}
    used = {term.lower() for path in pages() for term in TERM.findall(path.read_text(encoding="utf-8"))}
    assert used <= defined
    assert len(used) > 10
