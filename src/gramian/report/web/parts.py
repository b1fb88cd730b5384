"""The larger parts of a section: large numbers, labels, remarks, tabs, a slider."""

from __future__ import annotations

from collections.abc import Sequence

from gramian.report.web.html import slug, tag, text


def tiles(entries: Sequence[tuple[str, str]] | Sequence[tuple[str, str, str]]) -> str:
    """Large numbers with their names, each ``(value, name)`` or ``(value, name, kind)``; kinds as in :func:`label`.

    >>> tiles([("0.93", "accuracy")])
    '<dl class="boxes"><div class="box none"><dt>accuracy</dt><dd>0.93</dd></div></dl>'
    """
    made = ""
    for value, name, *kind in entries:
        inner = tag("dt", text(name)) + tag("dd", text(value))
        made += tag("div", inner, class_=f"box {kind[0] if kind else 'none'}")
    return tag("dl", made, class_="boxes")


def label(name: str, kind: str = "none", title: str | None = None) -> str:
    """A small coloured label; ``kind`` is good, near, bad or none. Colour must not be its only message.

    >>> label("kept", "good")
    '<span class="tag good">kept</span>'
    """
    return tag("span", text(name), class_=f"tag {kind}", title=title)


def note(body: str, kind: str = "") -> str:
    """A remark in small letters, as HTML; with the kind bad or near it stands in a box.

    >>> note("Mind the gap.")
    '<p class="why">Mind the gap.</p>'
    """
    return tag("p", body, class_=f"why {kind}".strip())


def tabs(name: str, panels: Sequence[tuple[str, str]]) -> str:
    """Panels ``(label, body)`` of which one is seen at a time; all of them in print and without scripts.

    Parameters
    ----------
    name : str
        What is chosen, for those who cannot see it; different for each set of tabs on a page.
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
    """Frames ``(label, body)`` of which a slider shows one; all of them without scripts, the chosen one in print.

    Parameters
    ----------
    name : str
        What the slider moves along, such as ``"round"``; different for each slider on a page.
    frames : sequence of pairs
    start : int
        The frame that is seen first.
    """
    if len(frames) == 1:
        return tag("div", tag("p", text(frames[0][0]), class_="frame-label") + frames[0][1], class_="frame")
    key = slug(name)
    called = frames[start][0]
    knob = tag(
        "input",
        type="range",
        id=f"{key}-slider",
        min=0,
        max=len(frames) - 1,
        step=1,
        value=start,
        aria_valuetext=called,
        autocomplete="off",
    )
    head = tag("label", text(name), for_=f"{key}-slider") + knob
    head += tag("output", text(called), for_=f"{key}-slider")
    bodies = "".join(tag("div", body, class_="frame", data_label=called) for called, body in frames)
    return tag("div", tag("div", head, class_="knob") + bodies, class_="slider")
