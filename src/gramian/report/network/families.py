"""Layers that occur in every block of a network, found by their names: ``layers.0.q_proj`` … ``layers.29.q_proj``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from gramian.report.web import lines
from gramian.report.web.charts import Line

_NUMBER = re.compile(r"(?<![^.])(\d+)(?![^.])")
_SMALLEST = 3
"""Number of members from which a family is drawn over its blocks."""
_PER_CHART = 5
"""Number of lines in a chart, which has as many colours."""


def families(layers: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """Return families of layers whose names differ in one number, each with its numbers and names.

    >>> families(["h.0.q", "h.1.q", "h.2.q", "head"])
    {'h.*.q': [(0, 'h.0.q'), (1, 'h.1.q'), (2, 'h.2.q')]}
    """
    found: dict[str, list[tuple[int, str]]] = {}
    for layer in layers:
        number = _NUMBER.search(layer)
        if number is not None:
            name = f"{layer[: number.start()]}*{layer[number.end() :]}"
            found.setdefault(name, []).append((int(number[0]), layer))
    return {name: sorted(members) for name, members in found.items() if len(members) >= _SMALLEST}


def over_blocks(layers: Sequence[str], value: Callable[[str], float], y: str) -> str:
    """Return charts of one number over the blocks of a network, a line per family of layers; nothing without families.

    >>> html = over_blocks(["h.0.q", "h.1.q", "h.2.q"], lambda layer: 1.0, "norm")
    >>> html.count("<circle"), "block" in html
    (3, True)
    """
    found = families(layers)
    names = ["" if len(found) == 1 else _short(name, list(found)) for name in found]
    series = [
        Line(name, [i for i, _ in members], [value(layer) for _, layer in members])
        for name, members in zip(names, found.values(), strict=True)
    ]
    size = math.ceil(len(series) / math.ceil(len(series) / _PER_CHART)) if series else 1  # charts of one size
    charts = [
        lines(series[a : a + size], f"{y} over the blocks", x="number of the block", y=y)
        for a in range(0, len(series), size)
    ]
    return "".join(charts)


def _short(name: str, others: Sequence[str]) -> str:
    """Return the name without the parts before the number, if that is still different from the other families."""
    ends = [other.rpartition("*.")[2] for other in others]
    end = name.rpartition("*.")[2]
    return end if ends.count(end) == 1 else name
