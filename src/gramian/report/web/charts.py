"""A chart of lines as SVG, in the font and the colours of the page; much faster to draw than with matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.ticker import MaxNLocator

from gramian.display import tag, text
from gramian.report.web.html import number

_WIDTH, _HEIGHT = 460, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 14, 14, 44
_COLOURS = ("blue", "orange", "green", "purple", "sky")
Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """Points ``(x, y)`` with a name (an empty one is not in the legend), and the ends of their intervals if known."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def lines(
    series: Sequence[Line],
    alt: str,
    *,
    x: str,
    y: str,
    diagonal: bool = False,
    marked: float | None = None,
    caption: str = "",
) -> str:
    """Return a chart of lines with points and intervals.

    Parameters
    ----------
    series : sequence of Line
        Points that are NaN or infinite are omitted.
    alt : str
        Description of the chart for readers who cannot see it.
    x, y : str
        Names of the axes.
    diagonal : bool
        Draw the line y = x, as for a calibrated model. Both axes then have one range: 0 to 1 if all points are between
        0 and 1 and cover at least half of it.
    marked : float, optional
        Position on the x axis of a vertical line.
    caption : str

    >>> html = lines([Line("error", [0, 1], [2.0, 1.0])], "falls from 2 to 1", x="round", y="error")
    >>> html.count("<circle")
    2
    """
    xs = [value for line in series for value in line.x if math.isfinite(value)] or [0.0, 1.0]
    ys = [v for line in series for part in (line.y, line.low, line.high) for v in part or () if math.isfinite(v)]
    across, along = _reach(xs, 0.04), _reach(ys or [0.0, 1.0], 0.08)
    if diagonal:
        shares = min(xs + ys) >= 0 and max(xs + ys) <= 1 and max(xs + ys) - min(xs + ys) >= 0.5
        across = along = (0.0, 1.0) if shares else _reach(xs + ys, 0.04)

    def at(px: float, py: float) -> Point:
        right = (px - across[0]) / (across[1] - across[0])
        up = (py - along[0]) / (along[1] - along[0])
        return (
            round(_LEFT + right * (_WIDTH - _LEFT - _RIGHT), 1),
            round(_HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM), 1),
        )

    marks = _axes(at, across, along, x, y, whole=all(value == int(value) for value in xs) and not diagonal)
    if diagonal:
        marks += _stroke([at(along[0], along[0]), at(along[1], along[1])], "ideal")
    if marked is not None:
        marks += _stroke([at(marked, along[0]), at(marked, along[1])], "ideal")
    for i, line in enumerate(series):
        colour = _COLOURS[i % len(_COLOURS)]
        points = [at(a, b) for a, b in zip(line.x, line.y, strict=True) if math.isfinite(a) and math.isfinite(b)]
        inner = _stroke(points, "run")
        if line.low is not None and line.high is not None:
            for a, low, high in zip(line.x, line.low, line.high, strict=True):
                if math.isfinite(low) and math.isfinite(high):
                    inner += _stroke([at(a, low), at(a, high)], "whisker")
        inner += "".join(tag("circle", cx=px, cy=py, r=3.2) for px, py in points)
        marks += tag("g", inner, style=f"--own:var(--{colour})", class_="line")
    svg = tag("svg", marks, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=alt, class_="chart")
    legend = ""
    if any(line.name for line in series):
        entries = (
            tag("span", tag("i", style=f"background:var(--{_COLOURS[i % len(_COLOURS)]})") + text(line.name))
            for i, line in enumerate(series)
        )
        legend = tag("p", "".join(entries), class_="legend")
    return tag("figure", legend + svg + (tag("figcaption", text(caption)) if caption else ""), class_="plot")


def _axes(at: Callable[[float, float], Point], across: Point, along: Point, x: str, y: str, whole: bool) -> str:
    marks = ""
    for value in _ticks(along, 5, False):
        marks += _stroke([at(across[0], value), at(across[1], value)], "grid")
        px, py = at(across[0], value)
        marks += tag("text", number(value), x=px - 6, y=py + 4, text_anchor="end")
    for value in _ticks(across, 7, whole):
        px, py = at(value, along[0])
        marks += tag("text", number(value), x=px, y=py + 16, text_anchor="middle")
    marks += _stroke([at(across[0], along[0]), at(across[1], along[0])], "axis")
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    marks += tag("text", text(x), x=middle, y=_HEIGHT - 8, text_anchor="middle", class_="name")
    height = (_TOP + _HEIGHT - _BOTTOM) / 2
    return marks + tag(
        "text", text(y), x=13, y=height, text_anchor="middle", class_="name", transform=f"rotate(-90 13 {height})"
    )


def _ticks(ends: Point, most: int, whole: bool) -> list[float]:
    found = MaxNLocator(most, integer=whole).tick_values(*ends)
    slack = 1e-9 * (ends[1] - ends[0])
    return [float(value) for value in found if ends[0] - slack <= value <= ends[1] + slack]


def _reach(values: Sequence[float], pad: float) -> Point:
    low, high = min(values), max(values)
    margin = pad * (high - low) or 0.1 * abs(low) or 1.0
    return low - margin, high + margin


def _stroke(points: Sequence[Point], class_: str) -> str:
    return tag("polyline", points=" ".join(f"{px},{py}" for px, py in points), class_=class_)
