"""A chart of lines as SVG, in the font and the colours of the page; much faster to draw than with matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.ticker import MaxNLocator

from gramian.display import tag, text, typographic_minus
from gramian.report.web.html import number

_WIDTH, _HEIGHT = 460, 280
_TOP, _BOTTOM = 14, 44
_LETTER = 6.1
"""Width of a digit of a tick in the units of the drawing, rounded up."""
_NAME_SPACE = 26
"""Space for the name of the vertical axis."""
_MANY_POINTS = 150
_COLOURS = ("blue", "orange", "green", "purple", "sky")
Point = tuple[float, float]
Format = Callable[[float], str]


@dataclass(frozen=True)
class Line:
    """Points ``(x, y)`` with a name (an empty one is not in the legend), and the ends of their intervals if known.

    ``marked`` draws a dot at each point, and ``joined`` a line through them.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    marked: bool = True
    joined: bool = True


def lines(
    series: Sequence[Line],
    alt: str,
    *,
    x: str,
    y: str,
    diagonal: bool = False,
    shares: bool = False,
    marked: float | None = None,
    level: float | None = None,
    caption: str = "",
    x_form: Format | None = None,
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
    shares : bool
        Both axes are shares, from 0 to 1.
    marked, level : float, optional
        Position on the x axis of a vertical line, and on the y axis of a horizontal one.
    caption : str
    x_form : callable, optional
        Format of the numbers on the x axis, by default with as many decimals as they need.

    >>> html = lines([Line("error", [0, 1], [2.0, 1.0])], "falls from 2 to 1", x="round", y="error")
    >>> html.count("<circle")
    2
    """
    xs = [value for line in series for value in line.x if math.isfinite(value)] or [0.0, 1.0]
    ys = [v for line in series for part in (line.y, line.low, line.high) for v in part or () if math.isfinite(v)]
    ys += [] if level is None else [level]
    across, along = _reach(xs, 0.04), _reach(ys or [0.0, 1.0], 0.08)
    if diagonal and not shares:
        shares = min(xs + ys) >= 0 and max(xs + ys) <= 1 and max(xs + ys) - min(xs + ys) >= 0.5
        across = along = _reach(xs + ys, 0.04)
    if shares:
        across = along = 0.0, 1.0
    axes = _Axes.of(across, along, all(value == int(value) for value in xs) and not diagonal, x_form)
    marks = axes.drawn(x, y)
    if diagonal:
        marks += _stroke([axes.at(along[0], along[0]), axes.at(along[1], along[1])], "ideal")
    if marked is not None:
        marks += _stroke([axes.at(marked, along[0]), axes.at(marked, along[1])], "ideal")
    if level is not None:
        marks += _stroke([axes.at(across[0], level), axes.at(across[1], level)], "ideal")
    for i, line in enumerate(series):
        marks += _drawn_line(line, axes, _COLOURS[i % len(_COLOURS)])
    svg = tag("svg", marks, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=alt, class_="chart")
    legend = ""
    if any(line.name for line in series):
        entries = (
            tag("span", tag("i", style=f"background:var(--{_COLOURS[i % len(_COLOURS)]})") + text(line.name))
            for i, line in enumerate(series)
        )
        legend = tag("p", "".join(entries), class_="legend")
    return tag("figure", legend + svg + (tag("figcaption", text(caption)) if caption else ""), class_="plot")


@dataclass(frozen=True)
class _Axes:
    """The ranges of both axes with their ticks, and margins in which every tick has room."""

    across: Point
    along: Point
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]

    @classmethod
    def of(cls, across: Point, along: Point, whole: bool, x_form: Format | None) -> _Axes:
        y_ticks = _ticks(along, 5, False, None)
        width = _WIDTH - _NAME_SPACE - _LETTER * _longest(y_ticks)
        x_ticks = _ticks(across, 7, whole, x_form)
        for most in (6, 5, 4, 3, 2):
            if len(x_ticks) * _LETTER * (_longest(x_ticks) + 2) <= width:
                break
            x_ticks = _ticks(across, most, whole, x_form)
        return cls(across, along, x_ticks, y_ticks)

    @property
    def left(self) -> float:
        return _NAME_SPACE + _LETTER * _longest(self.y_ticks)

    @property
    def right(self) -> float:
        return max(14.0, _LETTER * len(self.x_ticks[-1][1]) / 2 + 2) if self.x_ticks else 14.0

    def at(self, px: float, py: float) -> Point:
        right = (px - self.across[0]) / (self.across[1] - self.across[0])
        up = (py - self.along[0]) / (self.along[1] - self.along[0])
        return (
            round(self.left + right * (_WIDTH - self.left - self.right), 1),
            round(_HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM), 1),
        )

    def drawn(self, x: str, y: str) -> str:
        """Return grid, ticks and names."""
        marks = ""
        for value, name in self.y_ticks:
            marks += _stroke([self.at(self.across[0], value), self.at(self.across[1], value)], "grid")
            px, py = self.at(self.across[0], value)
            marks += tag("text", text(name), x=px - 6, y=py + 4, text_anchor="end")
        for value, name in self.x_ticks:
            px, py = self.at(value, self.along[0])
            marks += tag("text", text(name), x=px, y=py + 16, text_anchor="middle")
        marks += _stroke([self.at(self.across[0], self.along[0]), self.at(self.across[1], self.along[0])], "axis")
        middle = (self.left + _WIDTH - self.right) / 2
        marks += tag("text", text(_fit(x, _WIDTH)), x=middle, y=_HEIGHT - 8, text_anchor="middle", class_="name")
        height = (_TOP + _HEIGHT - _BOTTOM) / 2
        turned = f"rotate(-90 13 {height})"
        name = text(_fit(y, _HEIGHT - 10))
        return marks + tag("text", name, x=13, y=height, text_anchor="middle", class_="name", transform=turned)


def _drawn_line(line: Line, axes: _Axes, colour: str) -> str:
    points = [axes.at(a, b) for a, b in zip(line.x, line.y, strict=True) if math.isfinite(a) and math.isfinite(b)]
    inner = _stroke(points, "run") if line.joined else ""
    if line.low is not None and line.high is not None:
        for a, low, high in zip(line.x, line.low, line.high, strict=True):
            if math.isfinite(low) and math.isfinite(high):
                inner += _stroke([axes.at(a, low), axes.at(a, high)], "whisker")
    if line.marked:
        radius = 3.2 if len(points) <= _MANY_POINTS else 2.0
        inner += "".join(tag("circle", cx=px, cy=py, r=radius) for px, py in points)
    return tag("g", inner, style=f"--own:var(--{colour})", class_="line" if line.joined else "line cloud")


def _ticks(ends: Point, most: int, whole: bool, form: Format | None) -> list[tuple[float, str]]:
    """Return the positions of at most ``most`` ticks or one more with their texts, which are all different."""
    found = MaxNLocator(most, integer=whole, steps=[1, 2, 5, 10]).tick_values(*ends)
    slack = 1e-9 * (ends[1] - ends[0])
    values = [float(value) for value in found if ends[0] - slack <= value <= ends[1] + slack]
    if form is None:
        form = _evenly_formatted(float(found[1] - found[0]), max(map(abs, ends)))
    return [(value, form(value)) for value in values]


def _evenly_formatted(step: float, largest: float) -> Format:
    """Return a format with the decimals that a step between ticks needs."""
    if not 1e-4 <= step < 1e9 or largest >= 1e12:
        return number
    shortened = round(step, 12)
    decimals = next(d for d in range(6) if round(shortened * 10**d, 6) % 1 == 0 or d == 5)
    return lambda value: typographic_minus(f"{value if abs(value) > step / 1e6 else 0.0:,.{decimals}f}")


def _longest(ticks: Sequence[tuple[float, str]]) -> int:
    return max((len(name) for _, name in ticks), default=1)


def _fit(name: str, width: float) -> str:
    """Return a name of an axis, shortened with an ellipsis if it is longer than the axis."""
    most = int(width / 6.4)
    return name if len(name) <= most else name[: most - 1] + "…"


def _reach(values: Sequence[float], pad: float) -> Point:
    low, high = min(values), max(values)
    margin = pad * (high - low) or 0.1 * abs(low) or 1.0
    return low - margin, high + margin


def _stroke(points: Sequence[Point], class_: str) -> str:
    return tag("polyline", points=" ".join(f"{px},{py}" for px, py in points), class_=class_)
