"""Elements and text: the only place where angle brackets are put together."""

from __future__ import annotations

import re
from html import escape

_VOID = {"input", "img", "rect", "circle", "line", "path", "image", "polyline", "polygon"}
"""Elements without content; those of SVG may close themselves."""


def text(value: object) -> str:
    """Anything as text that is safe within HTML.

    >>> text("a < b")
    'a &lt; b'
    """
    return escape(str(value))


def tag(name: str, content: str = "", **attributes: object) -> str:
    """An element; ``class_`` is class, ``data_x`` is data-x, and an attribute that is None is left out.

    >>> tag("a", "here", href="#x", class_=None)
    '<a href="#x">here</a>'
    >>> tag("input", type="search"), tag("p", hidden=True)
    ('<input type="search">', '<p hidden></p>')
    """
    inner = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        called = key.rstrip("_").replace("_", "-")
        inner += f" {called}" if value is True else f' {called}="{text(value)}"'
    if name in ("input", "img"):
        return f"<{name}{inner}>"
    return f"<{name}{inner}/>" if name in _VOID and not content else f"<{name}{inner}>{content}</{name}>"


def prose(notes: str) -> str:
    """Paragraphs, with what stands in backticks as code.

    >>> prose("One `x`.")
    '<p>One <code>x</code>.</p>'
    """
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", notes) if part.strip()]
    return "".join(tag("p", re.sub(r"`([^`]+)`", r"<code>\1</code>", text(part))) for part in paragraphs)


def folded(title: str, body: str) -> str:
    """A body that opens when its title is clicked; it is printed open.

    >>> folded("more", "<p>x</p>")
    '<details><summary>more</summary><p>x</p></details>'
    """
    return tag("details", tag("summary", text(title)) + body)


def slug(title: str) -> str:
    """A title as an id: letters, digits and dashes.

    >>> slug("Rows on which A & B differ")
    'rows-on-which-a-b-differ'
    """
    return "-".join(re.findall(r"[a-z0-9]+", title.lower())) or "section"
