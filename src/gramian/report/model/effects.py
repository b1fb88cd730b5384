"""The section on the effects of single columns: the average prediction as one column varies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gramian.display import Bar, Entry, Table, format_percent, format_value, typographic_minus
from gramian.report.web import PageSection, lines, note, number, number_cell, table, tag, text
from gramian.report.web.charts import Line
from gramian.rfm import FittedRFM
from gramian.rfm.explain.column_effect import ColumnEffect, column_effect
from gramian.tables.types import TableLike

_COLUMNS = 6
_SMALLEST_SHARE = 0.01
"""A column with a smaller share of the sensitivity has no curve, unless it is the first."""
_LINES, _DOTS = 5, 8
"""Largest number of curves in a chart, and of values with a dot each."""
_LONGEST = 40


def column_effects(model: FittedRFM, shares: Sequence[tuple[str, float]], X: TableLike = None) -> list[ColumnEffect]:
    """Return the effects of the most important columns; ``shares`` are the importances, largest first."""
    wanted = [name for i, (name, share) in enumerate(shares[:_COLUMNS]) if i == 0 or share >= _SMALLEST_SHARE]
    found = (column_effect(model, name, X) for name in wanted)
    return [effect for effect in found if effect is not None]


def effects_section(effects: Sequence[ColumnEffect], classes: tuple[str, ...], known: bool) -> PageSection:
    """Return a curve or a table for each effect; ``known`` tells that values of all columns are known."""
    if not effects:
        return PageSection("Effects of columns", "")
    if len(classes) == 2:
        quantity = f"probability of {classes[1]}"
    else:
        quantity = "probability of each class" if classes else "prediction"
    about = (
        f"The average {quantity} of training rows if one column is set to a value and all others stay as they are. For "
        "columns that depend on each other this includes combinations that do not occur. It shows the model, and not "
        "what would happen if the column were changed."
    )
    if not known:
        about += " Only columns with numbers are shown, because no table was given with the report."
    parts = "".join(_curve(effect, quantity) if effect.numeric else _levels(effect, quantity) for effect in effects)
    return PageSection("Effects of columns", note(text(about)) + tag("div", parts, class_="side wide"), "Effects")


def effect_sentence(effect: ColumnEffect) -> str:
    """Return a sentence on the ends of a numeric effect with one output; empty for any other.

    >>> effect_sentence(ColumnEffect("age", (20.0, 80.0), True, True, ("prediction",), np.array([[1.5], [3.0]])))
    'From age 20 to 80, the average prediction changes from 1.5 to 3.'
    """
    if not effect.numeric or len(effect.outputs) > 1:
        return ""
    first, last = (format_value(value) for value in (effect.values[0], effect.values[-1]))
    if effect.outputs[0] == "prediction":
        quantity, (begin, end) = "prediction", (number(float(effect.mean[i, 0])) for i in (0, -1))
    else:
        quantity = f"probability of {effect.outputs[0]}"
        begin, end = (format_percent(float(effect.mean[i, 0]), 0) for i in (0, -1))
    return typographic_minus(
        f"From {effect.column} {first} to {last}, the average {quantity} changes from {begin} to {end}."
    )


def _curve(effect: ColumnEffect, quantity: str) -> str:
    values = [float(value) for value in effect.values]  # type: ignore[arg-type]
    shown = _shown(effect)
    several, dots = len(effect.outputs) > 1, len(values) <= _DOTS
    series = [
        Line(effect.outputs[c] if several else "", values, effect.mean[:, c].tolist(), marked=dots) for c in shown
    ]
    ends = f"from {number(float(effect.mean[0, shown[0]]))} to {number(float(effect.mean[-1, shown[0]]))}"
    alt = f"Average {quantity} as {effect.column} goes from {number(values[0])} to {number(values[-1])}: {ends}"
    caption = "" if len(shown) == len(effect.outputs) else f"The {len(shown)} outputs that change most."
    form = format_value if all(value == int(value) for value in values) else None  # years have no separator
    return lines(series, alt, x=effect.column, y=f"average {quantity}", caption=caption, x_form=form)


def _levels(effect: ColumnEffect, quantity: str) -> str:
    shown = _shown(effect)
    one = len(effect.outputs) == 1
    shares = effect.outputs != ("prediction",) and not effect.outputs[0].startswith("target ")
    low, top = min(0.0, float(effect.mean[:, shown].min())), float(effect.mean[:, shown].max())
    rows: list[list[Entry]] = []
    order = range(len(effect.values)) if effect.ordered else np.argsort(-effect.mean[:, shown[0]], kind="stable")
    for g in order:
        name = format_value(effect.values[g])
        cells: list[Entry] = [Bar(float(effect.mean[g, 0]), low, max(top, 0.0))] if one else []
        form = format_percent if shares else number
        cells += [number_cell(float(effect.mean[g, c]), form) for c in shown]
        rows.append([name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…", *cells])
    headings = ["value", "", quantity] if one else ["value", *(effect.outputs[c] for c in shown)]
    return table(Table(headings, rows), title=effect.column, class_="plain")


def _shown(effect: ColumnEffect) -> list[int]:
    """Return the outputs that change most, in their own order."""
    reach = np.ptp(effect.mean, axis=0)
    return sorted(np.argsort(-reach, kind="stable")[:_LINES].tolist())
