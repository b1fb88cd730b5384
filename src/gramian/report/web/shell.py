"""The document around sections: head, landmarks, navigation, theme switch, style and script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from gramian.core.version import __version__
from gramian.report.web.html import slug, tag, text

SWITCH = tag(
    "button", "◐", id="theme", type="button", title="light or dark", aria_label="dark theme", aria_pressed="false"
)
"""The button that changes the theme; every header holds it."""


@dataclass(frozen=True)
class Section:
    """A part of a page: a plain title, a body of HTML, and the name the navigation calls it by (default: the title)."""

    title: str
    body: str
    short: str = ""

    @property
    def id(self) -> str:
        """Where links point to."""
        return slug(self.title)


def page(title: str, lead: str, sections: Sequence[Section], *, top: str = "") -> str:
    """A page with a header, a navigation to its sections, and the sections one below the other.

    Parameters
    ----------
    title, lead : str
        What it is, and one line about it; plain text.
    sections : sequence of Section
        Titles differ, and an empty body leaves the section out.
    top : str
        HTML below the lead, such as :func:`gramian.report.web.tiles`.

    >>> page("A", "about A", [Section("B", "<p>b</p>")]).count('href="#b"')
    1
    """
    shown = [section for section in sections if section.body]
    links = tag("a", text("Overview"), href="#top", class_="top")
    links += "".join(tag("a", text(section.short or section.title), href=f"#{section.id}") for section in shown)
    header = SWITCH + tag("h1", text(title)) + tag("p", text(lead)) + top
    body = tag("header", header, id="top")
    for section in shown:
        inner = tag("h2", text(section.title), id=f"{section.id}-title") + section.body
        body += tag("section", inner, id=section.id, aria_labelledby=f"{section.id}-title", class_="card")
    body += tag("footer", text(f"Written by gramian {__version__}."))
    return document(title, links, body)


def document(title: str, navigation: str, body: str, *, style: str = "", script: str = "") -> str:
    """The whole file around a navigation and a body, both HTML; ``style`` and ``script`` come after the shell's own."""
    # Names and classes may not end the element they stand in; CSS and JavaScript are ours and hold no "</".
    return _DOCUMENT.format(
        title=text(title),
        style=asset("page.css") + style,
        body=tag("a", "Skip to content", href="#content", class_="skip")
        + tag("nav", navigation, aria_label="sections")
        + tag("main", body, id="content", tabindex=-1),
        script=asset("page.js") + script,
    )


def asset(name: str, package: str = "gramian.report.web") -> str:
    """The text of a file that lies beside the code."""
    return (files(package) / name).read_text(encoding="utf-8")


_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
<script>
{script}</script>
</body>
</html>
"""
