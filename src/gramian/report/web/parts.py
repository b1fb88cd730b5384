"""Parts of a section: large numbers, labels, remarks, and panels that are shown one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from gramian.display import tag, text
from gramian.report.web.html import slug

_MOST_TABS = 8
"""Largest number of panels that are chosen by tabs; more are chosen by a slider."""


def tiles(entries: Sequence[tuple[str, str]] | Sequence[tuple[str, str, str]]) -> str:
    """Return large numbers with their names, each ``(value, name)`` or ``(value, name, kind)``; see :func:`label`.

    >>> tiles([("0.93", "accuracy")])
    '<dl class="boxes"><div class="box none"><dt>accuracy</dt><dd>0.93</dd></div></dl>'
    """
    made = ""
    for value, name, *kind in entries:
        inner = tag("dt", text(name)) + tag("dd", text(value))
        made += tag("div", inner, class_=f"box {kind[0] if kind else 'none'}")
    return tag("dl", made, class_="boxes")


def label(name: str, kind: str = "none", title: str | None = None) -> str:
    """Return a small coloured label; ``kind`` is good, near, bad or none. Its text must be clear without the colour.

    >>> label("selected", "good")
    '<span class="tag good">selected</span>'
    """
    return tag("span", text(name), class_=f"tag {kind}", title=title)


def note(body: str, kind: str = "") -> str:
    """Return a remark in small text, given as HTML; the kinds bad and near have a coloured background.

    >>> note("Mind the gap.")
    '<p class="why">Mind the gap.</p>'
    """
    return tag("p", body, class_=f"why {kind}".strip())


def panels(name: str, entries: Sequence[tuple[str, str]]) -> str:
    """Return panels ``(label, body)`` shown one at a time, chosen by :func:`tabs` if few and by :func:`slider` if many.

    >>> panels("layer", [])
    ''
    """
    if not entries:
        return ""
    return tabs(name, entries) if len(entries) <= _MOST_TABS else slider(name, entries)


def tabs(name: str, panels: Sequence[tuple[str, str]]) -> str:
    """Return panels ``(label, body)`` of which one is shown at a time; all of them in print and without scripts.

    Parameters
    ----------
    name : str
        Name of the choice for screen readers; different for each set of tabs on a page.
    panels : sequence of pairs
    """
    if len(panels) == 1:
        return panels[0][1]
    key = slug(name)
    buttons, bodies = "", ""
    for i, (called, body) in enumerate(panels):
        first = i == 0
        buttons += tag(
            "button",
            text(called),
            type="button",
            role="tab",
            id=f"{key}-tab-{i}",
            aria_controls=f"{key}-panel-{i}",
            aria_selected=str(first).lower(),
            tabindex=0 if first else -1,
        )
        head = tag("p", text(called), class_="panel-head")
        bodies += tag(
            "div", head + body, role="tabpanel", id=f"{key}-panel-{i}", aria_labelledby=f"{key}-tab-{i}", tabindex=0
        )
    return tag("div", tag("div", buttons, role="tablist", aria_label=name) + bodies, class_="tabs")


def slider(name: str, frames: Sequence[tuple[str, str]], start: int = 0) -> str:
    """Return frames ``(label, body)`` of which a slider shows one; without scripts all are shown.

    Parameters
    ----------
    name : str
        Name of the quantity that the slider changes, such as ``"round"``; different for each slider on a page.
    frames : sequence of pairs
    start : int
        Number of the frame that is shown first.
    """
    if len(frames) == 1:
        return tag("div", tag("p", text(frames[0][0]), class_="frame-label") + frames[0][1], class_="frame")
    key = slug(name)
    first = frames[start][0]
    knob = tag(
        "input",
        type="range",
        id=f"{key}-slider",
        min=0,
        max=len(frames) - 1,
        step=1,
        value=start,
        aria_valuetext=first,
        autocomplete="off",
    )
    head = tag("label", text(name), for_=f"{key}-slider") + knob
    head += tag("output", text(first), for_=f"{key}-slider")
    bodies = "".join(tag("div", body, class_="frame", data_label=called) for called, body in frames)
    return tag("div", tag("div", head, class_="knob") + bodies, class_="slider")
