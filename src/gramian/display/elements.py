"""HTML elements and escaped text: the only module that writes angle brackets."""

from __future__ import annotations

from html import escape

_UNCLOSED = frozenset({"input", "img"})
"""Elements of HTML without content and without an end tag."""
_SELF_CLOSED = frozenset({"rect", "circle", "line", "path", "image", "polyline", "polygon"})
"""Elements of SVG that close themselves if they are empty."""


def text(value: object) -> str:
    """Escape a value as text inside HTML.

    >>> text("a < b")
    'a &lt; b'
    """
    return escape(str(value))


def tag(name: str, content: str = "", **attributes: object) -> str:
    """Return an element; ``class_`` is class, ``data_x`` is data-x, and None or False omits an attribute.

    >>> tag("a", "here", href="#x", class_=None)
    '<a href="#x">here</a>'
    >>> tag("input", type="search"), tag("p", hidden=True)
    ('<input type="search">', '<p hidden></p>')
    """
    inner = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        inner += f" {attribute}" if value is True else f' {attribute}="{text(value)}"'
    if name in _UNCLOSED:
        return f"<{name}{inner}>"
    return f"<{name}{inner}/>" if name in _SELF_CLOSED and not content else f"<{name}{inner}>{content}</{name}>"
