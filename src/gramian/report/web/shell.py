"""The document around the sections of a page: head, landmarks, navigation, theme switch, style and script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from gramian.core.version import __version__
from gramian.display import style_sheet, tag, text
from gramian.report.web.html import slug

SWITCH = tag(
    "button", "◐", id="theme", type="button", title="light or dark", aria_label="dark theme", aria_pressed="false"
)
"""The button that changes the theme; every header contains it."""


@dataclass(frozen=True)
class PageSection:
    """A part of a page: a plain title, a body of HTML, and its name in the navigation (the title by default)."""

    title: str
    body: str
    short: str = ""

    @property
    def id(self) -> str:
        """The id of the element, for links."""
        return slug(self.title)


def page(title: str, lead: str, sections: Sequence[PageSection], *, top: str = "") -> str:
    """Return a page with a header, a navigation, and the sections one below the other.

    Parameters
    ----------
    title, lead : str
        Plain text: the title of the page and one line about it.
    sections : sequence of PageSection
        Sections with different titles; one with an empty body is omitted.
    top : str
        HTML below the lead, such as :func:`gramian.report.web.tiles`.

    >>> page("A", "about A", [PageSection("B", "<p>b</p>")]).count('href="#b"')
    1
    """
    present = [section for section in sections if section.body]
    links = tag("a", text("Overview"), href="#top", class_="top")
    links += "".join(tag("a", text(section.short or section.title), href=f"#{section.id}") for section in present)
    header = SWITCH + tag("h1", text(title)) + tag("p", text(lead)) + top
    body = tag("header", header, id="top")
    for section in present:
        inner = tag("h2", text(section.title), id=f"{section.id}-title") + section.body
        body += tag("section", inner, id=section.id, aria_labelledby=f"{section.id}-title", class_="card")
    body += tag("footer", text(f"Written by gramian {__version__}."))
    return document(title, links, body)


def document(title: str, navigation: str, body: str, *, style: str = "", script: str = "") -> str:
    """Return the whole file around a navigation and a body, both HTML.

    ``style`` and ``script`` follow those of all pages. They are inserted as they are, so they must not contain ``</``.
    """
    return _DOCUMENT.format(
        title=text(title),
        style=style_sheet(":root") + asset("page.css") + style,
        body=tag("a", "Skip to content", href="#content", class_="skip")
        + tag("nav", navigation, aria_label="sections")
        + tag("main", body, id="content", tabindex=-1),
        script=asset("page.js") + script,
    )


def asset(name: str, package: str = "gramian.report.web") -> str:
    """Return the text of a file of a package."""
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
