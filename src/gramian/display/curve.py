"""A curve with a band around it, as lines of text and as SVG."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gramian.display.elements import tag, text
from gramian.display.numbers import format_number

_WIDTH = 25
"""Characters of a line of text."""
_SIZE, _LEFT, _BOTTOM = (420.0, 190.0), 70.0, 36.0
"""Width and height of the drawing, and the space for the labels of its axes."""

Series = Float[np.ndarray, " g"]


def dot_line(value: float, low: float, high: float, bottom: float, top: float) -> str:
    """Return one line of a curve that runs from top to bottom: a dot at ``value``, and a band from low to high.

    The axis is horizontal, from ``bottom`` to ``top``; spaces cannot be broken, so that no renderer removes them.

    >>> dot_line(0.5, 0.25, 0.75, 0.0, 1.0).strip()
    '······●······'
    """
    size = (top - bottom) or 1.0
    at, first, last = (round((each - bottom) / size * (_WIDTH - 1)) for each in (value, low, high))
    return "".join("●" if i == at else "·" if first <= i <= last else "\u00a0" for i in range(_WIDTH))


def curve_svg(x: Series, y: Series, low: Series, high: Series, x_name: str, y_name: str) -> str:
    """Return a line ``y`` over ``x`` and a band between ``low`` and ``high`` as an SVG element with labelled axes.

    >>> axis = np.array([0.0, 1.0])
    >>> curve_svg(axis, axis, axis - 1, axis + 1, "position", "prediction").count("<polyline")
    1
    """
    (width, height), (left, right) = _SIZE, (float(x[0]), float(x[-1]))
    bottom, top = float(low.min()), float(high.max())

    def place(a: float, b: float) -> str:
        across = _LEFT + (a - left) / ((right - left) or 1.0) * (width - _LEFT - 8)
        down = 8 + (top - b) / ((top - bottom) or 1.0) * (height - _BOTTOM - 8)
        return f"{across:.1f},{down:.1f}"

    band = [place(a, b) for a, b in zip(x, high, strict=True)]
    band += [place(a, b) for a, b in zip(x[::-1], low[::-1], strict=True)]
    line = " ".join(place(a, b) for a, b in zip(x, y, strict=True))
    label = f"{y_name} from {format_number(float(y[0]))} to {format_number(float(y[-1]))} over {x_name}"
    drawn = tag("polygon", points=" ".join(band), style="fill:var(--blue);opacity:.18")
    drawn += tag("polyline", points=line, style="fill:none;stroke:var(--blue);stroke-width:2")
    base = height - _BOTTOM
    drawn += _text(_LEFT - 6, 14, format_number(top), "end") + _text(_LEFT - 6, base, format_number(bottom), "end")
    drawn += _text(_LEFT, base + 15, format_number(left), "start") + _text(
        width - 8, base + 15, format_number(right), "end"
    )
    drawn += _text((_LEFT + width) / 2, base + 29, x_name, "middle")
    drawn += tag("path", d=f"M{_LEFT},8V{base + 2}H{width - 8}", style="fill:none;stroke:var(--line)")
    style = f"width:{width:.0f}px;max-width:100%;font-size:11px"
    return tag("svg", drawn, viewBox=f"0 0 {width:.0f} {height:.0f}", role="img", aria_label=label, style=style)


def _text(x: float, y: float, content: str, anchor: str) -> str:
    return tag("text", text(content), x=f"{x:.0f}", y=f"{y:.0f}", text_anchor=anchor, style="fill:var(--soft)")
