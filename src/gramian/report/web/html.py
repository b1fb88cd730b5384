"""Text of a page: paragraphs, folded parts, and ids of titles."""

from __future__ import annotations

import re

from gramian.display import format_number, tag, text, typographic_minus


def number(value: float, digits: int = 4) -> str:
    """Format a number as :func:`gramian.display.format_number` does, with a typographic minus sign.

    >>> number(-5432.1), number(0.123456, 2), number(float("nan"))
    ('−5,432', '0.12', '–')
    """
    return typographic_minus(format_number(value, digits))


def prose(notes: str) -> str:
    """Return paragraphs; text in backticks is code.

    >>> prose("One `x`.")
    '<p>One <code>x</code>.</p>'
    """
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", notes) if part.strip()]
    return "".join(tag("p", re.sub(r"`([^`]+)`", r"<code>\1</code>", text(part))) for part in paragraphs)


def folded(title: str, body: str) -> str:
    """Return a body that opens when its title is clicked; in print it is open.

    >>> folded("more", "<p>x</p>")
    '<details><summary>more</summary><p>x</p></details>'
    """
    return tag("details", tag("summary", text(title)) + body)


def slug(title: str) -> str:
    """Return a title as an id: letters, digits and dashes.

    >>> slug("Rows on which A & B differ")
    'rows-on-which-a-b-differ'
    """
    return "-".join(re.findall(r"[a-z0-9]+", title.lower())) or "section"
