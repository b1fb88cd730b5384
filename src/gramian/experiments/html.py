"""The small parts of the page: tags, pills, tables, the ruler that shows a number beside its tolerance."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape

from gramian.experiments.text import shown
from gramian.experiments.verdict import CANNOT_RUN, CLOSE, DIFFERS, NOT_JUDGED, NOT_RUN, REPRODUCED, Verdict

_KIND = {
    REPRODUCED: ("good", "✓"),
    CLOSE: ("near", "≈"),
    DIFFERS: ("bad", "✗"),
    CANNOT_RUN: ("none", "⊘"),
    NOT_JUDGED: ("none", "·"),
    NOT_RUN: ("none", "○"),
}
"""Outcome → class and sign: colour is never the only difference."""
_WIDTH, _HEIGHT, _EDGE = 112, 18, 4
_LONG = 25
"""Rows that are shown at once."""


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
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    return f"<{name}{''.join(f' {key}={chr(34)}{text(value)}{chr(34)}' for key, value in pairs)}>{content}</{name}>"


def outcome_tag(outcome: str, why: str = "") -> str:
    """A verdict as a coloured label.

    >>> outcome_tag("close")
    '<span class="tag near">≈ close</span>'
    """
    kind, sign = _KIND[outcome]
    return tag(
        "span", f"{sign} {text(outcome.removesuffix(' at this scale'))}", class_=f"tag {kind}", title=why or None
    )


def pills(counts: Mapping[str, int]) -> str:
    """Counts by outcome."""
    return "".join(
        tag("span", f"{_KIND[outcome][1]} {n}", class_=f"tag {_KIND[outcome][0]}", title=f"{n} {outcome}")
        for outcome, n in counts.items()
    )


def kind_of(outcome: str) -> str:
    """The class of an outcome: good, near, bad or none."""
    return _KIND[outcome][0]


def prose(notes: str) -> str:
    """Paragraphs, with what stands in backticks as code.

    >>> prose("One `x`.")
    '<p>One <code>x</code>.</p>'
    """
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", notes) if part.strip()]
    return "".join(tag("p", re.sub(r"`([^`]+)`", r"<code>\1</code>", text(part))) for part in paragraphs)


def number(value: str, sort: float | None = None, label: str | None = None) -> str:
    """A cell with a number, broken before its ± only; sorted by ``sort``, with a label where heads are not shown.

    >>> number("0.5 ± 0.1", 0.5)
    '<td class="num" data-value="0.5"><span>0.5</span> <span>± 0.1</span></td>'
    """
    mean, sign, half = text(value).partition(" ± ")
    content = tag("span", mean) if value else ""
    content += " " + tag("span", f"± {half}") if sign else ""
    return tag("td", content, class_="num", data_value=sort, data_label=label if value else None)


def table(heads: Sequence[str], rows: Sequence[str], class_: str = "", id: str | None = None) -> str:
    """A table that scrolls sideways where the screen is narrow, and downwards if it is long; rows are ``<tr>``."""
    head = tag("thead", tag("tr", "".join(tag("th", text(name), scope="col") for name in heads)))
    inner = tag("table", head + tag("tbody", "".join(rows)), class_=class_ or None, id=id)
    return tag("div", inner, class_="tall" if len(rows) > _LONG else "scroll")


def ruler(verdict: Verdict) -> str:
    """A drawing of the claim on a line: the band that counts as reproduced, the slack, the paper's value, ours."""
    claim, ours = verdict.claim, verdict.ours
    if ours is None or not math.isfinite(ours.mean) or math.isnan(claim.low) or claim.missing:
        return ""
    half = ours.half or 0.0
    marks = [
        claim.low,
        claim.high,
        claim.low - claim.slack,
        claim.high + claim.slack,
        ours.mean - half,
        ours.mean + half,
    ]
    finite = [mark for mark in marks if math.isfinite(mark)]
    low, high = min(finite), max(finite)
    pad = 0.08 * (high - low) or 0.05 * abs(low) or 1.0
    low, high = low - pad, high + pad

    def at(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(_EDGE + share * (_WIDTH - 2 * _EDGE), 1)

    def bar(begin: float, end: float, thick: float, class_: str) -> str:
        x, width = at(begin), max(at(end) - at(begin), 1.5)
        return tag("rect", x=x, y=(_HEIGHT - thick) / 2, width=round(width, 1), height=thick, rx=1.5, class_=class_)

    middle = _HEIGHT / 2
    parts = [bar(claim.low - claim.slack, claim.high + claim.slack, 8, "slack"), bar(claim.low, claim.high, 8, "band")]
    if claim.paper is not None and math.isfinite(claim.paper):
        parts.append(bar(claim.paper, claim.paper, 14, "paper"))
    if ours.half:
        parts.append(bar(ours.mean - half, ours.mean + half, 1.6, "ours"))
    parts.append(tag("circle", cx=at(ours.mean), cy=middle, r=3, class_="ours"))
    says = f"ours {shown(ours.mean)}, reproduced from {shown(claim.low)} to {shown(claim.high)}"
    return tag(
        "svg",
        tag("title", text(says)) + "".join(parts),
        class_="ruler",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        role="img",
        aria_label=says,
    )
