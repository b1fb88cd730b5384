"""Parts of the page: coloured labels of verdicts, and a ruler that shows a number with its tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gramian.experiments.verdict import (
    ANOTHER_SETTING,
    CANNOT_RUN,
    CLOSE,
    DIFFERS,
    IN_COLUMN,
    NOT_DECIDABLE,
    NOT_JUDGED,
    NOT_RUN,
    NOT_TOLD_APART,
    REPRODUCED,
    Verdict,
)
from gramian.report.web import label, number, tag, text

_KIND = {
    REPRODUCED: ("good", "✓"),
    CLOSE: ("near", "≈"),
    NOT_TOLD_APART: ("near", "?"),
    DIFFERS: ("bad", "✗"),
    ANOTHER_SETTING: ("near", "≠"),
    IN_COLUMN: ("none", "▤"),
    NOT_DECIDABLE: ("none", "∅"),
    CANNOT_RUN: ("none", "⊘"),
    NOT_JUDGED: ("none", "·"),
    NOT_RUN: ("none", "○"),
}
"""Style class and sign of each outcome; the sign makes outcomes distinguishable without colour."""
_WIDTH, _HEIGHT, _EDGE = 112, 18, 4


def outcome_tag(outcome: str, why: str = "") -> str:
    """Return a verdict as a coloured label.

    >>> outcome_tag("close")
    '<span class="tag near">≈ close</span>'
    """
    kind, sign = _KIND[outcome]
    return label(f"{sign} {outcome.removesuffix(' at this scale')}", kind, why or None)


def pills(counts: Mapping[str, int]) -> str:
    """Return the counts by outcome as labels."""
    return "".join(
        label(f"{_KIND[outcome][1]} {n}", _KIND[outcome][0], f"{n} {outcome}") for outcome, n in counts.items()
    )


def kind_of(outcome: str) -> str:
    """Return the style class of an outcome: good, near, bad or none."""
    return _KIND[outcome][0]


def ruler(verdict: Verdict) -> str:
    """Draw a claim on a line: the band that counts as reproduced, the slack, the null, the paper's value and ours."""
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
        *([] if claim.null is None else [claim.null.value]),
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
    parts = [bar(claim.low - claim.slack, claim.high + claim.slack, 8, "slack")] if claim.slack else []
    parts.append(bar(claim.low, claim.high, 8, "band"))
    if claim.null is not None:
        parts.append(bar(claim.null.value, claim.null.value, 14, "null"))
    if claim.paper is not None and math.isfinite(claim.paper):
        parts.append(bar(claim.paper, claim.paper, 14, "paper"))
    if ours.half:
        parts.append(bar(ours.mean - half, ours.mean + half, 1.6, "ours"))
    parts.append(tag("circle", cx=at(ours.mean), cy=middle, r=3, class_="ours"))
    says = f"ours {number(ours.mean)}, reproduced from {number(claim.low)} to {number(claim.high)}"
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
